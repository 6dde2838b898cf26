"""A worker: one process, one event loop, some partitions. The only place that names the concrete classes.

`Worker` builds the stages and ties them together; reading `__aenter__` shows what a crawl is made of. It does what
the supervisor orders (control/orders.py): opens partitions, gives them up, reports. It ends cleanly when told to, or
at once: by `kill -9`, or because its supervisor is gone. Whoever opens its partitions next does not need to know
which it was.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import re
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from functools import partial
from pathlib import Path

from gossamer import __version__
from gossamer.archive.objects import open_archive
from gossamer.archive.shelf import ArchiveDamaged, open_shelf
from gossamer.clock import Clock, RealClock
from gossamer.cluster.bus import LinkBus, Links, Taken
from gossamer.cluster.neighbours import Neighbours
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.shared import RemoteShared
from gossamer.cluster.turns import Book, Booked, Release, Turns
from gossamer.cluster.wire import Answer, Message, Peer, Spawn, connect, listen
from gossamer.control import orders
from gossamer.control.kill_point import KillPoint
from gossamer.control.live import Pardon
from gossamer.control.log import Log
from gossamer.control.progress import Recent, memory_bytes
from gossamer.crawl import Crawl, HandOn, Partition
from gossamer.fetch.dns import Dns
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.protocols import protocols
from gossamer.fetch.robots import RobotsCache
from gossamer.fetch.transfer import Transfers
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.store import RocksStore, StoreDamaged, StoreInUse
from gossamer.frontier.tables import TABLES
from gossamer.interfaces import SharedState
from gossamer.process.processor import Processor
from gossamer.records import Link, Outcome, RobotsCopy, Seed, Url
from gossamer.schedule.course import Course, Survey
from gossamer.schedule.planner import Planner, share_out
from gossamer.schedule.ranks import Ranks
from gossamer.settings import CrawlSettings, Tree
from gossamer.url.canonical import choose_for
from gossamer.url.filters import Filters

LOCK_S = 10.0  # a store may still be held by a worker that is just being killed
LOCK_LOOK_S = 0.02
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # <malloc.h>


class Worker:
    """Use as `async with Worker(...) as worker: await worker.run()`."""

    def __init__(
        self,
        number: int,
        order: orders.Welcome,
        shared: SharedState,
        complain: Callable[[str], None],
        spawn: Spawn = asyncio.ensure_future,
        sockets: Path | None = None,
        *,
        filters: Sequence[Callable[[Link], bool]] = (),
        hand_on: HandOn | None = None,
    ) -> None:
        """`sockets`: where other workers listen; None: there are none. The last two: see library.py."""
        self.number = number
        self.folder = CrawlFolder(Path(order.folder))
        self.config = order.config
        self.clock: Clock = RealClock()
        self._policies_changed_at = self.folder.policies_changed_at
        self._policies = self.folder.policies()
        self._seeds_changed_at = self.folder.seeds_changed_at
        self.seeds = self.folder.all_seeds()
        self.frontiers: dict[int, Frontier] = {}
        self._planners: dict[int, Planner] = {}
        self._course = self.folder.course()
        self._ranks_changed_at = self.folder.ranks_changed_at
        self._ranks = Ranks.open(self.folder.path, complain)
        self.shared = shared
        self.complain = complain
        self._sockets = sockets
        self._spawn = spawn
        self._filters = filters
        self._hand_on = hand_on
        self._recent = Recent(self.clock)
        self._log = Log(self.config.log, order.log_fd, self.clock)
        self._kill_point = KillPoint(order.kill_at)
        self._open_partitions: dict[int, ExitStack] = {}
        self._opening = asyncio.Lock()
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Worker:
        config, clock = self.config, self.clock
        agent, partitions = config.crawl.user_agent_token, config.crawl.partitions
        choose_for(config)
        self._door = door_of((seed.url for seed in self.seeds), config, clock, self._filters)
        self._exit.callback(self._close_partitions)

        self.neighbours = Neighbours(partitions, self._connect, clock)
        self._exit.callback(self.neighbours.close)
        self.bus = LinkBus(self.frontiers, partitions, self.neighbours, self._look_again)
        self.turns = Turns(self.frontiers, partitions, self.neighbours, clock, self._look_again)

        self._dns = dns = Dns(clock, config.dns)
        self._exit.push_async_callback(dns.close)
        transfers = Transfers(
            dns,
            clock,
            config.fetch,
            allow_private=config.crawl.allow_private,
            folder=self.folder.archive,
            pace=self.shared.pace,
        )
        self._exit.push_async_callback(transfers.close)
        modules = protocols(config.fetch.schemes, transfers, identity(config.crawl))
        self._rules = rules = RobotsCache(self._robots)
        fetcher = Fetcher(modules, rules, self.turns.of, clock, config.robots, agent, config.crawl.media_types)
        processor = Processor(
            agent,
            config.process,
            config.context,
            schemes=config.fetch.schemes,
            parameters_dropped=config.crawl.parameters_dropped,
            parameters_kept=config.crawl.parameters_kept,
        )
        self._exit.push_async_callback(processor.close)
        self.crawl = Crawl(
            (),
            fetcher,
            processor,
            self.shared,
            self.bus,
            clock,
            in_flight_max=config.fetch.in_flight_max,
            commit_s=config.crawl.commit_s,
            near_words_min=config.process.near_words_min,
            ascend=config.crawl.ascend,
            share_out=share_out,
            pages_left=None if config.crawl.max_pages is None else 0,
            watch=self._watch_and_log if self._log.has_fetches else self._recent.watch,
            say=self.complain,
            hand_on=self._hand_on,
            reached=self._kill_point,
        )
        self._shelf = open_shelf(config.archive, self.folder.archive)
        self.crawl.is_paused = True  # until the first round, when every partition has its owner

        if self._sockets is not None:
            where = socket_of(self._sockets, self.number)
            server = await listen(where, Links | Book | Release, self._spawn, self.complain, self._meet)
            self._exit.callback(server.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def run(self) -> None:
        await self.crawl.run(alone=False)

    async def adopt_all(self) -> None:
        """Where there are no others, every partition is ours."""
        for number in range(self.config.crawl.partitions):
            await self._adopt(number, with_seeds=True)

    @property
    def pages(self) -> int:
        return sum(frontier.pages for frontier in self.frontiers.values())

    # ---- what the supervisor orders ----------------------------------------------------------------------

    def obey(self, order: Message) -> Answer | Awaitable[Answer]:
        match order:
            case orders.Adopt(partition=number, with_seeds=with_seeds):
                return self._adopt(number, with_seeds)
            case orders.GiveUp(partition=number):
                return self._give_up(number)
            case orders.Owners(version=version, owners=owners):
                self.neighbours.know(version, owners)
            case orders.Ask():
                return self._report(order)
            case orders.Allow(pages=pages):
                self.crawl.allow(pages)
            case orders.Plant(partition=number, seeds=seeds):
                return self._plant(number, seeds)
            case Pardon(url=url, drop=drop):
                return self._pardon(url, drop=drop)
            case orders.Leave():
                self.crawl.stop()
        return None

    async def _adopt(self, number: int, with_seeds: bool) -> orders.Adopted:
        # One at a time, with a turn for the others in between: they may have to do with hosts that are ready.
        async with self._opening:
            await asyncio.sleep(0)
            return await self._open(number, with_seeds)

    async def _open(self, number: int, with_seeds: bool) -> orders.Adopted:
        config = self.config
        self.look_at_folder()
        opened = self._open_partitions[number] = ExitStack()
        store = await self._open_store(number)
        opened.callback(store.close)
        door = self._door
        planner = Planner(config.schedule, config.process, self._course)
        frontier = Frontier(
            store,
            self.clock,
            door,
            config.frontier,
            config.politeness,
            config.traps,
            door.is_home,
            planner,
            config.schedule.revisit_share,
        )
        planner.ranks = self._ranks
        self._planners[number] = planner
        frontier.obey(self._policies)
        opened.callback(frontier.close)
        about = {
            "http-header-user-agent": identity(config.crawl),
            "operator": config.crawl.contact,
            "robots": "classic",
            "isPartOf": self.folder.path.name,
        }
        archive = open_archive(config.archive, self._shelf, number, about)
        opened.callback(archive.close)
        await self.crawl.patiently(partial(archive.recover, frontier.archive_end))
        # What its last owner stored may not have reached the fingerprints.
        await self.shared.settle(frontier.claims)
        self.frontiers[number] = frontier
        if with_seeds:
            # At every start: a crash between creating the crawl and its first batch loses none.
            partitions = config.crawl.partitions
            await self.bus.send(seed.link for seed in self.seeds if partition_of(seed.url, partitions) == number)
        self.turns.open(number)
        self.crawl.partitions[number] = Partition(number, frontier, archive)
        self.crawl.look_again()
        return orders.Adopted(frontier.totals)

    async def _open_store(self, number: int) -> RocksStore:
        until = self.clock.now() + LOCK_S
        while True:
            try:
                return RocksStore(self.folder.partition(number), TABLES)
            except StoreInUse:
                if self.clock.now() > until:
                    raise
                await self.clock.sleep(LOCK_LOOK_S)

    async def _give_up(self, number: int) -> None:
        self.turns.close(number)
        await self.crawl.give_up(self.crawl.partitions[number])
        while self.turns.is_busy(number):
            await self.clock.sleep(LOCK_LOOK_S)
        del self.frontiers[number]
        self._open_partitions.pop(number).close()

    def _close_partitions(self) -> None:
        self.frontiers.clear()  # first, so that nobody adds to what is closed
        for opened in self._open_partitions.values():
            opened.close()

    def _report(self, ask: orders.Ask) -> orders.Report:
        crawl = self.crawl
        self.look_at_folder()
        if ask.is_ending:
            self.turns.end()
        if ask.course is not None:
            self.follow(ask.course)
        if crawl.is_paused != ask.is_paused:
            crawl.is_paused = ask.is_paused
            crawl.look_again()
        report = orders.Report(
            totals={number: self.frontiers[number].totals for number in crawl.partitions},
            in_flight=crawl.in_flight,
            active_hosts=sum(frontier.active_hosts for frontier in self.frontiers.values()),
            is_idle=crawl.is_idle,
            batches_received=self.bus.batches_received,
            pages_left=0 if ask.give_back else crawl.pages_left or 0,
            no_room=crawl.no_room,
            news=self._recent.take(is_watched=ask.is_watched),
            dns=self._dns.counts,
            robots=self._rules.counts,
            levels=dict(sum((Counter(frontier.levels) for frontier in self.frontiers.values()), Counter())),
            memory_bytes=memory_bytes(),
            cpu_s=time.process_time(),
            surveys=self.surveys() if ask.wants_surveys else {},
        )
        if ask.give_back and crawl.pages_left is not None:
            crawl.pages_left = 0
        return report

    def surveys(self) -> dict[int, Survey]:
        return {
            number: self._planners[number].survey(frontier.totals.known, frontier.overdue())
            for number, frontier in self.frontiers.items()
        }

    def follow(self, course: Course) -> None:
        self._course = course
        for number, frontier in self.frontiers.items():
            self._planners[number].follow(course, number)
            frontier.save_plans()

    def look_at_folder(self) -> None:
        """Somebody may have changed policies, which hold from each host's next turn on, added seeds, or ranked."""
        folder = self.folder
        if self._policies_changed_at != (changed_at := folder.policies_changed_at):
            self._policies, self._policies_changed_at = folder.policies(), changed_at
            for frontier in self.frontiers.values():
                frontier.obey(self._policies)
            self.crawl.look_again()
        if self._seeds_changed_at != (seeds_changed_at := folder.seeds_changed_at):
            self.seeds, self._seeds_changed_at = folder.all_seeds(), seeds_changed_at
            self._door.welcome(seed.url for seed in self.seeds)
        if self._ranks_changed_at != (ranks_changed_at := folder.ranks_changed_at):
            self._ranks, self._ranks_changed_at = Ranks.open(folder.path, self.complain), ranks_changed_at
            for planner in self._planners.values():
                planner.ranks = self._ranks

    def _plant(self, number: int, seeds: list[Seed]) -> orders.Did:
        frontier = self.frontiers.get(number)
        if frontier is None:
            return orders.Did(None)
        new = frontier.add(seed.link for seed in seeds)
        self.crawl.look_again()
        return orders.Did(new)

    def _pardon(self, url: Url, *, drop: bool) -> orders.Did:
        frontier = self.frontiers.get(partition_of(url, self.config.crawl.partitions))
        if frontier is None:
            return orders.Did(None)
        done = frontier.pardon(url, drop=drop)
        self.crawl.look_again()
        return orders.Did(int(done))

    # ---- what other workers ask --------------------------------------------------------------------------

    def _meet(self, peer: Peer) -> None:
        def answer(question: Message) -> Answer | Awaitable[Answer]:
            match question:
                case Links():
                    return self.bus.take(question)
                case Book(turn=turn, url=url):
                    return self._book(peer, turn, url)
                case Release(turn=turn):
                    self.turns.release(peer, turn)
            return None

        peer.answer = answer
        peer.when_closed.append(lambda: self.turns.forget(peer))

    async def _book(self, peer: Peer, turn: int, url: Url) -> Booked:
        return Booked(await self.turns.book(peer, turn, url))

    async def _connect(self, number: int) -> Peer:
        assert self._sockets is not None, "there is nobody else"
        return await connect(socket_of(self._sockets, number), Taken | Booked, self._spawn, self.complain)

    # ---- small things that the stages need ---------------------------------------------------------------

    def _robots(self, origin: str) -> RobotsCopy | None:
        return self.frontiers[partition_of(origin, self.config.crawl.partitions)].robots(origin)

    def _look_again(self) -> None:
        self.crawl.look_again()

    def _watch_and_log(self, outcome: Outcome) -> None:
        self._recent.watch(outcome)
        self._log.fetched(outcome)


