"""A lease is known by its id: a report may come from another process, twice, too late, or to the wrong partition."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.records import Lease, Outcome, State
from gossamer.settings import FrontierSettings, PolitenessSettings
from tests.frontier.stories import fetched, finish, link, one_lease, robots_read

A1, A2, B1 = "http://a.test/1", "http://a.test/2", "http://b.test/1"


def through_the_wire(lease: Lease) -> Lease:
    """As a fetcher in another process has it, and reports it."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(lease), type=Lease)


def story(frontier: Frontier) -> tuple[object, ...]:
    totals = frontier.totals
    return totals.pages, totals.requests, totals.hosts, totals.queued, totals.bytes, frontier.in_flight


def test_a_lease_that_went_to_another_process_and_back_is_the_same(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1), link(A2)])
    lease = through_the_wire(one_lease(frontier))
    assert frontier.answered(lease, fetched(clock)) is None
    clock.advance(1.0)
    assert one_lease(frontier).url == A2  # the delay has begun with the answer
    frontier.finish([Outcome(lease, fetched(clock))], [None])
    known = frontier.state(A1)
    assert known is not None and known.state is State.DONE
    assert frontier.totals.outcomes_ignored == {}


def test_a_lease_that_is_reported_twice_counts_once(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1)])
    lease = one_lease(frontier)
    finish(frontier, lease, fetched(clock))
    before = story(frontier)
    assert frontier.answered(lease, fetched(clock)) == "unknown"
    frontier.finish([Outcome(lease, fetched(clock)), Outcome(lease, fetched(clock))], [None, None])
    assert story(frontier) == before
    assert frontier.totals.outcomes_ignored == {"unknown": 2}


def test_a_robots_txt_that_is_reported_twice_counts_once(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1)])
    lease = one_lease(frontier)
    finish(frontier, lease, robots_read(clock))
    before = story(frontier)
    finish(frontier, lease, robots_read(clock))
    assert story(frontier) == before
    assert frontier.totals.outcomes_ignored == {"unknown": 1}
    clock.advance(1.0)
    assert one_lease(frontier).url == A1


def test_a_report_after_its_lease_expired_is_ignored_and_another_lease_counts(
    frontier: Frontier, clock: VirtualClock
) -> None:
    frontier.add([link(A1)])
    late = through_the_wire(one_lease(frontier))
    clock.advance(601)
    frontier.lease(1)
    clock.advance(1)
    second = one_lease(frontier)
    assert (second.url, second.id != late.id) == (A1, True)
    before = story(frontier)
    assert frontier.answered(late, fetched(clock)) == "expired"
    frontier.processing(late)
    frontier.processed()
    frontier.finish([Outcome(late, fetched(clock))], [None])
    assert story(frontier) == before
    assert frontier.totals.outcomes_ignored == {"expired": 1}
    finish(frontier, second, fetched(clock))
    assert frontier.totals.pages == 1


def test_a_report_after_a_restart_is_ignored(reopen: Callable[..., Frontier], clock: VirtualClock) -> None:
    frontier = reopen()
    frontier.add([link(A1)])
    before_the_end = one_lease(frontier)
    frontier = reopen()
    clock.advance(1.0)
    lease = one_lease(frontier)
    assert lease.url == before_the_end.url
    before = story(frontier)
    assert frontier.answered(before_the_end, fetched(clock)) == "unknown"
    frontier.finish([Outcome(before_the_end, fetched(clock))], [None])
    assert story(frontier) == before
    frontier = reopen()
    assert frontier.totals.outcomes_ignored == {"unknown": 1}  # it is stored


def test_a_report_to_another_partition_changes_nothing_there(
    frontier: Frontier, clock: VirtualClock, folder: Path
) -> None:
    frontier.add([link(A1)])
    with closing(RocksStore(folder / "other", TABLES)) as store:
        other = Frontier.open(store, store.folder, clock, lambda _: None, FrontierSettings(), PolitenessSettings())
        other.add([link(B1)])
        stray = one_lease(other)
        lease = one_lease(frontier)
        before = story(frontier)
        for result in (fetched(clock), robots_read(clock)):
            assert frontier.answered(stray, result) == "unknown"
            frontier.finish([Outcome(stray, result)], [None])
        assert story(frontier) == before
        assert frontier.host("b.test") is None
        finish(frontier, lease, fetched(clock))
        assert frontier.totals.pages == 1
        other.close()


def test_a_booking_that_is_released_twice_ends_once(frontier: Frontier) -> None:
    frontier.release("a.test")
    assert frontier.host("a.test") is None
