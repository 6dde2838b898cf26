"""What kills its worker is found, and put aside after the third time."""

from __future__ import annotations

from collections.abc import Callable

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.records import Reason, State
from tests.frontier.stories import fetched, finish, link, one_lease

BAD, GOOD = "http://bad.test/", "http://good.test/"


def die_processing(frontier: Frontier, reopen: Callable[..., Frontier], clock: VirtualClock) -> Frontier:
    """Both are in flight, and the worker dies while it processes the bad one."""
    leases = {lease.url: lease for lease in frontier.lease(10)}
    frontier.answered(leases[BAD], fetched(clock))
    frontier.processing(leases[BAD])
    clock.advance(5)
    frontier = reopen()
    clock.advance(5)
    return frontier


def test_only_the_page_that_was_being_processed_is_held_to_account(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen()
    frontier.add([link(BAD), link(GOOD)])
    for _ in range(3):
        frontier = die_processing(frontier, reopen, clock)
    bad, good = frontier.state(BAD), frontier.state(GOOD)
    assert bad is not None and (bad.state, bad.reason) == (State.QUARANTINED, Reason.KILLS_WORKER)
    assert "3 workers died" in bad.detail
    assert good is not None and (good.state, good.kills) == (State.QUEUED, 0)
    assert [lease.url for lease in frontier.lease(10)] == [GOOD]
    assert frontier.totals.quarantined == 1


def test_one_death_makes_the_pages_of_its_host_suspects_and_no_others(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen()
    frontier.add([link(BAD), link(GOOD)])
    frontier = die_processing(frontier, reopen, clock)
    frontier.add([link(f"{BAD}another")])
    suspects = {}
    for _ in range(2):
        for lease in frontier.lease(10):
            suspects[lease.url] = lease.is_suspect
            finish(frontier, lease, fetched(clock))
        clock.advance(5)
    assert suspects == {BAD: True, f"{BAD}another": True, GOOD: False}


def test_a_page_that_was_processed_is_not_to_blame(reopen: Callable[..., Frontier], clock: VirtualClock) -> None:
    frontier = reopen()
    frontier.add([link(GOOD)])
    for _ in range(5):
        lease = one_lease(frontier)
        frontier.processing(lease)
        frontier.processed()
        frontier = reopen()
        clock.advance(5)
    known = frontier.state(GOOD)
    assert known is not None and (known.state, known.kills) == (State.QUEUED, 0)


def test_a_released_url_is_tried_again_and_a_dropped_one_is_not(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(kills_max=1)
    frontier.add([link(BAD), link(GOOD)])
    frontier = die_processing(frontier, reopen, clock)
    frontier = die_processing(frontier, reopen, clock)
    frontier = die_processing(frontier, reopen, clock)
    assert not frontier.release_url(GOOD)
    assert frontier.release_url(BAD)
    assert frontier.totals.quarantined == 0
    lease = next(lease for lease in frontier.lease(10) if lease.url == BAD)
    finish(frontier, lease, fetched(clock))
    assert not frontier.release_url(BAD, drop=True)
