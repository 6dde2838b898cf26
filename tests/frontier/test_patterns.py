"""Budgets of patterns by themselves: what is counted, what is alike, what is refused. See also test_traps.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, product
from pathlib import Path
from random import Random

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.back import Back
from gossamer.frontier.patterns import PATTERNS_MAX, Patterns
from gossamer.frontier.store import RocksStore
from gossamer.records import Host, Lease, Link, Outcome, Page, Verdict
from gossamer.settings import TrapsSettings
from tests.frontier.stories import fetched

HOST = b"12345678"
FREE, GAIN = 20, 5
NEAR = Verdict("near", "http://a.test/other", distance=2)


class Counted:
    """Patterns of one host, told of pages and asked about others."""

    def __init__(self, store: RocksStore) -> None:
        self._store = store
        back = Back(store, HOST, Host("a.test", "a.test", pages=FREE))
        self._patterns = Patterns(store, TrapsSettings(pattern_pages=FREE, pattern_gain=GAIN), {HOST: back})
        self._texts = Random(1)

    def page(self, rest: str, page: Page | None = None, verdict: Verdict | None = None) -> None:
        """Without further words: a long text that nobody has seen before."""
        url = f"http://a.test{rest}"
        page = page or Page(url, simhash=self._texts.getrandbits(64), words=300)
        lease = Lease(Link(url), "a.test", 0.0)
        self._patterns.count(HOST, Outcome(lease, fetched(VirtualClock()), page, verdict or Verdict()))
        batch = self._store.batch()
        self._patterns.save(batch)
        self._store.write(batch, sync=False)

    def refusal(self, rest: str) -> str | None:
        return self._patterns.refusal(HOST, f"http://a.test{rest}")

    def until_refused(self, rests: Iterable[str], page: Page | None = None, verdict: Verdict | None = None) -> int:
        """How many pages were let through."""
        for count, rest in enumerate(rests):
            if self.refusal(rest):
                return count
            self.page(rest, page, verdict)
        pytest.fail("nothing was refused")


@pytest.fixture
def store(folder: Path) -> Iterator[RocksStore]:
    store = RocksStore(folder / "store", ("patterns",))
    yield store
    store.close()


@pytest.fixture
def counted(store: RocksStore) -> Counted:
    return Counted(store)


def said(text: str, title: str = "") -> Page:
    return Page("", title=title, main_text=text, words=len(text.split()))


def test_pages_that_are_not_alike_never_use_up_their_pattern(counted: Counted) -> None:
    for number in range(500):
        counted.page(f"/thread/{number}")
    assert counted.refusal("/thread/501") is None


def test_copies_use_it_up(counted: Counted) -> None:
    assert counted.until_refused((f"/thread/{number}" for number in range(100)), verdict=NEAR) == FREE
    assert counted.refusal("/thread/501") == f"of {FREE} pages with addresses like /thread/*, {FREE} were like others"


def test_a_page_unlike_the_others_earns_more(counted: Counted) -> None:
    for number in range(3):
        counted.page(f"/thread/{number}")
    assert counted.until_refused((f"/thread/{number}" for number in range(3, 100)), verdict=NEAR) == (
        FREE + 3 * GAIN - 3
    )


def test_texts_that_differ_in_three_bits_are_alike(counted: Counted) -> None:
    for number in range(FREE + GAIN):
        counted.page(
            f"/item/{number}", Page("", simhash=0x0123456789ABCDEF ^ (7 * (number > 0) << number), words=300)
        )
    assert counted.refusal("/item/99")


def test_short_texts_that_differ_in_numbers_and_dates_are_alike(counted: Counted) -> None:
    days = ("Monday, 5 May 2031", "Tuesday, 6 May 2031", "Sunday, 1 June 2031", "Sonntag, 3. August 2031")
    for number in range(FREE + GAIN):
        counted.page(f"/day/{number}", said(f"There are no events on {days[number % 4]}.", f"Day {number}"))
    assert counted.refusal("/day/99")


def test_short_texts_that_differ_in_a_word_are_not(counted: Counted) -> None:
    for number in range(200):
        name = "".join("abcdefghij"[int(digit)] for digit in str(number))
        counted.page(f"/photo/{number}", said(f"A photo of {name}."))
    assert counted.refusal("/photo/99") is None


def test_pages_without_any_text_are_not_compared(counted: Counted) -> None:
    for number in range(200):
        counted.page(f"/picture/{number}.png", Page(""))
        counted.page(f"/app/{number}", Page("", title="A script makes this page"))
    assert counted.refusal("/picture/99.png") is None
    assert counted.refusal("/app/99") is None


def test_a_trap_costs_other_patterns_nothing(counted: Counted) -> None:
    for number in range(10):
        counted.page(f"/articles/{number}")
    for number in range(FREE):
        counted.page(f"/calendar/{number}", said("Nothing."))
        counted.page(f"/counter/{number}", said("Nothing again."))
        counted.page(f"/visit/{number}", verdict=NEAR)
    for section in ("calendar", "counter", "visit"):
        counted.until_refused((f"/{section}/{number}" for number in range(FREE, 100)), verdict=NEAR)
    assert counted.refusal("/articles/99") is None
    assert counted.refusal("/about") is None


def test_filters_in_all_combinations_use_up_their_script(counted: Counted) -> None:
    names = ("brand", "color", "fit", "price", "size", "sort", "store", "style")
    chosen = (some for count in range(1, 5) for some in combinations(names, count))
    assert counted.until_refused((f"/find?{'&'.join(some)}" for some in chosen), verdict=NEAR) <= FREE + 1
    assert "/find?" in (counted.refusal("/find?brand=1&new=2") or "")


def test_made_up_names_that_are_answered_use_up_their_host(counted: Counted) -> None:
    words = product("abcdefgh", repeat=3)
    assert counted.until_refused((f"/{c}x/{b}y/{a}z" for a, b, c in words), said("Not found.")) <= FREE + 2 * GAIN


def test_a_pattern_that_has_proven_itself_outlives_its_surroundings(counted: Counted) -> None:
    for number in range(4):
        counted.page(f"/articles/{number}")
    words = product("abcdefgh", repeat=3)
    counted.until_refused((f"/{c}x/{b}y/{a}z" for a, b, c in words), said("Not found."))
    assert counted.refusal("/unknown/page")
    assert counted.refusal("/articles/99") is None


def test_a_host_has_a_bounded_number_of_patterns(counted: Counted, store: RocksStore) -> None:
    for number, word in enumerate(product("abcdefghij", repeat=3)):
        counted.page(f"/{''.join(word)}/{number}")
    counted.page("/last", verdict=NEAR)  # alike pages are written at once
    stored = store.get("patterns", HOST)
    assert stored is not None and stored.count(b"/") <= 3 * (PATTERNS_MAX + 4)


def test_what_is_used_up_stays_so_in_another_life(counted: Counted, store: RocksStore) -> None:
    counted.until_refused((f"/thread/{number}" for number in range(100)), verdict=NEAR)
    refusal = counted.refusal("/thread/501")
    assert refusal is not None
    assert Counted(store).refusal("/thread/501") == refusal
