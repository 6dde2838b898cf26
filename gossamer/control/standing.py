"""How a running crawl stands: what its workers reported last, what they ever did, and how that went over time.

The supervisor hands over every round of reports; the terminal, the log and whoever connects read from here.
"""

from __future__ import annotations

from itertools import chain

from gossamer.clock import Clock
from gossamer.control import history
from gossamer.control.crew import Crew, Member
from gossamer.control.history import History
from gossamer.control.live import Event, Lately, Now, Point, WorkerNow
from gossamer.control.orders import Report
from gossamer.control.progress import Progress, added_up, memory_bytes, total
from gossamer.fetch.dns import DnsCounts
from gossamer.fetch.robots import RobotsCounts
from gossamer.folder import CrawlFolder
from gossamer.frontier.priority import by_tenth
from gossamer.frontier.tables import Totals
from gossamer.schedule.course import Course
from gossamer.settings import FrontierSettings


class Standing:
    def __init__(self, folder: CrawlFolder, weights: FrontierSettings, clock: Clock) -> None:
        self.crew: Crew
        self.progress = Progress(clock)
        self.reports: dict[int, Report] = {}
        self.totals_at_start: Totals | None = None  # None: some partition has not been heard of yet
        self.paused = ""
        self.is_draining = False
        self.disk_free_bytes = 0
        self.course = Course()
        self._folder = folder
        self._weights = weights
        self._clock = clock
        self._ever: dict[int, Report] = {}  # the last report of every worker that ever lived: its counters stay
        self._history: History | None = None
        self._errors_before = 0  # in earlier runs

    # ---- what comes in -----------------------------------------------------------------------------------

    def take(self, reports: dict[int, Report]) -> tuple[list[Event], int]:
        """A round of reports; returns the events in them, and how many more there were."""
        self.reports = reports
        self._ever |= reports
        for report in reports.values():
            self.progress.add(report.news)
        events = [event for report in reports.values() for event in report.news.events]
        events.sort(key=lambda event: event.at)
        return events, sum(report.news.outcomes for report in reports.values()) - len(events)

    def note(self) -> bool:
        """Every partition was in the last round. Returns whether a minute is over."""
        if self._history is not None:
            return self._history.note(self._point())
        self.totals_at_start = self.totals
        before = history.last(self._folder)
        self._errors_before = before.errors if before else 0
        self._history = History(self._folder.history, self._point())
        return False

    def end(self) -> None:
        if self._history is not None:
            self._history.write(self._point())

    # ---- what is asked -----------------------------------------------------------------------------------

    @property
    def totals(self) -> Totals:
        return total(self.crew.totals.values())

    @property
    def memory_bytes(self) -> int:
        return memory_bytes() + sum(report.memory_bytes for report in self.reports.values())

    @property
    def dns(self) -> DnsCounts:
        counts = added_up((report.dns for report in self._ever.values()), DnsCounts())
        counts.names = sum(report.dns.names for report in self.reports.values())  # the dead remember none
        return counts

    def now(self) -> Now:
        progress, totals, now = self.progress, self.totals, self._clock.now()
        reports = self.reports.values()
        pages_s, bytes_s, errors_s = progress.rates()
        return Now(
            at=now,
            started_at=progress.started_at,
            totals=totals,
            totals_at_start=self.totals_at_start or totals,
            pages_today=self._history.pages_today(totals.pages) if self._history else 0,
            pages_per_s=pages_s,
            bytes_per_s=bytes_s,
            errors_per_s=errors_s,
            errors=dict(progress.errors),
            in_flight=sum(report.in_flight for report in reports),
            active_hosts=sum(report.active_hosts for report in reports),
            queue_levels=by_tenth(chain(*(report.levels.items() for report in reports)), now, self._weights),
            dns=self.dns,
            robots=added_up((report.robots for report in self._ever.values()), RobotsCounts()),
            fetch_s=progress.fetch_s,
            workers=[self._worker(member) for member in self.crew.members.values()],
            memory_bytes=self.memory_bytes,
            disk_free_bytes=self.disk_free_bytes,
            paused=self.paused,
            is_draining=self.is_draining,
            fetch_s_sum=progress.fetch_s_sum,
            course=self.course,
        )

    def lately(self) -> Lately:
        return Lately(list(self._history.lately) if self._history else [])

    def _worker(self, member: Member) -> WorkerNow:
        report = self.reports.get(member.number)
        if report is None:
            return WorkerNow(member.number, member.process.pid, "starting")
        return WorkerNow(
            member.number,
            member.process.pid,
            "paused" if self.paused else "idle" if report.is_idle else "working",
            report.in_flight,
            report.active_hosts,
            sorted(report.totals),
            report.memory_bytes,
            report.cpu_s,
        )

    def _point(self) -> Point:
        totals = self.totals
        errors = self._errors_before + self.progress.errors.total()
        done = (totals.pages, totals.bytes, errors, totals.queued, totals.waiting, totals.hosts)
        return Point(self._clock.now(), *done, self.memory_bytes)
