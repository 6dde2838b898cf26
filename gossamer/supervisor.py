"""The supervisor: one crawl on this machine, from lock to summary.

It is the parent process. It owns what all workers share (fingerprints of content, pace per address), keeps a crew of
workers at work (control/crew.py), and goes round every `ROUND_S`: each worker reports, and what the reports say
together decides what is next. What only it can see: whether the crawl is complete, the limits of pages and of time,
and whether there is room on the disk.

**When is it complete?** When every worker is idle and no links are on their way. Reports are not taken at the same
moment: a worker may report that it is idle, then get links from another, which reports that it is idle after that.
So one round is not enough. Two rounds are: if all were idle in both, and nobody received links in between, each of
them was idle all the time from its first report to its second. At the moment between the rounds all were idle
together, and an idle worker has no links under way, because a page is in flight until its links are durable at their
owners.

**The limit of pages is exact.** Each worker may take so many leases as it has pages left; a lease that became no page
gives its one back. The supervisor hands out what nobody has, and collects it again where one worker runs out and
another does not need it.

Operators reach it through a socket (control/reception.py). While one of them holds the crawl nothing is leased, and
it does not end by itself.

Signals: the first Ctrl-C (or SIGTERM) drains, which means that nothing more is leased and what is in flight is
finished; the second stops at once, which is as safe as `kill -9`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import TextIO

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster.pace import Pace
from gossamer.cluster.shared import LocalShared
from gossamer.config import Configuration
from gossamer.control import log
from gossamer.control.crew import Crew
from gossamer.control.helm import Helm
from gossamer.control.live import Event
from gossamer.control.orders import Ask, Report
from gossamer.control.reception import Reception
from gossamer.control.standing import Standing
from gossamer.control.terminal import Terminal
from gossamer.control.words import size
from gossamer.fetch.dns import DnsCounts
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import Totals
from gossamer.process import duplicates
from gossamer.process.duplicates import Duplicates
from gossamer.records import Seed, Url
from gossamer.schedule.course import Course
from gossamer.settings import Tree

ROUND_S = 0.1

ENDINGS = {
    "complete": "complete: every URL that was found is done",
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


async def run_crawl(
    folder: CrawlFolder, configuration: Configuration, seeds: Iterable[Url | Seed], clock: Clock, out: TextIO
) -> Ending:
    """Crawl in a folder until the work, a limit or the user ends it."""
    folder.add_seeds(seeds)
    configuration.save(folder.path)
    supervisor = Supervisor(folder, configuration.tree, clock, out)
    try:
        return await supervisor.run()
    except* (FolderError, OSError) as faults:
        raise faults.exceptions[0] from faults  # one is enough for the user


class Supervisor:
    def __init__(self, folder: CrawlFolder, config: Tree, clock: Clock, out: TextIO) -> None:
        self.folder = folder
        self.config = config
        self.clock = clock
        self.standing = Standing(folder, config.frontier, clock)
        self.ending: str | None = None  # why, once it is known that it ends
        self.crew: Crew
        self._reception: Reception
        self._log_fd = log.opened(config.log, out)
        self._log = log.Log(config.log, self._log_fd, clock)
        self._terminal: Terminal | None = None
        if not log.takes_the_terminal(config.log):
            self._terminal = Terminal(folder.path, config.crawl, self.standing, clock, out)
        self._helm = Helm(folder, config.schedule, clock)
        self._course: Course | None = None  # found in the last round, and not told yet
        self._held = ""  # why an operator wants nothing to be leased
        self._quiet: object = None  # what the last round looked like, if all were idle in it
        self._give_back = False
        self._wake = asyncio.Event()
        self._waiting: list[asyncio.Future[None]] = []  # for the next round

    async def run(self) -> Ending:
        try:
            await self._run()
            return self._ended()
        except BaseException as fault:
            self._log.warning("ended", why="stopped at once" if not isinstance(fault, Exception) else repr(fault))
            raise
        finally:
            self._log.close()

    async def _run(self) -> None:
        config = self.config
        pace = Pace(self.clock, config.politeness.ip_requests_per_s, config.politeness.ip_burst)
        with (
            closing(RocksStore(self.folder.fingerprints, duplicates.TABLES)) as fingerprints,
            closing(Duplicates(fingerprints, config.process.near_bits, config.process.shingle_words)) as claims,
        ):
            shared = LocalShared(claims, pace)
            async with (
                asyncio.TaskGroup() as tasks,
                Crew(self.folder, config, shared, tasks, self.warn, self._log_fd) as self.crew,
                Reception(self, self.crew.sockets / "control", tasks) as self._reception,
            ):
                self.standing.crew = self.crew
                showing = tasks.create_task(self._terminal.show()) if self._terminal else None
                stop = Stop(self)
                try:
                    self._log.info("started", folder=str(self.folder.path), workers=workers_of(config))
                    for _ in range(workers_of(config)):
                        await self.crew.hire()
                    await self._go_round()
                    await self.crew.dismiss()
                finally:
                    stop.forget()
                    if showing is not None:
                        showing.cancel()

    def _ended(self) -> Ending:
        standing = self.standing
        totals, elapsed_s = standing.totals, standing.progress.elapsed_s
        before = standing.totals_at_start or totals
        pages, bytes_, why = totals.pages - before.pages, totals.bytes - before.bytes, self.ending or "interrupted"
        standing.end()
        self._log.info("ended", why=why, pages=pages, bytes=bytes_, elapsed_s=round(elapsed_s, 3))
        return Ending(why, totals, pages, bytes_, elapsed_s, standing.dns)

    # ---- what others may want of it ----------------------------------------------------------------------

    def stop(self, why: str) -> None:
        """Lease nothing more; it ends when nothing is in flight."""
        if self.ending is None:
            self._log.info("stopping", why=why)
        self.ending = self.ending or why
        if why == "interrupted":
            self.standing.is_draining = True
        self._wake.set()

    def hold(self, why: str) -> None:
        """Lease nothing until this is called again with nothing."""
        if why != self._held:
            self._held = why
            self.say(f"paused: {why}" if why else "goes on")
        self._wake.set()

    async def heard(self) -> None:
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
        self._reception.publish([Event(self.clock.now(), "said", note=text)])

    # ---- rounds ------------------------------------------------------------------------------------------

    async def _go_round(self) -> None:
        limit_s = self.config.crawl.max_time_s
        ends_at = self.clock.now() + limit_s if limit_s is not None else None
        while True:
            if ends_at is not None and self.clock.now() >= ends_at:
                self.stop("time")
            if await self._round():
                return
            self._wake.clear()
            await self.clock.wait(self._wake, self.clock.now() + ROUND_S)

    async def _round(self) -> bool:
        """Returns whether that was the last one."""
        crew, standing = self.crew, self.standing
        paused = self._held or self._no_room()
        waits = standing.totals_at_start is None or bool(self.ending or paused)
        waiting, self._waiting = self._waiting, []
        course, self._course = self._course, None
        ask = Ask(waits, self._give_back, bool(self.ending), self._reception.is_watched, course)
        if self._helm.wants_surveys:
            ask = replace(ask, wants_surveys=True)
        reports = await crew.ask(ask)
        if crew.trouble:
            raise FolderError(crew.trouble)
        self._reception.publish(*standing.take(reports))
        standing.paused = paused or next((report.no_room for report in reports.values() if report.no_room), "")
        for heard in waiting:
            if not heard.done():
                heard.set_result(None)
        if not crew.covers(reports):
            # Some partition is on its way to an owner. Nobody knows what is in it, so nothing is decided.
            self._quiet = None
            return False
        if standing.note():
            self._log_progress()
        surveys = {number: survey for report in reports.values() for number, survey in report.surveys.items()}
        if surveys:
            standing.course = self._course = self._helm.take(surveys, standing.totals.requests)
        if self._is_complete(reports):
            self.ending = self.ending or "complete"
            return True
        if self._is_at_limit():
            self.ending = self.ending or "pages"
        if self.ending:
            return all(report.in_flight == 0 for report in reports.values())
        self._grant(reports)
        return False

    def _is_complete(self, reports: dict[int, Report]) -> bool:
        quiet, reception = None, self._reception
        if self.config.crawl.forever:
            return False
        if all(report.is_idle for report in reports.values()) and not (self._held or reception.open_changes):
            batches = {number: report.batches_received for number, report in reports.items()}
            quiet = (self.crew.version, batches, reception.changes)
        before, self._quiet = self._quiet, quiet
        return quiet is not None and quiet == before

    def _is_at_limit(self) -> bool:
        limit = self.config.crawl.max_pages
        return limit is not None and self.crew.pages >= limit

    def _grant(self, reports: dict[int, Report]) -> None:
        limit = self.config.crawl.max_pages
        if limit is None:
            return
        # What a worker has in flight or left may all become pages.
        spoken_for = sum(report.in_flight + report.pages_left for report in reports.values())
        left = limit - self.crew.pages - spoken_for
        busy = [number for number, report in reports.items() if not report.is_idle]
        for place, number in enumerate(busy):
            share = left // len(busy) + (place < left % len(busy))
            if share > 0:
                self.crew.allow(number, share)
        has_run_out = left == 0 and any(reports[number].pages_left == 0 for number in busy)
        self._give_back = has_run_out and any(report.pages_left for report in reports.values())

    def _no_room(self) -> str:
        disk, wanted = shutil.disk_usage(self.folder.path), self.config.crawl.disk_free_bytes_min
        self.standing.disk_free_bytes = disk.free
        if disk.free >= wanted:
            return ""
        return f"{size(disk.free)} free of {size(disk.total)} on the disk, needs {size(wanted)}"

    def _log_progress(self) -> None:
        now = self.standing.now()
        totals = now.totals
        counts = {"pages": totals.pages, "queued": totals.queued, "waiting": totals.waiting, "hosts": totals.hosts}
        rates = {"pages_per_s": round(now.pages_per_s, 1), "bytes_per_s": round(now.bytes_per_s)}
        self._log.info("progress", **counts, **rates, memory_bytes=now.memory_bytes, paused=now.paused)


def workers_of(config: Tree) -> int:
    """As many as cores, and no more than there are partitions to own."""
    return min(config.crawl.workers or len(os.sched_getaffinity(0)), config.crawl.partitions)


class Stop:
    """Signals: once drains, twice stops at once."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        for number in self.SIGNALS:
            self._loop.add_signal_handler(number, self._ask)

    def _ask(self) -> None:
        if self._supervisor.standing.is_draining and self._task is not None:
            self._task.cancel()
        self._supervisor.stop("interrupted")

    def forget(self) -> None:
        for number in self.SIGNALS:
            self._loop.remove_signal_handler(number)
