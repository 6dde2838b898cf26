"""A crawl of a modelled web, from its seeds to its end, over as many deaths as chance deals out.

What decides is real: the frontier on RocksDB, politeness, the robots rules of the fetcher, and the loop with its
order of save, send, finish. What touches the world is modelled: the web, the archive and the bus take their time on
the virtual clock, and in each of them the process may die. A death is as sudden as `kill -9`: from that moment on
nothing reaches the disk, and the next life starts from what is there.

The invariants of DESIGN.md are checked where they could break: after every verb of the frontier (`CheckedFrontier`),
in the archive (nothing is stored twice), by the web (politeness), and over all URLs at every birth and once a day.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from random import Random

from gossamer.clock import VirtualClock
from gossamer.crawl import Crawl, Partition
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.robots import RobotsCache
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import TABLES
from gossamer.interfaces import Batch, Watched
from gossamer.records import (
    ORIGINAL,
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
    Verdict,
)
from gossamer.settings import FrontierSettings, PolitenessSettings, RobotsSettings
from gossamer.url.site import host_of
from tests.simulation.web import DAY_S, ModelledWeb

COMMIT_S = 60.0  # of virtual time: gaps between requests are minutes here


def door(link: Link) -> Reason | None:
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

    def add(self, links: Iterable[Link], *, sync: bool = True) -> int:
        links = list(links)
        new = super().add(links, sync=sync)
        self._accepted.update(link.url for link in links)
        for link in links:
            assert self.state(link.url) is not None, f"I1: {link.url} was added and is not known"
        self.check()
        return new

    def lease(self, most: int) -> list[Lease]:
        leases = super().lease(most)
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

    def book(self, name: str) -> asyncio.Future[None]:
        self._booked.add(name)
        return super().book(name)

    def check(self) -> None:
        totals = self.totals
        ended = totals.pages + totals.moved + totals.failed + totals.refused + totals.quarantined
        assert totals.known == len(self._accepted), f"I1: {totals.known} known, {len(self._accepted)} accepted"
        assert totals.known == totals.queued + totals.waiting + ended, f"I1: not in exactly one state: {totals}"
        assert self.active_hosts <= self._places + len(self._booked), f"I5: {self.active_hosts} hosts in memory"

    def check_all(self) -> Counter[State]:
        """Every URL by itself, and the count of all."""
        states = Counter(known.state for url in self._accepted if (known := self.state(url)) is not None)
        totals = self.totals
        assert states.total() == len(self._accepted), f"I1: {len(self._accepted) - states.total()} URLs are lost"
        assert states[State.QUEUED] + states[State.IN_FLIGHT] == totals.queued
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
        seeds: Sequence[Url],
        *,
        limits: FrontierSettings,
        politeness: PolitenessSettings,
        in_flight_max: int,
        deaths_wanted: int = 0,
        commit_s: float = COMMIT_S,
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.web = web
        self.seeds = seeds
        self.limits = limits
        self.politeness = politeness
        self.in_flight_max = in_flight_max
        # A page passes about four perils on its way.
        self.death_rate = deaths_wanted / 4 / sum(host.pages for host in web.hosts.values())
        self.commit_s = commit_s
        self.chance = Random(clock.seed)
        self.life = 1
        self.accepted: set[Url] = set()
        self.saved: dict[Url, int] = {}  # in which life
        self.saved_at: dict[Url, float] = {}
        self.end: Counter[State] = Counter()

    async def crawl(self) -> None:
        """Life after life, until nothing is left to do."""
        while not await self._live():
            self.life += 1
        assert self.end[State.QUEUED] + self.end[State.IN_FLIGHT] + self.end[State.WAITING] == 0

    async def _live(self) -> bool:
        store = MortalStore(self.folder, TABLES)
        frontier = CheckedFrontier(store, self.clock, door, self.limits, self.politeness)
        frontier.watch(self.accepted, self.limits.active_hosts_max)
        frontier.check_all()
        self.death = asyncio.Event()
        worker = asyncio.create_task(Worker(self, frontier).run())
        others = [asyncio.create_task(self.death.wait()), asyncio.create_task(self._check_daily(frontier))]
        try:
            await asyncio.wait([worker, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            store.is_dead = True
            is_complete = worker.done()
            for task in (worker, *others):
                task.cancel()
            ends = await asyncio.gather(worker, *others, return_exceptions=True)
            if is_complete:
                self.end = frontier.check_all()
            del worker, others, task, frontier
            gc.collect()  # an iterator that is left over would keep the store open, as no dead process could
            store.close()
        for end in ends:
            if isinstance(end, Exception):
                raise end  # a broken promise comes out here
        return is_complete

    def note_saved(self, url: Url) -> None:
        self.saved[url] = self.life
        self.saved_at[url] = self.clock.now()

    async def _check_daily(self, frontier: CheckedFrontier) -> None:
        while True:
            await self.clock.sleep(DAY_S)
            frontier.check_all()

    async def peril(self) -> None:
        """A place where the process may die, and then nothing after it is done."""
        if self.chance.random() < self.death_rate:
            self.death.set()
            await asyncio.Future()


class Worker:
    """One life: what `worker.py` builds, with models in place of the wire and the archive."""

    end: Place | None = None

    def __init__(self, world: World, frontier: Frontier) -> None:
        self.world = world
        self.frontier = frontier
        robots = RobotsCache(frontier.robots)
        fetcher = Fetcher(
            {"http": world.web},
            robots,
            self._turn_of,
            world.clock,
            RobotsSettings(crawl_delay_s_max=DAY_S),
            "gossamer",
        )
        self.crawl = Crawl(
            [Partition(0, frontier, self)],
            fetcher,
            self,
            self,
            self,
            world.clock,
            in_flight_max=world.in_flight_max,
            commit_s=world.commit_s,
        )

    async def run(self) -> None:
        await self.send(Link(url) for url in self.world.seeds)
        await self.crawl.run()

    @asynccontextmanager
    async def _turn_of(self, url: Url) -> AsyncIterator[None]:
        booking = self.frontier.book(host_of(url))
        self.crawl.look_again()
        await booking
        try:
            yield
        finally:
            self.frontier.release(host_of(url), self.world.clock.now())
            self.crawl.look_again()

    # ---- the processor -------------------------------------------------------------------------------

    async def process(self, url: Url, fetched: Fetched, watched: Watched = nullcontext) -> Page:
        with watched():
            await self.world.peril()
        return Page(url, links=self.world.web.links(url))

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
                self._store(outcome.lease.url)
        return [None] * len(outcomes)

    def _store(self, url: Url) -> None:
        world = self.world
        known = self.frontier.state(url)
        assert known is not None and known.state is State.IN_FLIGHT, f"I4: {url} is stored, and {known}"
        assert world.saved.get(url) != world.life, f"I4: {url} is stored twice, and nobody died"
        world.note_saved(url)

    async def recover(self, end: Place | None) -> None:
        pass

    def close(self) -> None:
        pass

    # ---- the bus -------------------------------------------------------------------------------------

    async def send(self, links: Iterable[Link]) -> None:
        await self.world.clock.sleep(0.02)
        await self.world.peril()
        self.frontier.add(links)
        await self.world.peril()