def door_of(seeds: Iterable[Url], config: Tree, clock: Clock, own: Sequence[Callable[[Link], bool]] = ()) -> Filters:
    crawl = config.crawl
    return Filters(
        seeds,
        scope=crawl.scope,
        include=crawl.include,
        exclude=crawl.exclude,
        prefixes=crawl.prefixes,
        hosts_excluded=crawl.hosts_excluded,
        media_types=crawl.media_types,
        max_depth=crawl.max_depth,
        traps=config.traps,
        clock=clock,
        own=own,
    )


def identity(crawl: CrawlSettings) -> str:
    """Who we say we are: a name that robots.txt can address, a version, and how to reach the operator."""
    contact = re.sub(r"[^\x21-\x7e]", "", crawl.contact)
    return f"{crawl.user_agent_token}/{__version__}" + (f" (+{contact})" if contact else "")


# ---- the process -----------------------------------------------------------------------------------------


def socket_of(sockets: Path, worker: int | None) -> Path:
    """Where a worker listens; None: the supervisor."""
    return sockets / ("supervisor" if worker is None else f"worker{worker}")


async def work(sockets: Path, number: int) -> None:
    def vanish() -> None:
        # The supervisor is gone, perhaps by kill -9. Another one may be starting already: hold nothing up.
        shutil.rmtree(sockets, ignore_errors=True)
        os._exit(1)

    try:
        async with asyncio.TaskGroup() as tasks:
            supervisor = await connect(socket_of(sockets, None), orders.ToWorker, tasks.create_task, lambda _: None)
            supervisor.when_closed.append(vanish)
            order = await supervisor.call(orders.Hello(number), orders.Welcome)
            shared, spawn = RemoteShared(supervisor), tasks.create_task

            def complain(text: str) -> None:
                supervisor.mention(orders.Said(text))

            async with Worker(number, order, shared, complain, spawn, sockets) as worker:
                supervisor.answer = worker.obey
                await supervisor.tell(orders.Ready())
                await worker.run()
    except* (OSError, FolderError, StoreDamaged, ArchiveDamaged) as faults:
        await supervisor.tell(orders.Trouble(_first(faults)))
    supervisor.when_closed.clear()
    supervisor.close()


