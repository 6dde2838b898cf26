"""All hosts of a site together are asked no faster than its owner would expect of one crawler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier import site_pace
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.rules.policy import Policies, Policy
from gossamer.records import Reason, Refused
from gossamer.settings import FrontierSettings, PolitenessSettings
from tests.frontier.stories import fetched, finish, link

HOSTS, PAGES = 40, 30


@pytest.fixture
def frontier(folder: Path, clock: VirtualClock) -> Iterator[Frontier]:
    store = RocksStore(folder / "partition", TABLES)
    polite = PolitenessSettings(delay_s=1.0, site_requests_per_s=4.0)
    frontier = Frontier.open(store, store.folder, clock, lambda link: None, FrontierSettings(), polite)
    names = [f"h{n}.big.test" for n in range(HOSTS)] + ["small.test"]
    frontier.add([link(f"http://{name}/{page}") for name in names for page in range(PAGES)])
    frontier.add([link(f"http://small.test/{page}") for page in range(PAGES, 3 * PAGES)])
    yield frontier
    store.close()


def crawl(frontier: Frontier, clock: VirtualClock, seconds: float) -> dict[str, int]:
    """Requests by site, in so many seconds."""
    end, asked = clock.now() + seconds, {"big.test": 0, "small.test": 0}
    while clock.now() < end:
        for lease in frontier.lease(100):
            asked[lease.host.partition(".")[2] if "big" in lease.host else lease.host] += 1
            finish(frontier, lease, fetched(clock))
        moment = frontier.next_at()
        assert moment is not None and moment > clock.now()
        clock.advance(min(moment, end) - clock.now())
    return asked


def test_forty_sub_domains_are_asked_as_one_site(frontier: Frontier, clock: VirtualClock) -> None:
    asked = crawl(frontier, clock, 20.0)
    assert 78 <= asked["big.test"] <= 82 and 19 <= asked["small.test"] <= 21, asked
    frontier.apply_policies(Policies(sites={"big.test": Policy(crawl_rate=1.0)}))
    asked = crawl(frontier, clock, 20.0)
    assert 19 <= asked["big.test"] <= 22 and 19 <= asked["small.test"] <= 21, asked
    frontier.apply_policies(Policies(sites={"big.test": Policy(crawl_rate=20.0)}))
    asked = crawl(frontier, clock, 10.0)
    assert 195 <= asked["big.test"] <= 206, asked


def test_a_site_keeps_its_pace_when_those_that_are_idle_are_forgotten(
    frontier: Frontier, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_pace, "SITES_MAX", 1)
    asked = crawl(frontier, clock, 20.0)
    assert 78 <= asked["big.test"] <= 82 and 19 <= asked["small.test"] <= 21, asked


@pytest.mark.parametrize("by_s", [5.0, 3600.0])
def test_a_clock_set_forward_lets_a_site_be_asked_no_faster(
    frontier: Frontier, clock: VirtualClock, by_s: float
) -> None:
    crawl(frontier, clock, 10.0)
    clock.jump(by_s)
    frontier.put_off(by_s)
    leases = frontier.lease(100)
    assert len(leases) <= 1, "no time has passed"
    for lease in leases:
        finish(frontier, lease, fetched(clock))
    asked = crawl(frontier, clock, 10.0)
    assert 37 <= asked["big.test"] <= 41 and 9 <= asked["small.test"] <= 11, asked


def test_what_was_not_asked_for_costs_the_site_nothing(frontier: Frontier, clock: VirtualClock) -> None:
    """Thousands of URLs that robots.txt forbids are not refused at the pace of requests."""
    turns = 0
    for _ in range(100):
        leases = frontier.lease(1000)
        turns += len(leases)
        for lease in leases:
            finish(frontier, lease, Refused(Reason.ROBOTS))
        clock.advance(0.01)
    assert turns > 100


def test_a_rate_for_a_host_is_its_delay(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.apply_policies(Policies(hosts={"small.test": Policy(crawl_rate=0.5)}))
    assert crawl(frontier, clock, 20.0)["small.test"] == 10
