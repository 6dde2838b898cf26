"""Traps as the frontier meets them: what is refused at its turn, what at the door, and who may overrule it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.policy import Policies, Policy
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import TABLES
from gossamer.records import Known, Lease, Link, Outcome, Page, Reason, State
from gossamer.settings import FrontierSettings, PolitenessSettings, TrapsSettings
from gossamer.url.filters import Filters
from tests.frontier.stories import fetched, link

FREE, GAIN, HOST_PAGES = 10, 2, 20
TRAPS = TrapsSettings(pattern_pages=FREE, pattern_gain=GAIN, host_pages=HOST_PAGES)
SEED = "http://seed.test/"
TRUSTED = Policies(hosts={"a.test": Policy(trusted=True)})

Open = Callable[[], Frontier]


@pytest.fixture
def reopened(folder: Path, clock: VirtualClock) -> Iterator[Open]:
    stores: list[RocksStore] = []

    def open_again() -> Frontier:
        if stores:
            stores.pop().close()
        stores.append(RocksStore(folder / "partition", TABLES))
        door = Filters([SEED], scope="any", traps=TRAPS, clock=clock)
        limits, politeness = FrontierSettings(), PolitenessSettings(delay_s=0)
        return Frontier(stores[0], clock, door, limits, politeness, TRAPS, door.is_home)

    yield open_again
    stores.pop().close()


@pytest.fixture
def crawl(reopened: Open) -> Frontier:
    return reopened()


def found(urls: Iterable[str], source: str = SEED) -> list[Link]:
    return [Link(url, source=source, depth=1) for url in urls]


def pages(path: str, count: int, start: int = 0, host: str = "a.test") -> list[str]:
    return [f"http://{host}{path}{number}" for number in range(start, start + count)]


def finish(frontier: Frontier, lease: Lease, clock: VirtualClock, text: str) -> None:
    result = fetched(clock)
    frontier.answered(lease, result)
    page = Page(lease.url, main_text=text, words=len(text.split()))
    frontier.finish([Outcome(lease, result, page)], [None])
    clock.advance(0.1)


def crawl_all(frontier: Frontier, clock: VirtualClock, text: str = "Nothing to see.") -> list[str]:
    """Every page that is handed out says the same, or `{}` is its URL in letters."""
    asked = []
    while leases := frontier.lease(1):
        asked.append(leases[0].url)
        in_letters = "".join(chr(ord("a") + int(digit)) for digit in leases[0].url if digit.isdecimal())
        finish(frontier, leases[0], clock, text.format(in_letters))
    assert frontier.is_empty
    return asked


def known(frontier: Frontier, url: str) -> Known:
    found = frontier.state(url)
    assert found is not None
    return found


def test_what_is_queued_of_a_used_up_pattern_is_refused_with_its_story(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", 50)))
    asked = crawl_all(crawl, clock)
    assert len(asked) == FREE + GAIN
    refused = known(crawl, "http://a.test/day/49")
    assert (refused.state, refused.reason) == (State.REFUSED, Reason.TRAP_PATTERN)
    assert refused.detail == "of 12 pages with addresses like /day/*, 11 were like others"
    assert crawl.totals.reasons[Reason.TRAP_PATTERN] == 50 - len(asked)


def test_pages_that_are_not_alike_are_all_had(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", 19)))
    assert len(crawl_all(crawl, clock, "On this day came {}.")) == 19


def test_a_used_up_pattern_is_turned_away_at_the_door(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", FREE + GAIN)))
    crawl_all(crawl, clock)
    crawl.add(found(["http://a.test/other/1", "http://a.test/other/2"]))
    lease = crawl.lease(1)[0]  # the host is being crawled
    assert crawl.add(found(pages("/day/", 5, start=90))) == 0
    assert crawl.totals.turned_away[Reason.TRAP_PATTERN] == 5
    assert crawl.state("http://a.test/day/90") is None
    finish(crawl, lease, clock, "Another text.")
    assert len(crawl_all(crawl, clock)) == 1


def test_it_is_still_used_up_after_a_crash(reopened: Open, clock: VirtualClock) -> None:
    frontier = reopened()
    frontier.add(found(pages("/day/", FREE + GAIN)))
    crawl_all(frontier, clock)
    frontier = reopened()
    frontier.add(found(pages("/day/", 5, start=90)))
    clock.advance(2)
    assert crawl_all(frontier, clock) == []


def test_a_seed_is_asked_for_all_the_same(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", FREE + GAIN)))
    crawl_all(crawl, clock)
    crawl.add([link("http://a.test/day/99")])
    assert crawl_all(crawl, clock) == ["http://a.test/day/99"]


def test_who_trusts_a_host_gets_all_of_it(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", 50)))
    crawl.add(found(["http://a.test/x/x/x/x"]))
    assert crawl.state("http://a.test/x/x/x/x") is None
    crawl_all(crawl, clock)
    crawl.obey(TRUSTED)
    crawl.add(found([*pages("/day/", 50), "http://a.test/x/x/x/x"]))
    assert len(crawl_all(crawl, clock)) == 50 - FREE - GAIN + 1
    assert Reason.TRAP_PATTERN not in {reason for reason, count in crawl.totals.reasons.items() if count}


def test_a_host_without_other_links_is_refused_with_its_story(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(["http://a.test/story/0"]))
    crawl.add(found(pages("/story/", 49, start=1), source="http://a.test/story/0"))
    assert len(crawl_all(crawl, clock, "Once there was {}.")) == HOST_PAGES
    refused = known(crawl, "http://a.test/story/49")
    assert (refused.state, refused.reason) == (State.REFUSED, Reason.TRAP_HOST)
    assert refused.detail == "20 pages were fetched, and links from other sites to it: 1"


def test_links_from_other_sites_lift_it(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(["http://a.test/story/0"]))
    crawl.add(found(pages("/story/", 29, start=1), source="http://a.test/story/0"))
    crawl_all(crawl, clock, "Once there was {}.")
    crawl.add(found(pages("/story/", 30), source="http://c.test/"))
    assert len(crawl_all(crawl, clock, "Once there was {}.")) == 30 - HOST_PAGES


@pytest.mark.parametrize("host", ["seed.test", "www.seed.test"])
def test_the_host_of_a_seed_is_no_trap(crawl: Frontier, clock: VirtualClock, host: str) -> None:
    crawl.add(found(pages("/story/", 50, host=host), source=f"http://{host}/"))
    assert len(crawl_all(crawl, clock, "Once there was {}.")) == 50


def test_nor_is_one_that_the_operator_trusts(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.obey(TRUSTED)
    crawl.add(found(pages("/story/", 50), source="http://a.test/"))
    assert len(crawl_all(crawl, clock, "Once there was {}.")) == 50


def test_what_is_in_flight_does_not_run_past_the_budget(crawl: Frontier, clock: VirtualClock) -> None:
    """Answers come faster than they are finished: the host waits until it is known what they were."""
    crawl.add(found(pages("/day/", 50)))
    for _ in range(FREE - 2):
        finish(crawl, crawl.lease(1)[0], clock, "Nothing to see.")
    out = []
    for _ in range(30):
        out += crawl.lease(1)
        crawl.answered(out[-1], fetched(clock))
        clock.advance(0.1)
    assert len(set(map(id, out))) <= 5
