"""`kill -9`, again and again: the same command resumes it, and in the end nothing tells the crawls apart."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gossamer.archive import reader
from gossamer.synthetic_web.options import RobotsKind, WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start, until
from tests.crawl.judge import broken_delays, requests_at_once

KILLS = 10
OPTIONS = replace(
    WebOptions.everything(hosts=16, pages_per_host=16, seed=3),
    robots_kinds=(RobotsKind.OPEN, RobotsKind.GROUPS, RobotsKind.MISSING, RobotsKind.DELAY, RobotsKind.BORROWED),
    crawl_delay_s=0.1,
    changing=0.0,  # the two crawls are compared by their content
    # Counted by the server over all its clients, or never ending: they would tell the crawls apart.
    too_many_requests=0.0,
    unavailable=0.0,
    endless=0.0,
    silent=0.0,
    calendars=0.0,
    facets=0.0,
    deep=0.0,
)


@dataclass(frozen=True)
class Result:
    """What a crawl has in the end, without what depends on the order of things."""

    states: dict[str, tuple[str, str | None, int | None]]
    contents: dict[str, str]
    links: dict[str, frozenset[str]]  # by content, of all its copies: which of them was found first may differ
    stored: Counter[str]


async def result_of(folder: Path) -> Result:
    pages = (await gossamer("pages", folder, "--json")).lines()
    links, stored, digest = dict[str, frozenset[str]](), Counter[str](), ""
    for path in (folder / "archive").glob("*.warc.gz"):
        for record in reader.records(path):
            digest = record.headers.get("WARC-Payload-Digest", digest)  # of the page before, for its metadata
            if record.type == "response" and b" 200 " in record.head.split(b"\r\n", 1)[0]:
                stored[digest] += 1
            elif record.type == "metadata":
                found = frozenset(link.url for link in reader.links_of(record))
                links[digest] = links.get(digest, frozenset()) | found
    return Result(
        states={page["url"]: (page["state"], page["reason"], page["status"]) for page in pages},
        contents={page["url"]: page["content_hash"] for page in pages},
        links=links,
        stored=stored,
    )


def has_asked(server: Server, wanted: int) -> bool:
    return len(server.log.entries) >= wanted


def crawl_of(server: Server, folder: Path) -> list[object]:
    return [
        "crawl",
        server.url(0),
        "--dir",
        folder,
        "--allow-private",
        "--scope",
        "any",
        "--workers",
        1,  # several are test_workers.py's
        *quick_settings(fetch__timeout_s=20),
    ]


async def test_ten_kills_change_nothing(folder: Path) -> None:
    chance = random.Random(seed := random.randrange(10**6))
    print(f"seed {seed}")  # shown where the test fails
    web = Web(OPTIONS)
    async with serve(web) as server:
        calm = await gossamer(*crawl_of(server, folder / "calm"), timeout_s=100)
        assert calm.code == 0, calm.err
        asked_calmly = len(server.log.entries)
        server.log.entries.clear()

        for _ in range(KILLS):
            crawl = await start(*crawl_of(server, folder / "killed"))
            wanted = len(server.log.entries) + chance.randrange(1, asked_calmly // KILLS)
            await until(partial(has_asked, server, wanted))
            await asyncio.sleep(chance.random() * 0.25)  # anywhere within a commit
            assert crawl.returncode is None, "it ended before it was killed: ask for fewer requests between kills"
            crawl.kill()
            await crawl.communicate()
        last = await gossamer(*crawl_of(server, folder / "killed"), timeout_s=100)
        assert last.code == 0, last.err

        expected, result = await result_of(folder / "calm"), await result_of(folder / "killed")
        assert result.states == expected.states
        assert result.contents == expected.contents
        assert result.links == expected.links
        assert {digest for digest, times in result.stored.items() if times > 1} == set()
        assert result.stored == expected.stored

        assert requests_at_once(server.log.entries) == []
        assert broken_delays(server.log.entries, web) == []


async def test_a_crawl_that_is_complete_has_nothing_left_to_do(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=3, pages_per_host=5))) as server:
        for _ in range(2):
            ran = await gossamer(*crawl_of(server, folder / "crawl"))
            assert ran.code == 0 and "Complete" in ran.out
            asked = len(server.log.entries)
        assert len(server.log.entries) == asked == 3 * 6
