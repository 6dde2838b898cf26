"""A crawl without `async`, as scripts have it: the same pages, and a clean end however the script ends."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from gossamer import ConfigError, Link
from gossamer.folder import CrawlFolder
from gossamer.library.sync import CrawlSync, crawl_sync
from gossamer.synthetic_web import Server, serve, truth
from tests.crawl.command import ROOT, until
from tests.library.small_webs import DELAY_S, QUICK, assert_polite, crawl_of, plain_web, times_asked


def crawl_of_script(server: Server, folder: Path | None = None, **more: Any) -> CrawlSync:
    return crawl_sync(
        server.url(0), dir=folder, allow_private=True, scope="any", delay=DELAY_S, settings=QUICK, **more
    )


async def test_every_page_is_given_once_and_the_report_says_so() -> None:
    async with serve(plain_web()) as server:
        pages = crawl_of_script(server)
        urls = await asyncio.to_thread(lambda: [page.url for page in pages])
        assert sorted(urls) == sorted(truth(server.web, [server.url(0)]).reachable)
        assert_polite(server)
    assert (pages.report.ended, pages.report.pages) == ("complete", len(urls)) and list(pages) == []


async def test_the_crawl_goes_on_while_the_script_works() -> None:
    async with serve(plain_web()) as server:
        pages = crawl_of_script(server)
        await asyncio.to_thread(next, pages)
        await until(lambda: len(times_asked(server)) == 24)  # nobody asks for the second page meanwhile
        assert len(await asyncio.to_thread(list, pages)) == 23


async def test_after_a_break_nothing_is_in_flight_and_the_next_crawl_goes_on(folder: Path) -> None:
    def first() -> None:
        for _ in crawl_of_script(server, folder):
            break
        assert not CrawlFolder(folder).is_locked

    async with serve(plain_web()) as server:
        await asyncio.to_thread(first)
        before = times_asked(server)
        assert sum(before.values()) > 0
        async for _ in crawl_of(server, folder):
            pass
        assert len(times_asked(server)) == 24 and set(times_asked(server).values()) == {1}


async def test_a_script_adds_seeds_and_policies_and_stops() -> None:
    def work() -> list[str]:
        with crawl_of_script(server, max_depth=0) as pages:
            given = [next(pages).url]
            assert pages.add(server.url(1)) == 1
            pages.set_policy(server.url(0), delay=0.03)
            given.append(next(pages).url)
            assert pages.report.pages == 2
            pages.stop()
            return given + [page.url for page in pages]

    async with serve(plain_web()) as server:
        assert await asyncio.to_thread(work) == [server.url(0), server.url(1)]


async def test_mistakes_and_faults_of_the_program_reach_it() -> None:
    def fails(link: Link) -> bool:
        raise LookupError(link.url)

    with pytest.raises(ConfigError, match=r"crawl\.max_pages = 0"):
        next(crawl_sync("http://a.test/", max_pages=0))
    async with serve(plain_web(hosts=1)) as server:
        with pytest.raises(LookupError, match="/p/"):
            await asyncio.to_thread(list, crawl_of_script(server, filters=[fails]))


SCRIPT = """
import sys, gossamer
url, folder, end, *pairs = sys.argv[1:]
settings = dict(pair.split("=") for pair in pairs)
pages = gossamer.crawl_sync(url, dir=folder, allow_private=True, scope="any", delay=0.02, settings=settings)
for page in pages:
    print(page.url, flush=True)
    if end == "forget":
        break
"""


@pytest.mark.parametrize("end", ["forget", "interrupt"])
async def test_a_script_that_forgets_the_crawl_or_is_interrupted_loses_nothing(folder: Path, end: str) -> None:
    pairs = [f"{key}={value if value != [] else ''}" for key, value in QUICK.items()]
    async with serve(plain_web(pages_per_host=30)) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SCRIPT, server.url(0), str(folder), end, *pairs,
            cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        await process.stdout.readline()
        if end == "interrupt":
            process.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(process.communicate(), 60)
        assert ("KeyboardInterrupt" in err.decode()) is (end == "interrupt"), err.decode()
        assert (process.returncode == 0) is (end == "forget")
        assert b"gossamer: left: " in err
        assert 0 < len(times_asked(server)) < 90 and not CrawlFolder(folder).is_locked
        async for _ in crawl_of(server, folder):
            pass
        assert len(times_asked(server)) == 90 and set(times_asked(server).values()) == {1}
