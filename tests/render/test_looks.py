"""Ordinary pages of which only a browser knows all links: a polite crawl finds that out in time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gossamer.synthetic_web import WebOptions, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer
from tests.debian import program
from tests.render.scripted_crawl import Crawled, crawl_of, crawled_in

OPTIONS = replace(
    WebOptions(hosts=1, pages_per_host=1, page_bytes=1000),
    scripted_hosts=1,
    scripted_kinds=("enhanced",),
    scripted_pages=9,
    decorated_hosts=2,  # articles that are counted, and pages with a link for sharing them
    decorated_pages=9,
)


async def crawl(folder: Path, host: int, **settings: object) -> Crawled:
    """Of one host, by one worker."""
    program("chromium", "chromium")
    web = Web(OPTIONS)
    async with serve(web) as server:
        command = crawl_of(server.url(host), folder, crawl__scope="host", **settings)
        ran = await gossamer(*command, "--workers", 1, timeout_s=300)
        assert ran.code == 0, ran.err
        return await crawled_in(folder, web, list(server.log.entries))


def rendered(crawled: Crawled) -> list[str]:
    return [url for url in crawled.pages if crawled.is_rendered(url)]


async def test_a_small_polite_crawl_finds_the_pages_that_only_scripts_of_ordinary_pages_lead_to(folder: Path) -> None:
    crawled = await crawl(folder / "crawl", OPTIONS.first_scripted, politeness__delay_s=0.5)
    done = {url for url, page in crawled.pages.items() if page["state"] == "done"}
    wanted = {crawled.web.url(OPTIONS.first_scripted, f"/item/{page}") for page in range(1, OPTIONS.scripted_pages)}
    assert wanted <= done
    first = crawled.pages[crawled.web.url(OPTIONS.first_scripted)]["rendered"]
    assert first["why"] == "scripts" and first["links_gained"] == 2


async def test_ordinary_pages_that_gain_nothing_are_looked_at_twice(folder: Path) -> None:
    for place in range(OPTIONS.decorated_hosts):
        crawled = await crawl(folder / f"{place}", OPTIONS.first_decorated + place, politeness__delay_s=0.5)
        assert len(crawled.pages) == OPTIONS.decorated_pages
        looks = rendered(crawled)
        assert len(looks) == 2, looks
        assert not any(crawled.pages[url]["rendered"]["links_gained"] for url in looks)


async def test_a_crawl_without_a_delay_starts_no_browser_for_ordinary_pages(folder: Path) -> None:
    crawled = await crawl(folder / "crawl", OPTIONS.first_decorated, politeness__delay_s=0)
    assert len(crawled.pages) == OPTIONS.decorated_pages and rendered(crawled) == []
