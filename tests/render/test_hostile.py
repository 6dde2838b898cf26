"""Pages that attack the browser: the crawl ends within its bounds, has all of them, and nothing outlives its page."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

from gossamer.synthetic_web import WebOptions, serve
from gossamer.synthetic_web.options import HOSTILE_KINDS
from gossamer.synthetic_web.scripted import hostile
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, start, until
from tests.crawl.judge import broken_delays, requests_at_once
from tests.debian import program
from tests.render.browsers import Browsers, is_browser
from tests.render.scripted_crawl import TIMEOUT_S, crawl_of, crawled_in

MIB = 1024**2
MEMORY_BYTES = 400 * MIB  # of a browser
BASE_BYTES = 400 * MIB  # of a browser that shows nothing, and of what a page takes until somebody looks
REQUESTS = 20
SECONDS = 5


async def test_a_crawl_survives_every_hostile_page(folder: Path) -> None:
    program("chromium", "chromium")
    options = WebOptions(hosts=2, pages_per_host=2, scripted_hosts=1, scripted_kinds=("closed",))
    web = Web(replace(options, hostile_hosts=HOSTILE_KINDS))
    async with serve(web) as server:
        bounds = {"render__memory": MEMORY_BYTES, "render__requests": REQUESTS, "render__seconds": SECONDS}
        crawl = await start(
            *crawl_of(server.url(0), folder / "crawl", render__when="always", **bounds), "--workers", 1
        )
        browsers = Browsers(crawl.pid)
        async with browsers.watched():
            out, err = await asyncio.wait_for(crawl.communicate(), 500)
        assert crawl.returncode == 0, err.decode()[-3000:]
        entries = list(server.log.entries)
        crawled = await crawled_in(folder / "crawl", web, entries, out.decode())

    done = {url for url, page in crawled.pages.items() if page["state"] == "done" and page["status"] == 200}
    assert crawled.truth.reachable <= done
    assert requests_at_once(entries, TIMEOUT_S) == []
    assert broken_delays(entries, web, TIMEOUT_S) == []
    assert [entry.url for entry in entries if entry.path.startswith(hostile.LEAKED)] == []
    assert [entry.url for entry in entries if entry.path != "/robots.txt" and not web.permits(entry.url)] == []
    loads = Counter(entry.host for entry in entries if entry.url not in crawled.pages)
    assert max(loads.values()) <= hostile.PAGES * (REQUESTS + 1) + 1
    # A browser that leaves may show its last pages beside the next one.
    assert browsers.seen and browsers.bytes_max < 2 * MEMORY_BYTES + BASE_BYTES
    await until(lambda: not any(map(is_browser, browsers.seen)), timeout_s=60)  # none outlives its crawl
    assert not list(folder.rglob("*gossamer-was-here*"))
    assert not list(Path.home().glob("*/gossamer-was-here*"))
    listed = await gossamer("status", folder / "crawl")
    assert listed.code == 0
