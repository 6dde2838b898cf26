"""A crawl under way in this event loop: a worker by itself with all partitions, and what it has finished.

A page is handed on when it is stored and finished. When `HELD_MAX` of them wait for the program nothing more is asked
for. The loop ends by itself when nothing is left, or nothing but later tries; here it is begun again where the
program adds a seed afterwards, and ended where all that was to be visited again has been.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, closing

from gossamer.clock import RealClock
from gossamer.cluster.pace import CrawlPace, Pace
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.shared import LocalShared
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.memory import FINGERPRINTS
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import Totals
from gossamer.library.crawled import Crawled, crawled_of
from gossamer.library.report import LOG, Ending, Report, Reporter
from gossamer.messages import worker_messages
from gossamer.process.fingerprints import duplicates
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.records import Fetched, Link, Outcome, Seed, Url
from gossamer.seeds import Index, SeedList
from gossamer.settings import Tree
from gossamer.supervisor.recrawl_coordinator import RecrawlCoordinator
from gossamer.supervisor.returns import Returns
from gossamer.supervisor.seeding import SeedFeed, accepted_seeds
from gossamer.text import explained
from gossamer.worker.waiting import looking, returned
from gossamer.worker.worker import Worker

LOOK_S = 1.0  # between two looks at what an operator may have changed, also while nothing is fetched
HELD_MAX = 100  # pages that wait for the program before the crawl waits, too

Keep = Callable[[Link], bool]
"""A filter: whether to follow a link. It is asked for what all other filters let in."""


class Running:
    def __init__(self, folder: CrawlFolder, tree: Tree, index: Index, revisit: Iterable[Url], every_s: float | None):
        self.worker: Worker
        self.crawl_pace: CrawlPace
        self._folder = folder
        self._tree = tree
        self._index = index  # of the list of seeds
        self._revisit = list(revisit)
        self._every_s = every_s
        self._run: asyncio.Task[None]
        self._reporter: Reporter
        self._finished: deque[Outcome] = deque()
        self._news = asyncio.Event()  # something was finished, or all of it
        self._room = asyncio.Event()
        self._is_awaited = False  # the program has seen all, and waits for more
        self._is_left = False
        self._is_stopped = False
        self._to_visit: set[Url] = set()  # again, and not yet done
        self._revisit_at = 0.0
        self._returns = Returns(folder.path)
        self._recrawl: RecrawlCoordinator
        self._watching: asyncio.Task[None]

    async def start(self) -> None:
        worker, crawl = self.worker, self.worker.crawl
        await worker.assign_all()
        self._reporter = Reporter(worker.clock, self._totals)
        await self._feed()
        crawl.allow((self._tree.crawl.max_pages or 0) - worker.pages)
        crawl.is_paused = False
        self._stop_at_the_limit()
        folder = worker.folder
        self._recrawl = RecrawlCoordinator(
            folder.recrawl_plan(), worker.config.schedule, worker.clock, folder.set_recrawl_plan
        )
        self._visit_again()
        self._begin()
        self._watching = asyncio.create_task(self._watch())

    def _begin(self) -> None:
        # Visits again do not keep a loop going that ends by itself: when they are over is decided here.
        alone = not self._tree.crawl.forever and self._every_s is None and not self._to_visit
        self._run = asyncio.create_task(self.worker.crawl.run(alone=alone))
        self._run.add_done_callback(lambda _: self._news.set())

    async def _watch(self) -> None:
        """Policies and seeds are looked at here too: while all hosts are paused nothing is finished."""
        worker = self.worker
        folder, changed_at = worker.folder, worker.folder.policies_changed_at
        try:
            while True:
                await worker.clock.sleep(LOOK_S)
                worker.look_at_folder()
                if changed_at != (changed_at := folder.policies_changed_at):
                    self.crawl_pace.limit(*folder.policies().crawl.over(worker.config.politeness))
                if self._every_s is not None and worker.clock.now() >= self._revisit_at:
                    self._visit_again()
                self._stop_where_it_is_over()
                self._reporter.say(self._totals, self._next_at)
                self._tell_what_returned()
                worker.crawl.look_again()
        finally:
            worker.crawl.stop()

    def _tell_what_returned(self) -> None:
        partitions = self.worker.partitions
        rejected = sum((Counter(totals.turned_away) for totals in self._totals), Counter[str]())
        for text in self._returns.take(returned(partitions), looking(partitions), partitions, rejected):
            LOG.info("%s", text)

    async def _feed(self) -> None:
        worker = self.worker

        async def add_seeds(partition: int, seeds: list[Seed]) -> None:
            worker.add_seeds(partition, seeds)

        totals = {number: partition.totals for number, partition in worker.partitions.items()}
        await SeedFeed(SeedList(worker.folder.path), worker.config.crawl.partitions, add_seeds, totals).run()

    # ---- what is finished, and when all is ---------------------------------------------------------------

    async def on_finished(self, outcomes: Sequence[Outcome]) -> None:
        """Called with what was just finished; the next commit waits until this returns."""
        self._finished.extend(outcomes)
        self._to_visit.difference_update(outcome.lease.url for outcome in outcomes if crawled_of(outcome))
        self._news.set()
        self.worker.look_at_folder()
        if self._recrawl.wants_statistics:
            plan = self._recrawl.take(self.worker.statistics(), self.worker.partitions)
            if plan is not None:
                self.worker.apply_plan(plan)
        self._stop_at_the_limit()
        while len(self._finished) > HELD_MAX and not self._is_left:
            self.worker.crawl.is_paused = True
            self._room.clear()
            await self._room.wait()
        self.worker.crawl.is_paused = False
        self.worker.crawl.look_again()

    async def next(self, *, everything: bool) -> Crawled | None:
        while True:
            while not self._finished:
                if self._run.done():
                    return None
                self._news.clear()
                self._is_awaited = True
                await self._news.wait()
            self._is_awaited = False
            outcome = self._finished.popleft()
            self._room.set()
            crawled = crawled_of(outcome)
            if crawled is not None:
                self._reporter.note(crawled, outcome.result)
                if everything or isinstance(outcome.result, Fetched):
                    return crawled

    def _stop_at_the_limit(self) -> None:
        most = self._tree.crawl.max_pages
        if most is not None and self.worker.pages >= most:
            self.stop("max_pages")

    def _stop_where_it_is_over(self) -> None:
        """Where the loop does not end by itself: all was visited again."""
        crawl, is_endless = self.worker.crawl, self._tree.crawl.forever or self._every_s is not None
        if is_endless or not self._is_awaited or self._to_visit or crawl.in_flight or self.worker.links.has_unread:
            return
        if crawl.is_idle:
            self.stop(self._how_complete)

    @property
    def _how_complete(self) -> Ending:
        return "later" if any(totals.waiting for totals in self._totals) else "complete"

    @property
    def _totals(self) -> list[Totals]:
        return [partition.totals for partition in self.worker.partitions.values()]

    @property
    def _next_at(self) -> float | None:
        moments = [partition.next_at() for partition in self.worker.partitions.values()]
        return min((moment for moment in moments if moment is not None), default=None)

    @property
    def report(self) -> Report:
        return self._reporter.report(self._totals, self._next_at)

    # ---- what the program says ---------------------------------------------------------------------------

    def stop(self, why: Ending) -> None:
        """Ask for nothing more; what is in flight is finished."""
        self._reporter.ended = self._reporter.ended or why
        self._is_stopped = True
        self.worker.crawl.stop()

    def add(self, seeds: Sequence[Seed]) -> int:
        """As if they had been given at the start; durable when this returns. How many are new."""
        if self._is_stopped:
            raise RuntimeError("the crawl has stopped: nothing can be added to it")
        worker, tree = self.worker, self._tree
        let_in, refused = accepted_seeds(seeds, tree, self._folder.policies(), worker.clock)
        for refusal in refused:
            LOG.warning("%s was not added: %s: %s", refusal.url, refusal.reason, explained(refusal.reason))
        SeedList(self._folder.path).add(let_in.values(), self._index)
        worker.look_at_folder()  # for the link filter to know their hosts
        groups: defaultdict[int, list[Seed]] = defaultdict(list)
        for url, seed in let_in.items():
            groups[partition_of(url, tree.crawl.partitions)].append(seed)
        new = sum(worker.add_seeds(number, group) or 0 for number, group in groups.items())
        if self._run.done() and not self._run.cancelled() and self._run.exception() is None:
            self._begin()  # all was done, and the program had not heard of it yet
        return new

    def _visit_again(self) -> None:
        """Those that were fetched before; the others are on their way."""
        worker = self.worker
        self._revisit_at = worker.clock.now() + (self._every_s or 0.0)
        for url in self._revisit:
            if worker.partitions[partition_of(url, self._tree.crawl.partitions)].frontier.visit_again(url):
                self._to_visit.add(url)
        worker.crawl.look_again()

    # ---- the end -----------------------------------------------------------------------------------------

    async def leave(self) -> Report:
        """Finish what is in flight; nobody waits any more for what is handed on. Raises what went wrong meanwhile."""
        self._is_left = True
        self._room.set()
        self._reporter.ended = self._reporter.ended or (self._how_complete if self._run.done() else "left")
        self.stop(self._reporter.ended)
        try:
            await asyncio.wait([self._run])
        finally:
            if not self._run.done():  # cancelled while it waited: what is in flight stays leased, for the next crawl
                self._run.cancel()
                await asyncio.wait([self._run])
            self._watching.cancel()
            await asyncio.wait([self._watching])
            self._tell_what_returned()
        try:
            self._run.result()
            if not self._watching.cancelled():
                self._watching.result()
        except BaseExceptionGroup as faults:
            raise _only(faults) from None
        return self._reporter.end(self._totals, self._next_at)


@asynccontextmanager
async def running(
    folder: CrawlFolder,
    tree: Tree,
    index: Index,
    filters: Sequence[Keep],
    revisit: Iterable[Url],
    every_s: float | None,
    on_end: Callable[[Report], None],
) -> AsyncIterator[Running]:
    """Left cleanly, however that comes about."""
    clock, crawl = RealClock(), Running(folder, tree, index, revisit, every_s)
    pace = Pace(clock, tree.politeness.ip_requests_per_s, tree.politeness.ip_burst)
    crawl_pace = crawl.crawl_pace = CrawlPace(clock, *folder.policies().crawl.over(tree.politeness))
    with (
        closing(RocksStore(folder.fingerprints, duplicates.TABLES, memory=FINGERPRINTS)) as store,
        closing(Duplicates(store, folder.fingerprints, tree.process.near_bits)) as claims,
    ):
        welcome = worker_messages.Welcome(str(folder.path.absolute()), tree)
        shared = LocalShared(claims, pace, crawl_pace)
        async with Worker(0, welcome, shared, LOG.warning, filters=filters, on_finished=crawl.on_finished) as worker:
            crawl.worker = worker
            await crawl.start()
            loop, limit_s = asyncio.get_running_loop(), tree.crawl.max_time_s
            clock_stop = loop.call_later(limit_s, crawl.stop, "max_time") if limit_s is not None else None
            try:
                yield crawl
            finally:
                if clock_stop is not None:
                    clock_stop.cancel()
                on_end(await crawl.leave())


def _only(fault: BaseException) -> BaseException:
    """Tasks fail in groups. Where one thing alone went wrong, the program gets just that."""
    while isinstance(fault, BaseExceptionGroup) and len(fault.exceptions) == 1:
        fault = fault.exceptions[0]
    return fault
