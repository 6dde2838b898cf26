"""Moments that were noted by another clock: nobody is asked too soon, and nothing waits for a year."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.front import REST_S
from gossamer.frontier.frontier import Frontier
from gossamer.records import Reason, State
from gossamer.schedule.planner import Planner
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.settings import FrontierSettings, PolitenessSettings, ProcessSettings, ScheduleSettings
from tests.frontier.stories import failed, fetched, finish, link, one_lease

DAY_S = 86_400.0
AHEAD_S = 400 * DAY_S
DELAY_S = PolitenessSettings().delay_s


def set_forward(frontier: Frontier, clock: VirtualClock, seconds: float) -> None:
    clock.jump(seconds)
    frontier.put_off(seconds)


@pytest.mark.parametrize("by_s", [5.0, 2 * DAY_S])
def test_a_clock_set_forward_lets_no_host_be_asked_sooner(
    frontier: Frontier, clock: VirtualClock, by_s: float
) -> None:
    frontier.add([link("http://a.test/1"), link("http://a.test/2"), link("http://b.test/")])
    first = {lease.host: lease for lease in frontier.lease(2)}
    answer = fetched(clock)
    frontier.answered(first["a.test"], answer)
    set_forward(frontier, clock, by_s)
    assert frontier.lease(9) == [], "nothing has passed: neither the delay of one, nor the lease of the other"
    clock.advance(DELAY_S - 0.01)
    assert frontier.lease(9) == []
    clock.advance(0.02)
    assert [lease.url for lease in frontier.lease(9)] == ["http://a.test/2"]
    finish(frontier, first["b.test"], fetched(clock))
    assert frontier.in_flight == 2  # the one that was answered is not finished yet


def test_while_the_machine_sleeps_no_lease_runs_out(frontier: Frontier, clock: VirtualClock) -> None:
    """Nor does the timer of whoever holds it."""
    frontier.add([link("http://a.test/1"), link("http://a.test/2")])
    lease = one_lease(frontier)
    clock.advance(500.0)
    clock.jump(DAY_S)
    assert frontier.lease(9) == [] and frontier.in_flight == 1
    assert frontier.next_at() == pytest.approx(clock.now() + 100.0)
    clock.advance(101.0)
    frontier.lease(9)
    assert frontier.in_flight == 0, "its holder is gone"
    assert frontier.answered(lease, fetched(clock)) == "expired"


def test_an_answer_that_ended_before_the_clock_was_set_counts_from_now(
    frontier: Frontier, clock: VirtualClock
) -> None:
    frontier.add([link("http://a.test/1"), link("http://a.test/2")])
    lease, answer = one_lease(frontier), fetched(clock)
    set_forward(frontier, clock, 3600.0)
    finish(frontier, lease, answer)
    assert frontier.lease(1) == []
    clock.advance(DELAY_S + 0.01)
    assert frontier.lease(1)


def test_a_host_that_rests_on_disk_rests_as_long_as_it_asked_for(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    """With one place, so that it has to leave it."""
    frontier = reopen(active_hosts_max=1)
    frontier.add([link("http://a.test/1"), link("http://a.test/2")])
    overloaded = failed(clock, Reason.OVERLOADED, 503, f"Retry-After: {DAY_S:.0f}\r\n")
    finish(frontier, one_lease(frontier), overloaded)
    frontier.add([link("http://b.test/1"), link("http://b.test/2"), link("http://c.test/")])
    finish(frontier, one_lease(frontier), fetched(clock))  # of another host
    set_forward(frontier, clock, 2 * DAY_S)
    asked: set[str] = set()
    for _ in range(int(DAY_S / REST_S) - 2):
        clock.advance(REST_S)
        for lease in frontier.lease(9):
            asked.add(lease.host)
            finish(frontier, lease, fetched(clock))
    assert asked == {"b.test", "c.test"}
    frontier = reopen(active_hosts_max=1)
    assert frontier.lease(9) == [] and frontier.moved_back_s == 0.0
    clock.advance(3 * REST_S)
    assert {lease.host for lease in frontier.lease(9)} == {"a.test"}


def test_after_a_run_with_a_clock_that_was_a_year_ahead_everything_goes_on(folder: Path) -> None:
    """Waits, rests, tries and visits are as far from now as they were from then."""

    def opened(clock: VirtualClock) -> tuple[Frontier, RocksStore]:
        planner = Planner(ScheduleSettings(visits_a_day=100), ProcessSettings(), RecrawlPlan(multiplier=1.0))
        store = RocksStore(folder / "partition", TABLES)
        limits = FrontierSettings(active_hosts_max=2, retries_s=(600.0,))
        return Frontier.open(
            store, store.folder, clock, lambda _: None, limits, PolitenessSettings(), planner=planner
        ), store

    ahead = VirtualClock(start=VirtualClock().now() + AHEAD_S)
    frontier, store = opened(ahead)
    frontier.add([link(f"http://{name}.test/{n}") for name in "abcd" for n in (1, 2)])
    for _ in range(4):  # of each host one: two pages, one failure, one that has to rest
        for lease in frontier.lease(9):
            match lease.host[0]:
                case "a" | "b":
                    finish(frontier, lease, fetched(ahead))
                case "c":
                    finish(frontier, lease, failed(ahead, Reason.SERVER_ERROR, 500))
                case "d":
                    finish(frontier, lease, failed(ahead, Reason.OVERLOADED, 503, "Retry-After: 7200\r\n"))
        ahead.advance(120.0)
    ahead_s = ahead.now() - 120.0 - VirtualClock().now()
    store.close()

    clock = VirtualClock()
    frontier, store = opened(clock)
    assert frontier.moved_back_s == pytest.approx(ahead_s, abs=1)
    asked: set[str] = set()
    for _ in range(400):
        for lease in frontier.lease(9):
            asked.add(lease.url)
            finish(frontier, lease, fetched(clock))
        clock.advance(60.0)
    assert {url for url in asked if "//d" in url} == {"http://d.test/1", "http://d.test/2"}
    assert {url for url in asked if "//c" in url} == {"http://c.test/1", "http://c.test/2"}
    for name in "abcd":
        for n in (1, 2):
            known = frontier.state(f"http://{name}.test/{n}")
            assert known is not None and known.state is State.DONE
            assert known.due_at is not None and known.due_at < clock.now() + 91 * DAY_S
    store.close()
    frontier, store = opened(clock)
    assert frontier.moved_back_s == 0.0
    store.close()
