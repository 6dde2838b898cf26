"""Which reports of nodes count, and what they say together."""

from __future__ import annotations

from typing import Any

from gossamer.node.coordinator import current, how_complete
from gossamer.node.report import NodeReport, PartitionReport, counts_of


def report(node: str, **partitions: PartitionReport) -> NodeReport:
    numbers = {int(name.removeprefix("p")): each for name, each in partitions.items()}
    return NodeReport(node=node, started_at=1.0, at=2.0, partitions=numbers)


def test_a_dead_node_is_passed_over_when_others_have_reported_all_that_it_had() -> None:
    dead = report("dead", p0=PartitionReport(1, 10), p1=PartitionReport(1, 20))
    half = report("half", p0=PartitionReport(2, 10))
    rest = report("rest", p1=PartitionReport(3, 20))
    assert current({"dead": dead, "half": half}).keys() == {"dead", "half"}  # partition 1 is still as it said
    assert current({"dead": dead, "half": half, "rest": rest}).keys() == {"half", "rest"}


def test_a_node_without_partitions_is_heard() -> None:
    assert current({"new": report("new")}).keys() == {"new"}


def test_each_partition_is_counted_once_by_its_last_owner() -> None:
    left = report("left", p0=PartitionReport(1, 10, pages=50, queued=9), p1=PartitionReport(1, 20, pages=7))
    now = report("now", p0=PartitionReport(2, 15, pages=60, queued=0))
    counts = counts_of([left, now])
    assert (counts["pages"], counts["queued"]) == (67, 0)
    assert counts_of([now, left]) == counts


def test_how_a_crawl_is_complete() -> None:
    def ends(**counts: Any) -> str:
        return how_complete({"a": report("a", p0=PartitionReport(1, 0, **counts))})

    assert [ends(), ends(pages=1), ends(pages=1, waiting=2), ends(pages=1, waiting=2, resting=1)] == [
        "nothing",
        "complete",
        "later",
        "resting",
    ]
