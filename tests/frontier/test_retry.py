"""What an operator asks for once more: it comes back, politely, and nothing is counted twice."""

from __future__ import annotations

from collections.abc import Callable

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.retry import Cursor
from gossamer.records import Reason, Refused, Result, State
from tests.frontier.stories import failed, fetched, finish, link, one_lease, robots_read

A, B = [f"http://a.test/{n}" for n in range(4)], "http://b.test/"


def retry(frontier: Frontier, host: str | None = None, reason: Reason | None = None) -> int:
    count, cursor = 0, Cursor()
    while True:
        some, following = frontier.retry(host, reason, cursor)
        count += some
        if following is None:
            return count
        cursor = following


def states(frontier: Frontier) -> list[State]:
    return [known.state for url in [*A, B] if (known := frontier.state(url)) is not None]


def test_an_outage_is_over_and_everything_comes_back_at_its_hosts_turn(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(host_failures_max=2, retries_s=())
    frontier.add([link(url) for url in A])
    for _ in range(2):
        finish(frontier, one_lease(frontier), failed(clock, Reason.CONNECT))
        clock.advance(10)
    frontier.add([link(B)])
    finish(frontier, one_lease(frontier), Refused(Reason.ROBOTS_UNREACHABLE, "robots.txt: dns", 3600.0))
    assert frontier.totals.resting == 5 and frontier.lease(10) == []
    frontier = reopen(host_failures_max=2, retries_s=())

    assert retry(frontier, host="b.test") == 1
    assert [lease.url for lease in frontier.lease(10)] == [B]
    assert retry(frontier, reason=Reason.DNS) == 0
    assert retry(frontier) == 4
    assert frontier.totals.resting == 0 and frontier.totals.resting_hosts == {}
    for _ in A:
        finish(frontier, one_lease(frontier), fetched(clock))
        assert frontier.lease(10) == []  # one at a time, as ever
        clock.advance(5)
    assert states(frontier) == [State.DONE] * 4 + [State.IN_FLIGHT]
    assert frontier.next_at() is not None and retry(frontier) == 0


def test_what_was_given_up_comes_back_by_its_reason(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(url) for url in A])
    results: list[Result] = [
        failed(clock, Reason.GONE, 404),
        Refused(Reason.ROBOTS),
        failed(clock, Reason.TOO_LARGE),
        fetched(clock),
    ]
    for result in results:
        finish(frontier, one_lease(frontier), result)
        clock.advance(1)
    before = frontier.totals.failed, frontier.totals.refused
    assert before == (2, 1) and retry(frontier) == 0
    assert retry(frontier, reason=Reason.GONE) == retry(frontier, reason=Reason.ROBOTS) == 1
    assert (frontier.totals.failed, frontier.totals.refused) == (1, 0)
    assert frontier.totals.reasons == {"too_large": 1}
    assert states(frontier) == [State.QUEUED, State.QUEUED, State.FAILED, State.DONE]
    assert frontier.totals.known == 4 == frontier.totals.queued + frontier.totals.pages + frontier.totals.failed


def test_a_wait_of_our_own_for_robots_txt_ends_and_one_that_the_server_asked_for_does_not(
    frontier: Frontier, clock: VirtualClock
) -> None:
    frontier.add([link(A[0]), link(B)])
    first, second = frontier.lease(2)
    finish(frontier, first, robots_read(clock, wait_s=7200.0))
    finish(frontier, second, failed(clock, Reason.OVERLOADED, 503, "Retry-After: 7200\r\n"))
    assert retry(frontier) == 1
    clock.advance(1)
    assert [lease.host for lease in frontier.lease(10)] == [first.host]
