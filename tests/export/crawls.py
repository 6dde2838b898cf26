"""A small crawl with all that an export has to tell apart, as it was half-way and as it ended."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb

from gossamer.cli import run
from gossamer.synthetic_web.answer import Request
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import Ran, gossamer, quick_settings
from tests.fetch.raw_server import RawServer, raw_server

PLAIN = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
FOREIGN_PATH = "/caf%C3%A9/%E4%BD%A0%E5%A5%BD?q=%C3%BC"
FOREIGN_BODY = "<title>Bücher</title><p>Ein Café in 北京 <a href='/uncopied'>no copies of this one".encode()
UNCOPIED_BODY = b"<title>Not to be kept</title><p>Nobody may show a copy of this page."
HALF_PAGES = 40


@dataclass(frozen=True)
class Crawls:
    half: Path  # stopped after some pages
    whole: Path  # the same, gone on with until nothing was left
    options: WebOptions
    port: int
    foreign_url: str

    def web(self) -> Web:
        """The same web again: all of it follows from its options."""
        web = Web(self.options)
        web.port = self.port
        return web


def page(body: bytes, more: bytes = b"") -> list[bytes | float]:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n" + more
    return [head + b"Content-Length: %d\r\n\r\n" % len(body), body]


@asynccontextmanager
async def foreign_server() -> AsyncIterator[RawServer]:
    """A page whose URL is not ASCII, and one that forbids copies of itself."""
    async with raw_server() as server:

        def answer(request: bytes) -> list[bytes | float]:
            path = request.split()[1].decode()
            if path == "/uncopied":
                return page(UNCOPIED_BODY, b"X-Robots-Tag: noarchive\r\n")
            return page(FOREIGN_BODY) if path == FOREIGN_PATH else [PLAIN]

        server.answer = answer
        yield server


async def crawl_twice(folder: Path) -> Crawls:
    options = WebOptions(
        seed=5,
        hosts=4,
        pages_per_host=16,
        redirects=1 / 12,
        duplicates=1 / 12,
        near_duplicates=1 / 16,
        noindex=1 / 12,
        not_found=1 / 24,
        files=1 / 24,
    )
    whole, half = folder / "whole", folder / "half"
    web = Web(options)
    async with serve(web) as server, foreign_server() as foreign:
        urls = [foreign.url(FOREIGN_PATH), *(server.url(host) for host in range(3))]
        flags = ["--dir", whole, "--allow-private", "--scope", "any", "--workers", "1"]
        flags += quick_settings(politeness__delay_s=0.01, crawl__partitions=3)
        assert (await gossamer("crawl", *urls, *flags, "--max-pages", HALF_PAGES)).code == 0
        copied(whole, half)
        ran = await gossamer("crawl", *flags, "--set", "crawl.max_pages=1000000")
        assert ran.code == 0, ran.err
        return Crawls(half, whole, options, server.port, urls[0])


def command(*arguments: object) -> Ran:
    """The command in this very process, which is quicker."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = run([*map(str, arguments)])
    return Ran(code, out.getvalue(), err.getvalue())


def exported(crawl: Path, to: str, out: Path, *flags: str) -> dict[str, Any]:
    """The facts that the command gave."""
    ran = command("export", crawl, "--to", to, "--out", out, "--json", *flags)
    assert ran.code == 0, ran.err
    (facts,) = ran.lines()
    return facts


def copied(crawl: Path, folder: Path) -> Path:
    """What an export reads of a crawl: the fingerprints are large, and nobody looks at them."""
    return shutil.copytree(crawl, folder, ignore=shutil.ignore_patterns("fingerprints"))


def go_on(crawl: Path, crawls: Crawls) -> None:
    """What a crawl of some hours does to its folder, in a moment: half of it becomes the whole."""
    for name in ("archive", "partitions"):
        shutil.rmtree(crawl / name)
        shutil.copytree(crawls.whole / name, crawl / name)
    shutil.copy(crawls.whole / "course.json", crawl / "course.json")


def rows(sql: str, **folders: Path) -> list[tuple[Any, ...]]:
    """What DuckDB answers; {out} in the query stands for a folder or file."""
    with duckdb.connect() as connection:
        return connection.execute(sql.format(**folders)).fetchall()


def served(web: Web, url: str) -> bytes:
    """What the synthetic web has at a URL."""
    found = web.locate(url)
    assert found is not None, url
    host, target = found
    return web.answer(Request(host, target, web.options.born_at)).body
