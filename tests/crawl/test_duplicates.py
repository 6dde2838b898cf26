"""Pages with known or nearly known content, through the command: none of their links and of their bodies is lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gossamer.archive import reader
from gossamer.archive.storage import FolderStorage
from gossamer.records import Place
from tests.crawl.command import gossamer, quick_settings
from tests.fetch.raw_server import RawServer, raw_server
from tests.shared_crawl import once

NAMES = [f"127.0.0.{number}" for number in range(1, 7)]  # the last one is a shop
VOCABULARY = [
    f"{first}{last}" for first in ("ba", "ke", "li", "mo", "nu", "ra") for last in ("ban", "dor", "fil", "gam")
]
FRONT = '<title>A new site</title><p>It works. <a href="a/">Shop</a> <a href="/news.html">News</a></p>'


def ok(body: str, media_type: str = "text/html") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def asked(server: RawServer) -> set[str]:
    """Host and path of every request but those for robots.txt."""
    heads = [request.decode().split("\r\n") for request in server.requests]
    hosts = [next(line[6:].partition(":")[0] for line in head if line.lower().startswith("host: ")) for head in heads]
    found = {host + head[0].split()[1] for host, head in zip(hosts, heads, strict=True)}
    return {each for each in found if not each.endswith("/robots.txt")}


def words(*about: object, count: int) -> str:
    """Always the same for the same subject."""
    return " ".join(Random(repr(about)).choices(VOCABULARY, k=count))


def article(changed: str) -> str:
    return f"<p>{words('article', count=150)} {changed} {words('article', 'end', count=150)}</p>"


def product(number: int) -> str:
    """15 words of its own in 150 that all have."""
    own = f"{words('product', number, count=15)} price {number * 37}.99 item {number * 7919}"
    return f"<p>{own}</p><p>{words('terms', count=150)}</p>"


def measurements(number: int) -> str:
    rows = (f"<tr><td>station {row}<td>{number * row % 41}.{row % 7}<td>degrees" for row in range(30))
    return f"<p>{words('weather', count=20)}</p><table>{''.join(rows)}</table>"


SHOP = {
    **{f"/product/{number}": product(number) for number in range(20)},
    **{f"/measured/{number}": measurements(number) for number in range(20)},
    **{f"/article/{word}": article(word) for word in ("one", "two", "three")},
    **{f"/clock/{hour}": f"<p>The server works. It is {hour}:30:05 in the house</p>" for hour in range(3)},
}
SHOP["/"] = "".join(f'<p><a href="{path}">{words(path, count=3)}</a></p>' for path in SHOP)


def answer(request: bytes) -> list[bytes | float]:
    """Every site has the same front page, and pages of its own behind it."""
    path, host = request.split()[1].decode(), request.lower().split(b"host: ")[1].split(b":")[0].decode()
    if host == NAMES[-1] and path in SHOP:
        return [ok(f"<title>{path}</title><main>{SHOP[path]}</main>")]
    if path.partition("?")[0] == "/":
        return [ok(FRONT)]
    return [ok(f"<title>{host}{path}</title><p>{host} {path} of its own")]


@dataclass(frozen=True)
class Crawled:
    folder: Path
    port: int
    asked: set[str]
    pages: dict[str, dict[str, Any]]  # by host and path

    def url(self, name: str) -> str:
        host, _, path = name.partition("/")
        return f"http://{host}:{self.port}/{path}"


async def crawl(folder: Path) -> Crawled:
    async with raw_server(also=NAMES[1:]) as server:
        server.answer = answer
        seeds = [server.url("/", host=name) for name in NAMES]
        flags = ["--dir", folder, "--allow-private", "--contact", "test@example.org", *quick_settings()]
        ran = await gossamer("crawl", *seeds, server.url("/?again=1"), *flags)
        assert ran.code == 0, ran.err
    pages = (await gossamer("pages", folder, "--json")).lines()
    by_name = {page["url"].removeprefix("http://").replace(f":{server.port}", ""): page for page in pages}
    return Crawled(folder, server.port, asked(server), by_name)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Crawled:
    return once(tmp_path_factory, worker_id, "duplicates", crawl)


async def test_sites_with_the_same_front_page_are_all_crawled(crawled: Crawled, folder: Path) -> None:
    sites = [f"{name}/" for name in NAMES[:-1]]
    wanted = {f"{site}{path}" for site in sites for path in ("", "a/", "news.html")}
    assert wanted <= crawled.asked
    assert sum(crawled.pages[site]["verdict"] == "same" for site in sites) == 4
    why = await gossamer("why", crawled.folder, crawled.url(f"{sites[4]}a/"))
    assert f"found on {crawled.url(sites[4])} (the seed)" in why.out
    links = await gossamer("export", crawled.folder, "--to", "links", "--out", folder / "links.tsv")
    assert links.code == 0, links.err
    sources = {line.split("\t")[0] for line in (folder / "links.tsv").read_text().splitlines()[1:]}
    assert set(map(crawled.url, sites)) <= {source.split("?")[0] for source in sources}


def test_products_and_measurements_are_no_copies_of_each_other(crawled: Crawled) -> None:
    shop = {path: crawled.pages[f"{NAMES[-1]}{path}"]["verdict"] for path in SHOP}
    assert [path for path, verdict in shop.items() if verdict != "original" and path[1:2] in "pm"] == []


@pytest.mark.parametrize(
    "paths", [["/article/one", "/article/two", "/article/three"], ["/clock/0", "/clock/1", "/clock/2"]]
)
async def test_a_near_copy_is_marked_and_stored_all_the_same(crawled: Crawled, paths: list[str]) -> None:
    shown = {path: crawled.pages[f"{NAMES[-1]}{path}"] for path in paths}
    originals = [page["url"] for page in shown.values() if page["verdict"] == "original"]
    assert len(originals) == 1
    storage = FolderStorage(crawled.folder / "archive")
    for path, page in shown.items():
        record = reader.read(storage, Place(**page["archive"]))
        assert record.type == "response" and SHOP[path].encode() in record.body
        if page["verdict"] == "near":
            assert page["same_as"] == record.headers["Gossamer-Near-To"] == originals[0]
            why = await gossamer("why", crawled.folder, page["url"])
            assert f"nearly that of {originals[0]}" in why.out and "stored in archive/" in why.out


async def test_without_near_bits_only_the_same_bytes_are_a_copy(folder: Path) -> None:
    """Nor is anything left out of the archive where near copies are not stored."""
    async with raw_server(also=NAMES[-1:]) as server:
        server.answer = answer
        seeds = [server.url(path, host=NAMES[-1]) for path in SHOP if path.startswith("/article")]
        flags = ["--dir", folder / "c", "--allow-private", "--max-depth", 0, *quick_settings()]
        flags += ["--set", "process.near_bits=0", "--set", "archive.store_near=false"]
        ran = await gossamer("crawl", *seeds, *flags)
        assert ran.code == 0, ran.err
    pages = (await gossamer("pages", folder / "c", "--json")).lines()
    assert [page["verdict"] for page in pages] == ["original"] * 3
    storage = FolderStorage(folder / "c" / "archive")
    assert all(reader.read(storage, Place(**page["archive"])).type == "response" for page in pages)
