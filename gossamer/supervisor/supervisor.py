"""The supervisor: one crawl on this machine, from lock to summary.

It is the parent process. It owns what all workers share (fingerprints of content, pace per address), keeps a pool
of workers at work (worker_pool.py), and goes round every `ROUND_S`: workers report, and what the reports say together
(coordinator.py) decides what is next: whether the crawl is complete, and who may fetch how many pages more.
It also sees to the limit of time, and to room on the disk.

Operators reach it through a socket (control_server.py). While one of them holds the crawl nothing is leased, and
it does not end by itself.

Signals: the first Ctrl-C (or SIGTERM) drains, which means that nothing more is leased and what is in flight is
finished; the second stops at once, which is as safe as `kill -9`.
Longer than 400 lines: a round is told in one place.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TextIO

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster.link_log import FileLinkLog
from gossamer.cluster.pace import CrawlPace, Pace
from gossamer.cluster.shared import LocalShared
from gossamer.config import UsageError
from gossamer.fetch.dns import DnsCounts
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.frontier.disk.memory import FINGERPRINTS
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import Totals
from gossamer.messages.control_messages import Event
from gossamer.messages.worker_messages import Ask, Report
from gossamer.process.fingerprints import duplicates
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.records import Seed
from gossamer.runtime import log
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.seeds import Index, SeedList
from gossamer.settings import Tree
from gossamer.supervisor.alerts import Alerts, cause
from gossamer.supervisor.cluster import Cluster
from gossamer.supervisor.control_server import ControlServer
from gossamer.supervisor.coordinator import Coordinator
from gossamer.supervisor.fetchers import FetchersJoin
from gossamer.supervisor.recrawl_coordinator import Recrawl, RecrawlCoordinator
from gossamer.supervisor.returns import Returns
from gossamer.supervisor.seeding import SeedFeed
from gossamer.supervisor.signals import Stop
from gossamer.supervisor.sinks import Sinks
from gossamer.supervisor.status import CrawlStatus
from gossamer.supervisor.terminal import Terminal
from gossamer.supervisor.worker_pool import WorkerPool
from gossamer.supervisor.worker_process import Forked
from gossamer.text import COMMAND, explained, size

ROUND_S = 0.1
REPLACE_S = 2.0  # between two tries to open stores again after the disk was full

ENDINGS = {
    "complete": "complete: every URL that was found is done",
    "resting": "done for now: what is left waits for servers that do not answer",
    "later": "done for now: what is left failed, and is tried again later",
    "nothing": "nothing was fetched",
    "pages": "stopped at the limit of pages",
    "time": "stopped at the limit of time",
    "interrupted": "stopped as asked",
}


@dataclass(frozen=True)
class Ending:
    """How a crawl ended, and what it did."""

    why: str  # a key of ENDINGS
    totals: Totals
    pages: int  # this time; totals are from the crawl's first start on
    bytes: int
    elapsed_s: float
    dns: DnsCounts
    damage: list[str]  # of each partition that was left out: why, and what to do
    ended_at: float
    next_try_at: float | None = None  # of what is left; None: nothing is


async def run_crawl(
    folder: CrawlFolder,
    config: Tree,
    seeds: Iterable[Seed],
    clock: Clock,
    out: TextIO,
    started: Callable[[], None] = lambda: None,
    served_at: str = "",
    log_fd: int | None = None,
    forked: Sequence[Forked] = (),
) -> Ending:
    """Crawl in a folder until the work, a limit or the user ends it.

    `started`: called when every partition is open. `served_at`: where its dashboard is, to be shown. `log_fd`: where
    the log goes, to be closed at the end. `forked`: the first workers, see worker_process.py."""
    folder.keep_format()
    supervisor = Supervisor(folder, config, clock, out, started, served_at, log_fd, forked)
    supervisor.seeds_known = supervisor.seeds.take(seeds, config.crawl.scope)
    try:
        return await supervisor.run()
    except* (FolderError, UsageError, OSError, StoreDamaged) as faults:
        raise faults.exceptions[0] from faults  # one is enough for the user


class Supervisor:
    def __init__(
        self,
        folder: CrawlFolder,
        config: Tree,
        clock: Clock,
        out: TextIO,
        started: Callable[[], None],
        served_at: str = "",
        log_fd: int | None = None,
        forked: Sequence[Forked] = (),
        cluster: Cluster | None = None,
    ) -> None:
        """`cluster`: where this machine is one of several."""
        self._cluster = cluster
        self.folder = folder
        self._started = started
        self._forked = forked
        self.config = config
        self.clock = clock
        self.status = status = CrawlStatus(folder, clock)
        if cluster is not None:
            status.of_cluster = lambda: cluster.now(status)
        self.ending: str | None = None  # why, once it is known that it ends
        self.pool: WorkerPool
        self.seeds = SeedList(folder.path)
        self.seeds_known: Index
        self._feed: SeedFeed | None = None  # None: some partition has not been heard of yet
        self._control_server: ControlServer
        self._log_fd = log_fd
        self._log = log.Log(config.log, log_fd, clock)
        self._terminal: Terminal | None = None
        if not log.takes_the_terminal(config.log):
            self._terminal = Terminal(folder.path, config.crawl, self.status, clock, out, served_at)
        self._alerts = Alerts(config.alerts, folder, self.status, clock, self.warn)
        self._recrawl: Recrawl = (
            cluster.recrawl
            if cluster is not None
            else RecrawlCoordinator(folder.recrawl_plan(), config.schedule, clock, folder.set_recrawl_plan)
        )
        self._returns = Returns(folder.path)
        self._recrawl_plan: RecrawlPlan | None = None  # found in the last round, and not told yet
        self._paused_why = folder.paused  # why an operator wants nothing to be leased
        links = FileLinkLog(folder.links)
        self._coordinator: Coordinator[int, Report] = Coordinator(
            config.crawl.partitions, config.crawl.max_pages, links.end
        )
        self._crawl_pace = CrawlPace(clock)
        self._pace = Pace(clock, config.politeness.ip_requests_per_s, config.politeness.ip_burst)
        self._limits_seen: tuple[int, float] | None = None
        self._is_told = False  # that nobody answers, or somebody does
        self._replace_at = 0.0  # not before, where workers ended because the disk was full
        self._shared: LocalShared
        self._sinks: Sinks
        self.drained: set[str] = set()  # fetchers that get no more jobs
        self._wake = asyncio.Event()
        self._waiting: list[asyncio.Future[None]] = []  # for the next round
        self._feeding: asyncio.Task[None] | None = None

    async def run(self) -> Ending:
        try:
            await self._run()
            ending = self._ended()
            await self._alerts.end(ending.why, ENDINGS[ending.why])
            return ending
        except BaseException as fault:
            if isinstance(fault, Exception):
                await self._alerts.end("stopped", f"a fault has ended it: {cause(fault)}")
            self._log.warning("ended", why="stopped at once" if not isinstance(fault, Exception) else repr(fault))
            raise
        finally:
            self._log.close()

    async def _run(self) -> None:
        config = self.config
        with (
            closing(RocksStore(self.folder.fingerprints, duplicates.TABLES, memory=FINGERPRINTS)) as fingerprints,
            closing(Duplicates(fingerprints, self.folder.fingerprints, config.process.near_bits)) as claims,
        ):
            shared = self._shared = LocalShared(claims, self._pace, self._crawl_pace)
            async with (
                asyncio.TaskGroup() as tasks,
                WorkerPool(
                    *(self.folder, config, shared, tasks, self.warn, self._log_fd, self._forked),
                    begin=self._cluster.begin if self._cluster is not None else None,
                    node=self._cluster.identity if self._cluster is not None else "",
                ) as self.pool,
                ControlServer(self, self.pool.sockets / "control", tasks) as self._control_server,
                FetchersJoin(self.folder, config, self.pool, self.clock, self.say),
                Sinks(self.folder, config.sinks, self.clock, self.warn, self._cluster) as self._sinks,
            ):
                self.status.sinks = self._sinks.now
                self.status.pool = self.pool
                self.pool.when_owned = self._wake.set  # the crawl can begin
                self._tasks = tasks
                showing = tasks.create_task(self._terminal.show()) if self._terminal else None
                stop = Stop(self)
                try:
                    self._log.info("started", folder=str(self.folder.path), workers=workers_of(config))
                    if self._paused_why:
                        resume = f"`{COMMAND} resume {self.folder.path}`"
                        self.say(f"paused: {self._paused_why}, before this start; {resume} goes on")
                    for _ in range(workers_of(config)):
                        await self.pool.start_worker()
                    if self._cluster is not None:
                        self._cluster.join(self.pool, self.warn)
                    await self._go_round()
                    if self._cluster is not None:
                        self.pool.is_leaving = True
                        await self._cluster.leave()
                    await self.pool.stop_all()
                    await self._sinks.finish()
                finally:
                    stop.forget()
                    for task in (showing, self._feeding):
                        if task is not None:
                            task.cancel()

    def _ended(self) -> Ending:
        status = self.status
        totals, elapsed_s = status.totals, status.progress.elapsed_s
        before = status.totals_at_start or totals
        pages, bytes_, why = totals.pages - before.pages, totals.bytes - before.bytes, self.ending or "interrupted"
        status.end()
        self._log.info("ended", why=why, pages=pages, bytes=bytes_, elapsed_s=round(elapsed_s, 3))
        damage = [text for _, text in sorted(self.pool.damage.items())]
        tries = [report.next_try_at for report in self._coordinator.reports.values()]
        next_try_at = min((at for at in tries if at is not None), default=None)
        return Ending(why, totals, pages, bytes_, elapsed_s, status.dns, damage, self.clock.now(), next_try_at)

    # ---- what others may want of it ----------------------------------------------------------------------

    def stop(self, why: str) -> None:
        """Lease nothing more; it ends when nothing is in flight."""
        if self.ending is None:
            self._log.info("stopping", why=why)
        self.ending = self.ending or why
        if why == "interrupted":
            self.status.is_draining = True
        self._wake.set()

    def set_pause(self, why: str) -> None:
        """Lease nothing until this is called again with nothing."""
        if why != self._paused_why:
            self._paused_why = why
            self.folder.set_paused(why)
            self.say(f"paused: {why}" if why else "resumed")
        self._wake.set()

    async def next_round(self) -> None:
        """Wait until all workers that are ready have been asked once more."""
        heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(heard)
        self._wake.set()
        await heard

    def say(self, text: str) -> None:
        self._log.info("said", text=text)
        self._tell(text)

    def warn(self, text: str) -> None:
        self._log.warning("said", text=text)
        self._tell(text)

    def _tell(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.say(text)
        self._control_server.publish([Event(self.clock.now(), "said", note=text)])

    # ---- rounds ------------------------------------------------------------------------------------------

    async def _go_round(self) -> None:
        limit_s = self.config.crawl.max_time_s
        ends_at = self.clock.now() + limit_s if limit_s is not None else None
        while True:
            if ends_at is not None and self.clock.now() >= ends_at:
                self.stop("time")
            if await self._round():
                return
            self._sinks.own(self.pool.open_in)
            self._wake.clear()
            await self.clock.wait(self._wake, self.clock.now() + ROUND_S)

    async def _round(self) -> bool:
        """Returns whether that was the last one."""
        pool, status, coordinator = self.pool, self.status, self._coordinator
        self._apply_limits()
        no_room = self._no_room()
        self._look_at_cluster()
        paused = self._paused_why or no_room or pool.no_room or self._shared.no_room
        if pool.missing and not no_room and self.clock.now() >= self._replace_at:
            self._replace_at = self.clock.now() + REPLACE_S
            await pool.replace_missing()
        waits = status.totals_at_start is None or bool(self.ending or paused)
        waiting, self._waiting = self._waiting, []
        recrawl_plan, self._recrawl_plan = self._recrawl_plan, None
        ask = Ask(
            *(waits, coordinator.wants_back, bool(self.ending), self._control_server.is_watched, recrawl_plan),
            drained=tuple(self.drained),
        )
        if self._cluster is not None:
            ask = replace(
                ask,
                give_back=self._cluster.wants_back,
                owned_until=self._cluster.owned_until,
                links_read=self._cluster.links_read(),
            )
        # Not before the first seeds are in their queues: what they are worth is shared by all partitions.
        if self._recrawl.wants_statistics and (self._cluster or (self._feed is not None and self._feed.has_begun)):
            ask = replace(ask, wants_statistics=True)
        reports = await pool.ask(ask, coordinator, self._outside())
        if pool.trouble:
            raise FolderError(pool.trouble)
        self._control_server.publish(*status.take(reports))
        returned = [each for report in reports.values() for each in report.returned]
        looking = [each for report in reports.values() for each in report.looking]
        concerned = [n for n in coordinator.covered if n not in pool.totals or pool.totals[n].knows_anything]
        for text in self._returns.take(returned, looking, concerned, status.totals.turned_away):
            self.say(text)
        held_up = self._cluster.held_up if self._cluster is not None else ""
        status.paused = paused or held_up or next((each.no_room for each in reports.values() if each.no_room), "")
        if pool.everybody_heard:
            for heard in waiting:
                if not heard.done():
                    heard.set_result(None)
        else:  # somebody is late with a report, and is told when it is back
            self._waiting += waiting
            self._recrawl_plan = self._recrawl_plan or recrawl_plan
        if self.ending and pool.no_room:
            return not coordinator.has_in_flight
        if not coordinator.is_everything_covered:
            return self._cluster is not None and self._ends_meanwhile(self._cluster)
        if status.note():
            self._log_progress()
        self._alerts.look()
        self._tell_if_nobody_answers()
        if self._cluster is not None:
            return self._cluster_round(self._cluster, reports)
        if self._feed is None:
            self._started()
            self._feed = self._feed_seeds()
        self._plan_visits(reports)
        if not self.config.crawl.forever and not self._paused_why and coordinator.is_complete(self._outside()):
            self.ending = self.ending or self._how_complete()
            return True
        if coordinator.is_at_limit(pool.pages):
            self.ending = self.ending or "pages"
        if self.ending:
            return not coordinator.has_in_flight
        for worker, pages in coordinator.allowances(pool.pages).items():
            pool.allow(worker, pages)
        return False

    def _look_at_cluster(self) -> None:
        """What may have come since the last round."""
        if self._cluster is not None:
            self._cluster.before_round()
            self._paused_why = self.folder.paused

    def _ends_meanwhile(self, cluster: Cluster) -> bool:
        """A partition may be on its way to its worker for minutes, and longer while servers are away."""
        cluster.meanwhile(self._coordinator, self.pool, self.status)
        self.ending = self.ending or cluster.ending() or None
        return self.ending is not None and not self._coordinator.has_in_flight

    def _cluster_round(self, cluster: Cluster, reports: Mapping[int, Report]) -> bool:
        """The same where others decide with us: what is over, and how much is allowed."""
        self._plan_visits(reports)
        allowances = cluster.round(self._coordinator, reports, self.pool, self.status)
        were_told = self.ending is not None  # the workers: before that they may have leased more since they reported
        self.ending = self.ending or cluster.ending() or None
        if self.ending:
            return were_told and not self._coordinator.has_in_flight
        for worker, pages in allowances.items():
            self.pool.allow(worker, pages)
        return False

    def _plan_visits(self, reports: Mapping[int, Report]) -> None:
        statistics = {number: each for report in reports.values() for number, each in report.statistics.items()}
        plan = self._recrawl.take(statistics, self._coordinator.covered)
        if plan is not None:
            self.status.recrawl_plan = self._recrawl_plan = plan

    def _how_complete(self) -> str:
        totals = self.status.totals
        if totals.pages == 0:
            return "nothing"
        return "resting" if totals.resting else "later" if totals.waiting else "complete"

    def _apply_limits(self) -> None:
        """An operator may have changed how fast the whole crawl goes. Of a cluster without Valkey a node keeps to as
        much of every pace as it owns of the partitions: no two own the same, so all together keep to it."""
        share = max(1, len(self.pool.mine)) / self.config.crawl.partitions
        if self._limits_seen == (seen := (self.folder.policies_changed_at, share)):
            return
        self._limits_seen, politeness = seen, self.config.politeness
        self._pace.limit(politeness.ip_requests_per_s, politeness.ip_burst, share)
        self._crawl_pace.limit(*self.folder.policies().crawl.over(politeness), share)

    def _tell_if_nobody_answers(self) -> None:
        """Once, when all that was asked so far has failed: a wrong name, no network, a server that is away."""
        progress = self.status.progress
        if self._is_told or progress.answers or self._coordinator.has_in_flight:
            self._is_told = self._is_told or progress.answers > 0
            return
        failures = {event.url: event for event in progress.events if event.kind == "failure" and event.reason}
        if failures:
            self._is_told = True
            causes = [f"{url}: {explained(event.reason or '')} ({event.note})" for url, event in failures.items()]
            self.warn("no server has answered so far. " + "; ".join(causes[:3]))

    def _outside(self) -> object:
        """What was done from outside so far; None: something is under way."""
        if self._cluster is not None:
            return self._cluster.outside
        if self._feed is None or not self._feed.is_done or self._control_server.open_changes:
            return None
        return self._control_server.changes

    def _feed_seeds(self) -> SeedFeed:
        add_seeds, totals = self._control_server.add_seeds, self.pool.totals
        feed = SeedFeed(self.seeds, self.config.crawl.partitions, add_seeds, totals)
        self._feeding = self._tasks.create_task(feed.run())
        self._feeding.add_done_callback(lambda _: self._wake.set())
        return feed

    def _no_room(self) -> str:
        disk, wanted = shutil.disk_usage(self.folder.path), self.config.crawl.disk_free_bytes_min
        self.status.disk_free_bytes = disk.free
        if disk.free >= wanted:
            return ""
        return f"{size(disk.free)} free of {size(disk.total)} on the disk, needs {size(wanted)}"

    def _log_progress(self) -> None:
        now = self.status.now()
        totals = now.totals
        counts = {"pages": totals.pages, "queued": totals.queued, "waiting": totals.waiting, "hosts": totals.hosts}
        rates = {"pages_per_s": round(now.pages_per_s, 1), "bytes_per_s": round(now.bytes_per_s)}
        self._log.info("progress", **counts, **rates, memory_bytes=now.memory_bytes, paused=now.paused)


def workers_of(config: Tree) -> int:
    """As many as cores, and no more than there are partitions to own."""
    return min(config.crawl.workers or len(os.sched_getaffinity(0)), config.crawl.partitions)
