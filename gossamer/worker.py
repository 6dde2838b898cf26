"""A worker: one process, one event loop, some partitions. The only place that names the concrete classes.

`Worker` opens a crawl's folder, builds the stages and ties them together; reading its constructor shows what a crawl
is made of. It ends cleanly (`stop`) or at once (`kill -9`): the next start does not need to know which it was.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from gossamer import __version__
from gossamer.archive.warc import WarcArchive
from gossamer.clock import Clock
from gossamer.cluster.bus import LocalBus
from gossamer.cluster.partitions import partition_of
from gossamer.config import CrawlSettings, Tree
from gossamer.crawl import Crawl, Partition
from gossamer.fetch.dns import Dns
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.http import Http
from gossamer.fetch.robots import RobotsCache
from gossamer.folder import CrawlFolder
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import TABLES
from gossamer.process import duplicates
from gossamer.process.duplicates import Duplicates
from gossamer.process.processor import Processor
from gossamer.records import Link, Outcome, RobotsCopy, Url
from gossamer.url.filters import Filters
from gossamer.url.site import host_of


class Worker:
    """Use as `async with Worker(...) as worker: await worker.run()`."""

    def __init__(
        self,
        folder: CrawlFolder,
        config: Tree,
        seeds: Iterable[Url],
        clock: Clock,
        watch: Callable[[Outcome], None] = lambda outcome: None,
    ) -> None:
        self.folder = folder
        self.config = config
        self.seeds = list(seeds)
        self.clock = clock
        self._watch = watch
        self._exit = AsyncExitStack()
        self.frontiers: dict[int, Frontier] = {}

    async def __aenter__(self) -> Worker:
        try:
            await self._open()
        except BaseException:
            await self._exit.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def _open(self) -> None:
        config, clock = self.config, self.clock
        agent = config.crawl.user_agent_token
        door = door_of(self.seeds, config, clock)
        partitions = [self._partition(number, door) for number in range(config.crawl.partitions)]

        fingerprints = RocksStore(self.folder.fingerprints, duplicates.TABLES)
        self._exit.callback(fingerprints.close)
        judge = Duplicates(fingerprints)
        for frontier in self.frontiers.values():
            await judge.settle(frontier.claims)

        dns = Dns(clock, config.dns)
        self._exit.push_async_callback(dns.close)
        self.http = Http(dns, clock, config.fetch, identity(config.crawl), allow_private=config.crawl.allow_private)
        self._exit.push_async_callback(self.http.close)
        robots = RobotsCache(self._robots)
        fetcher = Fetcher(self.http, robots, self._turn_of, clock, config.robots, agent)

        self.bus = LocalBus(self.frontiers)
        self.crawl = Crawl(
            partitions,
            fetcher,
            Processor(agent=agent),
            judge,
            self.bus,
            clock,
            in_flight_max=config.fetch.in_flight_max,
            commit_s=config.crawl.commit_s,
            pages_max=config.crawl.max_pages,
            watch=self._watch,
        )
        # Seeds are added at every start: a crash between creating the crawl and its first batch loses none.
        await self.bus.send(Link(url) for url in self.seeds)

    async def run(self) -> None:
        limit_s = self.config.crawl.max_time_s
        timer = asyncio.create_task(self._stop_after(limit_s)) if limit_s is not None else None
        try:
            await self.crawl.run()
        finally:
            if timer is not None:
                timer.cancel()

    def stop(self) -> None:
        self.crawl.stop()

    async def _stop_after(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        self.crawl.stop()

    def _partition(self, number: int, door: Filters) -> Partition:
        config = self.config
        store = RocksStore(self.folder.partition(number), TABLES)
        self._exit.callback(store.close)
        frontier = Frontier(store, self.clock, door, config.frontier, config.politeness)
        about = {
            "http-header-user-agent": identity(config.crawl),
            "operator": config.crawl.contact,
            "robots": "classic",
            "isPartOf": self.folder.path.name,
        }
        archive = WarcArchive(self.folder.archive, number, about=about, file_bytes_max=config.archive.file_bytes_max)
        self._exit.callback(archive.close)
        archive.recover(frontier.archive_end)
        self.frontiers[number] = frontier
        return Partition(number, frontier, archive)

    def _owner(self, url: Url) -> Frontier:
        return self.frontiers[partition_of(url, self.config.crawl.partitions)]

    def _robots(self, origin: str) -> RobotsCopy | None:
        return self._owner(origin).robots(origin)

    @asynccontextmanager
    async def _turn_of(self, url: Url) -> AsyncIterator[None]:
        """A turn of another host than the one that is leased, for a robots.txt that was redirected there."""
        frontier, host = self._owner(url), host_of(url)
        booking = frontier.book(host)
        self.crawl.look_again()
        await booking
        try:
            yield
        finally:
            frontier.release(host, self.clock.now())
            self.crawl.look_again()


def door_of(seeds: Iterable[Url], config: Tree, clock: Clock) -> Filters:
    crawl = config.crawl
    return Filters(
        seeds,
        scope=crawl.scope,
        include=crawl.include,
        exclude=crawl.exclude,
        max_depth=crawl.max_depth,
        traps=config.traps,
        clock=clock,
    )


def identity(crawl: CrawlSettings) -> str:
    """Who we say we are: a name that robots.txt can address, a version, and how to reach the operator."""
    contact = re.sub(r"[^\x21-\x7e]", "", crawl.contact)
    return f"{crawl.user_agent_token}/{__version__}" + (f" (+{contact})" if contact else "")