def _first(faults: BaseExceptionGroup[BaseException]) -> str:
    fault = faults.exceptions[0]
    if isinstance(fault, BaseExceptionGroup):
        return _first(fault)
    if isinstance(fault, OSError):
        where = f"{fault.filename}: " if fault.filename else ""
        return f"{where}{fault.strerror or fault}. Nothing is lost: the same command goes on"
    return str(fault)


def steady_memory() -> None:
    """Two habits of the machinery below us that a process which runs for weeks is better off without."""
    # Python looks for cycles, of which we make few: some 3 to 8 % of the frontier's time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    # glibc keeps large buffers for later once one was freed, and RocksDB's compactions leave it many of all sizes:
    # 237 MiB were resident at three million URLs. At a fixed size it gives them back at once: 182 MiB. But not those
    # that the HTML parser takes for every page, of some 320 KB: giving them back costs it 30 to 60 us a page.
    with suppress(AttributeError, OSError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 1024 * 1024)
        libc.mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024)


def main() -> None:
    from gossamer.cli import in_loop  # noqa: PLC0415

    steady_memory()
    # A thousand open files are too few for hundreds of connections beside the files of several stores.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Ctrl-C and a system that stops everything reach us too; when to end is the supervisor's to say.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    in_loop(work(Path(sys.argv[1]), int(sys.argv[2])))


if __name__ == "__main__":
    main()
