"""The recrawl plan is of all partitions, whichever reports came in time."""

from __future__ import annotations

from gossamer.clock import VirtualClock
from gossamer.schedule.recrawl_plan import PartitionStatistics, RecrawlPlan
from gossamer.settings import ScheduleSettings
from gossamer.supervisor.recrawl_coordinator import PLAN_S, RecrawlCoordinator


def test_a_plan_waits_for_the_statistics_of_every_partition(clock: VirtualClock) -> None:
    kept: list[RecrawlPlan] = []
    coordinator = RecrawlCoordinator(RecrawlPlan(), ScheduleSettings(), clock, kept.append)
    first, second = (PartitionStatistics(known=known) for known in (100, 300))
    assert coordinator.take({0: first}, range(2)) is None
    assert coordinator.wants_statistics
    plan = coordinator.take({1: second}, range(2))
    assert plan is not None and plan.known == 400
    clock.advance(PLAN_S)
    assert coordinator.take({1: second}, range(2)) is None  # the first one is asked again
    plan = coordinator.take({0: PartitionStatistics(known=150)}, range(2))
    assert plan is not None and plan.known == 450
    # Of a partition that nobody can own any more there is nothing to wait for.
    assert coordinator.take({0: first}, [0]) is not None
    assert len(kept) == 3


def test_what_the_crawl_can_do_is_found_by_its_requests(clock: VirtualClock) -> None:
    coordinator = RecrawlCoordinator(RecrawlPlan(), ScheduleSettings(), clock, lambda plan: None)
    coordinator.take({0: PartitionStatistics(requests=500)}, [0])  # of earlier runs: nobody knows how long they took
    assert coordinator.recrawl_plan.capacity_per_s == 0.0
    clock.advance(10.0)
    coordinator.take({0: PartitionStatistics(requests=540)}, [0])
    assert coordinator.recrawl_plan.capacity_per_s == 4.0
    clock.advance(10.0)
    coordinator.take({0: PartitionStatistics(requests=100)}, [0])  # a partition was restored from an earlier state
    assert coordinator.recrawl_plan.capacity_per_s == 4.0
