"""How a running crawl stands: what its workers reported last, what they ever did, and how that went over time.

The supervisor hands over every round of reports; the terminal, the log and whoever connects read from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain, zip_longest

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.fetch.dns import DnsCounts
from gossamer.fetch.robots import RobotsCounts
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.tables import Totals
from gossamer.frontier.rules.priority import by_tenth
from gossamer.messages.control_messages import Event, FetcherNow, Now, Point, RecentPoints, SinkNow, WorkerNow
from gossamer.messages.node_messages import ClusterNow, KeepingCounts
from gossamer.messages.worker_messages import Report
from gossamer.rendered import RenderCounts
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.supervisor import history
from gossamer.supervisor.history import History
from gossamer.supervisor.pool_member import Member
from gossamer.supervisor.worker_pool import WorkerPool
from gossamer.visitor.proxies import ProxyNow
from gossamer.worker.progress import Progress, added_up, memory_bytes, slowest, total, troubles


class CrawlStatus:
    def __init__(self, folder: CrawlFolder, clock: Clock) -> None:
        self.pool: WorkerPool
        self.progress = Progress(clock)
        self.totals_at_start: Totals | None = None  # None: some partition has not been heard of yet
        self.paused = ""
        self.is_draining = False
        self.disk_free_bytes = 0
        self.recrawl_plan = RecrawlPlan()
        self.sinks: dict[str, SinkNow] = {}
        self.of_cluster: Callable[[], ClusterNow] | None = None  # where this machine is one of several
        self._folder = folder
        self._clock = clock
        self._ever: dict[int, Report] = {}  # the last report of every worker that ever lived: its counters stay
        self._history: History | None = None
        self._before = Point(0.0)  # the end of the run before: what is counted by the run goes on from there

    # ---- what comes in -----------------------------------------------------------------------------------

    def take(self, reports: dict[int, Report]) -> tuple[list[Event], int]:
        """A round of reports; returns the events in them, and how many more there were."""
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
        self._before = history.last(self._folder) or self._before
        self._history = History(self._folder.history, self._point())
        return False

    def end(self) -> None:
        if self._history is not None:
            self._history.write(self._point())

    # ---- what is asked -----------------------------------------------------------------------------------

    @property
    def totals(self) -> Totals:
        return total(self.pool.totals.values())

    @property
    def _reports(self) -> list[Report]:
        """The last one of every worker that lives; those of the last round may not be all."""
        return [member.report for member in self.pool.members.values() if member.report is not None]

    @property
    def memory_bytes(self) -> int:
        return memory_bytes() + sum(report.memory_bytes for report in self._reports)

    @property
    def dns(self) -> DnsCounts:
        counts = added_up((report.dns for report in self._ever.values()), DnsCounts())
        counts.names = sum(report.dns.names for report in self._reports)  # the dead remember none
        return counts

    @property
    def keeping(self) -> KeepingCounts:
        return added_up((report.keeping for report in self._ever.values()), KeepingCounts())

    def now(self) -> Now:
        progress, totals, now = self.progress, self.totals, self._clock.now()
        reports = self._reports
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
            queue_levels=by_tenth(chain(*(report.levels.items() for report in reports)), now),
            dns=self.dns,
            robots=added_up((report.robots for report in self._ever.values()), RobotsCounts()),
            fetch_s=progress.fetch_s,
            render=added_up((each.render for each in self._ever.values() if each.render), RenderCounts()),
            workers=[self._worker(member) for member in self.pool.members.values()],
            memory_bytes=self.memory_bytes,
            disk_free_bytes=self.disk_free_bytes,
            paused=self.paused,
            is_draining=self.is_draining,
            fetch_s_sum=progress.fetch_s_sum,
            recrawl_plan=self.recrawl_plan,
            under_way=sum(report.under_way for report in reports),
            statuses=dict(progress.statuses),
            unanswered=dict(progress.unanswered),
            slow=tuple(slowest(chain(progress.slow, *(report.slow for report in reports)))),
            resting=tuple(sorted(chain(*(report.resting for report in reports)), key=lambda host: host.until)),
            wait=min((report.wait for report in reports if report.wait), key=lambda wait: wait.at, default=None),
            sinks=tuple(self.sinks.values()),
            cluster=self.of_cluster() if self.of_cluster is not None else None,
            fetchers=tuple(fetchers_in(reports)),
            fetch_reports_ignored=dict(
                sum((Counter(report.fetchers.ignored) for report in self._ever.values()), Counter())
            ),
            proxies=proxies_in(report.proxies for report in reports),
            fetch_jobs_lost=sum(report.fetchers.lost for report in self._ever.values()),
        )

    def recent(self) -> RecentPoints:
        return RecentPoints(list(self._history.recent) if self._history else [])

    def _worker(self, member: Member) -> WorkerNow:
        report = member.report
        if report is None:
            return WorkerNow(member.number, member.process.pid, "starting")
        state = "paused" if self.paused else "idle" if report.is_idle else "working"
        return WorkerNow(
            member.number,
            member.process.pid,
            "not answering" if member.number in self.pool.late else state,
            report.in_flight,
            report.active_hosts,
            sorted(report.totals),
            report.memory_bytes,
            report.cpu_s,
        )

    def _point(self) -> Point:
        totals, progress, before = self.totals, self.progress, self._before
        return Point(
            at=self._clock.now(),
            pages=totals.pages,
            bytes=totals.bytes,
            errors=before.errors + troubles(progress.errors),
            queued=totals.queued,
            waiting=totals.waiting,
            hosts=totals.hosts,
            memory_bytes=self.memory_bytes,
            started_at=progress.started_at,
            duplicates=totals.duplicates,
            disk_free_bytes=self.disk_free_bytes,
            freshness=round(self.recrawl_plan.freshness, 4),
            statuses=[then + now for then, now in zip_longest(before.statuses, progress.status_classes, fillvalue=0)],
            fetch_s=[then + now for then, now in zip_longest(before.fetch_s, progress.fetch_s, fillvalue=0)],
        )


def proxies_in(told: Iterable[Iterable[ProxyNow]]) -> tuple[ProxyNow, ...]:
    """Each once. It has trouble where anybody has trouble with it."""
    found: dict[str, ProxyNow] = {}
    for each in chain(*told):
        if each.proxy not in found or each.trouble:
            found[each.proxy] = each
    return tuple(found.values())


def fetchers_in(reports: Iterable[Report]) -> list[FetcherNow]:
    """Each once, whatever workers it has streams to."""
    found: dict[tuple[str, str], FetcherNow] = {}
    for each in (fetcher for report in reports for fetcher in report.fetchers.fetchers):
        key = (each.name, each.address)
        before = found.get(key)
        found[key] = each if before is None else together(each, before)
    return [found[key] for key in sorted(found)]


def together(one: FetcherNow, other: FetcherNow) -> FetcherNow:
    return replace(
        one,
        is_leaving=one.is_leaving or other.is_leaving,
        jobs=one.jobs + other.jobs,
        room=one.room + other.room,
        done=one.done + other.done,
        bytes=one.bytes + other.bytes,
        silent_s=max(one.silent_s, other.silent_s),
    )
