"""The recrawl plan is of all partitions, whichever reports came in time."""

from __future__ import annotations

from pathlib import Path

from gossamer.clock import VirtualClock
from gossamer.folder import CrawlFolder
from gossamer.schedule.recrawl_plan import PartitionStatistics
from gossamer.settings import ScheduleSettings
from gossamer.supervisor.recrawl_coordinator import PLAN_S, RecrawlCoordinator


def test_a_plan_waits_for_the_statistics_of_every_partition(folder: Path, clock: VirtualClock) -> None:
    coordinator = RecrawlCoordinator(CrawlFolder(folder), ScheduleSettings(), clock)
    first, second = (PartitionStatistics(known=known) for known in (100, 300))
    assert coordinator.take({0: first}, range(2), 10) is None
    assert coordinator.wants_statistics
    plan = coordinator.take({1: second}, range(2), 20)
    assert plan is not None and plan.known == 400
    clock.advance(PLAN_S)
    assert coordinator.take({1: second}, range(2), 30) is None  # the first one is asked again
    plan = coordinator.take({0: PartitionStatistics(known=150)}, range(2), 40)
    assert plan is not None and plan.known == 450
    # Of a partition that nobody can own any more there is nothing to wait for.
    assert coordinator.take({0: first}, [0], 50) is not None
