"""One crawl of a web with every bad habit, for all tests that look at its result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gossamer import config
from gossamer.clock import RealClock
from gossamer.records import Link
from gossamer.synthetic_web.access_log import Entry
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.truth import Truth, truth
from gossamer.synthetic_web.web import Web
from gossamer.url.canonical import canonicalize
from gossamer.url.link_filter import link_filter_of
from tests.crawl.command import gossamer, quick_settings

HOSTS, PAGES = 52, 24
# Long enough for a server that shares its cores with other tests. One that read its requests only after we had given
# them up would write pages into its log that nobody got, and the next request soon after.
TIMEOUT_S = 3.0


@dataclass(frozen=True)
class Crawled:
    options: WebOptions
    port: int
    folder: Path
    truth: Truth
    entries: list[Entry]
    pages: dict[str, dict[str, Any]]
    summary: str

    @cached_property
    def web(self) -> Web:
        """The same web again: all of it follows from its options."""
        web = Web(self.options)
        web.port = self.port
        return web


async def crawl_everything(folder: Path) -> Crawled:
    options = WebOptions.everything(hosts=HOSTS, pages_per_host=PAGES, seed=7)
    few: dict[str, Any] = dict.fromkeys(("calendars", "sessions", "repeating", "facets", "deep"), 1 / 400)
    options = replace(options, crawl_delay_s=0.12, slow_s=0.3, drip_s=0.4, **few)
    web = Web(options)
    async with serve(web) as server:
        flags = ["--dir", folder, "--allow-private", "--scope", "any", "--contact", "test@example.org"]
        flags += ["--max-depth", "20", *quick_settings(traps__parameters_max=1, fetch__timeout_s=TIMEOUT_S)]
        ran = await gossamer("crawl", server.url(0), *flags, timeout_s=200)
        assert ran.code == 0, ran.err
        listed = await gossamer("pages", folder, "--json")
        seeds = [server.url(0)]
        link_filter = link_filter_of(seeds, config.load(folder, environment={}).tree, RealClock())
        facts = truth(
            web,
            seeds,
            accept=lambda url, depth: link_filter(Link(url, source=seeds[0], depth=depth)) is None,
            canonicalize=canonicalize,
            follow_feeds=True,
            follow_sitemaps=True,
        )
        pages = {page["url"]: page for page in listed.lines()}
        return Crawled(options, server.port, folder, facts, list(server.log.entries), pages, ran.out)
