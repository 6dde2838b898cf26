"""A host that keeps failing: asked less and less, behind the others, and after rests that grow; never given up."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.rules.politeness import next_delay
from gossamer.frontier.rules.priority import level, order
from gossamer.records import Host, Reason, Refused, State
from gossamer.settings import PolitenessSettings
from tests.frontier.stories import failed, fetched, finish, link, one_lease

NOW = 1_700_000_000.0
DAY_S = 86400.0
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
    best = order(1, 100, NOW)
    levels = [level(Host("a.test", "a.test", failures=count), best) for count in (0, 1, 5, 10, 30)]
    assert [each - levels[0] for each in levels] == [0, 1, 5, 10, 10]


def test_a_host_that_failed_too_often_rests_longer_each_time_and_loses_nothing(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    """For three days nobody answers; on the fourth every URL is fetched."""
    limits = {"host_failures_max": 2, "retries_s": (60.0,), "rests_s": (3600.0, DAY_S, 3 * DAY_S)}
    frontier = reopen(**limits)
    frontier.add([link(url) for url in URLS])
    requests, away_until = [], clock.now() + 3 * DAY_S
    while clock.now() < away_until:
        for lease in frontier.lease(10):
            requests.append(clock.now())
            finish(frontier, lease, failed(clock, Reason.CONNECT))
        if len(requests) == 3:
            frontier = reopen(**limits)  # a rest is on the disk
        next_turn(frontier, clock)
    assert len(requests) <= 6, "an hour, a day, three days"
    host = frontier.host("a.test")
    assert host is not None and host.rests >= 2
    while not frontier.is_empty:
        for lease in frontier.lease(10):
            finish(frontier, lease, fetched(clock))
        if not frontier.is_empty:
            next_turn(frontier, clock)
    assert [state_of(frontier, url) for url in URLS] == [State.DONE] * 4
    host = frontier.host("a.test")
    assert host is not None and (host.failures, host.rests, host.resting) == (0, 0, 0)
    assert (frontier.totals.resting, frontier.totals.resting_hosts) == (0, {})


def test_while_a_host_rests_its_urls_are_counted_and_nothing_else_is_left(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(host_failures_max=2, retries_s=())
    frontier.add([link(url) for url in URLS])
    for _ in range(2):
        finish(frontier, one_lease(frontier), failed(clock, Reason.CONNECT))
        next_turn(frontier, clock)
    assert frontier.lease(10) == [] and frontier.is_empty
    assert (frontier.totals.resting, frontier.totals.resting_hosts) == (4, {"connect": 1})
    frontier.add([link("http://a.test/new")])
    assert frontier.lease(10) == [] and frontier.is_empty and frontier.totals.resting == 5
    clock.advance(2 * 3600)
    assert frontier.next_at() is not None  # its rest is over: it is asked once
    finish(frontier, one_lease(frontier), failed(clock, Reason.CONNECT))
    assert frontier.is_empty and frontier.totals.resting == 5
    host = frontier.host("a.test")
    assert host is not None and round(host.rest_until - clock.now()) == 6 * 3600
    assert host.waits_for is Reason.HOST_DOWN


def fetch_one(frontier: Frontier, clock: VirtualClock, url: str) -> None:
    frontier.add([link(url)])
    finish(frontier, one_lease(frontier), fetched(clock))
    clock.advance(1)


def fail(frontier: Frontier, clock: VirtualClock, times: int) -> None:
    """The next requests fail, whenever they come."""
    for _ in range(times):
        while not (leases := frontier.lease(1)):
            next_turn(frontier, clock)
        finish(frontier, leases[0], failed(clock, Reason.SERVER_ERROR, 502))


def test_a_page_that_fails_while_others_of_its_host_do_not_is_given_up(
    frontier: Frontier, clock: VirtualClock
) -> None:
    fetch_one(frontier, clock, URLS[0])
    frontier.add([link(URLS[1]), link(URLS[2])])
    fail(frontier, clock, 2)
    clock.advance(10)
    fetch_one(frontier, clock, URLS[3])
    fail(frontier, clock, 6)
    assert [state_of(frontier, url) for url in URLS[1:3]] == [State.FAILED] * 2 and frontier.totals.resting == 0
    host = frontier.host("a.test")
    assert host is not None and not host.is_resting


def test_the_last_page_of_a_host_that_fails_alone_has_its_rests_and_is_given_up_then(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    """It may be the page or the host: nothing else is left to ask for that would tell."""
    frontier = reopen(rests_s=(3600.0, DAY_S))
    fetch_one(frontier, clock, URLS[0])
    frontier.add([link(URLS[1])])
    fail(frontier, clock, 4)
    assert state_of(frontier, URLS[1]) is State.WAITING and frontier.totals.resting == 1 and frontier.is_empty
    fail(frontier, clock, 2)
    assert state_of(frontier, URLS[1]) is State.FAILED and frontier.totals.resting == 0
    assert frontier.next_at() is None


@pytest.mark.parametrize("reason", [Reason.SERVER_ERROR, Reason.TIMEOUT, Reason.OVERLOADED])
@pytest.mark.parametrize("urls", [1, 2, 4])
def test_a_small_host_that_is_away_for_days_loses_none_of_its_pages(
    frontier: Frontier, clock: VirtualClock, urls: int, reason: Reason
) -> None:
    """Of which some were fetched before: so few failures in a row say little about a host."""
    fetch_one(frontier, clock, "http://a.test/")
    frontier.add([link(url) for url in URLS[:urls]])
    back_at = clock.now() + 4 * DAY_S
    while clock.now() < back_at:
        for lease in frontier.lease(9):
            finish(frontier, lease, failed(clock, reason, 502 if reason is Reason.SERVER_ERROR else None))
        next_turn(frontier, clock)
    while frontier.next_at() is not None:
        for lease in frontier.lease(9):
            finish(frontier, lease, fetched(clock))
        if frontier.next_at() is not None:
            next_turn(frontier, clock)
    assert [state_of(frontier, url) for url in URLS[:urls]] == [State.DONE] * urls
    assert (frontier.totals.resting, frontier.totals.failed) == (0, 0)


def test_while_its_robots_txt_cannot_be_fetched_a_url_waits(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(URLS[0])])
    finish(frontier, one_lease(frontier), Refused(Reason.ROBOTS_UNREACHABLE, "robots.txt: connect", 7200.0))
    known = frontier.state(URLS[0])
    assert known is not None and (known.state, known.reason) == (State.WAITING, Reason.ROBOTS_UNREACHABLE)
    assert known.attempts == 0 and frontier.is_empty and frontier.totals.resting == 1
    next_turn(frontier, clock)
    finish(frontier, one_lease(frontier), fetched(clock))
    assert state_of(frontier, URLS[0]) is State.DONE and frontier.totals.resting == 0


def state_of(frontier: Frontier, url: str) -> State | None:
    known = frontier.state(url)
    return known.state if known is not None else None


def test_a_retry_after_of_years_is_taken_for_a_week() -> None:
    settings = PolitenessSettings()
    clock = VirtualClock(1)
    result = failed(clock, Reason.OVERLOADED, 429, "Retry-After: 315360000\r\n")
    delay = next_delay(Host("a.test", "a.test"), result, settings)
    assert (delay.seconds, delay.reason) == (settings.retry_after_s_max, Reason.ASKED_BY_SERVER)


@pytest.mark.parametrize("ahead_s", [-3600, 0, 7])
def test_a_date_in_retry_after_counts_by_the_clock_of_its_server(ahead_s: float) -> None:
    """Ours may be wrong, and theirs may be; a server that tells no time is taken at our word."""
    clock = VirtualClock(1)
    theirs = clock.now() + ahead_s
    until, now = (formatdate(moment, usegmt=True) for moment in (theirs + 60, theirs))
    told = failed(clock, Reason.OVERLOADED, 503, f"Date: {now}\r\nRetry-After: {until}\r\n").exchange
    untold = failed(clock, Reason.OVERLOADED, 503, f"Retry-After: {until}\r\n").exchange
    assert told is not None and told.retry_after_s == 60.0
    assert untold is not None and untold.retry_after_s == max(0.0, 60.0 + ahead_s)
