"""Memory stays bounded, whatever a server sends."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.cases import ROOT
from tests.hostile.codings import GIB, HEAD, gzip_bomb
from tests.hostile.messages import endless_chunks, endless_headers
from tests.hostile.server import Connection, Scenario, answer, playing, pours, says

MIB = 1024 * 1024
GROWTH_BYTES_MAX = 60 * MIB
AT_ONCE = 4  # of each: their bodies alone, cut at the usual limit, are 120 MiB


async def endless_line(connection: Connection) -> None:
    await connection.request()
    await connection.send(b"HTTP/1.1 200 ")
    await connection.send_for_ever(b"O" * 8192)


async def endless_body(connection: Connection) -> None:
    await connection.request()
    await connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
    await connection.send_for_ever(b"x" * 65_536)


ENDLESS: dict[str, tuple[Scenario, str]] = {
    "a gzip bomb of 10 GB": (pours(HEAD % b"gzip", lambda: gzip_bomb(10 * GIB)), "truncated=length"),
    "an endless body": (endless_body, "truncated=length"),
    "endless chunks": (endless_chunks, "truncated=length"),
    "endless headers": (endless_headers, "Failed"),
    "an endless status line": (endless_line, "Failed"),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
async def test_what_never_ends_takes_a_bounded_amount_of_memory() -> None:
    async with AsyncExitStack() as stages:
        friendly = await stages.enter_async_context(playing(says(answer(b"welcome"))))
        hostile = [await stages.enter_async_context(playing(scenario)) for scenario, _ in ENDLESS.values()]
        urls = [friendly.url(), *(stage.url() for stage in hostile for _ in range(AT_ONCE))]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.hostile.appetite", *urls, cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await asyncio.wait_for(process.communicate(), 60)
    measured = json.loads(out)
    expected = [end for _, end in ENDLESS.values() for _ in range(AT_ONCE)]
    for outcome, end in zip(measured["outcomes"], expected, strict=True):
        assert end in outcome
    assert measured["grown_bytes"] < GROWTH_BYTES_MAX
