"""Whatever servers say, in any header and any body, no worker dies of it, at no later visit either."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.config import load
from tests.simulation.chaos import HOSTS, ChaosCrawl, ChaosWeb

_NOT_ASCII = re.compile(rb"\r\nIf-None-Match: [^\r\n]*[\x80-\xff]")


async def live(
    folder: Path, seed: int, stints: int, days: float, is_enough: Callable[[ChaosWeb, ChaosCrawl], bool]
) -> tuple[ChaosWeb, ChaosCrawl]:
    """So many stints at most: how much happens in one is chance, and the machine's pace is part of it."""
    web, clock = ChaosWeb(seed), VirtualClock(seed)
    async with await asyncio.start_server(web.serve, "127.0.0.1", 0) as server:
        web.port = server.sockets[0].getsockname()[1]
        settings: dict[str, object] = {
            "crawl.forever": True,
            "crawl.allow_private": True,
            "crawl.scope": "host",
            "crawl.partitions": 1,
            "dns.overrides": {f"h{host}.test": "127.0.0.1" for host in range(HOSTS)},
            "fetch.first_byte_timeout_s": 0.3,
            "schedule.visits_a_day": 200,
            "schedule.shortest_s": 600.0,
            "schedule.longest_s": 86_400.0,
        }
        crawl = ChaosCrawl(folder / "crawl", web, load(folder, None, settings).tree, clock)
        for _ in range(stints):
            await crawl.live(days)
            if is_enough(web, crawl):
                break
        await asyncio.sleep(0.05)  # the servers hear that their connections are closed
    return web, crawl


async def test_no_worker_dies_of_anything_that_servers_say_for_weeks(folder: Path) -> None:
    def is_enough(web: ChaosWeb, crawl: ChaosCrawl) -> bool:
        visits = crawl.visits.values()
        return sum(visits) > 200 and max(visits) > 5 and any(map(_NOT_ASCII.search, web.requests))

    web, crawl = await live(folder, 1, 20, 7, is_enough)
    print(crawl.kinds, crawl.faults, len(web.requests))
    assert is_enough(web, crawl)
    assert not [fault for fault in crawl.faults if "a bug in" in fault]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 22))
async def test_no_worker_dies_of_anything_for_months(folder: Path, seed: int) -> None:
    _, crawl = await live(folder, seed, 6, 15, lambda web, crawl: False)
    assert not [fault for fault in crawl.faults if "a bug in" in fault]
