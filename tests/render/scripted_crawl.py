"""One crawl of a web with every kind of script that is not hostile, for all tests that look at its result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gossamer.archive import reader
from gossamer.archive.reader import Record
from gossamer.synthetic_web.access_log import Entry
from gossamer.synthetic_web.options import RobotsKind, WebOptions
from gossamer.synthetic_web.scripted import applications
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.truth import Truth, truth
from gossamer.synthetic_web.web import Web
from gossamer.url.canonical import canonicalize
from tests.crawl.command import gossamer, quick_settings
from tests.debian import program

OPTIONS = replace(
    WebOptions.scripted(hosts=6, pages_per_host=8, seed=5),
    scripted_pages=6,
    robots_kinds=(RobotsKind.OPEN, RobotsKind.OVERRIDE),
)
SHOWN = "urn:rendered:"  # before the URL of a page: what the record of the document as it was shown is about
TIMEOUT_S = 10.0  # of a request: a busy machine is no fault of the server


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

    def host_of_kind(self, kind: str) -> int:
        return self.options.first_scripted + list(applications.KINDS).index(kind)

    def kind_of(self, url: str) -> str:
        place = self.web.locate(url)
        assert place is not None
        return applications.kind_of(self.web.atlas, place[0]) or ""

    def is_rendered(self, url: str) -> bool:
        return bool(self.pages[url].get("rendered"))


def crawl_of(seed: str, folder: Path, **settings: object) -> list[object]:
    flags = ["--dir", folder, "--allow-private", "--scope", "any", "--contact", "test@example.org"]
    return ["crawl", seed, *flags, *quick_settings(fetch__timeout_s=TIMEOUT_S, **settings)]


async def crawl_scripted(folder: Path) -> Crawled:
    """With rendering as users have it."""
    program("chromium", "chromium")
    web = Web(OPTIONS)
    async with serve(web) as server:
        ran = await gossamer(*crawl_of(server.url(0), folder), timeout_s=500)
        assert ran.code == 0, ran.err
        return await crawled_in(folder, web, list(server.log.entries), ran.out)


async def crawled_in(folder: Path, web: Web, entries: list[Entry], summary: str = "") -> Crawled:
    listed = await gossamer("pages", folder, "--json")
    said = truth(web, [web.url(0)], canonicalize=canonicalize, renders=True)
    pages = {page["url"]: page for page in listed.lines()}
    return Crawled(web.options, web.port, folder, said, entries, pages, summary)


def records(folder: Path) -> Iterator[Record]:
    for path in sorted((folder / "archive").glob("*.warc.gz")):
        yield from reader.records(path)
