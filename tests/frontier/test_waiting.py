"""A frontier tells what it waits for: the next host's turn, the hosts that rest, later tries."""

from __future__ import annotations

from collections.abc import Callable

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.records import Reason
from tests.frontier.stories import failed, fetched, finish, link, one_lease


def test_the_next_turn_names_its_host_and_why_it_waits(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link("http://a.test/1"), link("http://a.test/2")])
    assert frontier.ready() and frontier.next_turn() is None  # it may be asked now
    finish(frontier, one_lease(frontier), fetched(clock))
    turn = frontier.next_turn()
    assert turn is not None and turn[1].name == "a.test" and turn[1].waits_for is Reason.CONFIGURED
    assert turn[0] == frontier.next_at() == clock.now() + 1.0
    assert frontier.next_try_at is None and frontier.resting(5) == []


def test_hosts_that_rest_are_told_the_soonest_first_also_after_a_restart(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    limits = {"host_failures_max": 1, "retries_s": (60.0,)}
    frontier = reopen(**limits)
    moments = []
    for name in ("a", "b", "c"):
        frontier.add([link(f"http://{name}.test/1"), link(f"http://{name}.test/2")])
        finish(frontier, one_lease(frontier), failed(clock, Reason.CONNECT))
        moments.append(clock.now() + 2 * 3600)
        clock.advance(10)
    frontier = reopen(**limits)
    resting = frontier.resting(2)
    assert [(host.name, host.rest_cause, host.resting) for _, host in resting] == [
        ("a.test", "connect", 1),
        ("b.test", "connect", 1),
    ]
    assert [round(until - moment) for (until, _), moment in zip(resting, moments, strict=False)] == [0, 0]
    assert len(frontier.resting(5)) == 3
    assert frontier.next_try_at is not None and frontier.next_try_at < moments[0]  # the URLs that failed come sooner
