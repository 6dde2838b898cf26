"""The examples, run as a user runs them: each by its command, against a web that is served here."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gossamer.synthetic_web import Server, Web, WebOptions, serve, truth
from tests.crawl.command import ROOT, Ran

# So that nobody waits a second for each page. Everything else is as the examples have it.
QUICK = {
    "GOSSAMER_POLITENESS_DELAY_S": "0.01",
    "GOSSAMER_POLITENESS_IP_REQUESTS_PER_S": "1000",
    "GOSSAMER_CRAWL_COMMIT_S": "0.02",
    "GOSSAMER_CRAWL_PARTITIONS": "1",
}


async def run(name: str, *arguments: object) -> Ran:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "error",
        ROOT / "examples" / f"{name}.py",
        *map(str, arguments),
        env=os.environ | QUICK | {"PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1 or all(line.startswith(b"gossamer: ") for line in err.splitlines()), err.decode()
    return Ran(process.returncode, out.decode(), err.decode())


def reachable(server: Server) -> set[str]:
    """Of the first host, which is where examples stay."""
    return truth(server.web, [server.url(0)], lambda url, _: url.startswith(server.url(0))).reachable


async def test_mirror_site(folder: Path) -> None:
    async with serve(Web(WebOptions(hosts=2, pages_per_host=4, page_bytes=1000, files=0.3))) as server:
        ran = await run("mirror_site", server.url(0), folder / "copy")
        assert ran.code == 0 and len(ran.out.splitlines()) == len(reachable(server)) >= 4
        site = folder / "copy" / server.url(0).split("/")[2]
        for page in ("", "p/1", "p/2", "p/3"):
            assert b"<title>" in (site / page / "index.html").read_bytes()
        assert all(path.read_bytes().startswith(b"\x89PNG") for path in site.glob("files/*/dot.png"))
        assert [path.name for path in (folder / "copy").iterdir()] == [site.name]  # the other host is another site


async def test_broken_links() -> None:
    options = WebOptions(
        hosts=2, pages_per_host=4, page_bytes=1000, not_found=0.5, server_errors=0.3, unavailable=0.3
    )
    async with serve(Web(options)) as server:
        ran = await run("broken_links", server.url(0))
    assert ran.code == 1 and "gossamer: complete: " in ran.err
    reported: dict[str, set[str]] = {}
    for line in ran.out.splitlines()[:-1]:
        if found := re.fullmatch(r"(404|500)  (\S+)", line):
            pages = reported[found[2]] = set()
        else:
            pages.add(line.removeprefix("     on "))
    home = server.url(0)
    # Judged with links to the other host, and without links from there.
    known = truth(server.web, [home])
    ours = {page: links for page, links in known.links.items() if page.startswith(home)}
    linked = {link for links in ours.values() for link in links}
    assert known.failing.keys() & linked <= reported.keys() <= known.failing.keys()
    assert known.late and not known.late.keys() & reported.keys()
    assert ran.out.endswith(f"{len(reported)} broken links\n")
    for url in known.failing.keys() & linked:
        assert {page for page, links in ours.items() if url in links} <= reported[url]


async def test_watch_changes(folder: Path) -> None:
    web = Web(WebOptions(hosts=1, pages_per_host=4, page_bytes=1000))
    async with serve(web) as server:
        first = await run("watch_changes", server.url(0), folder / "seen.json")
        assert first.out.split() == [word for page in sorted(reachable(server)) for word in ("new", page)]
        assert (await run("watch_changes", server.url(0), folder / "seen.json")).out == ""
    other = Web(WebOptions(hosts=1, pages_per_host=3, page_bytes=1000, seed=1))
    async with serve(other, port=web.port) as server:
        later = (await run("watch_changes", server.url(0), folder / "seen.json")).out.splitlines()
    assert [line.split()[:2] for line in later] == [
        ["changed", web.url(0)],
        *(["changed", web.url(0, f"/p/{page}")] for page in (1, 2)),
        ["gone", web.url(0, "/p/3")],
    ]
    assert all(int(bits) > 10 for bits in re.findall(r"\((\d+) bits\)", "".join(later)))


async def test_text_data_set() -> None:
    options = WebOptions(hosts=2, pages_per_host=3, page_bytes=3000, near_duplicates=0.4, noindex=0.4, duplicates=0.4)
    async with serve(Web(options)) as server:
        ran = await run("text_data_set", server.url(0), server.url(1))
        pages = {page["url"]: page for page in ran.lines()}
        known = truth(server.web, [server.url(0), server.url(1)])
    assert pages.keys() < known.reachable and all(page["text"] and page["title"] for page in pages.values())
    groups = [group for url, group in (known.duplicates | known.near_duplicates).items() if url in pages]
    assert groups and len(set(groups)) == len(groups)
    hidden = {url for url in known.reachable if urlsplit(url).path.startswith("/noindex/")}
    assert hidden and not hidden & pages.keys()


async def test_search_index(folder: Path) -> None:
    async with serve(Web(WebOptions(hosts=1, pages_per_host=4, page_bytes=1000))) as server:
        fed = await run("search_index", "feed", folder / "index.db", server.url(0))
        assert set(fed.out.split()) == reachable(server)
    found = await run("search_index", "find", folder / "index.db", "Page", "2", "of", "h0.test")
    assert server.url(0, "/p/2") in found.out.splitlines() and "[Page]" in found.out
    nothing = await run("search_index", "find", folder / "index.db", 'no"such', "AND", "word")
    assert (nothing.code, nothing.out) == (0, "")


async def test_own_media_type() -> None:
    assert (await run("own_media_type")).out.startswith("Pancakes | Mix eggs, flour and milk. Fry.\n")


@pytest.mark.parametrize("name", ["mirror_site", "broken_links", "watch_changes", "text_data_set", "search_index"])
async def test_without_arguments_an_example_says_how_it_is_run(name: str) -> None:
    ran = await run(name)
    assert ran.code == 1 and f"python examples/{name}.py" in ran.err and "Traceback" not in ran.err


def test_every_example_is_short_and_tried_here() -> None:
    for example in (ROOT / "examples").glob("*.py"):
        assert len(example.read_text().splitlines()) <= 60
        assert f"async def test_{example.stem}(" in Path(__file__).read_text()
