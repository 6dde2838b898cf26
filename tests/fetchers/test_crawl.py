"""Whole crawls whose pages are fetched by other processes, through the command."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from gossamer.local_servers.process import children
from tests.crawl.command import gossamer, quick_settings, until
from tests.crawl.judge import broken_delays, requests_at_once
from tests.fetchers.crawling import Crawling, crawling, played
from tests.fetchers.failure_run import described


async def without_fetchers(made: Crawling) -> dict[str, list[str]]:
    seeds = [made.web.url(index) for index in range(2)]
    alone = made.folder.with_name("alone")
    ran = await gossamer("crawl", *seeds, "--dir", alone, "--allow-private", "--scope", "any", *quick_settings())
    assert ran.code == 0, ran.err
    return await described(alone)


@pytest.mark.parametrize("flags", [(), ("--process",)])
async def test_two_fetchers_make_the_crawl_that_workers_make_by_themselves(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    async with crawling(tmp_path / "c", hosts=6, pages=10) as made:
        await made.start()
        for name in ("a", "b"):
            await made.fetcher(name, *flags)
        await made.ended()
        entries = list(made.web.log.entries)
        assert requests_at_once(entries) == [] and broken_delays(entries, made.web.web) == []
        assert await described(made.folder) == await without_fetchers(made)
        verified = await gossamer("verify", made.folder)
        assert verified.code == 0, verified.out + verified.err


async def test_without_fetchers_nothing_is_asked_unless_the_workers_may(tmp_path: Path) -> None:
    async with crawling(tmp_path / "c", hosts=2, pages=3) as made:
        await made.start("--max-time", "4s")
        await made.ended()
        assert made.web.log.entries == []
    async with crawling(tmp_path / "d", hosts=2, pages=3) as made:
        await made.start("--set", "fetchers.alone=true")
        await made.ended()
        assert len(made.web.log.entries) >= 6


async def test_a_policy_says_from_where_a_host_is_asked(tmp_path: Path) -> None:
    """Nobody of that region is there, so that nobody asks the host; the others are asked."""
    async with crawling(tmp_path / "c", hosts=2, pages=3) as made:
        near, far = (made.web.url(index).split("/")[2].partition(":")[0] for index in range(2))
        await made.start()
        await made.until_begun()
        ran = await gossamer("policy", made.folder, far, "--host", "--region", "moon")
        assert ran.code == 0, ran.err
        await made.fetcher("a", "--region", "eu")
        await until(lambda: len(made.web.log.entries) >= 4, 60)  # a robots.txt, and three pages
        why = await gossamer("hosts", made.folder, "--json")
        assert {entry.host for entry in made.web.log.entries} == {near}
        assert "no_fetcher" in why.out


async def test_an_operator_sees_fetchers_and_sends_one_away(tmp_path: Path) -> None:
    async with crawling(tmp_path / "c", hosts=3, pages=60) as made:
        await made.start(politeness__delay_s=0.4)
        for name in ("a", "b"):
            await made.fetcher(name)
        await made.until_joined("a", "b")
        ran = await gossamer("fetchers", made.folder, "--drain", "a")
        assert ran.code == 0, ran.err
        async with asyncio.timeout(60):
            assert await made.fetchers["a"].wait() == 0
        assert "no more jobs are taken" in made.said("a")
        [left] = (await gossamer("fetchers", made.folder, "--json")).lines()
        assert left["name"] == "b" and not left["is_leaving"]
        assert (await gossamer("fetchers", made.folder, "--drain", "nobody")).code == 2
        shown = await gossamer("status", made.folder)
        assert "fetching" in shown.out and "127.0.0.1" in shown.out
        made.fetchers["b"].terminate()  # it answers what it has, and ends
        assert await made.fetchers["b"].wait() == 0
        lost = json.loads((await gossamer("status", made.folder, "--json")).out)["now"]["fetch_jobs_lost"]
        assert lost == 0


async def test_a_crawl_that_was_killed_leaves_the_hosts_of_its_jobs_alone_until_they_are_over(tmp_path: Path) -> None:
    """The fetcher that has the job may be cut off, and ask at any moment until then."""
    times: dict[str, Any] = {"fetchers__ask_s": 12, "fetchers__margin_s": 1, "fetch__timeout_s": 2}
    async with crawling(tmp_path / "c", hosts=1, pages=2) as made:
        await made.start("--workers", 1, seeds=1, **times)
        async with played(made.join) as cut_off:
            asked = await cut_off.job()
        for pid in [*children(made.crawl.pid), made.crawl.pid]:
            os.kill(pid, signal.SIGKILL)
        await made.crawl.wait()
        began = time.monotonic()
        await made.start("--workers", 1, seeds=1, **times)
        async with played(made.join) as another:
            again = await another.job()
        assert again.url == asked.url and again.lease != asked.lease
        assert time.monotonic() - began >= 15
