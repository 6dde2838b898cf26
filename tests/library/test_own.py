"""Filters and processors of a program: plain functions, and what happens when they go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.process.media_types import OWN, processes
from gossamer.records import Link, Page
from gossamer.synthetic_web import Web, WebOptions, serve
from tests.library.small_webs import crawl_of, plain_web, times_asked


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    """What a test registers is gone afterwards."""
    before = OWN.copy()
    yield
    OWN.clear()
    OWN.update(before)


def web_with_notes() -> Web:
    return Web(WebOptions(hosts=1, pages_per_host=3, page_bytes=1000, files=1.0))


async def test_all_filters_have_to_want_a_link() -> None:
    met: list[Link] = []

    def is_even(link: Link) -> bool:
        met.append(link)
        return int(link.url[-1]) % 2 == 0

    async with serve(plain_web(hosts=1)) as server:
        pages = [page async for page in crawl_of(server, filters=[is_even, lambda link: not link.url.endswith("6")])]
        assert {page.url for page in pages} <= {server.url(0), *(server.url(0, f"/p/{n}") for n in (2, 4))}
        assert len(pages) > 1 and times_asked(server) == {page.url: 1 for page in pages}
        assert all(link.source and link.depth for link in met)  # a seed is what was asked for


async def test_what_a_filter_raises_reaches_the_program_and_the_next_crawl_has_all_pages(folder: Path) -> None:
    def fails(link: Link) -> bool:
        if link.url.endswith("/p/5"):
            raise LookupError("five")
        return True

    async with serve(plain_web(hosts=1)) as server:
        given = []
        with pytest.raises(LookupError, match="five"):
            async for page in crawl_of(server, folder, filters=[fails]):
                given.append(page.url)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        given += [page.url async for page in crawl_of(server, folder)]
        assert sorted(given) == sorted(server.url(0, f"/p/{n}" if n else "/") for n in range(8))


async def test_a_processor_may_be_a_closure_of_the_program() -> None:
    notes: dict[str, int] = {}

    @processes("text/plain")
    def note(body: bytes, url: str, content_type: str | None) -> Page:
        notes[url] = len(body)
        return Page(url, title=f"A note of {len(body)} bytes", links=[Link("/p/1?from=note")])

    async with serve(web_with_notes()) as server:
        pages = {page.url: page async for page in crawl_of(server, exclude=[r"\.(pdf|png)$"])}
    assert len(notes) == 3 and notes.keys() < pages.keys()
    for url, size in notes.items():
        assert pages[url].title == f"A note of {size} bytes" and len(pages[url].body) == size
    assert pages[server.url(0, "/p/1?from=note")].source in notes


async def test_what_a_processor_raises_is_a_fault_of_the_page_and_the_crawl_goes_on() -> None:
    @processes("text/plain")
    def note(body: bytes, url: str, content_type: str | None) -> Page:
        raise LookupError("no ink")

    async with serve(web_with_notes()) as server:
        pages = [page async for page in crawl_of(server, exclude=[r"\.(pdf|png)$"])]
    faults = [page.page.fault for page in pages if page.page.fault]
    assert len(faults) == 3 and len(pages) == 6 and all(fault.endswith("LookupError: no ink") for fault in faults)
