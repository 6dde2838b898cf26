"""Where the record of a URL stands: in its queue until it was asked for, then among the URLs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES, encode, host_key, is_position, url_key
from gossamer.frontier.frontier import Frontier
from gossamer.records import Reason, State
from tests.frontier.stories import failed, fetched, finish, link, one_lease, robots_read

FIRST, A1, A2 = "http://a.test/", "http://a.test/1", "http://a.test/2"


def test_a_record_is_in_the_queue_until_its_url_was_asked_for(frontier: Frontier, clock: VirtualClock) -> None:
    store, key = frontier._parts.store, url_key(A1)
    frontier.add([link(A1)])
    importance = store.get("urls", key)
    assert importance is not None and is_position(importance)
    finish(frontier, one_lease(frontier), failed(clock, Reason.TIMEOUT))
    stored = store.get("urls", key)
    assert stored is not None and not is_position(stored)
    assert list(PartitionReader(store).queued(host_key("a.test"))) == []


def test_what_is_queued_and_what_was_asked_for_can_be_listed(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1), link(A2)])
    finish(frontier, one_lease(frontier), fetched(clock))
    reader = PartitionReader(frontier._parts.store)
    assert [known.url for known in reader.queued(host_key("a.test"))] == [A2]
    assert [known.url for known in reader.all_asked()] == [A1]
    assert {known.url: known.state for _, known in reader.all_url_records()} == {A1: State.DONE, A2: State.QUEUED}


def test_a_shorter_way_found_in_the_same_call_is_the_one_that_counts(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(FIRST), link("http://b.test/", depth=3), link("http://b.test/", depth=2)])
    first, second = sorted(frontier.lease(2), key=lambda lease: lease.url)
    assert (first.url, second.link.depth) == (FIRST, 2)
    frontier.add([link(A1, depth=3), link(A1, depth=2)])
    finish(frontier, first, fetched(clock))
    clock.advance(2)
    assert one_lease(frontier).link.depth == 2


def test_a_shorter_way_found_later_is_the_one_that_counts(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(FIRST), link(A1, depth=3), link(A2, depth=4)])
    lease = one_lease(frontier)  # the others are in memory now
    frontier.add([link(A1, depth=2)])
    finish(frontier, lease, fetched(clock))
    clock.advance(2)
    lease = one_lease(frontier)
    assert (lease.url, lease.link.depth) == (A1, 2)


def test_a_shorter_way_found_in_flight_counts_when_the_url_is_put_back(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen()
    frontier.add([link(A1, depth=3)])
    lease = one_lease(frontier)
    frontier.add([link(A1, depth=2)])
    frontier.answered(lease, robots_read(clock))
    clock.advance(2)
    assert one_lease(frontier).link.depth == 2
    frontier = reopen()
    clock.advance(2)
    assert one_lease(frontier).link.depth == 2


def test_queues_of_an_earlier_version_are_crawled_on(
    folder: Path, reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    reopen().add([link(A1, depth=2)])
    reopen.close()  # type: ignore[attr-defined]
    store = RocksStore(folder / "partition", TABLES)
    batch, known = store.batch(), PartitionReader(store).known(url_key(A1))
    (entry, _), *_ = store.scan("queue")
    batch.put("urls", url_key(A1), encode(known))
    batch.put("queue", entry, url_key(A1))
    store.write(batch, sync=True)
    store.close()

    frontier = reopen()
    frontier.add([link(A1, depth=1)])
    lease = one_lease(frontier)
    assert (lease.url, lease.link.depth) == (A1, 1)
    finish(frontier, lease, fetched(clock))
    assert frontier.is_empty
