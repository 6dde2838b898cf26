"""A host that keeps failing: asked less and less, behind the others, and given up in the end."""

from __future__ import annotations

from collections.abc import Callable

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.politeness import next_delay
from gossamer.frontier.priority import level, rank
from gossamer.records import Host, Reason, State
from gossamer.settings import FrontierSettings, PolitenessSettings
from tests.frontier.stories import failed, fetched, finish, link, one_lease

NOW = 1_700_000_000.0
URLS = [f"http://a.test/{n}" for n in range(4)]


def next_turn(frontier: Frontier, clock: VirtualClock) -> float:
    """Go to the host's next turn; how long it took."""
    moment = frontier.next_at()
    assert moment is not None
    waited_s = max(0.0, moment - clock.now())
    clock.advance(waited_s)
    return waited_s


def test_from_the_third_failure_in_a_row_on_it_is_asked_half_as_often_each_time(
    frontier: Frontier, clock: VirtualClock
) -> None:
    frontier.add([link(f"http://a.test/{n}") for n in range(10)])
    waits_s = []
    for _ in range(6):
        finish(frontier, one_lease(frontier), failed(clock, Reason.SERVER_ERROR))
        waits_s.append(round(next_turn(frontier, clock), 1))
    assert waits_s == [1, 1, 2, 4, 8, 16]
    finish(frontier, one_lease(frontier), fetched(clock))
    host = frontier.host("a.test")
    assert host is not None and (host.failures, host.delay_s) == (0, 8.0)


def test_what_says_nothing_about_the_host_leaves_its_count_alone(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(url) for url in URLS])
    finish(frontier, one_lease(frontier), failed(clock, Reason.CONNECT))
    next_turn(frontier, clock)
    finish(frontier, one_lease(frontier), failed(clock, Reason.GONE))
    host = frontier.host("a.test")
    assert host is not None and host.failures == 0  # 404 is an answer: somebody is there


def test_each_failure_in_a_row_costs_a_level() -> None:
    best, weights = rank(1, 100, NOW, FrontierSettings()), FrontierSettings()
    levels = [level(Host("a.test", "a.test", failures=count), best, weights) for count in (0, 1, 5, 10, 30)]
    assert [each - levels[0] for each in levels] == [0, 1, 5, 10, 10]


def test_a_host_that_failed_too_often_is_given_up_and_has_one_more_try_when_it_is_found_again(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(host_failures_max=2, retries_s=())
    frontier.add([link(url) for url in URLS])
    for _ in range(2):
        finish(frontier, one_lease(frontier), failed(clock, Reason.CONNECT))
        next_turn(frontier, clock)
    assert frontier.lease(10) == []
    assert frontier.is_empty
    states = [known for url in URLS if (known := frontier.state(url))]
    assert [known.state for known in states] == [State.FAILED] * 2 + [State.REFUSED] * 2
    assert {known.reason for known in states[2:]} == {Reason.HOST_DOWN}

    frontier.add([link(URLS[3])])
    clock.advance(3600)
    finish(frontier, one_lease(frontier), fetched(clock))
    known, host = frontier.state(URLS[3]), frontier.host("a.test")
    assert known is not None and known.state is State.DONE
    assert host is not None and host.failures == 0


def test_a_retry_after_of_years_is_taken_for_a_week() -> None:
    settings = PolitenessSettings()
    clock = VirtualClock(1)
    result = failed(clock, Reason.OVERLOADED, 429, "Retry-After: 315360000\r\n")
    delay = next_delay(Host("a.test", "a.test"), result, settings)
    assert (delay.seconds, delay.reason) == (settings.retry_after_s_max, Reason.ASKED_BY_SERVER)
