"""What a link costs that leads to a page which is known: a look into the store where something may come of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.seen import Seen
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.records import Link, UrlRecord
from gossamer.schedule.planner import Planner
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.settings import FrontierSettings, PolitenessSettings, ProcessSettings, ScheduleSettings

SEED, PAGE = "http://a.test/", "http://a.test/page"
LIMITS = FrontierSettings()


class Counting(RocksStore):
    looks = 0

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        self.looks += len(keys) if table == "urls" else 0
        return super().get_many(table, keys)


@pytest.fixture
def store(folder: Path) -> Iterator[Counting]:
    store = Counting(folder / "partition", TABLES)
    yield store
    store.close()


@pytest.fixture
def frontier(store: Counting, clock: VirtualClock) -> Frontier:
    planner = Planner(ScheduleSettings(), ProcessSettings(), RecrawlPlan())
    frontier = Frontier.open(
        store, store.folder, clock, lambda link: None, LIMITS, PolitenessSettings(), planner=planner
    )
    frontier.add([Link(SEED)])
    return frontier


def found(worth: int, url: str = PAGE, depth: int = 1) -> Link:
    return Link(url, source=SEED, depth=depth, worth=worth)


def known(frontier: Frontier, url: str = PAGE) -> UrlRecord:
    record = frontier.state(url)
    assert record is not None
    return record


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_of_a_thousand_links_to_a_queued_page_those_are_looked_at_that_double_its_credit(
    frontier: Frontier, store: Counting, at_once: int
) -> None:
    links = [found(worth=100)] * 1000
    for start in range(0, len(links), at_once):
        frontier.add(links[start : start + at_once])
    assert store.looks <= 12
    assert known(frontier).credit > 100 * 1000 / 2


def test_a_shorter_way_is_noticed_whatever_it_is_worth(frontier: Frontier) -> None:
    frontier.add([found(worth=100, depth=3)])
    frontier.add([found(worth=1, depth=2)])
    assert known(frontier).depth == 2


def test_links_from_one_page_and_from_many_come_to_the_same(frontier: Frontier) -> None:
    other = "http://a.test/other"
    for _ in range(64):
        frontier.add([found(worth=100)])
    frontier.add([found(worth=100, url=other)] * 64)
    assert known(frontier).credit.bit_length() == known(frontier, other).credit.bit_length()


def test_what_is_hot_is_forgotten_after_what_was_used_less_lately(folder: Path, store: Counting) -> None:
    seen = Seen(store, LIMITS, folder / "seen", 0)
    seen.warm_up(PAGE, depth=2)
    seen.expect(PAGE, bits=7)
    for number in range(30_000):
        seen.warm_up(f"{SEED}{number}", depth=1)
        if number < 15_000:
            assert seen.hot(PAGE, depth=2) == 7
    assert seen.hot(PAGE, depth=2) is None
    seen.warm_up(PAGE, depth=2)
    assert seen.hot(PAGE, depth=1) is None
