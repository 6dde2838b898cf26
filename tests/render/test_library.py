"""A program that crawls with a browser has pages as the browser shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gossamer.library.crawl import crawl
from gossamer.synthetic_web import WebOptions, serve, truth
from gossamer.synthetic_web.web import Web
from tests.debian import program
from tests.library.small_webs import QUICK

OPTIONS = replace(
    WebOptions(hosts=1, pages_per_host=1), scripted_hosts=2, scripted_kinds=("requested", "inline"), scripted_pages=4
)


async def test_a_page_of_a_program_is_the_rendered_document(folder: Path) -> None:
    program("chromium", "chromium")
    web = Web(OPTIONS)
    async with serve(web) as server:
        said = truth(web, [server.url(0)], renders=True)
        crawled = crawl(
            server.url(0), dir=folder, allow_private=True, scope="any", delay=0.02, settings=QUICK, render="auto"
        )
        pages = {page.url: page async for page in crawled}
    assert said.reachable <= pages.keys()
    for url, sentence in said.built.items():
        assert sentence in pages[url].text and f"<p>{sentence}</p>" in pages[url].html
