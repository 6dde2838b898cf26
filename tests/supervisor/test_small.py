"""Small crawls: what they leave on the disk and take of the machine is small, too."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.bench.running import memory_bytes, tree
from gossamer.synthetic_web import Web, WebOptions, serve
from gossamer.synthetic_web.server import Server
from tests.crawl.command import gossamer, quick_settings, start, until

MIB = 1 << 20
FILES_MAX = 60  # and folders, of a crawl of one page; it was 167 when every partition had a store
BUSY_S = 90.0  # for a start on a machine that has much else to do
MEMORY_MAX = 200 * MIB  # of all processes, each with its share of what they have in common


@asynccontextmanager
async def served(hosts: int, pages_per_host: int) -> AsyncIterator[Server]:
    async with serve(Web(WebOptions.plain(hosts=hosts, pages_per_host=pages_per_host))) as server:
        yield server


def crawl_of(server: Server, folder: Path, *flags: object) -> list[object]:
    return ["crawl", server.url(0), "--dir", folder, "--allow-private", *quick_settings(), *flags]


class Running(NamedTuple):
    server: Server
    process: asyncio.subprocess.Process
    talk: asyncio.Future[tuple[bytes, bytes]]  # what it will have said


@asynccontextmanager
async def crawling(folder: Path, *flags: object) -> AsyncIterator[Running]:
    async with served(hosts=3, pages_per_host=34) as server:
        process = await start(*crawl_of(server, folder / "crawl", *flags))
        running = Running(server, process, asyncio.ensure_future(process.communicate()))
        try:
            yield running
        finally:
            if not running.talk.done():
                process.kill()
                await running.talk


async def test_a_crawl_of_one_page_leaves_few_files_and_one_store(folder: Path) -> None:
    async with served(hosts=1, pages_per_host=1) as server:
        for _ in range(2):  # a second start makes nothing more
            ran = await gossamer(*crawl_of(server, folder / "crawl"))
            assert ran.code == 0, ran.err
            assert len([*(folder / "crawl").rglob("*")]) <= FILES_MAX
            assert len([*(folder / "crawl" / "partitions").iterdir()]) == 1
            assert len([*(folder / "crawl" / "links").glob("*")]) == 0
    assert len((await gossamer("pages", folder / "crawl", "--json")).lines()) == 1
    for verb in ("status", "hosts", "verify"):
        assert (await gossamer(verb, folder / "crawl")).code == 0
    [store] = (folder / "crawl" / "partitions").iterdir()
    shutil.rmtree(store)  # not the same as one that was never made
    for verb in ("status", "hosts", "verify"):
        ran = await gossamer(verb, folder / "crawl")
        assert ran.code == 1 and "its store was lost" in ran.out + ran.err


async def test_a_small_crawl_stays_below_200_mib_in_all(folder: Path) -> None:
    most = 0
    async with crawling(folder, "--scope", "any") as crawl:
        while not crawl.talk.done():
            most = max(most, sum(map(memory_bytes, tree(crawl.process.pid))))
            await asyncio.wait({crawl.talk}, timeout=0.05)
        assert crawl.process.returncode == 0, (await crawl.talk)[1].decode()
    assert len((await gossamer("pages", folder / "crawl", "--json")).lines()) >= 100
    assert 10 * MIB < most < MEMORY_MAX, f"{most / MIB:.0f} MiB"


def workers_of(pid: int) -> dict[int, bool]:
    """The workers below a supervisor that live, and whether each is a fork of it."""
    commands = {each: Path(f"/proc/{each}/cmdline").read_bytes() for each in tree(pid)}
    return {
        each: command == commands[pid]
        for each, command in commands.items()
        if command and Path(f"/proc/{each}/comm").read_text() == "gossamer.worker\n"
    }


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSEGV])
async def test_the_first_workers_are_forked_and_one_that_takes_a_place_is_new(
    folder: Path, by: signal.Signals
) -> None:
    async with crawling(folder, "--scope", "any", "--workers", 2) as crawl:
        pid = crawl.process.pid
        await until(lambda: len(crawl.server.log.entries) > 3, BUSY_S)
        assert list(workers_of(pid).values()) == [True, True]
        killed = min(workers_of(pid))
        os.kill(killed, by)
        await until(lambda: sorted(workers_of(pid).values()) == [False, True] or crawl.talk.done(), BUSY_S)
        assert killed not in workers_of(pid)
        _, said = await crawl.talk
    assert crawl.process.returncode == 0, said.decode()
    assert f"was killed by {by.name}; another takes its place" in said.decode()
    assert len((await gossamer("pages", folder / "crawl", "--json")).lines()) >= 100


async def test_a_fork_has_let_go_of_the_lock_and_of_the_terminal(folder: Path) -> None:
    async with crawling(folder, "--workers", 2) as crawl:
        pid = crawl.process.pid
        await until(lambda: len(crawl.server.log.entries) > 3, BUSY_S)
        its_own = {Path(f"/proc/{pid}/fd/{number}").readlink() for number in (1, 2)}
        workers = workers_of(pid)
        assert len(workers) == 2
        for worker in workers:
            held = {file.readlink() for file in Path(f"/proc/{worker}/fd").iterdir() if file.is_symlink()}
            assert not any(path.name == "crawl.lock" for path in held)
            assert not held & its_own
            assert os.getsid(worker) == worker != os.getsid(pid)
        crawl.process.terminate()
        await crawl.talk
        assert crawl.process.returncode == 0
