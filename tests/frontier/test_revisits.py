"""Pages that come again: beside new ones only their share, never in the way, and no oftener than they may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES, Meta
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.revisits import COUNTED_AT_ONCE, Revisits
from gossamer.records import Claim, Fetched, Lease, Link, Outcome, Page, Reason, Result, State
from gossamer.schedule.planner import Planner
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.settings import FrontierSettings, PolitenessSettings, ProcessSettings, ScheduleSettings
from tests.frontier.stories import failed, fetched, link

DAY_S = 86_400.0
Opened = Callable[..., Frontier]


@pytest.fixture
def opened(folder: Path, clock: VirtualClock) -> Opened:
    def make(share: float = 0.5, recrawl_plan: RecrawlPlan | None = None, **settings: float) -> Frontier:
        schedule = ScheduleSettings(**settings)  # type: ignore[arg-type]
        planner = Planner(schedule, ProcessSettings(), recrawl_plan or RecrawlPlan(multiplier=1.0))
        store = RocksStore(folder / "partition", TABLES)
        limits = FrontierSettings(retries_s=(60.0,))
        polite = PolitenessSettings(delay_s=0.0, latency_factor=0.0, site_requests_per_s=None)
        return Frontier.open(
            store, store.folder, clock, lambda link: None, limits, polite, planner=planner, revisit_share=share
        )

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
    frontier = opened(shortest_s=60.0, host_visits_a_day=5)
    frontier.add([link(f"http://a.test/{n}") for n in range(20)])
    see(frontier, clock, 20)
    last = frontier.state("http://a.test/19")
    assert last is not None and last.due_at is not None
    assert last.due_at - clock.now() == pytest.approx(4 * DAY_S, rel=0.01)  # twenty pages, five a day


def test_a_sitemap_calls_for_a_page_if_its_host_was_right_before(opened: Opened, clock: VirtualClock) -> None:
    frontier = opened(recrawl_plan=RecrawlPlan(multiplier=10 * DAY_S))
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
    assert host is not None and host.trust.announced_changed == 0
    frontier.add([Link(url, source="http://a.test/map.xml", depth=1, lastmod="2099-01-01")])
    called = frontier.state(url)
    assert called is not None and called.history is not None and called.history.said == 2
    assert called.due_at is not None and called.due_at <= before.due_at


def test_a_visit_that_fails_counts_its_attempts_and_leaves_the_hosts_other_pages_alone(
    opened: Opened, clock: VirtualClock
) -> None:
    """A page begins to fail for good. It was asked for every minute, until its host was taken for dead."""
    frontier = opened()
    bad, good = "http://a.test/bad", "http://a.test/good"
    frontier.add([link(bad), link(good)])
    see(frontier, clock, 2)
    asked: list[tuple[str, int]] = []
    end = clock.now() + 60 * DAY_S
    while (moment := frontier.next_at()) is not None and moment < end:
        clock.advance(max(0.0, moment - clock.now()))
        for lease in frontier.lease(1):
            asked.append((lease.url, lease.attempt))
            result = failed(clock, Reason.SERVER_ERROR, 500) if lease.url == bad else fetched(clock)
            frontier.answered(lease, result)
            frontier.finish([outcome(lease, result)], [None])
    attempts = [attempt for url, attempt in asked if url == bad]
    starts = [n for n, attempt in enumerate(attempts) if attempt == 1]
    assert attempts[:2] == [1, 2] and len(starts) > 2 and len(attempts) < 30, attempts
    known, host = frontier.state(good), frontier.host("a.test")
    assert known is not None and known.state is State.DONE and known.due_at is not None
    assert sum(url == good for url, _ in asked) > 1
    assert host is not None and not host.is_resting


def test_a_page_that_failed_at_a_visit_and_is_back_is_no_failure_any_more(
    opened: Opened, clock: VirtualClock
) -> None:
    frontier = opened()
    frontier.add([link("http://a.test/")])
    see(frontier, clock)
    counts = []
    for is_there in (False, False, True):
        while not (leases := frontier.lease(1)):
            moment = frontier.next_at()
            assert moment is not None
            clock.advance(max(0.0, moment - clock.now()))
        counts.append(frontier.totals.failed)
        result = fetched(clock) if is_there else failed(clock, Reason.GONE, 404)
        frontier.answered(leases[0], result)
        frontier.finish([outcome(leases[0], result)], [None])
        counts.append(frontier.totals.failed)
    assert counts == [0, 1, 0, 1, 0, 0] and frontier.totals.reasons == {}


def test_late_pages_are_counted_as_they_come_due_and_never_read_twice(folder: Path) -> None:
    """A crawl that is late with 100,000 pages must not read them all in the event loop, again and again."""
    read = 0

    class Counting(RocksStore):
        def scan(self, table: str, start: bytes = b"", prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
            nonlocal read
            for row in super().scan(table, start, prefix):
                read += 1
                yield row

    store = Counting(folder / "partition", TABLES)
    again = Revisits(store, PartitionReader(store), Meta(), share=0.3)
    batch, keys = store.batch(), [n.to_bytes(20, "big") for n in range(2 * COUNTED_AT_ONCE)]
    for number, key in enumerate(keys):
        again.put(batch, 1000.0 + number, key)
    store.write(batch, sync=False)
    now = 1000.0 + len(keys)
    read = 0
    assert again.overdue(now - COUNTED_AT_ONCE // 2 - 1) == COUNTED_AT_ONCE
    assert read <= COUNTED_AT_ONCE
    assert again.overdue(now) == len(keys)
    read = 0
    batch = store.batch()
    again.put(batch, 500.0, b"earlier" + bytes(13))
    again.remove(batch, 1000.0, keys[0])
    again.remove(batch, 1001.0, keys[1])
    again.put(batch, now + 1, keys[1])
    store.write(batch, sync=False)
    assert again.overdue(now) == len(keys) - 1
    assert again.overdue(now + 2) == len(keys)
    assert read <= 4
    del again
    store.close()
