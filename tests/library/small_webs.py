"""What the programs in these tests have in common: a small web, and a crawl of it that does not take long."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from gossamer.library.crawl import Crawl, crawl
from gossamer.synthetic_web import Server, Web, WebOptions, gaps_below, overlapping
from gossamer.synthetic_web.options import RobotsKind

DELAY_S = 0.02

QUICK: dict[str, object] = {
    "crawl.partitions": 1,
    "crawl.commit_s": 0.02,
    "politeness.latency_factor": 0,
    "politeness.ip_requests_per_s": 1000,
    "politeness.site_requests_per_s": 1000,
    "frontier.retries_s": [],
    "robots.retry_s": [],
}


def plain_web(hosts: int = 3, pages_per_host: int = 8) -> Web:
    return Web(WebOptions(hosts=hosts, pages_per_host=pages_per_host, page_bytes=1000))


def mixed_web() -> Web:
    """With something of all that can become of a URL."""
    kinds = (RobotsKind.MISSING, RobotsKind.OVERRIDE)
    shares: dict[str, Any] = dict.fromkeys(
        ("redirects", "not_found", "server_errors", "forbidden", "duplicates"), 0.2
    )
    return Web(WebOptions(hosts=4, pages_per_host=8, page_bytes=1000, robots_kinds=kinds, **shares))


def crawl_of(
    server: Server, folder: Path | None = None, settings: dict[str, object] | None = None, **more: Any
) -> Crawl:
    return crawl(
        server.url(0),
        dir=folder,
        allow_private=True,
        scope="any",
        delay=DELAY_S,
        settings=QUICK | (settings or {}),
        **more,
    )


def times_asked(server: Server) -> Counter[str]:
    """Each URL, without robots.txt."""
    return Counter(entry.url for entry in server.log.entries if entry.path != "/robots.txt")


def assert_polite(server: Server) -> None:
    assert not overlapping(server.log.entries)
    assert not gaps_below(server.log.entries, lambda _: DELAY_S)
