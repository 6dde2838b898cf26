"""A partition: one part of the crawl, and all that belongs to it.

Its frontier with the store below, its planner and its segment of the archive are opened together and closed together,
here and nowhere else. Whoever owns it (worker.py) knows it by its number, and by the epoch of the ownership: epochs
only grow, so that whatever an earlier owner left somewhere can be told from what the present one writes.
Longer than 400 lines: what belongs to a partition is opened and closed in one place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import Any, Protocol

import msgspec

from gossamer import atomic
from gossamer.archive.segments import check_new
from gossamer.archive.storage import Storage
from gossamer.archive.warc import WarcArchive
from gossamer.atomic import make_folder
from gossamer.clock import Clock
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.faults import StoreInUse
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.store import RocksStore, is_store
from gossamer.frontier.disk.tables import TABLES, Totals, encode, jar_key
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.gains import Gains
from gossamer.frontier.rules.limits import in_force
from gossamer.frontier.rules.policy import Policies
from gossamer.interfaces import Archive, JournalLost, LaterOwner, LinkLog, LinksLost, Mark, OwnJournal, SharedState
from gossamer.messages.worker_messages import Report
from gossamer.outlinks import OwnLinks
from gossamer.questions import Question
from gossamer.records import Answer, Claim, Lease, Link, Outcome, Place, Result
from gossamer.schedule.planner import Planner
from gossamer.schedule.ranks import Ranks
from gossamer.schedule.recrawl_plan import PartitionStatistics, RecrawlPlan
from gossamer.settings import FrontierSettings, Tree
from gossamer.settings.kinds import DAY_S
from gossamer.url.link_filter import LinkFilter
from gossamer.visitor.cookies import Jar
from gossamer.worker.restore import Restored

NOTE = "snapshot.json"
LOCK_S = 10.0  # a store may still be held by a worker that is just being killed
LOCK_LOOK_S = 0.02
LEASE_JOBS = 4  # a lease lasts at least so many times as long as a job for a fetcher


Say = Callable[[str], None]


class Keeper(Protocol):
    """What keeps the state of partitions beyond this machine's disk (worker/keeper.py)."""

    async def restore(
        self, number: int, epoch: int, folder: Path, *, accept_loss: bool = False
    ) -> tuple[Restored, OwnJournal]:
        """The state is in this folder, and what is written from now on belongs into this journal."""

    async def opened(self, partition: Partition, *, needs_snapshot: bool) -> None: ...
    async def closing(self, partition: Partition) -> None:
        """Nobody but its owner touches its store when this returns."""

    @property
    def held_up(self) -> str: ...
    async def closed(self, partition: Partition) -> None:
        """In order: nothing is in flight, and nothing more is written."""


class Elsewhere(Protocol):
    """What a worker of a cluster has instead of files (worker/cluster_side.py)."""

    @property
    def log(self) -> LinkLog: ...
    @property
    def keeper(self) -> Keeper: ...
    async def ask(self, partition: int, question: Question) -> None:
        """Tell the owner of a partition, on whatever node."""

    def told(self, report: Report) -> Report: ...
    async def close(self) -> None: ...


@dataclass(frozen=True)
class Surroundings:
    """What all partitions of a process share."""

    folder: CrawlFolder
    config: Tree
    clock: Clock
    link_filter: LinkFilter
    storage: Storage
    log: LinkLog
    shared: SharedState
    about: dict[str, str]  # the crawl, in the files of the archive
    say: Callable[[str], None]
    patiently: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]  # shortage.Patience
    reached: Callable[[str], None] = lambda point: None  # runtime/kill_point.py
    keeper: Keeper | None = None  # of a cluster


class Snapshot(msgspec.Struct, frozen=True):
    """A copy of a partition's state as it was at one moment, in a folder of this name with a store in it.

    The epoch is in the name, so that what an earlier owner still copies never takes the place of a later one's. A
    folder without this note in it (`snapshot.json`) is not whole."""

    name: str
    partition: int
    epoch: int
    log_position: int  # what was appended to the link log since is not in it
    archive_end: Place | None
    mark: Mark = Mark()  # its last batch


