"""What reports say together, also where some are old or missing."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gossamer.fetch.dns import DnsCounts
from gossamer.fetch.robots import RobotsCounts
from gossamer.frontier.disk.tables import Totals
from gossamer.messages.worker_messages import News, Report
from gossamer.supervisor.coordinator import Coordinator, Heard

IDLE = Report(
    totals={},
    in_flight=0,
    active_hosts=0,
    is_idle=True,
    positions={},
    pages_left=0,
    no_room="",
    news=News(),
    dns=DnsCounts(),
    robots=RobotsCounts(),
    levels={},
    memory_bytes=0,
    cpu_s=0.0,
    statistics={},
)


class Logs:
    def __init__(self, *ends: int) -> None:
        self.ends = list(ends)

    def end(self, partition: int) -> int:
        return self.ends[partition]


def report(positions: Mapping[int, int], **changes: object) -> Report:
    totals = {number: Totals() for number in positions}
    return msgspec.structs.replace(IDLE, totals=totals, positions=dict(positions), **changes)


def test_complete_is_when_all_are_idle_and_everything_sent_was_read() -> None:
    logs = Logs(10, 20, 30)
    coordinator: Coordinator[int, Report] = Coordinator(3, None, logs.end)
    coordinator.hear(0, Heard(report({0: 10, 1: 20}), 0, 0))
    assert not coordinator.is_complete(0)  # nobody has told of the third
    coordinator.hear(1, Heard(report({2: 30}, is_idle=False), 0, 0))
    assert not coordinator.is_complete(0)
    coordinator.hear(1, Heard(report({2: 30}), 0, 0))
    assert coordinator.is_complete(0)
    assert not coordinator.is_complete(None) and not coordinator.is_complete(1)  # somebody came with seeds


def test_links_that_were_sent_after_a_report_show_in_the_log() -> None:
    """The first reports that it is idle; the second sends it links, and reports after that."""
    logs = Logs(10, 20)
    coordinator: Coordinator[int, Report] = Coordinator(2, None, logs.end)
    coordinator.hear(0, Heard(report({0: 10}), 0, 0))
    logs.ends[0] = 15
    coordinator.hear(1, Heard(report({1: 20}), 0, 0))
    assert not coordinator.is_complete(0)
    coordinator.hear(0, Heard(report({0: 15}), 0, 0))
    assert coordinator.is_complete(0)


def test_a_partition_that_moves_is_nobodys_until_both_have_reported() -> None:
    coordinator: Coordinator[int, Report] = Coordinator(2, None, Logs(10, 20).end)
    coordinator.hear(0, Heard(report({0: 10, 1: 20}), 0, 0))
    coordinator.hear(1, Heard(report({1: 20}), 0, 0))  # the first has not told since
    assert not coordinator.is_everything_covered and not coordinator.is_complete(0)
    coordinator.hear(0, Heard(report({0: 10}), 0, 0))
    assert coordinator.is_complete(0)
    coordinator.forget_all_but({0: None})
    assert not coordinator.is_complete(0)
    coordinator.damaged = {1: "a flipped bit"}
    assert coordinator.is_complete(0)


def test_the_limit_of_pages_is_kept_with_old_reports() -> None:
    coordinator: Coordinator[int, Report] = Coordinator(2, 100, Logs(0, 0).end)
    busy = report({0: 0}, is_idle=False)
    coordinator.hear(0, Heard(busy, 0, 0))
    assert coordinator.allowances(0) == {}  # nobody knows of the other partition
    coordinator.hear(1, Heard(report({1: 0}, is_idle=False), 0, 0))
    assert coordinator.allowances(0) == {0: 50, 1: 50}
    assert coordinator.allowances(0) == {}  # the same reports again
    # Twenty fetched, thirty left; the other is late, and its report is as old as before.
    coordinator.hear(
        0, Heard(msgspec.structs.replace(busy, pages_left=30, pages_spare=20), 0, coordinator.allowed(0))
    )
    assert coordinator.allowances(20) == {} and not coordinator.wants_back
    # It gave ten back, and has fetched the others.
    coordinator.hear(0, Heard(msgspec.structs.replace(busy, in_flight=0, pages_left=0), 0, coordinator.allowed(0)))
    assert coordinator.allowances(40) == {0: 5, 1: 5}
    assert coordinator.is_at_limit(100) and not coordinator.is_at_limit(99)


def test_what_one_has_too_much_of_is_collected_for_another() -> None:
    coordinator: Coordinator[int, Report] = Coordinator(2, 10, Logs(0, 0).end)
    coordinator.hear(0, Heard(report({0: 0}, pages_left=6, pages_spare=6), 0, 0))
    coordinator.hear(1, Heard(report({1: 0}, is_idle=False), 0, 0))
    assert coordinator.allowances(4) == {} and coordinator.wants_back
    coordinator.hear(0, Heard(report({0: 0}), 0, 0))
    assert coordinator.allowances(4) == {1: 6}
