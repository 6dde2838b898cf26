"""What a seed says of itself: how far its links lead, and when its turn comes. And the counts of hosts by level."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.tables import is_short, queued, url_key, url_record_in
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.intake import with_shorter_path
from gossamer.frontier.rules.priority import DAY_S, EPOCH, by_tenth
from gossamer.records import Link, Outcome, Reason, State, UrlRecord, Verdict
from gossamer.url.link_filter import LinkFilter
from tests.frontier.stories import fetched, finish, link, one_lease


def known(depth: int, max_depth: int | None) -> UrlRecord:
    return UrlRecord("http://a.test/", State.QUEUED, depth=depth, max_depth=max_depth)


@pytest.mark.parametrize(
    ("before", "found", "after"),
    [
        ((3, None), (1, None), (1, None)),
        ((1, None), (0, 0), (0, None)),  # as far onwards as any way allows
        ((1, 1), (3, None), (1, None)),
        ((1, 1), (5, 8), (1, 4)),  # three more links, from where it is nearest
        ((2, 5), (1, 1), (1, 4)),
    ],
)
def test_of_two_ways_to_a_url_the_nearest_counts_and_as_far_onwards_as_either_allows(
    before: tuple[int, int | None], found: tuple[int, int | None], after: tuple[int, int | None]
) -> None:
    nearer = with_shorter_path(known(*before), Link("http://a.test/", depth=found[0], max_depth=found[1]))
    assert (nearer.depth, nearer.max_depth) == after


def test_the_link_filter_keeps_out_what_is_farther_from_its_seed_than_that_allows() -> None:
    link_filter = LinkFilter(["http://a.test/"], max_depth=2)
    far = [Link("http://a.test/x", source="http://a.test/", depth=depth, max_depth=1) for depth in (0, 1, 2)]
    assert [link_filter(each) for each in far] == [None, None, Reason.MAX_DEPTH]
    assert link_filter(Link("http://a.test/x", source="http://a.test/", depth=3, max_depth=9)) is Reason.MAX_DEPTH


def test_a_link_filter_learns_new_homes() -> None:
    link_filter = LinkFilter(["http://a.test/"])
    elsewhere = Link("http://b.test/x", source="http://a.test/", depth=1)
    assert link_filter(elsewhere) is Reason.SCOPE
    link_filter.welcome(["http://www.b.test/"])
    assert link_filter(elsewhere) is None


def test_what_a_seed_says_outlives_a_restart(reopen: Callable[..., Frontier]) -> None:
    frontier = reopen()
    frontier.add([Link("http://a.test/", max_depth=4, priority=0.5)])
    lease = one_lease(reopen())
    assert (lease.link.max_depth, lease.link.priority) == (4, 0.5)


def test_a_way_without_a_limit_is_not_taken_for_seen_because_one_with_a_limit_was(frontier: Frontier) -> None:
    limited = Link("http://a.test/x", source="http://a.test/", depth=1, max_depth=1)
    frontier.add([limited])
    frontier.add([Link("http://a.test/x", source="http://b.test/", depth=3)])
    assert one_lease(frontier).link.max_depth is None


def test_a_priority_of_its_own_puts_a_seed_before_or_behind_all_others(
    frontier: Frontier, clock: VirtualClock
) -> None:
    urls = {priority: f"http://a.test/{priority}" for priority in (0.0, None, 1.0)}
    frontier.add([Link(url, priority=priority) for priority, url in urls.items()])
    frontier.add([link("http://a.test/deep", depth=4)])
    order = []
    while not frontier.is_empty:
        lease = one_lease(frontier)
        order.append(lease.url)
        finish(frontier, lease, fetched(clock))
        clock.advance(10)
    assert order == [urls[1.0], urls[None], "http://a.test/deep", urls[0.0]]


def test_a_host_with_an_urgent_seed_stands_at_a_better_level(frontier: Frontier, clock: VirtualClock) -> None:
    urls = {"http://a.test/": 0.95, "http://b.test/": None, "http://c.test/": 0.05}
    frontier.add([Link(url, priority=priority) for url, priority in urls.items()])
    assert by_tenth(frontier.levels.items(), clock.now()) == [1, 0, 1, 0, 0, 0, 0, 1, 0, 0]


def test_hosts_are_counted_by_level_and_also_in_states_that_did_not(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen()
    frontier.add([link(f"http://{name}.test/") for name in "abc"])
    assert sum(frontier.levels.values()) == 3
    finish(frontier, one_lease(frontier), fetched(clock))
    assert sum(frontier.levels.values()) == 2
    frontier._parts.meta.levels = None  # as an earlier version left it
    change = frontier._parts.change()
    change.is_dirty = True
    change.write(sync=True)
    assert sum(reopen().levels.values()) == 2


def test_levels_sink_with_the_years_and_the_tenths_do_not() -> None:
    assert by_tenth([(0, 7)], EPOCH)[0] == 7
    assert by_tenth([(103, 2), (90, 1), (200, 4)], EPOCH + 1000 * DAY_S) == [1, 0, 0, 2, 0, 0, 0, 0, 0, 4]


def test_the_record_of_a_new_url_is_no_longer_than_it_was() -> None:
    fresh = UrlRecord("http://a.test/", State.QUEUED, found_at=1.0)
    key = url_key(fresh.url)
    assert len(queued(key, fresh)) == len(queued(key, known(0, None))) + 8
    assert is_short(fresh) and url_record_in(queued(key, fresh)) == fresh
    assert not is_short(UrlRecord("http://a.test/", State.QUEUED, found_at=1.0, max_depth=2, priority=0.5))


def test_the_bytes_of_a_copy_are_counted_as_saved(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link("http://a.test/1"), link("http://b.test/2")])
    for lease, kind in zip(frontier.lease(2), ("original", "same"), strict=True):
        result = fetched(clock, b"five!")
        frontier.answered(lease, result)
        frontier.finish([Outcome(lease, result, verdict=Verdict(kind))], [None])
    assert (frontier.totals.duplicates, frontier.totals.bytes_saved, frontier.totals.bytes) == (1, 5, 10)
