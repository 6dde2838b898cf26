"""Memory stays bounded, whatever a server sends."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import brotli
import pytest

from tests.cases import ROOT
from tests.hostile.behaviours.codings import GIB, HEAD, gzip_bomb
from tests.hostile.behaviours.messages import endless_chunks, endless_headers
from tests.hostile.server import Connection, Scenario, Stage, answer, playing, pours, says

MIB = 1024 * 1024
GROWTH_BYTES_MAX = 60 * MIB
PACKED_GROWTH_BYTES_MAX = 180 * MIB  # most of it pages of files; it was 343
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


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, 1),
    "br": lambda body: bytes(brotli.compress(body, quality=1, lgwin=24)),
    "gzip, br": lambda body: bytes(brotli.compress(gzip.compress(body, 1), quality=0, lgwin=24)),
}
DOWNLOADS = 10  # of each coding


class Slowly:
    """Sends all of its body but the end, which comes when the downloads of all are as far."""

    def __init__(self) -> None:
        self._waiting = 0
        self._all = asyncio.Event()

    def scenario(self, coding: str, pack: Callable[[bytes], bytes]) -> Scenario:
        said = answer(
            pack(random.Random(1).randbytes(6 * MIB)), "Content-Type: image/jpeg", f"Content-Encoding: {coding}"
        )

        async def scenario(connection: Connection) -> None:
            await connection.request()
            await connection.send(said[:-100])
            self._waiting += 1
            if self._waiting == DOWNLOADS * len(PACKED):
                self._all.set()
            await self._all.wait()
            await connection.send(said[-100:])

        return scenario


has_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc"
)


@has_proc
async def test_packed_downloads_that_are_open_at_once_lie_on_disk() -> None:
    """A decoder holds up to 16 MiB, and held all that it was given: 1,544 MB for 40 downloads in two codings."""
    slowly = Slowly()
    async with AsyncExitStack() as stages:
        friendly = await stages.enter_async_context(playing(says(answer(b"welcome"))))
        stages_of = [await stages.enter_async_context(playing(slowly.scenario(*each))) for each in PACKED.items()]
        measured = await appetite(friendly, *(stage.url() for stage in stages_of for _ in range(DOWNLOADS)))
    assert all(outcome.startswith("Fetched(status=200, body=") for outcome in measured["outcomes"])
    assert measured["grown_bytes"] < PACKED_GROWTH_BYTES_MAX


async def appetite(friendly: Stage, *urls: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.hostile.appetite", friendly.url(), *urls),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    measured: dict[str, Any] = json.loads(out)
    return measured


@has_proc
async def test_what_never_ends_takes_a_bounded_amount_of_memory() -> None:
    async with AsyncExitStack() as stages:
        friendly = await stages.enter_async_context(playing(says(answer(b"welcome"))))
        hostile = [await stages.enter_async_context(playing(scenario)) for scenario, _ in ENDLESS.values()]
        measured = await appetite(friendly, *(stage.url() for stage in hostile for _ in range(AT_ONCE)))
    expected = [end for _, end in ENDLESS.values() for _ in range(AT_ONCE)]
    for outcome, end in zip(measured["outcomes"], expected, strict=True):
        assert end in outcome
    assert measured["grown_bytes"] < GROWTH_BYTES_MAX
