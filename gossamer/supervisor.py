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

from gossamer.clock import Clock
from gossamer.cluster.pace import Pace
from gossamer.cluster.shared import LocalShared
from gossamer.config import Configuration
from gossamer.control.crew import Crew
from gossamer.control.orders import Ask, Report
from gossamer.control.progress import Progress, added_up, total
from gossamer.control.terminal import Facts, Terminal
from gossamer.control.words import size
from gossamer.fetch.dns import DnsCounts
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import Totals
from gossamer.process import duplicates
from gossamer.process.duplicates import Duplicates
from gossamer.records import Url
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
    dns: DnsCounts  # of the workers that are left


async def run_crawl(
    folder: CrawlFolder, configuration: Configuration, seeds: Iterable[Url], clock: Clock, out: TextIO
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
        self.progress = Progress(clock)
        self.terminal = Terminal(folder.path, config.crawl, self.progress, self.facts, clock, out)
        self.ending: str | None = None  # why, once it is known that it ends
        self.paused = ""
        self._crew: Crew
        self._reports: dict[int, Report] = {}
        self._at_start: Totals | None = None
        self._quiet: object = None  # what the last round looked like, if all were idle in it
        self._give_back = False
        self._wake = asyncio.Event()

    async def run(self) -> Ending:
        config = self.config
        pace = Pace(self.clock, config.politeness.ip_requests_per_s, config.politeness.ip_burst)
        with (
            closing(RocksStore(self.folder.fingerprints, duplicates.TABLES)) as fingerprints,
            closing(Duplicates(fingerprints, config.process.near_bits, config.process.shingle_words)) as claims,
        ):
            shared = LocalShared(claims, pace)
            async with (
                asyncio.TaskGroup() as tasks,
                Crew(self.folder, config, shared, tasks, self.terminal.say) as self._crew,
            ):
                showing = tasks.create_task(self.terminal.show())
                stop = Stop(self)
                try:
                    for _ in range(workers_of(config)):
                        await self._crew.hire()
                    await self._go_round()
                    await self._crew.dismiss()
                finally:
                    stop.forget()
                    showing.cancel()
        totals = total(self._crew.totals.values())
        before = self._at_start or totals
        pages, bytes_ = totals.pages - before.pages, totals.bytes - before.bytes
        dns = added_up((report.dns for report in self._reports.values()), DnsCounts())
        return Ending(self.ending or "interrupted", totals, pages, bytes_, self.progress.elapsed_s, dns)

    def stop(self, why: str) -> None:
        """Lease nothing more; it ends when nothing is in flight."""
        self.ending = self.ending or why
        self.terminal.is_stopping = why == "interrupted"
        self._wake.set()

    def facts(self) -> Facts:
        reports = self._reports.values()
        return Facts(
            totals=total(self._crew.totals.values()),
            in_flight=sum(report.in_flight for report in reports),
            active_hosts=sum(report.active_hosts for report in reports),
            workers=[(number, report.in_flight, len(report.totals)) for number, report in self._reports.items()],
            paused=self.paused,
        )

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
        crew = self._crew
        self.paused = self._no_room()
        waits = self._at_start is None or bool(self.ending or self.paused)
        reports = await crew.ask(Ask(is_paused=waits, give_back=self._give_back, is_ending=bool(self.ending)))
        if crew.trouble:
            raise FolderError(crew.trouble)
        self._reports = reports
        for report in reports.values():
            self.progress.add(report.news)
        if not crew.covers(reports):
            # Some partition is on its way to an owner. Nobody knows what is in it, so nothing is decided.
            self._quiet = None
            return False
        if self._at_start is None:
            self._at_start = total(crew.totals.values())
        self.paused = self.paused or next((report.no_room for report in reports.values() if report.no_room), "")
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
        quiet = None
        if all(report.is_idle for report in reports.values()):
            quiet = (self._crew.version, {number: report.batches_received for number, report in reports.items()})
        before, self._quiet = self._quiet, quiet
        return quiet is not None and quiet == before

    def _is_at_limit(self) -> bool:
        limit = self.config.crawl.max_pages
        return limit is not None and self._crew.pages >= limit

    def _grant(self, reports: dict[int, Report]) -> None:
        limit = self.config.crawl.max_pages
        if limit is None:
            return
        # What a worker has in flight or left may all become pages.
        spoken_for = sum(report.in_flight + report.pages_left for report in reports.values())
        left = limit - self._crew.pages - spoken_for
        busy = [number for number, report in reports.items() if not report.is_idle]
        for place, number in enumerate(busy):
            share = left // len(busy) + (place < left % len(busy))
            if share > 0:
                self._crew.allow(number, share)
        has_run_out = left == 0 and any(reports[number].pages_left == 0 for number in busy)
        self._give_back = has_run_out and any(report.pages_left for report in reports.values())

    def _no_room(self) -> str:
        disk, wanted = shutil.disk_usage(self.folder.path), self.config.crawl.disk_free_bytes_min
        if disk.free >= wanted:
            return ""
        return f"{size(disk.free)} free of {size(disk.total)} on the disk, needs {size(wanted)}"


def workers_of(config: Tree) -> int:
    """As many as cores, and no more than there are partitions to own."""
    return min(config.crawl.workers or len(os.sched_getaffinity(0)), config.crawl.partitions)


class Stop:
    """Signals: once drains, twice stops at once."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._was_asked = False
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        for number in self.SIGNALS:
            self._loop.add_signal_handler(number, self._ask)

    def _ask(self) -> None:
        if self._was_asked and self._task is not None:
            self._task.cancel()
        self._was_asked = True
        self._supervisor.stop("interrupted")

    def forget(self) -> None:
        for number in self.SIGNALS:
            self._loop.remove_signal_handler(number)
