"""Pages that come again: beside new ones only their share, never in the way, and no oftener than they may."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import TABLES
from gossamer.records import Claim, Fetched, Lease, Link, Outcome, Page, Reason, Result, State
from gossamer.schedule.course import Course
from gossamer.schedule.planner import Planner
from gossamer.settings import FrontierSettings, PolitenessSettings, ProcessSettings, ScheduleSettings
from tests.frontier.stories import failed, fetched, link

DAY_S = 86_400.0
Opened = Callable[..., Frontier]


@pytest.fixture
def opened(folder: Path, clock: VirtualClock) -> Opened:
    def make(share: float = 0.5, course: Course | None = None, **settings: float) -> Frontier:
        schedule = ScheduleSettings(**settings)  # type: ignore[arg-type]
        planner = Planner(schedule, ProcessSettings(), course or Course(multiplier=1.0))
        store = RocksStore(folder / "partition", TABLES)
        limits, polite = FrontierSettings(retries_s=(60.0,)), PolitenessSettings(delay_s=0.0, latency_factor=0.0)
        return Frontier(store, clock, lambda link: None, limits, polite, planner=planner, revisit_share=share)

    return make


def outcome(lease: Lease, result: Result, text: str = "") -> Outcome:
    if not isinstance(result, Fetched):
        return Outcome(lease, result)
    page = Page(lease.url, "text/html", text=text or lease.url)
    return Outcome(lease, result, page, claim=Claim(f"{hash(page.text) & (2**256 - 1):064x}", lease.url, 1.0))


def see(frontier: Frontier, clock: VirtualClock, most: int = 1) -> list[str]:
    """Fetch what there is, a URL at a time; the paths of what was asked for."""
    seen: list[str] = []
    while len(seen) < most and (leases := frontier.lease(1)):
        clock.advance(0.001)
        result = fetched(clock)
        frontier.answered(leases[0], result)
        frontier.finish([outcome(leases[0], result)], [None])
        seen.append(leases[0].url)
    return seen


def test_visits_again_get_their_share_beside_new_pages_and_all_when_there_are_none(
    opened: Opened, clock: VirtualClock
) -> None:
    frontier = opened(share=0.25, shortest_s=3600.0)
    old = [link(f"http://a.test/old/{n}") for n in range(40)]
    frontier.add(old)
    assert len(see(frontier, clock, 100)) == 40
    clock.advance(100 * DAY_S)
    frontier.add([link(f"http://b.test/new/{n}") for n in range(60)])
    both = see(frontier, clock, 60)
    again = sum("/old/" in url for url in both)
    assert 22 <= again <= 27  # room for 14 was earned by the first forty, and for a quarter of these
    rest = see(frontier, clock, 200)
    assert sum("/new/" in url for url in both + rest) == 60
    assert sum("/old/" in url for url in both + rest) == 40
    assert frontier.totals.pages == 100 and frontier.totals.visits == 40


def test_it_is_empty_when_only_visits_again_are_left(opened: Opened, clock: VirtualClock) -> None:
    frontier = opened()
    frontier.add([link("http://a.test/")])
    see(frontier, clock)
    assert frontier.is_empty
    known = frontier.state("http://a.test/")
    assert known is not None and known.state is State.DONE and known.due_at is not None
    clock.advance(known.due_at - clock.now() - 1)
    assert frontier.lease(1) == []
    clock.advance(2)
    [lease] = frontier.lease(1)
    assert lease.url == "http://a.test/" and lease.content_hash == known.content_hash
    assert frontier.is_empty


def test_a_page_that_is_gone_is_looked_for_ever_more_rarely_and_then_forgotten(
    opened: Opened, clock: VirtualClock
) -> None:
    frontier = opened()
    frontier.add([link("http://a.test/")])
    see(frontier, clock)
    waits = []
    while (known := frontier.state("http://a.test/")) is not None and known.due_at is not None:
        waits.append(round((known.due_at - clock.now()) / DAY_S))
        clock.advance(known.due_at - clock.now() + 1)
        [lease] = frontier.lease(1)
        result = failed(clock, Reason.GONE, 404)
        frontier.answered(lease, result)
        frontier.finish([outcome(lease, result)], [None])
    assert waits[1:] == [1, 4, 16, 64]
    assert known is not None and known.state is State.FAILED and known.content_hash
    clock.advance(1000 * DAY_S)
    assert frontier.lease(1) == []


def test_a_host_costs_no_more_visits_a_day_than_it_may(opened: Opened, clock: VirtualClock) -> None:
    frontier = opened(shortest_s=60.0, host_visits_a_day=10)
    frontier.add([link(f"http://a.test/{n}") for n in range(20)])
    see(frontier, clock, 20)
    last = frontier.state("http://a.test/19")
    assert last is not None and last.due_at is not None
    assert last.due_at - clock.now() == pytest.approx(2 * DAY_S, rel=0.01)  # twenty pages, ten a day


def test_a_sitemap_calls_for_a_page_if_its_host_was_right_before(opened: Opened, clock: VirtualClock) -> None:
    frontier = opened(course=Course(multiplier=10 * DAY_S))
    url = "http://a.test/page"
    frontier.add([link(url)])
    see(frontier, clock)
    before = frontier.state(url)
    assert before is not None and before.due_at is not None and before.history is not None
    clock.advance(DAY_S)
    frontier.add([Link(url, source="http://a.test/map.xml", depth=1, lastmod="2000-01-01")])
    quiet = frontier.state(url)
    assert (
        quiet is not None and quiet.history is not None and quiet.history.said == 1 and quiet.due_at == before.due_at
    )
    host = frontier.host("a.test")
    assert host is not None and host.trust.called_changed == 0
    frontier.add([Link(url, source="http://a.test/map.xml", depth=1, lastmod="2099-01-01")])
    called = frontier.state(url)
    assert called is not None and called.history is not None and called.history.said == 2
    assert called.due_at is not None and called.due_at <= before.due_at
