"""Nodes of a crawl that share their state in a Valkey, and what they claim."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gossamer.clock import RealClock
from gossamer.cluster.valkey.shared import ValkeyShared
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.records import Claim
from tests.servers.valkey import Valkey

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"
SAID = sketch_of(words_in("what all of them say"))
PRINT = 0x0123456789ABCDEF


def claim(url: str, content: int = 0, simhash: int | None = None) -> Claim:
    return Claim(f"{content:064x}", url, 1000.0, simhash, SAID)


@asynccontextmanager
async def nodes(
    server: Valkey,
    count: int = 2,
    per_s: float = 2,
    claim_s: float = 60.0,
    requests_per_s: float | None = None,
    bytes_per_s: float | None = None,
    limit_s: float = 20.0,
) -> AsyncIterator[list[ValkeyShared]]:
    """Several that share one crawl; on a machine that is busy, a call takes its time."""
    name = server.new_name()
    made = [
        ValkeyShared(
            server.url,
            name,
            RealClock(),
            per_s=per_s,
            burst=3,
            claim_s=claim_s,
            requests_per_s=requests_per_s,
            bytes_per_s=bytes_per_s,
            share=1 / count,
            limit_s=limit_s,
        )
        for _ in range(count)
    ]
    yield made
    for each in made:
        await each.close()


async def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - nobody tells when a server is back
            await asyncio.sleep(0.01)


async def kinds(shared: ValkeyShared, *claims: Claim) -> list[str | None]:
    return [verdict.kind if verdict else None for verdict in await shared.judge(claims)]
