"""However a program leaves a crawl, the next one goes on, and no page is asked for twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gossamer.folder import CrawlFolder
from gossamer.library.crawl import Crawl
from gossamer.records import Reason
from gossamer.synthetic_web import Web, WebOptions, serve, truth
from tests.crawl.command import gossamer, until
from tests.library.small_webs import assert_polite, crawl_of, plain_web, times_asked

Leave = Callable[[Crawl], Awaitable[None]]
ENOUGH = 4
BIT_BY_BIT: dict[str, object] = {"fetch.in_flight_max": 3}  # so that not all is there before anybody leaves


async def by_break(pages: Crawl) -> None:
    seen = 0
    async for _ in pages:
        seen += 1
        if seen == ENOUGH:
            break


async def by_break_and_closing(pages: Crawl) -> None:
    async with pages:
        await by_break(pages)


async def by_exception(pages: Crawl) -> None:
    async def program() -> None:
        seen = 0
        async for _ in pages:
            seen += 1
            if seen == ENOUGH:
                raise LookupError("enough")

    with pytest.raises(LookupError):
        await program()


async def by_cancelling(pages: Crawl) -> None:
    enough = asyncio.Event()

    async def program() -> None:
        seen = 0
        async for _ in pages:
            seen += 1
            if seen == ENOUGH:
                enough.set()

    running = asyncio.create_task(program())
    await enough.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("leave", [by_break, by_break_and_closing, by_exception, by_cancelling])
async def test_the_next_crawl_goes_on_and_asks_for_nothing_twice(folder: Path, leave: Leave) -> None:
    async with serve(plain_web()) as server:
        await leave(crawl_of(server, folder, BIT_BY_BIT))
        # After a mere `break` the crawl ends when the loop comes to it.
        await until(lambda: not CrawlFolder(folder).is_locked)
        before = times_asked(server)
        assert ENOUGH <= sum(before.values()) < 24
        rest = [page.url async for page in crawl_of(server, folder)]
        assert not set(rest) & before.keys()  # what was in flight was finished
        assert times_asked(server) == before + Counter(rest) and len(times_asked(server)) == 24
        assert_polite(server)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_command_goes_on_with_what_a_program_began_and_the_program_with_that(folder: Path) -> None:
    async with serve(plain_web()) as server:
        await by_break_and_closing(crawl_of(server, folder, BIT_BY_BIT))
        limit = sum(times_asked(server).values()) + 5
        ran = await gossamer("crawl", "--dir", folder, "--max-pages", limit)
        assert ran.code == 0 and "Stopped at the limit of pages" in ran.out, ran.err
        assert sum(times_asked(server).values()) == limit
        async for _ in crawl_of(server, folder, settings={"crawl.max_pages": None}):
            pass
        assert len(times_asked(server)) == 24 and set(times_asked(server).values()) == {1}


async def test_who_cancels_twice_does_not_wait_for_a_slow_answer_and_it_is_asked_for_again(folder: Path) -> None:
    async with serve(Web(WebOptions(hosts=1, pages_per_host=1, silent=1.0))) as server:

        async def program() -> None:
            async for _ in crawl_of(server, folder, settings={"fetch.timeout_s": 60}):
                pass

        running = asyncio.create_task(program())
        await until(lambda: any(each.asked and "silent" in each.asked.target for each in server.connections))
        running.cancel()
        assert not (await asyncio.wait([running], timeout=0.2))[0]  # it waits for the answer that never comes
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        rest = [one async for one in crawl_of(server, folder, settings={"fetch.timeout_s": 0.2}, everything=True)]
        assert [(one.url, one.reason) for one in rest] == [(server.url(0, "/silent/0"), Reason.TIMEOUT)]
        assert times_asked(server) == {server.url(0): 1, server.url(0, "/silent/0"): 2}
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_a_program_that_ends_right_after_its_break_loses_nothing(folder: Path) -> None:
    web = plain_web()

    async def program(*, to_the_end: bool) -> None:
        async with serve(web, port=web.port) as server:
            async for _ in crawl_of(server, folder):
                if not to_the_end:
                    break

    asyncio.run(program(to_the_end=False))
    assert not CrawlFolder(folder).is_locked
    asyncio.run(program(to_the_end=True))
    listed = asyncio.run(gossamer("pages", folder, "--json")).lines()
    assert {page["url"] for page in listed} == truth(web, [web.url(0)]).reachable
