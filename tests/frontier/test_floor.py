"""After an owner that may have asked hosts without a note of it: no host is asked before its delay from now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.records import Exchange, Fetched, Lease, Link, Outcome
from gossamer.settings import FrontierSettings, PolitenessSettings

HOSTS = 30
DELAY_S = 5.0
Open = Callable[..., Frontier]


@pytest.fixture
def opened(folder: Path, clock: VirtualClock) -> Iterator[Open]:
    stores: list[RocksStore] = []

    def open_frontier(*, is_clean: bool, active: int = 10) -> Frontier:
        for store in stores:
            store.close()
        stores[:] = [RocksStore(folder / "store", TABLES)]
        limits, polite = FrontierSettings(active_hosts_max=active, host_share=1), PolitenessSettings(delay_s=DELAY_S)
        return Frontier.open(stores[0], folder, clock, lambda link: None, limits, polite, is_clean=is_clean)

    yield open_frontier
    for store in stores:
        store.close()


def add(frontier: Frontier) -> None:
    urls = [f"http://host{n}.test/{page}" for n in range(HOSTS) for page in range(3)]
    frontier.add([Link(url, "", "", "http://source.test/", 1) for url in urls])


def finish(frontier: Frontier, clock: VirtualClock, leases: list[Lease]) -> None:
    now = clock.now()
    exchange = Exchange(b"GET / HTTP/1.1", b"HTTP/1.1 200 OK\r\n", 200, "192.0.2.1", now, now, 0.0)
    outcomes = [Outcome(lease, Fetched(exchange, b"body")) for lease in leases]
    for outcome in outcomes:
        frontier.answered(outcome.lease, outcome.result)
    frontier.finish(outcomes, [None] * len(outcomes))


def first_asked(frontier: Frontier, clock: VirtualClock, hours: float = 0.1) -> dict[str, float]:
    """When each host is asked first, in seconds from now."""
    found: dict[str, float] = {}
    began = clock.now()
    while clock.now() < began + hours * 3600:
        leases = frontier.lease(100)
        for lease in leases:
            found.setdefault(lease.url.split("/")[2], clock.now() - began)
        finish(frontier, clock, leases)
        clock.advance(0.5)
    return found


def test_no_host_is_asked_before_its_delay_after_an_unclean_end(opened: Open, clock: VirtualClock) -> None:
    add(opened(is_clean=True))
    asked = first_asked(opened(is_clean=False), clock)
    assert len(asked) == HOSTS and min(asked.values()) >= DELAY_S


def test_after_a_clean_end_hosts_are_asked_at_once(opened: Open, clock: VirtualClock) -> None:
    add(opened(is_clean=True))
    assert min(first_asked(opened(is_clean=True), clock).values()) == 0.0


def test_a_host_with_a_longer_delay_is_left_alone_for_that(opened: Open, clock: VirtualClock) -> None:
    frontier = opened(is_clean=True, active=100)
    add(frontier)
    slow = next(lease for lease in frontier.lease(100) if "host7." in lease.url)
    now = clock.now()
    exchange = Exchange(b"GET / HTTP/1.1", b"HTTP/1.1 200 OK\r\n", 200, "192.0.2.1", now - 30, now - 30, 30.0)
    frontier.answered(slow, Fetched(exchange, b"body"))
    host = frontier.host("host7.test")
    assert host is not None
    host.delay_s = 40.0
    frontier.finish([Outcome(slow, Fetched(exchange, b"body"))], [None])
    clock.advance(3600)
    asked = first_asked(opened(is_clean=False), clock)
    assert asked.pop("host7.test") >= 40.0 and min(asked.values()) < 40.0


def test_the_next_owner_keeps_to_it_though_it_found_all_in_order(opened: Open, clock: VirtualClock) -> None:
    add(opened(is_clean=True))
    opened(is_clean=False)
    clock.advance(2)
    assert min(first_asked(opened(is_clean=True), clock).values()) >= DELAY_S - 2


async def test_a_booked_turn_of_a_host_that_nobody_knows_waits_as_well(opened: Open, clock: VirtualClock) -> None:
    frontier = opened(is_clean=False)
    turn = frontier.book("new.test")
    frontier.ready()
    assert not turn.done()
    clock.advance(DELAY_S + 0.1)
    frontier.ready()
    assert turn.done()


def test_a_clock_that_is_set_forward_makes_nobody_sooner(opened: Open, clock: VirtualClock) -> None:
    add(opened(is_clean=True))
    frontier = opened(is_clean=False)
    clock.jump(3600)
    frontier.put_off(3600)
    assert min(first_asked(frontier, clock).values()) >= DELAY_S
