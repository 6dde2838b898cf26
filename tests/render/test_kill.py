"""Workers and browsers are killed while they render: nothing is lost, and a dead browser costs one try of a page."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from gossamer.synthetic_web import Server, WebOptions, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, start, until
from tests.crawl.judge import broken_delays, requests_at_once
from tests.crawl.test_workers import workers_of
from tests.debian import program
from tests.render.browsers import browsers_of
from tests.render.scripted_crawl import TIMEOUT_S, crawl_of, crawled_in

KINDS = ("requested", "inline", "router", "hydrated", "modules")
OPTIONS = replace(
    WebOptions(hosts=3, pages_per_host=4, page_bytes=1000, seed=9),
    scripted_hosts=len(KINDS),
    scripted_kinds=KINDS,
    scripted_pages=14,
)
KILLS = 6


def is_rendering_or_over(server: Server, asked: int, crawl: Process) -> bool:
    """Something more was loaded, and there is a browser; or the crawl has ended."""
    loaded = sum("/api/" in entry.path for entry in server.log.entries)
    return crawl.returncode is not None or (loaded > asked and bool(browsers_of(crawl.pid)))


async def test_kills_of_workers_and_browsers_lose_nothing(folder: Path) -> None:
    program("chromium", "chromium")
    chance = random.Random(seed := random.randrange(10**6))
    print(f"seed {seed}")  # shown where the test fails
    web = Web(OPTIONS)
    async with serve(web) as server:
        crawl = await start(*crawl_of(server.url(0), folder / "crawl"), "--workers", 2)
        said = asyncio.create_task(crawl.communicate())
        killed = 0
        try:
            for number in range(KILLS):
                asked = sum("/api/" in entry.path for entry in server.log.entries)
                await until(partial(is_rendering_or_over, server, asked, crawl), timeout_s=200)
                victims = workers_of(crawl.pid) if number % 3 == 2 else browsers_of(crawl.pid)
                if crawl.returncode is None and victims:
                    with suppress(ProcessLookupError):
                        os.kill(chance.choice(victims), signal.SIGKILL)
                        killed += 1
            _, err = await asyncio.wait_for(said, 400)
        finally:
            if crawl.returncode is None:
                crawl.kill()
        assert crawl.returncode == 0, err.decode()[-3000:]
        assert killed >= KILLS // 2
        entries = list(server.log.entries)
        crawled = await crawled_in(folder / "crawl", web, entries)

    done = {url for url, page in crawled.pages.items() if page["state"] == "done" and page["status"] == 200}
    assert crawled.truth.reachable - done == set()
    assert requests_at_once(entries, TIMEOUT_S) == []
    assert broken_delays(entries, web, TIMEOUT_S) == []
    verified = await gossamer("verify", folder / "crawl")
    assert verified.code == 0, verified.out