class Partition:
    """Implements `interfaces.Partition`."""

    def __init__(
        self,
        number: int,
        frontier: Frontier,
        archive: Archive,
        planner: Planner | None = None,
        epoch: int = 0,
        store: RocksStore | None = None,
        *,
        waits: bool = True,
        keeper: Keeper | None = None,
        journal: OwnJournal | None = None,
        reached: Callable[[str], None] = lambda point: None,
    ) -> None:
        """`waits`: there is work as long as something is to be tried again, however much later. `reached`: see
        runtime/kill_point.py."""
        self.number = number
        self.epoch = epoch
        self.frontier = frontier
        self.planner = planner
        self.in_flight = 0  # leased, and not yet finished
        self.is_leaving = False  # on its way to another owner: nothing more is leased from it
        self.is_lost = False  # it is somebody else's already: what is in flight is dropped
        self._archive = archive
        self._store = store
        self._waits = waits
        self._keeper = keeper
        self._journal = journal
        self._is_closed = False
        self._reached = reached
        self._snapshots = 0
        self._exit = ExitStack()

    def __repr__(self) -> str:
        return f"Partition({self.number}, epoch={self.epoch}, {self.frontier})"

    @classmethod
    async def open(
        cls,
        number: int,
        epoch: int,
        around: Surroundings,
        policies: Policies,
        recrawl_plan: RecrawlPlan,
        ranks: Ranks | None,
        *,
        accept_loss: bool = False,
    ) -> Partition:
        """Everything that the last owner left is in order when this returns. `accept_loss`: go on from what is there,
        where the journal or links that nobody had read are gone."""
        config, keeper = around.config, around.keeper
        restored, journal = None, None
        if keeper is not None:
            # While the object store is away it is waited for, as for the archive; each try begins anew.
            folder = around.folder.partition(number)
            restore = partial(keeper.restore, number, epoch, folder, accept_loss=accept_loss)
            restored, journal = await around.patiently(restore)
        with ExitStack() as opened:
            store = await _open_store(number, around, journal)
            opened.callback(store.close)
            _check_epoch(store, number, epoch)
            planner = Planner(config.schedule, config.process, recrawl_plan)
            frontier = Frontier.open(
                store,
                store.folder,
                around.clock,
                around.link_filter,
                frontier_settings(config),
                config.politeness,
                config.traps,
                around.link_filter.is_home,
                planner,
                config.schedule.revisit_share,
                in_force(config),
                is_clean=restored is None or restored.is_clean,
            )
            opened.callback(frontier.close)
            planner.ranks = ranks
            frontier.apply_policies(policies)
            archive = WarcArchive(
                around.storage, number, epoch, about=around.about, file_bytes_max=config.archive.file_bytes_max
            )
            opened.callback(archive.close)
            parts = (number, frontier, archive, planner, epoch, store)
            waits, reached = config.crawl.wait, around.reached
            partition = cls(*parts, waits=waits, keeper=keeper, journal=journal, reached=reached)
            opened.callback(around.log.shut, number)
            await partition._recover(around, accept_loss=accept_loss)
            if keeper is not None and restored is not None:
                needs_snapshot = restored.needs_snapshot
                await around.patiently(partial(keeper.opened, partition, needs_snapshot=needs_snapshot))
            partition._exit = opened.pop_all()
            return partition

    async def _recover(self, around: Surroundings, *, accept_loss: bool) -> None:
        number, frontier = self.number, self.frontier
        if frontier.moved_back_s:
            days = frontier.moved_back_s / DAY_S
            around.say(
                f"the last run's clock was {days:.1f} days ahead of this one: what it scheduled was moved back"
            )
        frontier.begin(self.epoch)
        note = around.folder.partition(number) / "writer"
        who = f"{around.folder.path.absolute()} on {gethostname()}"
        # In a cluster the ownership record says whose turn it is, whoever wrote here before.
        take_over = around.keeper is not None
        await around.patiently(partial(around.storage.claim, number, note, who, take_over=take_over))
        for name in await around.patiently(partial(self._archive.recover, frontier.archive_end)):
            around.say(
                f"{name} was set aside: as far as the store of partition {number} knows, it was never committed"
            )
        await around.shared.begin(number, self.epoch)
        # What its last owner stored may not have reached the fingerprints.
        claims = (msgspec.structs.replace(claim, partition=number, epoch=self.epoch) for claim in frontier.claims)
        await around.shared.settle(list(claims))
        try:
            await around.log.open(number, frontier.log_position)
        except LinksLost as lost:
            if not accept_loss:
                raise
            around.say(f"partition {number} goes on without links that are gone: {lost}")
            frontier.read_links_from(lost.first)
            await around.log.open(number, lost.first)
        around.log.trim(number, frontier.log_position)

    @property
    def is_given_up(self) -> bool:
        """Nobody may begin anything long with its state."""
        return self.is_lost or self.is_leaving or self._is_closed

    @property
    def folder(self) -> Path:
        assert self._store is not None
        return self._store.folder

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._keeper is not None:
            await self._keeper.closing(self)
        self._exit.close()
        if self._keeper is not None and not self.is_lost:
            await self._keeper.closed(self)

    async def lose(self) -> None:
        """It is somebody else's already: whatever is still on its way to us is dropped."""
        self.is_lost = True
        self.in_flight = 0
        await self.close()

    async def flush(self) -> None:
        """So that a snapshot right afterwards holds up nobody for more than milliseconds."""
        assert self._store is not None
        await asyncio.to_thread(self._store.flush)

    async def snapshot(self, folder: Path) -> Snapshot:
        """Copy the state into a folder of its own below this one, for an owner that may not have this disk."""
        assert self._store is not None
        self._snapshots += 1
        name = f"{self.number:03d}e{self.epoch}-{self._snapshots:05d}"
        position, end = self.frontier.log_position, self.frontier.archive_end
        snapshot = Snapshot(name, self.number, self.epoch, position, end, self._store.mark)
        make_folder(folder)
        self._store.copy_to(folder / name)  # in the event loop: state and note are of the same moment
        await asyncio.to_thread(atomic.replace, folder / name / NOTE, msgspec.json.encode(snapshot))
        return snapshot

    # ---- cookies -----------------------------------------------------------------------------------------

    def jar(self, site: str) -> Jar:
        return PartitionReader(self._store).jar(site) if self._store is not None else ()

    def keep_jar(self, site: str, jar: Jar) -> None:
        """From now on, also after a crash: as surely as the clock of a host."""
        assert self._store is not None
        batch = self._store.batch()
        batch.put("sites", jar_key(site), encode(jar))
        self._store.write(batch, sync=False)

    # ---- links -------------------------------------------------------------------------------------------

    def apply_links(self, links: Iterable[Link | OwnLinks], position: int | None = None, *, sync: bool = True) -> int:
        """Add links; returns how many URLs are new. `position`: in the log, behind them; kept in the same batch."""
        return self.frontier.add(links, sync=sync, position=position)

    async def settled(self) -> bool:
        """Whether all that was applied so far outlives this process, and in a cluster this machine. False: it was
        given up meanwhile, and what the journal got last may not count."""
        if self._journal is not None:
            try:
                await self._journal.settled()
            except JournalLost:
                return False
        return self._journal is None or not (self._is_closed or self.is_lost)

    @property
    def log_position(self) -> int:
        return self.frontier.log_position

    # ---- pages -------------------------------------------------------------------------------------------

    def ready(self) -> Mapping[int, int]:
        is_walking = not self.frontier.lifted.is_done
        ready = self.frontier.ready()
        if is_walking:
            self._reached("after_look")
        return ready

    def lease(self, most: int) -> list[Lease]:
        """After `ready`, in the same turn of the loop."""
        leases = self.frontier.lease(most, is_prepared=True)
        self.in_flight += len(leases)
        return leases

    def answered(self, lease: Lease, result: Result) -> None:
        if not self.is_lost:
            self.frontier.answered(lease, result)

    def processing(self, lease: Lease) -> None:
        if not self.is_lost:
            self.frontier.processing(lease)

    def processed(self) -> None:
        if not self.is_lost:
            self.frontier.processed()

    def give_back(self, lease: Lease) -> None:
        """Its URL stands where it stood: whatever came of the lease is not wanted."""
        if not self.is_lost:
            self.frontier.give_back(lease)
            self.in_flight -= 1

    async def save(self, outcomes: Sequence[Outcome]) -> list[Place | None]:
        return await self._archive.save(outcomes) if not self.is_lost else [None] * len(outcomes)

    def apply_outcomes(self, outcomes: Sequence[Outcome], places: Sequence[Place | None]) -> None:
        if not self.is_lost:
            self.frontier.finish(outcomes, places, self._archive.end)

    def next_at(self, *, only_booked: bool = False) -> float | None:
        return self.frontier.next_at(only_booked=only_booked)

    @property
    def gains(self) -> Gains:
        return self.frontier.gains

    @property
    def claims(self) -> list[Claim]:
        return self.frontier.claims if not self.is_lost else []

    @property
    def pages(self) -> int:
        return self.frontier.pages

    @property
    def totals(self) -> Totals:
        return self.frontier.totals

    @property
    def is_idle(self) -> bool:
        """Nothing is in flight, and nothing can be done soon: only links from elsewhere can bring work."""
        if self.in_flight:
            return False
        return self.frontier.is_empty if self._waits else self.frontier.is_done_for_now

    # ---- turns for something else than a page ------------------------------------------------------------

    def book(self, name: str) -> asyncio.Future[bool]:
        return self.frontier.book(name)

    def release(self, name: str, answer: Answer | None = None) -> None:
        self.frontier.release(name, answer)

    # ---- visits again ------------------------------------------------------------------------------------

    def statistics(self) -> PartitionStatistics:
        assert self.planner is not None
        frontier, totals = self.frontier, self.frontier.totals
        active_sites = frontier.active_sites()
        return self.planner.statistics(totals.known, frontier.overdue(), active_sites, totals.requests)

    def take_ranks(self, ranks: Ranks | None) -> None:
        assert self.planner is not None
        self.planner.ranks = ranks

    def apply_plan(self, recrawl_plan: RecrawlPlan) -> None:
        assert self.planner is not None
        self.planner.apply_plan(recrawl_plan, self.number)
        self.frontier.save_plans()


