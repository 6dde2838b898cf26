"""One dead port of a host: its URLs wait, the other ports go on, and it is tried again, one request at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.retry import Cursor
from gossamer.frontier.rules.origins import (
    FAILING,
    ORIGINS_MAX,
    OTHERS,
    OTHERS_WAIT_S,
    away,
    back_at,
    is_its_own,
    meet,
    move_back,
    note,
    waits,
)
from gossamer.records import Host, Lease, Reason, Result, RobotsCopy, RobotsRead, State
from gossamer.settings import FrontierSettings
from gossamer.url.site import origin_of
from gossamer.visit_history import Away
from tests.frontier.stories import exchange, failed, fetched, finish, link

LIVE, DEAD = "http://a.test:8080", "http://a.test:8081"
HOUR_S, DAY_S = 3600.0, 86400.0
SETTINGS = FrontierSettings()
WAITS_S = waits(SETTINGS.retries_s, SETTINGS.rests_s)


def robots_failed(clock: VirtualClock, origin: str, wait_s: float = 600.0, status: int | None = None) -> RobotsRead:
    copy = RobotsCopy(
        origin, clock.now(), None, tries=1, tried_at=clock.now(), reason=Reason.CONNECT, detail="refused"
    )
    return RobotsRead(copy, None if status is None else exchange(clock, status), clock.now(), wait_s)


# ---- the rules, as functions -----------------------------------------------------------------------------------


def host_with(*origins: str) -> Host:
    host = Host("a.test", "a.test")
    for origin in origins:
        meet(host, origin)
    return host


def test_an_origin_is_away_after_three_urls_that_nobody_answered_and_longer_each_time(clock: VirtualClock) -> None:
    host, waits_s = host_with(LIVE, DEAD), []
    for count in range(1, 9):
        assert note(host, DEAD, failed(clock, Reason.TIMEOUT), 1, WAITS_S, clock.now())
        found = away(host, DEAD, clock.now())
        assert (found is not None) == (count >= FAILING)
        if found is not None:
            assert found.reason is Reason.ORIGIN_DOWN and found.detail == f"{DEAD}: timeout"
            waits_s.append(round(found.until - clock.now()))
            clock.advance(found.until - clock.now())
    assert waits_s == [60, 600, 1800, 7200, 7200, 21600]
    assert away(host, LIVE, clock.now()) is None
    note(host, DEAD, fetched(clock), 1, WAITS_S, clock.now())
    assert host.origins == {LIVE: None, DEAD: None}


def test_one_url_that_times_out_again_and_again_says_nothing_of_its_origin(clock: VirtualClock) -> None:
    host = host_with(LIVE, DEAD)
    for attempt in (1, 2, 3, 4, 5):
        note(host, DEAD, failed(clock, Reason.TIMEOUT), attempt, WAITS_S, clock.now())
    assert away(host, DEAD, clock.now()) is None


def test_one_robots_txt_that_cannot_be_fetched_is_enough(clock: VirtualClock) -> None:
    host = host_with(LIVE, DEAD)
    assert note(host, DEAD, robots_failed(clock, DEAD, 1800.0), 1, WAITS_S, clock.now())
    found = away(host, DEAD, clock.now())
    assert found is not None and found.until == clock.now() + 1800
    assert (found.reason, found.detail) == (Reason.ROBOTS_UNREACHABLE, f"{DEAD}: robots.txt: connect: refused")


def test_without_another_origin_that_may_answer_the_failure_is_the_hosts(clock: VirtualClock) -> None:
    alone = host_with(DEAD)
    assert not note(alone, DEAD, robots_failed(clock, DEAD), 1, WAITS_S, clock.now())
    assert alone.origins == {DEAD: None}
    both = host_with(LIVE, DEAD)
    note(both, DEAD, robots_failed(clock, DEAD), 1, WAITS_S, clock.now())
    assert not is_its_own(both, LIVE, failed(clock, Reason.CONNECT), clock.now())
    clock.advance(601)  # now the other one may answer again
    assert is_its_own(both, LIVE, failed(clock, Reason.CONNECT), clock.now())


@pytest.mark.parametrize("reason", [Reason.DNS, Reason.SERVER_ERROR, Reason.BROKEN_ANSWER])
def test_what_tells_of_the_host_or_of_somebody_is_no_failure_of_an_origin(
    clock: VirtualClock, reason: Reason
) -> None:
    assert not is_its_own(host_with(LIVE, DEAD), DEAD, failed(clock, reason), clock.now())


def test_of_a_thousand_ports_sixteen_are_remembered_and_the_others_as_one(clock: VirtualClock) -> None:
    host = host_with(LIVE, *(f"http://a.test:{port}" for port in range(1000, 2000)))
    assert len(host.origins) == ORIGINS_MAX + 1
    for port in range(1000, 2000):
        origin = f"http://a.test:{port}"
        if away(host, origin, clock.now()) is None:
            note(host, origin, robots_failed(clock, origin), 1, WAITS_S, clock.now())
    found = host.origins[OTHERS]
    assert len(host.origins) == ORIGINS_MAX + 1 and found is not None
    for _ in range(8):  # whatever it was, one of them is tried soon
        clock.advance(DAY_S)
        note(host, "http://a.test:1999", robots_failed(clock, "", 7 * DAY_S), 1, WAITS_S, clock.now())
        found = host.origins[OTHERS]
        assert found is not None and found.until <= clock.now() + OTHERS_WAIT_S
    note(host, "http://a.test:1500", fetched(clock), 1, WAITS_S, clock.now())
    assert host.origins["http://a.test:1500"] is None and host.origins[LIVE] is None
    assert len(host.origins) == ORIGINS_MAX + 1


def test_urls_come_back_within_a_second_and_each_is_the_first_some_day() -> None:
    hashes, first = [Random(n).randbytes(12) for n in range(30)], Counter[bytes]()
    for rests in range(1, 1000):
        moments = {each: back_at(Away(1, rests, 600.0), each) for each in hashes}
        assert all(600 <= moment <= 601 for moment in moments.values())
        first[min(hashes, key=lambda each: (moments[each], each))] += 1
    assert len(first) == len(hashes), "of the dead ports that stand for one, each is tried"


def test_a_clock_that_was_ahead_by_a_year_does_not_keep_an_origin_away_for_a_year() -> None:
    host = Host("a.test", "a.test", origins={LIVE: None, DEAD: Away(3, 1, 365 * DAY_S + 60)})
    assert move_back(host, 365 * DAY_S, 30.0)
    assert host.origins[DEAD] == Away(3, 1, 60.0) and host.origins[LIVE] is None


# ---- the frontier ----------------------------------------------------------------------------------------------


class Server:
    """One host with several ports; some are closed. It plays the fetcher, too: robots.txt comes first."""

    def __init__(self, clock: VirtualClock, closed: Iterable[str] = (), reason: Reason = Reason.TIMEOUT) -> None:
        self.clock = clock
        self.reason = reason
        self.closed = set(closed)
        self.read: set[str] = set()  # whose robots.txt we have
        self.tries: Counter[str] = Counter()
        self.asked: list[tuple[float, str]] = []
        self.fetched: set[str] = set()

    def answer(self, lease: Lease) -> Result:
        origin = origin_of(lease.url)
        self.asked.append((self.clock.now(), origin))
        if origin in self.read:
            if origin in self.closed:
                return failed(self.clock, self.reason)
            self.fetched.add(lease.url)
            return fetched(self.clock)
        if origin not in self.closed:
            self.read.add(origin)
            return RobotsRead(RobotsCopy(origin, self.clock.now(), 200), exchange(self.clock))
        self.tries[origin] += 1
        waits_s = (600.0, 1800.0, 7200.0)
        if self.tries[origin] <= len(waits_s):
            return robots_failed(self.clock, origin, waits_s[self.tries[origin] - 1])
        result = robots_failed(self.clock, origin, 0.0)
        return RobotsRead(_resting(result.robots), None, self.clock.now())

    def requests(self, origin: str) -> list[float]:
        return [at for at, asked in self.asked if asked == origin]


def _resting(copy: RobotsCopy) -> RobotsCopy:
    return RobotsCopy(copy.origin, 0.0, None, tries=9, tried_at=copy.tried_at, reason=copy.reason, rest_s=2 * HOUR_S)


def crawl(frontier: Frontier, server: Server, until: float) -> None:
    clock = server.clock
    while clock.now() < until:
        leases = frontier.lease(10)
        assert len(leases) <= 1, "one host, one request"
        for lease in leases:
            finish(frontier, lease, server.answer(lease))
        moment = frontier.next_at()
        clock.advance(max(0.001, min(until, until if moment is None else moment) - clock.now()))


def states(frontier: Frontier, urls: Iterable[str]) -> Counter[tuple[State, Reason | None]]:
    found = [frontier.state(url) for url in urls]
    return Counter((known.state, known.reason) for known in found if known is not None)


DEAD_URLS = [f"{DEAD}/{n}" for n in range(50)]
LIVE_URLS = [f"{LIVE}/{n}" for n in range(50)]


def test_a_port_that_was_never_there_costs_the_others_one_request(frontier: Frontier, clock: VirtualClock) -> None:
    server, start = Server(clock, [DEAD]), clock.now()
    frontier.add([link(url) for url in DEAD_URLS + LIVE_URLS])
    crawl(frontier, server, start + 60)
    assert set(LIVE_URLS) == server.fetched and len(server.requests(DEAD)) == 1
    gaps = [later - earlier for (earlier, _), (later, _) in zip(server.asked, server.asked[1:], strict=False)]
    assert min(gaps) >= 1 and max(gaps) < 1.1, "the delay of the host holds between any two requests, and is the same"
    assert states(frontier, DEAD_URLS) == {(State.WAITING, Reason.ROBOTS_UNREACHABLE): 50}
    host = frontier.host("a.test")
    assert host is not None and (host.failures, host.queued, host.is_resting) == (0, 0, False)
    assert frontier.is_done_for_now and frontier.totals.waiting == 50 and frontier.totals.later == 50
    assert 600 <= (frontier.next_try_at or 0) - start < 602


def test_a_port_that_dies_later_is_left_alone_after_three_of_its_urls(
    frontier: Frontier, clock: VirtualClock
) -> None:
    server, start = Server(clock, [DEAD]), clock.now()
    server.read.add(DEAD)
    frontier.add([link(url) for url in DEAD_URLS + LIVE_URLS])
    crawl(frontier, server, start + 58)
    assert set(LIVE_URLS) == server.fetched and len(server.requests(DEAD)) == FAILING
    host = frontier.host("a.test")
    assert host is not None and (host.failures, host.failed_urls, host.delay_s) == (0, 0, 1.0)
    assert states(frontier, DEAD_URLS)[State.WAITING, Reason.ORIGIN_DOWN] == 50 - FAILING
    crawl(frontier, server, start + 30 * DAY_S)
    assert len(server.requests(DEAD)) <= FAILING + len(WAITS_S) + 4, "a month later: one request for each wait"
    assert states(frontier, DEAD_URLS).keys() <= {
        (State.WAITING, Reason.ORIGIN_DOWN),
        (State.WAITING, Reason.TIMEOUT),
    }


def test_one_url_at_a_dead_port_is_not_given_up_because_another_port_is_well(
    frontier: Frontier, clock: VirtualClock
) -> None:
    server, start = Server(clock, [DEAD]), clock.now()
    server.read.add(DEAD)
    frontier.add([link(f"{DEAD}/alone")])
    for hour in range(24 * 5):
        frontier.add([link(f"{LIVE}/{hour}")])
        crawl(frontier, server, start + hour * HOUR_S)
    assert len(server.fetched) > 100 and len(server.requests(DEAD)) > 4
    assert states(frontier, [f"{DEAD}/alone"]) == {(State.WAITING, Reason.TIMEOUT): 1}


def test_when_the_port_answers_one_request_finds_out_and_all_its_urls_follow(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    server, start = Server(clock, [DEAD]), clock.now()
    frontier = reopen()
    frontier.add([link(url) for url in DEAD_URLS + LIVE_URLS])
    crawl(frontier, server, start + 2000)
    assert len(server.requests(DEAD)) == 2
    frontier = reopen()  # a crash: what is away is on the disk
    crawl(frontier, server, start + 2300)
    assert len(server.requests(DEAD)) == 2
    server.closed.clear()
    crawl(frontier, server, start + 3000)
    assert server.fetched == {*DEAD_URLS, *LIVE_URLS}
    assert frontier.is_empty and frontier.totals.waiting == frontier.totals.resting == frontier.totals.later == 0


def test_new_urls_of_the_living_port_are_asked_for_while_the_dead_one_rests(
    frontier: Frontier, clock: VirtualClock
) -> None:
    server, start = Server(clock, [DEAD]), clock.now()
    frontier.add([link(url) for url in [*DEAD_URLS, LIVE + "/first"]])
    crawl(frontier, server, start + 3 * HOUR_S)
    assert frontier.totals.resting == 50, "its waits are over, and it rests"
    frontier.add([link(url) for url in LIVE_URLS])
    crawl(frontier, server, start + 3 * HOUR_S + 55)
    assert server.fetched >= set(LIVE_URLS)


def test_where_every_port_is_dead_the_host_rests_as_a_whole(frontier: Frontier, clock: VirtualClock) -> None:
    server, start = Server(clock, [DEAD, LIVE]), clock.now()
    server.read |= {DEAD, LIVE}
    frontier.add([link(url) for url in DEAD_URLS + LIVE_URLS])
    crawl(frontier, server, start + 5 * HOUR_S)
    host = frontier.host("a.test")
    assert host is not None and host.rests > 0
    assert len(server.asked) < 40, "less and less"
    server.closed.clear()
    crawl(frontier, server, start + 10 * DAY_S)
    assert server.fetched == {*DEAD_URLS, *LIVE_URLS}


def test_a_host_with_one_port_is_left_alone_as_a_whole(frontier: Frontier, clock: VirtualClock) -> None:
    server, start = Server(clock, [DEAD]), clock.now()
    frontier.add([link(url) for url in DEAD_URLS])
    crawl(frontier, server, start + HOUR_S)
    assert [round(at - start) for at in server.requests(DEAD)] == [0, 600, 2400]
    assert states(frontier, DEAD_URLS) == {(State.QUEUED, None): 50}
    host = frontier.host("a.test")
    assert host is not None and host.waits_for is Reason.ROBOTS_UNREACHABLE


def test_dozens_of_dead_ports_take_a_small_share_and_a_living_one_among_them_is_found(
    frontier: Frontier, clock: VirtualClock
) -> None:
    ports = [f"http://a.test:{port}" for port in range(1000, 1040)]
    living = ports[30]
    server, start = Server(clock, set(ports) - {living}), clock.now()
    frontier.add([link(LIVE_URLS[0])])
    crawl(frontier, server, start + 10)
    frontier.add([link(f"{origin}/{n}") for origin in ports for n in range(2)])
    frontier.add([link(url) for url in LIVE_URLS])
    crawl(frontier, server, start + 100)
    assert server.fetched >= set(LIVE_URLS), "dead ports are linked to first, and all of it takes a minute and a half"
    host = frontier.host("a.test")
    assert host is not None and len(host.origins) <= ORIGINS_MAX + 1
    crawl(frontier, server, start + DAY_S)
    assert {f"{living}/0", f"{living}/1"} <= server.fetched
    assert len(server.asked) < 100 + 24 * 6 * 2, "about one in ten minutes"
    server.closed.clear()
    crawl(frontier, server, start + 2 * DAY_S)
    assert len(server.fetched) == 50 + 80


def test_retry_asks_a_dead_port_at_once(frontier: Frontier, clock: VirtualClock) -> None:
    server, start = Server(clock, [DEAD]), clock.now()
    server.read.add(DEAD)
    frontier.add([link(url) for url in DEAD_URLS + LIVE_URLS])
    crawl(frontier, server, start + 3 * HOUR_S)
    server.closed.clear()
    hosts, cursor = frontier.retry(None, None, Cursor())
    assert hosts == 0 and cursor is not None
    count, cursor = frontier.retry(None, None, cursor)
    assert cursor is None
    assert count == 50
    crawl(frontier, server, clock.now() + 60)
    assert server.fetched == {*DEAD_URLS, *LIVE_URLS}


@pytest.mark.parametrize("seed", range(6))
def test_whatever_its_ports_do_every_url_of_a_host_is_fetched_once_they_answer(
    reopen: Callable[..., Frontier], clock: VirtualClock, seed: int
) -> None:
    """Ports come and go for weeks, and the crawler dies now and then."""
    chance, frontier = Random(seed), reopen()
    origins = ["http://a.test", "https://a.test", LIVE, DEAD]
    server, urls = Server(clock, reason=Reason.CONNECT), [f"{origin}/{n}" for origin in origins for n in range(20)]
    chance.shuffle(urls)
    for n in range(20):
        server.closed = {origin for origin in origins if chance.random() < 0.6}
        frontier.add([link(url) for url in urls[4 * n : 4 * n + 4]])
        crawl(frontier, server, clock.now() + chance.choice([5, 100, HOUR_S, DAY_S]))
        gaps = [later - earlier for (earlier, _), (later, _) in zip(server.asked, server.asked[1:], strict=False)]
        assert min(gaps, default=1.0) >= 1 - 1e-3
        if chance.random() < 0.3:
            frontier = reopen()
        total = sum(states(frontier, urls[: 4 * n + 4]).values())
        assert total == 4 * n + 4 == frontier.totals.known
    server.closed.clear()
    crawl(frontier, server, clock.now() + 8 * DAY_S)
    assert server.fetched == set(urls), states(frontier, urls)
    assert frontier.totals.resting == frontier.totals.waiting == frontier.totals.later == 0
