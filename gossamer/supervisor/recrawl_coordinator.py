"""The recrawl coordinator: the supervisor's part in deciding when pages are visited again.

Every few seconds the reports of a round bring statistics of partitions. Somebody may be late with a report: what has
come is kept until there is something of every partition, because a plan shares out what all of them have. It is the
recrawl plan (schedule/recrawl_plan.py), which the next round tells every worker. It is also written into the crawl's
folder: for those who look, and for the next start, which then need not guess what this crawl can do.
"""

from __future__ import annotations

from collections.abc import Collection

from gossamer.clock import Clock
from gossamer.folder import CrawlFolder
from gossamer.schedule.recrawl_plan import PartitionStatistics, RecrawlPlan, make_plan
from gossamer.settings import ScheduleSettings

PLAN_S = 10.0  # between two plans; less where pages may come again sooner than that


class RecrawlCoordinator:
    def __init__(self, folder: CrawlFolder, settings: ScheduleSettings, clock: Clock) -> None:
        self.recrawl_plan = folder.recrawl_plan()
        self._folder = folder
        self._settings = settings
        self._clock = clock
        self._requests: int | None = None  # when the last plan was made; None: there was none in this run
        self._found_at = clock.now()
        self._gathered: dict[int, PartitionStatistics] = {}

    @property
    def wants_statistics(self) -> bool:
        every_s = min(PLAN_S, max(0.5, self._settings.shortest_s))
        return self._requests is None or self._clock.now() - self._found_at >= every_s

    def take(
        self, statistics: dict[int, PartitionStatistics], partitions: Collection[int], requests: int
    ) -> RecrawlPlan | None:
        """Some statistics; a new plan where there are now some of all partitions. `requests`: of the crawl so far."""
        self._gathered |= statistics
        if not statistics or not self._gathered.keys() >= set(partitions):
            return None
        gathered, self._gathered = {number: self._gathered[number] for number in partitions}, {}
        now = self._clock.now()
        passed_s = now - self._found_at
        fetched = requests - self._requests if self._requests is not None else 0
        self.recrawl_plan = make_plan(
            self.recrawl_plan, gathered, fetched / passed_s if passed_s else 0.0, passed_s, self._settings
        )
        self._requests, self._found_at = requests, now
        self._folder.set_recrawl_plan(self.recrawl_plan)
        return self.recrawl_plan
