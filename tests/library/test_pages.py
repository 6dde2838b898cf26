"""What a program is given: every page once, as it was stored."""

from __future__ import annotations

import asyncio
import re
import tempfile
from importlib import import_module
from pathlib import Path

import pytest

import gossamer as package
from gossamer.folder import CrawlFolder
from gossamer.library import running
from gossamer.library.crawl import crawl
from gossamer.maintenance.operator_changes import set_limits, set_policy
from gossamer.records import Reason
from gossamer.synthetic_web import Server, serve, truth
from tests.crawl.command import gossamer, until_quiet
from tests.library.small_webs import assert_polite, crawl_of, mixed_web, plain_web, times_asked


def test_the_package_has_the_function_and_no_module_of_its_name() -> None:
    assert package.crawl is crawl
    with pytest.raises(ModuleNotFoundError):
        import_module("gossamer.crawl")  # it would take the function's place


async def test_every_page_is_given_once_and_politely() -> None:
    async with serve(plain_web()) as server:
        pages = [page async for page in crawl_of(server, settings={"crawl.partitions": 3})]
        assert sorted(page.url for page in pages) == sorted(truth(server.web, [server.url(0)]).reachable)
        assert times_asked(server) == {page.url: 1 for page in pages}
        assert_polite(server)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_page_can_be_asked_for_as_markdown() -> None:
    async with serve(plain_web()) as server:
        async for page in crawl_of(server):
            words = re.findall(r"\w+", re.sub(r"\]\(\S+\)", " ", page.markdown))
            assert words == re.findall(r"\w+", page.main_text)
            assert all(f"]({link.url})" in page.markdown for link in page.links if link.position == "main")


async def test_a_pause_by_policy_is_also_ended_by_policy(folder: Path) -> None:
    async with serve(plain_web(hosts=1, pages_per_host=4)) as server:
        host = server.url(0).split("/")[2].split(":")[0]
        assert len([page async for page in crawl_of(server, folder, max_pages=1)]) == 1
        set_policy(CrawlFolder(folder), host, {"paused": True}, is_site=False)
        async with crawl_of(server, folder, settings={"crawl.max_pages": None}) as pages:
            first = asyncio.ensure_future(anext(pages))
            assert not (await asyncio.wait([first], timeout=1.5))[0] and len(times_asked(server)) == 1
            set_policy(CrawlFolder(folder), host, {"paused": False}, is_site=False)
            async with asyncio.timeout(30):
                await first
                assert len([page async for page in pages]) == 2


async def test_the_rate_of_the_whole_crawl_can_be_changed_while_it_runs(folder: Path) -> None:
    async with (
        serve(plain_web(hosts=1, pages_per_host=300)) as server,
        crawl_of(server, folder) as pages,
    ):
        await anext(pages)
        set_limits(CrawlFolder(folder), {"requests_per_s": 0.001})

        async def go_on() -> None:
            async for _ in pages:
                pass

        going_on = asyncio.create_task(go_on())
        await until_quiet(lambda: len(server.log.entries), quiet_s=2.0, timeout_s=60)
        assert not going_on.done() and len(times_asked(server)) < 300
        going_on.cancel()
        await asyncio.wait([going_on])


async def test_a_page_tells_all_that_is_known_of_it() -> None:
    async with serve(plain_web(hosts=1)) as server:
        pages = {page.url: page async for page in crawl_of(server)}
        seed = pages.pop(server.url(0))
        assert (seed.status, seed.reason, seed.depth, seed.source) == (200, None, 0, None)
        assert seed.verdict is not None and seed.verdict.is_original
        assert f"<title>{seed.title}</title>".encode() in seed.body[:]
        assert (seed.header("content-type"), seed.header("x-none")) == ("text/html; charset=utf-8", None)
        assert len(seed.content_hash) == 64 and seed.fetched_at and seed.title in seed.text
        for page in pages.values():
            assert page.source in {seed.url, *pages} and page.depth > 0
        assert {link.url for link in seed.links} & pages.keys()


async def test_everything_is_what_the_command_lists(folder: Path) -> None:
    async with serve(mixed_web()) as server:
        given = [one async for one in crawl_of(server, folder, everything=True)]
        listed = (await gossamer("pages", folder, "--json")).lines()
        assert_polite(server)
    found = {
        one.url: (one.status, one.reason, one.content_hash or None, one.verdict.kind if one.verdict else None)
        for one in given
    }
    assert len(found) == len(given)
    asked = {url: facts for url, facts in found.items() if facts[1] is not Reason.ROBOTS}
    assert asked == {
        one["url"]: (one["status"], one["reason"], one["content_hash"], one["verdict"]) for one in listed
    }
    assert {Reason.GONE, Reason.SERVER_ERROR, Reason.ROBOTS} <= {one.reason for one in given}
    assert {one.verdict.kind for one in given if one.verdict} == {"original", "same"}
    moved = [one for one in given if one.moved_to]
    assert moved and all(one.status in (301, 302, 307, 308) and not one.page.text for one in moved)
    refused = next(one for one in given if one.reason is Reason.ROBOTS)
    assert (refused.status, refused.fetched_at) == (None, None) and refused.detail.startswith("line ")


async def test_a_limit_of_pages_is_kept_exactly_and_can_be_raised_and_lifted(folder: Path) -> None:
    async with serve(plain_web()) as server:
        assert len([page async for page in crawl_of(server, folder, max_pages=7)]) == 7
        assert sum(times_asked(server).values()) == 7
        assert [page async for page in crawl_of(server, folder, max_pages=7)] == []
        assert len([page async for page in crawl_of(server, folder, max_pages=9)]) == 2
        assert [page async for page in crawl_of(server, folder)] == []  # the folder keeps what was said last
        rest = [page async for page in crawl_of(server, folder, settings={"crawl.max_pages": None})]
        assert len(rest) == 3 * 8 - 9
        assert set(times_asked(server).values()) == {1}


async def test_a_limit_of_time_ends_the_crawl(folder: Path) -> None:
    async with serve(plain_web(hosts=1, pages_per_host=500)) as server, asyncio.timeout(30):
        pages = [page async for page in crawl_of(server, folder, max_time="300ms")]
        assert len(pages) < 200
        assert times_asked(server) == {page.url: 1 for page in pages}


async def test_a_program_that_takes_its_time_holds_the_crawl_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "HELD_MAX", 10)
    async with serve(plain_web(hosts=2, pages_per_host=150)) as server, asyncio.timeout(60):
        pages = crawl_of(server)
        for taken in (1, 30):
            for _ in range(taken):
                await anext(pages)
            await until_quiet(lambda: len(server.log.entries), quiet_s=0.3)
            assert sum(times_asked(server).values()) < 150  # those 10, and what was in flight; never all 300
        await pages.aclose()  # nor does it wait for us now


async def test_two_crawls_at_once_in_one_program(folder: Path) -> None:
    async with serve(plain_web()) as one, serve(plain_web(hosts=2)) as other:

        async def count(server: Server) -> int:
            return len([page async for page in crawl_of(server, folder / str(server.port))])

        pages = await asyncio.gather(count(one), count(other))
        assert sum(pages) == 3 * 8 + 2 * 8
        assert_polite(one)
        assert_polite(other)


async def test_without_a_folder_nothing_is_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    async with serve(plain_web(hosts=1, pages_per_host=2)) as server:
        pages = crawl_of(server)
        await anext(pages)
        assert list(folder.iterdir())
        await pages.aclose()
    assert not list(folder.iterdir())
