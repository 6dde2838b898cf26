"""The recrawl coordinator: the supervisor's part in deciding when pages are visited again.

Every few seconds the reports of a round bring statistics of partitions. Somebody may be late with a report: what has
come is kept until there is something of every partition, because a plan shares out what all of them have. It is the
recrawl plan (schedule/recrawl_plan.py), which the next round tells every worker. It is also written into the crawl's
folder: for those who look, and for the next start, which then need not guess what this crawl can do.

In a cluster the owner of partition 0 does the same with the statistics of all nodes (node/recrawl.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from gossamer.clock import Clock
from gossamer.schedule.recrawl_plan import PartitionStatistics, RecrawlPlan, make_plan
from gossamer.settings import ScheduleSettings

PLAN_S = 10.0  # between two plans; less where pages may come again sooner than that


class Recrawl(Protocol):
    """What a supervisor needs of whoever makes the plan."""

    @property
    def wants_statistics(self) -> bool: ...
    def take(
        self, statistics: Mapping[int, PartitionStatistics], partitions: Collection[int]
    ) -> RecrawlPlan | None: ...


class RecrawlCoordinator:
    def __init__(
        self, before: RecrawlPlan, settings: ScheduleSettings, clock: Clock, keep: Callable[[RecrawlPlan], None]
    ) -> None:
        """`before`: the last plan of an earlier run. `keep`: told each new one."""
        self.recrawl_plan = before
        self._settings = settings
        self._clock = clock
        self._keep = keep
        self._requests: int | None = None  # when the last plan was made; None: there was none in this run
        self._found_at = clock.now()
        self._gathered: dict[int, PartitionStatistics] = {}

    @property
    def wants_statistics(self) -> bool:
        return self._requests is None or self._clock.now() - self._found_at >= plan_every_s(self._settings)

    def take(self, statistics: Mapping[int, PartitionStatistics], partitions: Collection[int]) -> RecrawlPlan | None:
        """Some statistics; a new plan where there are now some of all partitions."""
        self._gathered |= statistics
        if not statistics or not self._gathered.keys() >= set(partitions):
            return None
        gathered, self._gathered = {number: self._gathered[number] for number in partitions}, {}
        now = self._clock.now()
        passed_s = now - self._found_at
        requests = sum(each.requests for each in gathered.values())
        fetched = max(0, requests - self._requests) if self._requests is not None else 0
        self.recrawl_plan = make_plan(
            self.recrawl_plan, gathered, fetched / passed_s if passed_s else 0.0, passed_s, self._settings
        )
        self._requests, self._found_at = requests, now
        self._keep(self.recrawl_plan)
        return self.recrawl_plan


def plan_every_s(settings: ScheduleSettings) -> float:
    return min(PLAN_S, max(0.5, settings.shortest_s))
