"""Traps as the frontier meets them: what is refused at its turn, what by the link filter, and who may overrule it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.rules.policy import Policies, Policy
from gossamer.interfaces import BATCH_MAX
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.records import Lease, Link, Outcome, Page, Reason, State, UrlRecord
from gossamer.settings import FrontierSettings, PolitenessSettings, TrapsSettings
from gossamer.url.link_filter import LinkFilter
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
        link_filter = LinkFilter([SEED], scope="any", traps=TRAPS, clock=clock)
        limits, politeness = FrontierSettings(), PolitenessSettings(delay_s=0)
        return Frontier.open(
            stores[0], stores[0].folder, clock, link_filter, limits, politeness, TRAPS, link_filter.is_home
        )

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
    words = words_in(text)
    page = Page(lease.url, main_text=text, words=len(words.hashes), sketch=sketch_of(words))
    frontier.finish([Outcome(lease, result, page)], [None])
    clock.advance(0.1)


def crawl_all(frontier: Frontier, clock: VirtualClock, text: str = "Nothing to see.") -> list[str]:
    """Every page that is handed out says the same, or `{}` is its URL in letters."""
    asked = []
    while (leases := frontier.lease(1)) or not frontier.lifted.is_done:
        for lease in leases:
            asked.append(lease.url)
            in_letters = "".join(chr(ord("a") + int(digit)) for digit in lease.url if digit.isdecimal())
            finish(frontier, lease, clock, text.format(in_letters))
    assert frontier.is_empty
    return asked


def known(frontier: Frontier, url: str) -> UrlRecord:
    found = frontier.state(url)
    assert found is not None
    return found


def test_what_is_queued_of_a_used_up_pattern_is_refused_with_its_story(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", 50)))
    asked = crawl_all(crawl, clock)
    assert len(asked) == FREE
    refused = known(crawl, "http://a.test/day/49")
    assert (refused.state, refused.reason) == (State.REFUSED, Reason.TRAP_PATTERN)
    assert refused.detail == "of 10 pages with addresses like /day/*, 9 were like others"
    assert crawl.totals.reasons[Reason.TRAP_PATTERN] == 50 - len(asked)


def test_pages_that_are_not_alike_are_all_had(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", 19)))
    assert len(crawl_all(crawl, clock, "On this day came {}.")) == 19


def test_a_used_up_pattern_is_refused_when_it_is_found_and_recorded(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", FREE)))
    crawl_all(crawl, clock)
    crawl.add(found(["http://a.test/other/1", "http://a.test/other/2"]))
    lease = crawl.lease(1)[0]  # the host is being crawled
    crawl.add(found(pages("/day/", 5, start=90)))
    assert crawl.totals.reasons[Reason.TRAP_PATTERN] == 5
    refused = known(crawl, "http://a.test/day/90")
    assert (refused.state, refused.reason) == (State.REFUSED, Reason.TRAP_PATTERN)
    assert refused.detail == "of 10 pages with addresses like /day/*, 9 were like others"
    finish(crawl, lease, clock, "Another text.")
    assert len(crawl_all(crawl, clock)) == 1


def test_a_trap_with_links_without_end_is_recorded_up_to_a_bound(
    crawl: Frontier, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.frontier.intake.TRAPPED_MAX", 3)
    crawl.add(found(pages("/day/", FREE)))
    crawl_all(crawl, clock)
    crawl.add(found(["http://a.test/other/1"]))
    crawl.lease(1)
    crawl.add(found(pages("/day/", 5, start=90)))
    assert crawl.totals.reasons[Reason.TRAP_PATTERN] == 3
    assert crawl.totals.turned_away[Reason.TRAP_PATTERN] == 2


def test_it_is_still_used_up_after_a_crash(reopened: Open, clock: VirtualClock) -> None:
    frontier = reopened()
    frontier.add(found(pages("/day/", FREE)))
    crawl_all(frontier, clock)
    frontier = reopened()
    frontier.add(found(pages("/day/", 5, start=90)))
    clock.advance(2)
    assert crawl_all(frontier, clock) == []


def test_a_seed_is_asked_for_all_the_same(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", FREE)))
    crawl_all(crawl, clock)
    crawl.add([link("http://a.test/day/99")])
    assert crawl_all(crawl, clock) == ["http://a.test/day/99"]


def test_who_trusts_a_host_gets_all_of_it(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(pages("/day/", 50)))
    crawl.add(found(["http://a.test/x/x/x/x"]))
    assert crawl.state("http://a.test/x/x/x/x") is None
    crawl_all(crawl, clock)
    crawl.apply_policies(TRUSTED)
    crawl.add(found([*pages("/day/", 50), "http://a.test/x/x/x/x"]))
    assert len(crawl_all(crawl, clock)) == 50 - FREE + 1
    assert Reason.TRAP_PATTERN not in {reason for reason, count in crawl.totals.reasons.items() if count}


def crawl_endless(frontier: Frontier, clock: VirtualClock, most: int, onward: int = 3) -> int:
    """How many pages are handed out of a host with a new text on every page, each of which leads to new ones."""
    asked = 0
    while asked < most and (leases := frontier.lease(1)):
        asked += 1
        url = leases[0].url
        frontier.add(found((f"{url}{digit}" for digit in range(onward)), source=url))
        finish(
            frontier, leases[0], clock, "Once there was " + url.translate(str.maketrans("0123456789", "abcdefghij"))
        )
    return asked


@pytest.mark.parametrize("policies", [TRUSTED, Policies(sites={"a.test": Policy(trusted=True)})])
def test_who_trusts_a_host_gets_back_what_was_refused(
    reopened: Open, clock: VirtualClock, policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.frontier.lifted.READ_AT_ONCE", 7)
    crawl = reopened()
    crawl.add(found([*pages("/day/", 50), *pages("/day/", 50, host="b.test")]))
    assert len(crawl_all(crawl, clock)) == 2 * FREE
    crawl.apply_policies(policies)
    assert not crawl.is_empty and crawl.next_at() == clock.now()
    assert sorted(crawl_all(crawl, clock)) == sorted(set(pages("/day/", 50)) - set(pages("/day/", FREE)))
    assert crawl.totals.reasons[Reason.TRAP_PATTERN] == crawl.totals.refused == 50 - FREE


def test_it_comes_back_though_it_was_trusted_while_the_crawl_stood_still(reopened: Open, clock: VirtualClock) -> None:
    frontier = reopened()
    frontier.add(found(pages("/day/", 50)))
    crawl_all(frontier, clock)
    frontier = reopened()
    assert frontier.is_empty
    frontier.apply_policies(TRUSTED)
    clock.advance(2)
    assert len(crawl_all(frontier, clock)) == 50 - FREE
    assert frontier.totals.refused == 0


def test_a_host_without_end_and_other_links_is_refused_with_its_story(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(["http://a.test/story/0"]))
    assert crawl_endless(crawl, clock, most=100) == HOST_PAGES
    refused = known(crawl, "http://a.test/story/0222")
    assert (refused.state, refused.reason) == (State.REFUSED, Reason.TRAP_HOST)
    assert refused.detail == "20 of its 20 pages led to new ones, and links from other sites to it: 1"


def test_a_site_that_ends_is_none_however_large_it_is(crawl: Frontier, clock: VirtualClock) -> None:
    """Ten lists with forty products each: ten of its pages lead to new ones."""
    for part in range(10):
        crawl.add(found([f"http://a.test/list/{part}"]))
        products = pages("/product/", 40, start=40 * part)
        crawl.add(found(products, source=f"http://a.test/list/{part}"))
    assert len(crawl_all(crawl, clock, "This is {}.")) == 410


def test_links_from_other_sites_lift_it(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.add(found(["http://a.test/story/0"]))
    crawl_endless(crawl, clock, most=100)
    crawl.add(found(["http://a.test/story/0", "http://a.test/story/0222"], source="http://c.test/"))
    assert crawl_endless(crawl, clock, most=100) == 2 * HOST_PAGES


@pytest.mark.parametrize("host", ["seed.test", "www.seed.test"])
def test_the_host_of_a_seed_is_no_trap(crawl: Frontier, clock: VirtualClock, host: str) -> None:
    crawl.add(found(pages("/story/", 50, host=host), source=f"http://{host}/"))
    assert len(crawl_all(crawl, clock, "Once there was {}.")) == 50


def test_nor_is_one_that_the_operator_trusts(crawl: Frontier, clock: VirtualClock) -> None:
    crawl.apply_policies(TRUSTED)
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


def test_a_host_is_picked_once_though_more_of_its_urls_are_refused_than_a_batch_holds(
    crawl: Frontier, clock: VirtualClock
) -> None:
    """A batch that is written while a host is being looked at must not give the host another turn."""
    honest = pages("/honest/", 5)
    crawl.add(found([*pages("/trap/", 3 * BATCH_MAX), *honest]))
    asked, refused = [], []
    while not crawl.is_empty:
        before = crawl.totals.refused
        leases = crawl.lease(10)
        refused.append(crawl.totals.refused - before)
        assert len(leases) <= 1, f"one host, two requests: {leases}"
        assert crawl.in_flight == len(leases)
        assert crawl.is_empty or crawl.next_at() is not None
        for lease in leases:
            assert crawl.lease(10) == [], "the host is being asked"
            asked.append(lease.url)
            text = f"Story {'i' * len(asked)}." if lease.url in honest else "Nothing to see."
            finish(crawl, lease, clock, text)
        clock.advance(0.1)
    assert [url for url in asked if url in honest] == honest
    assert len(asked) <= len(honest) + 2 * FREE and len(asked) + crawl.totals.refused == crawl.totals.known
    assert max(refused) <= BATCH_MAX, "the event loop stands still for as long as they are refused"
