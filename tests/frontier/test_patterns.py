"""Budgets of patterns by themselves: what is counted, what is alike, what is refused. See also test_traps.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, product
from pathlib import Path
from random import Random

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.back import Back
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.patterns import PATTERNS_MAX, Patterns
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.records import Host, Lease, Link, Outcome, Page, Verdict
from gossamer.settings import TrapsSettings
from tests.frontier.stories import fetched

HOST = b"12345678"
FREE, GAIN = 20, 5
NEAR = Verdict("near", "http://a.test/other", distance=2)
WORDS = ["".join(letters) for letters in product("bdgklmnprst", "aeiou", "bdgklmnprst", "aeiou")]
TERMS = " ".join(Random(7).choices(WORDS, k=130))


class Counted:
    """Patterns of one host, told of pages and asked about others."""

    def __init__(self, store: RocksStore, *, is_home: bool = False) -> None:
        self._store = store
        self.host = Host("a.test", "a.test", pages=FREE)
        back = Back(store, HOST, self.host)
        settings = TrapsSettings(pattern_pages=FREE, pattern_gain=GAIN)
        self._patterns = Patterns(store, settings, {HOST: back}, lambda host: is_home)
        self._texts = Random(1)

    def page(self, rest: str, page: Page | None = None, verdict: Verdict | None = None) -> None:
        """Without further words: a long text that nobody has seen before."""
        url = f"http://a.test{rest}"
        page = page or said(" ".join(self._texts.choices(WORDS, k=300)))
        lease = Lease(Link(url), "a.test", 0.0)
        self._patterns.count(HOST, Outcome(lease, fetched(VirtualClock()), page, verdict or Verdict()))
        batch = self._store.batch()
        self._patterns.save(batch)
        self._store.write(batch, sync=False)

    def refusal(self, rest: str) -> str | None:
        return self._patterns.refusal(HOST, f"http://a.test{rest}")

    def used_up(self) -> list[tuple[str, int, int]]:
        return self._patterns.used_up(HOST, self.host)

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
    words = words_in(text)
    return Page("", title=title, main_text=text, words=len(words.hashes), sketch=sketch_of(words))


def test_pages_that_are_not_alike_never_use_up_their_pattern(counted: Counted) -> None:
    for number in range(500):
        counted.page(f"/thread/{number}")
    assert counted.refusal("/thread/501") is None


def test_copies_use_it_up(counted: Counted) -> None:
    assert counted.until_refused((f"/thread/{number}" for number in range(100)), verdict=NEAR) == FREE
    assert counted.refusal("/thread/501") == f"of {FREE} pages with addresses like /thread/*, {FREE} were like others"


def test_a_page_unlike_the_others_earns_more(counted: Counted) -> None:
    """The first does not: it is like no other in any trap."""
    for number in range(3):
        counted.page(f"/thread/{number}")
    assert counted.until_refused((f"/thread/{number}" for number in range(3, 100)), verdict=NEAR) == (
        FREE + 2 * GAIN - 3
    )


def test_a_host_that_a_person_asked_for_has_three_times_as_many_free(store: RocksStore) -> None:
    counted = Counted(store, is_home=True)
    assert counted.until_refused((f"/thread/{number}" for number in range(100)), verdict=NEAR) == 3 * FREE


def test_long_texts_that_differ_in_a_date_are_alike(counted: Counted) -> None:
    for number in range(FREE):
        counted.page(f"/events/{number}", said(f"{TERMS} Events of 2026-{number}: none."))
    assert counted.refusal("/events/99")


@pytest.mark.parametrize("own", [5, 10, 20, 40])
def test_products_that_share_their_terms_are_not_alike(counted: Counted, own: int) -> None:
    chance = Random(own)
    for number in range(200):
        name, price = " ".join(chance.choices(WORDS, k=own)), chance.randint(100, 99999) / 100
        counted.page(f"/product/{number}", said(f"{name}, {price} each, {number} in stock. {TERMS}"))
    assert counted.used_up() == []


def test_pages_of_figures_are_not_alike(counted: Counted) -> None:
    chance = Random(2)
    for number in range(200):
        rows = " ".join(f"Level {chance.randint(0, 999)} mean {chance.random():.3f}." for _ in range(12))
        counted.page(f"/station/{number}", said(f"Measurements of one station, hour by hour. {rows}"))
        few = f"Temperature {chance.randint(0, 400) / 10}, pressure {chance.randint(950, 1050)}."
        counted.page(f"/now/{number}", said(few))
    assert counted.used_up() == []


def test_short_texts_that_differ_in_numbers_and_dates_are_alike(counted: Counted) -> None:
    days = ("Monday, 5 May 2031", "Tuesday, 6 May 2031", "Sunday, 1 June 2031", "Sonntag, 3. August 2031")
    for number in range(FREE):
        counted.page(f"/day/{number}", said(f"There are no events on {days[number % 4]}.", "Calendar"))
        counted.page(f"/count/{number}", said(f"This is page {number}."))
        counted.page(f"/date/{number}", said(f"Nothing was found between 2031-{number} and the day after it."))
    for section in ("day", "count", "date"):
        assert counted.refusal(f"/{section}/99"), section


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
    assert counted.until_refused((f"/{c}x/{b}y/{a}z" for a, b, c in words), said("Not found.")) <= 3 * FREE + GAIN


def test_a_pattern_that_has_proven_itself_outlives_its_surroundings(counted: Counted) -> None:
    for number in range(4):
        counted.page(f"/articles/{number}")
    words = product("abcdefgh", repeat=3)
    counted.until_refused((f"/{c}x/{b}y/{a}z" for a, b, c in words), said("Not found."))
    assert counted.refusal("/unknown/page")
    assert counted.refusal("/articles/99") is None


def test_a_trap_that_is_met_after_many_sections_stops_as_soon_as_any(counted: Counted) -> None:
    for number in range(20):
        for section in range(PATTERNS_MAX + 8):
            counted.page(f"/{'abcdefghij'[section % 10]}/{'klmnopqr'[section // 10]}/{number}")
    assert counted.until_refused((f"/calendar/{number}" for number in range(100)), verdict=NEAR) == FREE
    assert counted.used_up() == [("/calendar/*", FREE, FREE)]
    for number in range(20, 25):
        for section in range(PATTERNS_MAX + 8):
            counted.page(f"/{'abcdefghij'[section % 10]}/{'klmnopqr'[section // 10]}/{number}")
    assert counted.refusal("/calendar/501"), "what is known of a trap is not forgotten for honest sections"
    assert counted.refusal("/a/new/section") is None


def test_filters_that_are_met_after_many_sections_use_up_their_script(counted: Counted) -> None:
    for section in range(PATTERNS_MAX + 8):
        for number in range(3):
            counted.page(f"/{'abcdefghij'[section % 10]}/{'klmnopqr'[section // 10]}/{number}")
    names = ("brand", "color", "fit", "price", "size", "sort", "store", "style")
    chosen = (some for count in range(1, 5) for some in combinations(names, count))
    assert counted.until_refused((f"/find?{'&'.join(some)}" for some in chosen), verdict=NEAR) <= FREE + 1


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
