"""Several workers: they find what one finds, keep every promise together, and die without anybody noticing."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import signal
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.synthetic_web.access_log import Entry
from gossamer.synthetic_web.options import RobotsKind, WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start, until
from tests.crawl.judge import broken_delays, requests_at_once
from tests.crawl.test_kill import OPTIONS, Result, has_asked, result_of

BALLAST_BYTES = 400_000_000  # others use the same disk meanwhile
SOON_REQUESTS = 25  # of one host: they take it two seconds at the least, and a new process starts in one
POINTS = ("before_save", "after_save", "after_send", "after_finish", "after_settle")
# Copies, redirects and robots.txt on other hosts are what workers have to agree about; nothing slow.
SMALL = WebOptions(
    hosts=8,
    pages_per_host=9,
    robots_kinds=(RobotsKind.OPEN, RobotsKind.BORROWED, RobotsKind.DELAY),
    crawl_delay_s=0.1,
    redirects=0.1,
    not_found=0.1,
    duplicates=0.2,
    seed=5,
)


def crawl_of(server: Server, folder: Path, *flags: object, workers: int = 2) -> list[object]:
    where = ["crawl", server.url(0), "--dir", folder, "--allow-private", "--scope", "any"]
    # A loaded machine may take longer than the second that the other tests allow, and nothing here is silent.
    return [*where, "--workers", workers, *quick_settings(fetch__timeout_s=20), *flags]


def assert_same(result: Result, expected: Result) -> None:
    assert result.states == expected.states
    assert result.contents == expected.contents
    assert result.links == expected.links
    assert {digest for digest, times in result.stored.items() if times > 1} == set()
    assert result.stored == expected.stored


def assert_polite(web: Web, entries: list[Entry]) -> None:
    assert requests_at_once(entries) == []
    assert broken_delays(entries, web) == []


def workers_of(supervisor: int) -> list[int]:
    """The processes that a supervisor has started and that live."""
    workers = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # gone meanwhile
        if int(parent) == supervisor and state != "Z":
            workers.append(int(stat.parent.name))
    return sorted(workers)


def are_gone(processes: list[int]) -> bool:
    return not any(Path(f"/proc/{process}").exists() for process in processes)


async def test_two_workers_find_what_one_finds(folder: Path) -> None:
    web = Web(OPTIONS)
    async with serve(web) as server:
        one = await gossamer(*crawl_of(server, folder / "one", workers=1), timeout_s=100)
        assert one.code == 0, one.err
        server.log.entries.clear()
        two = await gossamer(*crawl_of(server, folder / "two"), timeout_s=100)
        assert two.code == 0 and "Complete" in two.out, two.err
        assert_same(await result_of(folder / "two"), await result_of(folder / "one"))
        assert_polite(web, server.log.entries)


async def test_one_of_two_workers_is_killed_and_the_crawl_goes_on_at_once(folder: Path) -> None:
    options = WebOptions.plain(hosts=12, pages_per_host=60)
    web = Web(options)
    async with serve(web) as server:
        crawl = await start(*crawl_of(server, folder / "crawl"))
        await until(partial(has_asked, server, 150))
        before = workers_of(crawl.pid)
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        killed_at = len(server.log.entries)
        await until(lambda: len(workers_of(crawl.pid)) == 2 and before[0] not in workers_of(crawl.pid))
        out, err = await asyncio.wait_for(crawl.communicate(), 40)
        assert crawl.returncode == 0 and b"Complete" in out, err
        assert b"was killed by SIGKILL; another takes its place" in err

        pages = (await gossamer("pages", folder / "crawl", "--json")).lines()
        assert len(pages) == 12 * 60 and {page["state"] for page in pages} == {"done"}
        assert_polite(web, server.log.entries)
        # The survivor never stopped, and the hosts of the dead went on long before a new process could start.
        times = [entry.time_in for entry in server.log.entries[killed_at:]]
        assert max(later - earlier for earlier, later in pairwise(times)) < 2.0
        # Counted, because a busy machine is slow: before a host of the survivor was asked so often, all were asked.
        asked_soon = Counter[str]()
        for entry in server.log.entries[killed_at:]:
            asked_soon[entry.host] += 1
            if asked_soon[entry.host] == SOON_REQUESTS:
                break
        assert len(asked_soon) == options.hosts


async def test_a_worker_that_dies_of_a_bug_says_which_and_one_that_hangs_is_called_that(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=4, pages_per_host=2000))) as server:
        crawl = await start(
            *crawl_of(server, folder / "crawl", workers=1), environment={"GOSSAMER_KILL_AT": "after_send:1!"}
        )
        await until(partial(has_asked, server, 30))
        (worker,) = workers_of(crawl.pid)

        async def state() -> str:
            facts = (await gossamer("status", folder / "crawl", "--json")).lines()[0]
            return str(facts["now"]["workers"][0]["state"]) if facts["now"] else ""

        os.kill(worker, signal.SIGSTOP)
        try:
            async with asyncio.timeout(40):
                while await state() != "not answering":
                    pass
        finally:
            os.kill(worker, signal.SIGCONT)
        asked = len(server.log.entries)
        await until(partial(has_asked, server, asked + 10))  # nothing is wrong with it any more
        crawl.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(crawl.communicate(), 40)
        assert b"RuntimeError: a bug at after_send" in err and b"ended with code 1; another takes its place" in err


async def test_the_supervisor_is_killed_and_the_same_command_goes_on(folder: Path) -> None:
    web = Web(SMALL)
    async with serve(web) as server:
        calm = await gossamer(*crawl_of(server, folder / "calm"), timeout_s=60)
        assert calm.code == 0, calm.err
        server.log.entries.clear()
        for _ in range(3):
            crawl = await start(*crawl_of(server, folder / "killed"))
            await until(partial(has_asked, server, len(server.log.entries) + 15))
            workers = workers_of(crawl.pid)
            crawl.kill()
            await crawl.wait()
            await until(partial(are_gone, workers), timeout_s=5)
        last = await gossamer(*crawl_of(server, folder / "killed"), timeout_s=60)
        assert last.code == 0, last.err
        assert_same(await result_of(folder / "killed"), await result_of(folder / "calm"))
        assert_polite(web, server.log.entries)


async def test_a_kill_at_every_boundary_of_a_commit_changes_nothing(folder: Path) -> None:
    web = Web(SMALL)
    async with serve(web) as server:
        calm = await gossamer(*crawl_of(server, folder / "calm"), timeout_s=60)
        assert calm.code == 0, calm.err
        expected = await result_of(folder / "calm")
        for point in POINTS:
            assert await kills_in(server, web, folder / point, point, 4, expected) == 2


@pytest.mark.long
async def test_two_hundred_kills_change_nothing(folder: Path) -> None:
    web = Web(SMALL)
    kills = 0
    async with serve(web) as server:
        calm = await gossamer(*crawl_of(server, folder / "calm"), timeout_s=60)
        assert calm.code == 0, calm.err
        expected = await result_of(folder / "calm")
        for nth in itertools.count(1):
            for point in POINTS:
                kills += await kills_in(server, web, folder / f"{point}{nth}", point, 1 + nth % 20, expected)
            if kills >= 200:
                break
    print(f"{kills} kills")


async def kills_in(server: Server, web: Web, folder: Path, point: str, nth: int, expected: Result) -> int:
    """Crawl while each first worker kills itself at its nth commit; how many did, and nothing may have changed."""
    server.log.entries.clear()
    environment = {"GOSSAMER_KILL_AT": f"{point}:{nth}"}
    killed = await gossamer(*crawl_of(server, folder), timeout_s=60, environment=environment)
    assert killed.code == 0, killed.err
    assert_same(await result_of(folder), expected)
    assert_polite(web, server.log.entries)
    return killed.err.count("was killed by SIGKILL")


@pytest.mark.parametrize("limit", [1, 37])
async def test_a_limit_of_pages_is_exact_over_all_workers(folder: Path, limit: int) -> None:
    async with serve(Web(WebOptions.plain(hosts=8, pages_per_host=20))) as server:
        for most in (limit, limit + 10):
            ran = await gossamer(*crawl_of(server, folder / "crawl", "--max-pages", most))
            assert ran.code == 0 and "Stopped at the limit of pages" in ran.out, ran.err
            status = json.loads((await gossamer("status", folder / "crawl", "--json")).out)
            assert status["pages"] == most and status["in_flight"] == 0
        asked = [entry for entry in server.log.entries if entry.path != "/robots.txt"]
        assert len(asked) == limit + 10


async def test_a_crawl_pauses_while_the_disk_has_too_little_room(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=2, pages_per_host=5))) as server:
        with (folder / "ballast").open("wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, BALLAST_BYTES)
        wanted = shutil.disk_usage(folder).free + BALLAST_BYTES // 2
        crawl = await start(*crawl_of(server, folder / "crawl", "--set", f"crawl.disk_free_bytes_min={wanted}"))
        assert crawl.stderr is not None
        said = await crawl.stderr.readuntil(b"needs")
        assert b"paused: " in said and b" free of " in said
        assert server.log.entries == []
        (folder / "ballast").unlink()
        out, _ = await asyncio.wait_for(crawl.communicate(), 20)
        assert crawl.returncode == 0 and b"Complete" in out


async def test_workers_that_die_again_and_again_stop_the_crawl_with_what_they_said(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=1, pages_per_host=5))) as server:
        crawl = await start(*crawl_of(server, folder / "crawl", workers=1))
        killed: set[int] = set()
        async with asyncio.timeout(40):
            while crawl.returncode is None:
                for worker in set(workers_of(crawl.pid)) - killed:
                    os.kill(worker, signal.SIGKILL)
                    killed.add(worker)
                await asyncio.sleep(0.005)
        _, err = await crawl.communicate()
        assert crawl.returncode == 1
        assert b"workers died 6 times" in err and b"Traceback" not in err
