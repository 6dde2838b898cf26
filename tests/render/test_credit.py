"""How many ordinary pages are rendered on the chance that they gain: few, and hardly any where time is short."""

from __future__ import annotations

from gossamer.clock import VirtualClock
from gossamer.render.credit import BUSY_SHARE, FIRST_LOOKS, PAGE_S, PAGES_SHARE, START_S, Credit

PAGES = 10_000


class Crawl:
    """A worker that fetches ordinary pages, each of a pattern of its own, so that nothing is ever learned."""

    def __init__(self, delay_s: float, page_s: float, cpu_share: float) -> None:
        self.clock = VirtualClock()
        self.page_s = page_s
        self.begun = self.clock.awake()
        self.credit = Credit(self.clock, delay_s, lambda: cpu_share * self.passed_s)
        self.looks = 0
        self.looks_s = 0.0

    @property
    def passed_s(self) -> float:
        return self.clock.awake() - self.begun

    def fetch(self, pages: int) -> None:
        for _ in range(pages):
            self.clock.advance(self.page_s)
            is_started = self.looks > 0
            if self.credit.has_look(is_started=is_started):
                self.looks_s += self.credit.spend(is_started=is_started)
                self.looks += 1
            else:
                self.credit.passed()


def test_a_polite_crawl_looks_at_its_first_pages_and_at_few_later_ones() -> None:
    crawl = Crawl(delay_s=1.0, page_s=1.0, cpu_share=0.02)
    crawl.fetch(FIRST_LOOKS)
    assert crawl.looks == FIRST_LOOKS
    crawl.fetch(PAGES)
    assert 100 < crawl.looks <= FIRST_LOOKS + PAGES_SHARE * PAGES


def test_a_crawl_that_keeps_no_delay_and_no_core_idle_spends_next_to_nothing_on_looks() -> None:
    crawl = Crawl(delay_s=0.0, page_s=0.001, cpu_share=1.0)
    crawl.fetch(PAGES)
    assert crawl.looks == 0  # of ten seconds
    crawl.fetch(100 * PAGES)
    assert crawl.looks > 1 and crawl.looks_s <= BUSY_SHARE * crawl.passed_s


def test_a_look_that_gains_costs_nothing_and_others_are_owed() -> None:
    credit = Credit(VirtualClock(), 1.0, lambda: 0.0)
    for _ in range(10):
        assert credit.has_look(is_started=False)
        credit.earn_back(credit.spend(is_started=False))
    for _ in range(FIRST_LOOKS):
        assert credit.spend(is_started=False) == START_S + PAGE_S
    assert not credit.has_look(is_started=True)
