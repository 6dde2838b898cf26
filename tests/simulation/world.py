"""A crawl of a modelled web, from its seeds to its end, over as many deaths as chance deals out.

What decides is real: the frontiers of several partitions on RocksDB, politeness, the robots rules of the fetcher, the
planner of visits, and the loop with its order of save, send, finish. What touches the world is modelled: the web, the
archive and the bus take their time on the virtual clock, and in each of them the process may die. A death is as
sudden as `kill -9`: from that moment on nothing reaches the disk, and the next life starts from what is there.

The invariants of DESIGN.md are checked where they could break: after every verb of the frontier (`CheckedFrontier`),
in the archive (nothing is stored twice), by the web (politeness), and over all URLs at every birth and once a day.

Longer than 400 lines: one modelled world, whose parts know each other.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from random import Random

from gossamer.clock import VirtualClock
from gossamer.cluster.booking_service import BOOKING_S
from gossamer.cluster.partitions import partition_of
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.robots import RobotsCache
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.interfaces import Batch, NoBooking, Watched
from gossamer.loop import Crawl
from gossamer.outlinks import OwnLinks, nothing, one_by_one
from gossamer.records import (
    ORIGINAL,
    Answer,
    Claim,
    Fetched,
    Lease,
    Link,
    Outcome,
    Page,
    Place,
    Reason,
    State,
    Url,
    UrlRecord,
    Verdict,
)
from gossamer.schedule.credit import share_out
from gossamer.schedule.planner import Planner
from gossamer.schedule.recrawl_plan import RecrawlPlan, make_plan
from gossamer.settings import (
    FetchSettings,
    FrontierSettings,
    PolitenessSettings,
    ProcessSettings,
    RobotsSettings,
    ScheduleSettings,
)
from gossamer.url.site import host_of
from gossamer.worker.partition import Partition
from tests.property.pages_apart import PageApart
from tests.simulation.web import DAY_S, HOUR_S, ModelledWeb

COMMIT_S = 60.0  # of virtual time: gaps between requests are minutes here
PLAN_S = 6 * HOUR_S  # between two plans


def link_filter(link: Link) -> Reason | None:
    return None


class MortalStore(RocksStore):
    """RocksDB that stops remembering at the moment of death. Nothing is synced: nobody cuts the power here."""

    is_dead = False

    def write(self, batch: Batch, *, sync: bool) -> None:
        if not self.is_dead:
            super().write(batch, sync=False)


class CheckedFrontier(Frontier):
    """The real frontier, looked at after each of its verbs."""

    def watch(self, accepted: set[Url], places: int) -> None:
        self._accepted = accepted
        self._places = places
        self._booked: set[str] = set()

    def add(self, links: Iterable[Link | OwnLinks], *, sync: bool = True, position: int | None = None) -> int:
        links = list(links)
        new = super().add(links, sync=sync, position=position)
        self._accepted.update(link.url for link in one_by_one(links))
        for link in one_by_one(links):
            assert self.state(link.url) is not None, f"I1: {link.url} was added and is not known"
        self.check()
        return new

    def lease(self, most: int, *, is_prepared: bool = False) -> list[Lease]:
        leases = super().lease(most, is_prepared=is_prepared)
        assert len(leases) <= most
        for lease in leases:
            known = self.state(lease.url)
            assert known is not None and known.state is State.IN_FLIGHT, f"I1: handed out, but {known}"
        self.check()
        return leases

    def finish(
        self, outcomes: Sequence[Outcome], places: Sequence[Place | None], archive_end: Place | None = None
    ) -> None:
        super().finish(outcomes, places, archive_end)
        for outcome in outcomes:
            known = self.state(outcome.lease.url)
            is_done = known is not None and known.state is State.DONE
            assert not isinstance(outcome.result, Fetched) or is_done, f"I1: fetched, and {known}"
        self.check()

    def book(self, name: str) -> asyncio.Future[bool]:
        self._booked.add(name)
        return super().book(name)

    def check(self) -> None:
        totals = self.totals
        assert totals.known == len(self._accepted), f"I1: {totals.known} known, {len(self._accepted)} accepted"
        assert self.active_hosts <= self._places + len(self._booked), f"I5: {self.active_hosts} hosts in memory"
        if self._parts.planner is None:  # else pages that were fetched are queued again, or fail at a later visit
            ended = totals.pages + totals.moved + totals.failed + totals.refused + totals.quarantined
            assert totals.known == totals.queued + totals.waiting + ended, f"I1: not in exactly one state: {totals}"

    def check_all(self) -> Counter[State]:
        """Every URL by itself, and the count of all."""
        found = [known for url in self._accepted if (known := self.state(url)) is not None]
        states = Counter(known.state for known in found)
        totals = self.totals
        assert states.total() == len(self._accepted), f"I1: {len(self._accepted) - states.total()} URLs are lost"
        assert states[State.QUEUED] + states[State.IN_FLIGHT] == totals.queued
        if self._parts.planner is None:
            assert states[State.WAITING] == totals.waiting
            assert states[State.DONE] == totals.pages + totals.moved
        assert states[State.FAILED] == totals.failed
        assert states[State.REFUSED] == totals.refused
        assert states[State.QUARANTINED] == totals.quarantined
        return states


class World:
    """The parts of a crawl that outlive a process: the web, the disk, and what was ever promised."""

    def __init__(
        self,
        folder: Path,
        clock: VirtualClock,
        web: ModelledWeb,
        seeds: Sequence[Link],
        *,
        limits: FrontierSettings,
        politeness: PolitenessSettings,
        in_flight_max: int,
        partitions: int = 1,
        deaths_wanted: int = 0,
        commit_s: float = COMMIT_S,
        in_flight_bytes_max: int = FetchSettings().in_flight_bytes_max,
        schedule: ScheduleSettings | None = None,
        stop_at: float | None = None,
    ) -> None:
        """`schedule`: pages are visited again, and the crawl ends only when `stop_at` has come."""
        self.folder = folder
        self.clock = clock
        self.web = web
        self.seeds = seeds
        self.limits = limits
        self.politeness = politeness
        self.in_flight_max = in_flight_max
        self.in_flight_bytes_max = in_flight_bytes_max
        # A page passes about four perils on its way.
        visits = sum(host.pages for host in web.hosts.values())
        if schedule is not None and stop_at is not None:
            visits += round((schedule.visits_a_day or 0) * (stop_at - clock.now()) / DAY_S)
        self.death_rate = deaths_wanted / 4 / visits
        self.commit_s = commit_s
        self.schedule = schedule
        self.recrawl_plan = RecrawlPlan()
        self.stop_at = stop_at
        self.chance = Random(clock.seed)
        self.life = 1
        self.accepted_by: list[set[Url]] = [set() for _ in range(partitions)]
        self.saved: dict[Url, int] = {}  # in which life
        self.saved_at: dict[Url, float] = {}
        self.end: Counter[State] = Counter()
        self.known: dict[Url, UrlRecord] = {}  # at the end
        self.resting = 0  # URLs that wait for a server that is away, at the end

    @property
    def accepted(self) -> set[Url]:
        return set().union(*self.accepted_by)

    async def crawl(self) -> None:
        """Life after life, until nothing is left to do, or its time is over."""
        while not await self._live():
            self.life += 1
        if self.schedule is None:
            left = self.end[State.QUEUED] + self.end[State.IN_FLIGHT] + self.end[State.WAITING]
            assert left == self.resting, f"I1: {left - self.resting} URLs wait for nothing"

    async def _live(self) -> bool:
        stores = [MortalStore(self.folder / f"{number:03d}", TABLES) for number in range(len(self.accepted_by))]
        planners = [self._planner() for _ in stores]
        frontiers = [
            CheckedFrontier.open(
                store,
                store.folder,
                self.clock,
                link_filter,
                self.limits,
                self.politeness,
                planner=planner,
                revisit_share=self.schedule.revisit_share if self.schedule else 0.0,
            )
            for store, planner in zip(stores, planners, strict=True)
        ]
        for frontier, accepted in zip(frontiers, self.accepted_by, strict=True):
            frontier.watch(accepted, self.limits.active_hosts_max)
            frontier.check_all()
        self.death = asyncio.Event()
        worker = asyncio.create_task(Worker(self, frontiers).run())
        others = [asyncio.create_task(self.death.wait()), asyncio.create_task(self._check_daily(frontiers))]
        if self.schedule is not None:
            others.append(asyncio.create_task(self._steer(self.schedule, planners, frontiers)))
        try:
            await asyncio.wait([worker, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for store in stores:
                store.is_dead = True
            is_complete = worker.done()
            for task in (worker, *others):
                task.cancel()
            ends = await asyncio.gather(worker, *others, return_exceptions=True)
            for end in ends:
                if isinstance(end, Exception):
                    raise end  # a broken promise comes out here; its frames would keep the stores open
            if is_complete:
                self.end = sum((frontier.check_all() for frontier in frontiers), Counter())
                self.known = {url: self._state(frontiers, url) for url in self.accepted}
                self.resting = sum(frontier.totals.resting for frontier in frontiers)
            del worker, others, task, frontier, frontiers
            gc.collect()  # an iterator that is left over would keep the store open, as no dead process could
            for store in stores:
                store.close()
        return is_complete

    def partition_of(self, url: Url) -> int:
        return partition_of(url, len(self.accepted_by))

    def _state(self, frontiers: Sequence[Frontier], url: Url) -> UrlRecord:
        known = frontiers[self.partition_of(url)].state(url)
        assert known is not None, f"I1: {url} is lost"
        return known

    def _planner(self) -> Planner | None:
        return Planner(self.schedule, ProcessSettings(), self.recrawl_plan) if self.schedule is not None else None

    async def _steer(
        self, schedule: ScheduleSettings, planners: Sequence[Planner | None], frontiers: Sequence[Frontier]
    ) -> None:
        """What the supervisor does for the partitions together."""
        while True:
            await self.clock.sleep(PLAN_S)
            statistics = {}
            for number, (planner, frontier) in enumerate(zip(planners, frontiers, strict=True)):
                assert planner is not None
                statistics[number] = planner.statistics(frontier.totals.known, frontier.overdue())
            self.recrawl_plan = make_plan(
                self.recrawl_plan, statistics, 1 / self.politeness.delay_s, PLAN_S, schedule
            )
            for number, (planner, frontier) in enumerate(zip(planners, frontiers, strict=True)):
                assert planner is not None
                planner.apply_plan(self.recrawl_plan, number)
                frontier.save_plans()

    def note_saved(self, url: Url) -> None:
        self.saved[url] = self.life
        self.saved_at[url] = self.clock.now()

    async def _check_daily(self, frontiers: Sequence[CheckedFrontier]) -> None:
        while True:
            await self.clock.sleep(DAY_S)
            for frontier in frontiers:
                frontier.check_all()

    async def peril(self) -> None:
        """A place where the process may die, and then nothing after it is done."""
        if self.chance.random() < self.death_rate:
            self.death.set()
            await asyncio.Future()


class Worker:
    """One life: what `worker/worker.py` builds, with models in place of the wire and the archive."""

    end: Place | None = None

    def __init__(self, world: World, frontiers: Sequence[Frontier]) -> None:
        self.world = world
        self.frontiers = frontiers
        robots = RobotsCache(lambda origin: self._frontier(origin).robots(origin))
        fetcher = Fetcher(
            {"http": world.web},
            robots,
            self._booking_of,
            world.clock,
            RobotsSettings(crawl_delay_s_max=DAY_S),
            "gossamer",
        )
        self.crawl = Crawl(
            {number: Partition(number, frontier, self) for number, frontier in enumerate(frontiers)},
            fetcher,
            self,
            self,
            self,
            world.clock,
            in_flight_max=world.in_flight_max,
            in_flight_bytes_max=world.in_flight_bytes_max,
            commit_s=world.commit_s,
            share_out=share_out if world.schedule is not None else nothing,
        )

    def _frontier(self, url: Url) -> Frontier:
        return self.frontiers[self.world.partition_of(url)]

    async def run(self) -> None:
        world = self.world
        await self.send(world.seeds)
        if world.stop_at is None:
            await self.crawl.run()
            assert self.crawl.page_memory.held_bytes == 0
            return
        stopping = asyncio.create_task(world.clock.sleep(world.stop_at - world.clock.now()))
        stopping.add_done_callback(lambda _: self.crawl.stop())
        await self.crawl.run(alone=False)
        assert self.crawl.page_memory.held_bytes == 0

    @asynccontextmanager
    async def _booking_of(self, url: Url) -> AsyncIterator[Callable[[Answer], None]]:
        answers: list[Answer] = []
        frontier = self._frontier(url)
        booking = frontier.book(host_of(url))
        self.crawl.look_again()
        try:
            async with asyncio.timeout(BOOKING_S):
                await booking
        except TimeoutError:
            raise NoBooking(host_of(url)) from None
        try:
            yield answers.append
        finally:
            frontier.release(host_of(url), answers[-1] if answers else None)
            self.crawl.look_again()

    # ---- the processor -------------------------------------------------------------------------------

    async def process(
        self, url: Url, fetched: Fetched, watched: Watched = nullcontext, *, is_suspect: bool = False
    ) -> Page:
        with nullcontext() if is_suspect else watched():  # a suspect is read in the sandbox
            await self.world.peril()
        return PageApart(url, links=self.world.web.links(url))

    def hurry(self) -> None: ...

    # ---- duplicates: there are none ------------------------------------------------------------------

    async def judge(self, claims: Sequence[Claim]) -> list[Verdict | None]:
        return [ORIGINAL for _ in claims]

    async def settle(self, claims: Sequence[Claim]) -> None:
        await self.world.peril()

    # ---- the archive ---------------------------------------------------------------------------------

    async def save(self, outcomes: Sequence[Outcome]) -> list[Place | None]:
        world = self.world
        await world.clock.sleep(0.05)
        for outcome in outcomes:
            await world.peril()
            if isinstance(outcome.result, Fetched):
                self._store(outcome.lease)
        return [None] * len(outcomes)

    def _store(self, lease: Lease) -> None:
        world, url = self.world, lease.url
        known = self._frontier(url).state(url)
        assert known is not None and known.state is State.IN_FLIGHT, f"I4: {url} is stored, and {known}"
        is_again = known.history is not None
        assert is_again or world.saved.get(url) != world.life, f"I4: {url} is stored twice, and nobody died"
        world.note_saved(url)

    async def recover(self, end: Place | None) -> list[str]:
        return []

    def close(self) -> None:
        pass

    # ---- links: nobody else is there -------------------------------------------------------------------

    held_up, has_unread = "", False

    async def receive(self) -> None:
        await asyncio.Future()

    async def send(self, links: Iterable[Link | OwnLinks]) -> None:
        await self.world.clock.sleep(0.02)
        await self.world.peril()
        groups: dict[int, list[Link | OwnLinks]] = {}
        for link in links:
            groups.setdefault(self.world.partition_of(link.url), []).append(link)
        for number, group in groups.items():
            self.frontiers[number].add(group)
            await self.world.peril()
