"""From inside its loop a program adds seeds, sets policies and stops; a monitor asks for its pages again."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gossamer.library import running
from gossamer.records import Reason
from gossamer.synthetic_web import serve
from gossamer.url.site import host_of
from tests.crawl.command import until
from tests.library.small_webs import assert_polite, crawl_of, plain_web, times_asked


async def test_seeds_can_be_added_from_the_loop_also_at_its_very_end(folder: Path) -> None:
    async with serve(plain_web(hosts=3)) as server:
        pages = crawl_of(server, folder, max_depth=0)
        added: list[int] = []
        given: list[str] = []
        async for page in pages:
            given.append(page.url)
            await until(pages._running._run.done)  # the crawl has found that nothing is left
            if len(given) <= 2:
                added.append(pages.add(server.url(len(given)), server.url(0)))
        assert given == [server.url(host) for host in range(3)] and added == [1, 1]
        assert pages.report.ended == "complete" and pages.report.pages == 3
        assert [page async for page in crawl_of(server, folder)] == []  # they are seeds like all others
        with pytest.raises(RuntimeError, match="the crawl is not under way"):
            pages.add(server.url(0))


async def test_what_cannot_be_added_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with serve(plain_web(hosts=1)) as server, crawl_of(server, exclude=["/secret"]) as pages:
        await anext(pages)
        assert pages.add(server.url(0, "/secret/1")) == 0
        with pytest.raises(ValueError, match="'nowhere' is not a URL"):
            pages.add("nowhere")
    assert "/secret/1 was not added: excluded: matches an --exclude pattern" in caplog.text


async def test_policies_can_be_set_from_the_loop() -> None:
    async with serve(plain_web(hosts=2)) as server:
        pages = crawl_of(server, settings={"fetch.in_flight_max": 1})
        async for page in pages:
            if host_of(page.url) == host_of(server.url(1)):
                pages.set_policy(server.url(1), blocked=True)
            else:
                pages.set_policy(host_of(page.url), delay="40ms", priority=0.9)
        with_policy = Counter(host_of(url) for url in times_asked(server))
        assert with_policy[host_of(server.url(0))] == 8 and with_policy[host_of(server.url(1))] < 8
        assert pages.report.reasons[Reason.BLOCKED]


async def test_a_policy_that_makes_no_sense() -> None:
    async with serve(plain_web(hosts=1)) as server, crawl_of(server) as pages:
        await anext(pages)
        with pytest.raises(ValueError, match="'a b' is not the name of a host or a site"):
            pages.set_policy("a b", paused=True)
        with pytest.raises(ValueError, match="priority"):
            pages.set_policy("a.test", priority=7)


async def test_a_program_can_stop_and_still_gets_what_was_in_flight() -> None:
    async with serve(plain_web()) as server:
        pages = crawl_of(server)
        given: list[str] = []
        async for page in pages:
            if not given:
                pages.stop()
            given.append(page.url)
        assert times_asked(server) == Counter(given) and len(given) < 24
        assert pages.report.ended == "left"


async def test_pages_are_asked_for_again_though_the_folder_has_them(folder: Path) -> None:
    async with serve(plain_web(hosts=1)) as server:
        assert len([page async for page in crawl_of(server, folder)]) == 8
        assert [page async for page in crawl_of(server, folder)] == []
        again = [server.url(0, "/p/1"), server.url(0, "/p/2")]
        pages = crawl_of(server, folder, revisit=again)
        async with asyncio.timeout(30):
            visited = {page.url: page async for page in pages}
        assert visited.keys() == set(again) and (pages.report.visits, pages.report.pages) == (2, 0)
        assert {page.verdict.kind for page in visited.values() if page.verdict} == {"unchanged"}
        assert times_asked(server)[again[0]] == 2
        assert_polite(server)


async def test_a_page_that_was_gone_is_asked_for_again(folder: Path) -> None:
    async with serve(plain_web(hosts=1, pages_per_host=1)) as server:
        gone = server.url(0, "/nowhere")
        assert [one.status async for one in crawl_of(server, folder, revisit=gone, everything=True)][-1] == 404
        assert [one.status async for one in crawl_of(server, folder, revisit=gone, everything=True)] == [404]


@pytest.mark.parametrize("names_pages", [True, False])
async def test_a_monitor_asks_again_every_so_often(
    folder: Path, monkeypatch: pytest.MonkeyPatch, names_pages: bool
) -> None:
    monkeypatch.setattr(running, "LOOK_S", 0.05)
    async with serve(plain_web(hosts=1, pages_per_host=2)) as server:
        watched = server.url(0)
        more: dict[str, Any] = {"revisit": [watched]} if names_pages else {}
        seen: Counter[str] = Counter()
        async with asyncio.timeout(60), crawl_of(server, folder, every="1s", **more) as pages:
            async for page in pages:
                seen[page.url] += 1
                if seen[watched] == 3 and (names_pages or seen[server.url(0, "/p/1")] == 3):
                    break
        assert (seen[server.url(0, "/p/1")] == 1) is names_pages
        visits = sum(entry.url == watched for entry in server.log.entries)
        assert visits <= pages.report.elapsed_s + 2