def _check_epoch(store: RocksStore, number: int, epoch: int) -> None:
    """Before anything of it is touched: who comes late must not harm the owner of now."""
    last = PartitionReader(store).meta().epoch
    if epoch <= last:
        raise LaterOwner(f"partition {number} was owned in epoch {last}, and this is epoch {epoch}")


def frontier_settings(config: Tree) -> FrontierSettings:
    """Of one partition. Where fetchers fetch, a request may go on after everything here has died: its host is left
    alone until it is over. A lease has time for a job, and to wait for a fetcher."""
    shared, job_s = config.frontier.share(partitions=config.crawl.partitions), config.fetchers.job_s(config.fetch)
    return msgspec.structs.replace(
        shared, unsure_s=max(shared.unsure_s, job_s), lease_s=max(shared.lease_s, LEASE_JOBS * job_s)
    )


async def _open_store(number: int, around: Surroundings, journal: OwnJournal | None) -> RocksStore:
    folder, until = around.folder.partition(number), around.clock.now() + LOCK_S
    if journal is None and not is_store(folder):
        check_new(folder, around.storage, number)
    while True:
        try:
            return RocksStore(folder, TABLES, journal=journal)
        except StoreInUse:
            if around.clock.now() > until:
                raise
            await around.clock.sleep(LOCK_LOOK_S)
