"""A crawl of the synthetic web under way, and a line to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gossamer.clock import RealClock
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.wire import Peer
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.messages import control_messages
from gossamer.messages.control_client import connect_to_crawl
from gossamer.records import Link, Seed
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.synthetic_web.server import Server
from tests.crawl.command import quick_settings, start, until


class Running:
    def __init__(self, folder: Path, process: asyncio.subprocess.Process, peer: Peer) -> None:
        self.folder = folder
        self.process = process
        self.peer = peer
        self.heard: list[control_messages.Event] = []

    async def now(self) -> control_messages.Now:
        return await self.peer.call(control_messages.AskNow(), control_messages.Now)

    async def steer(self, to: str) -> None:
        await self.peer.tell(control_messages.Steer(to))  # type: ignore[arg-type]

    async def add(self, *seeds: Seed) -> control_messages.SeedsAdded:
        return await self.peer.call(control_messages.AddSeeds(list(seeds)), control_messages.SeedsAdded)

    async def when(
        self, holds: Callable[[control_messages.Now], bool], timeout_s: float = 30
    ) -> control_messages.Now:
        """How it stands as soon as something holds."""
        async with asyncio.timeout(timeout_s):
            while not holds(now := await self.now()):  # noqa: ASYNC110 - another process cannot set an event of ours
                await asyncio.sleep(0.02)
            return now

    async def paused(self) -> None:
        """Nothing is leased, and nothing is in flight any more."""
        await self.steer("pause")
        await self.when(lambda now: not now.in_flight)

    async def end(self, timeout_s: float = 60) -> str:
        out, err = await asyncio.wait_for(self.process.communicate(), timeout_s)
        assert self.process.returncode == 0, err.decode()
        return out.decode()


@asynccontextmanager
async def running(
    server: Server, folder: Path, *flags: object, asked: int = 2, hosts: int = 1
) -> AsyncIterator[Running]:
    """From the moment that it has asked a few times, until it has ended; the test sees to that."""
    where = [*map(server.url, range(hosts)), "--dir", folder, "--allow-private", "--workers", 2]
    process = await start("crawl", *where, *quick_settings(fetch__timeout_s=20), *flags)
    before = len(server.log.entries)
    try:
        async with asyncio.TaskGroup() as tasks:
            await until(lambda: len(server.log.entries) >= before + asked, timeout_s=40)
            await until(lambda: CrawlFolder(folder).socket is not None)
            peer = await connect_to_crawl(CrawlFolder(folder), tasks.create_task)
            assert peer is not None
            crawl = Running(folder, process, peer)
            peer.answer = lambda batch: crawl.heard.extend(batch.events)
            yield crawl
            peer.close()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def quarantine(folder: Path, url: str) -> None:
    """What is left in a folder where a page took three workers down with it, before the crawl has its settings."""
    CrawlFolder(folder).create()
    for time in range(4):
        store = RocksStore(CrawlFolder(folder).partition(partition_of(url, 8)), TABLES)
        settings = FrontierSettings(), PolitenessSettings(delay_s=0.0)
        frontier = Frontier.open(store, store.folder, RealClock(), lambda link: None, *settings)
        frontier.add([Link(url)])
        leases = frontier.lease(1)
        assert len(leases) == (time < 3)
        for lease in leases:
            frontier.processing(lease)
        del frontier
        store.close()


def asked_of(server: Server, host: int) -> Callable[[], list[str]]:
    """The paths that a host was asked for so far, in order; without robots.txt."""
    address = server.web.atlas.address(host)
    return lambda: [
        entry.path for entry in server.log.entries if entry.host == address and entry.path != "/robots.txt"
    ]
