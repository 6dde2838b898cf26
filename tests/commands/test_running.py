"""Verbs that steer: on a crawl that runs over its control socket, on one that does not in its folder."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from gossamer.folder import CrawlFolder
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.api.serving import empty_crawl
from tests.crawl.command import gossamer, start, until
from tests.export.crawls import command
from tests.supervisor.running import asked_of, running


async def test_a_running_crawl_is_paused_watched_given_seeds_resumed_and_stopped(folder: Path) -> None:
    crawl_folder = folder / "c"
    web = Web(WebOptions.plain(hosts=2, pages_per_host=400))
    async with serve(web) as server, running(server, crawl_folder) as crawl:
        paused = await gossamer("pause", crawl_folder)
        assert (paused.code, paused.out) == (0, "")
        assert paused.err == f"gossamer: {crawl_folder}: paused; `./run resume {crawl_folder}` goes on\n"
        assert (await crawl.now()).paused == "as asked"

        before = await gossamer("events", crawl_folder, "--json")
        assert before.code == 0 and {"page"} <= {event["kind"] for event in before.lines()}

        # Another host: nothing leads there.
        assert not asked_of(server, 1)()
        added = await gossamer("seeds", "add", crawl_folder, server.url(1), server.url(0), "ftp://a.test/", "--json")
        assert added.code == 2 and "ftp://a.test/" in added.err  # looked at before anything is added
        added = await gossamer("seeds", "add", crawl_folder, server.url(1), server.url(0))
        assert added.code == 0, added.err
        assert added.err == f"gossamer: {crawl_folder}: 1 new seed, 1 known before\n"
        listed = await gossamer("seeds", crawl_folder)
        assert listed.out.splitlines() == [server.url(0), server.url(1)]

        following = await start("events", crawl_folder, "--follow", "--json")
        assert following.stdout is not None
        resumed = await gossamer("resume", crawl_folder)
        assert (resumed.code, resumed.err) == (0, f"gossamer: {crawl_folder}: goes on\n")
        await until(lambda: len(asked_of(server, 1)()) > 3)
        async with asyncio.timeout(30):
            while json.loads(await following.stdout.readline())["url"].rpartition("/")[0] + "/" != server.url(1):
                pass

        stopped = await gossamer("stop", crawl_folder)
        assert (stopped.code, stopped.out) == (0, "")
        assert stopped.err == f"gossamer: {crawl_folder}: stopped; `./run crawl --dir {crawl_folder}` goes on\n"
        assert not CrawlFolder(crawl_folder).is_locked  # it was waited for
        assert "Stopped as asked" in await crawl.end()
        _, err = await following.communicate()
        assert (following.returncode, err) == (0, f"gossamer: {crawl_folder}: the crawl has ended\n".encode())


def test_a_crawl_that_does_not_run_has_it_noted_in_its_folder(folder: Path) -> None:
    crawl = empty_crawl(folder / "c")
    paused = command("pause", crawl)
    assert (paused.code, CrawlFolder(crawl).paused) == (0, "as asked")
    assert paused.err == f"gossamer: {crawl}: not running; it begins with a pause, until `./run resume {crawl}`\n"
    resumed = command("resume", crawl)
    assert (resumed.code, CrawlFolder(crawl).paused) == (0, "")
    assert "not paused any more, and not running" in resumed.err
    assert "was not paused" in command("resume", crawl).err
    stopped = command("stop", crawl)
    assert (stopped.code, stopped.err) == (0, f"gossamer: {crawl}: not running\n")
    watched = command("events", crawl, "--follow")
    assert watched.code == 1 and "is not running, so nothing happens" in watched.err


def test_seeds_of_a_crawl_that_does_not_run_wait_for_its_next_start(folder: Path) -> None:
    crawl = empty_crawl(folder / "c")
    (folder / "list").write_text("# more\nhttp://a.test/ priority=high max_depth=2\nhttp://b.test/\n")
    added = command("seeds", "add", crawl, "--file", folder / "list", "http://b.test/")
    assert added.code == 0, added.err
    assert (
        added.err == f"gossamer: {crawl}: 2 new seeds, 1 known before; `./run crawl --dir {crawl}` begins with them\n"
    )
    assert command("seeds", crawl, "--json").lines() == [
        {"url": "http://b.test/"},
        {"url": "http://a.test/", "priority": 0.9, "max_depth": 2},
    ]
    refused = command("policy", crawl, "c.test", "--block").code, command("seeds", "add", crawl, "http://c.test/x")
    assert refused[0] == 0 and refused[1].code == 1
    assert "refused: http://c.test/x: its host or site is blocked by a policy [blocked]" in refused[1].err


def test_a_crawl_that_a_program_runs_is_not_written_to(folder: Path) -> None:
    crawl = CrawlFolder(empty_crawl(folder / "c"))
    with crawl.locked():  # as `gossamer.crawl` has it, which listens nowhere
        for verb in ("pause", "resume", "stop"):
            ran = command(verb, crawl.path)
            assert ran.code == 1 and "is being crawled by process" in ran.err
    assert not crawl.paused
