"""Credit is neither made nor lost, whatever crashes and however often a message comes; and traps run dry."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as some

from gossamer.schedule.importance import (
    SEED,
    UNIT,
    Treasury,
    advance,
    even_share,
    finished,
    grant,
    has_earned_its_pages,
    importance,
    is_worth_more,
    level,
    mint,
    told,
    total,
    weight,
    worths,
)

PARTITIONS = 3
SITES = 7


class Web:
    """A crawl in small: pages are numbers, their links are drawn once, and every step is one atomic batch."""

    def __init__(self, seed: int, pages: int = 60) -> None:
        self.chance = random.Random(seed)
        self.site = [self.chance.randrange(SITES) for _ in range(pages)]
        self.links = [[self.chance.randrange(pages) for _ in range(self.chance.randrange(6))] for _ in range(pages)]
        self.cash: dict[int, int] = {}
        self.treasuries = {number: Treasury() for number in range(PARTITIONS)}

    def owner(self, page: int) -> int:
        return self.site[page] % PARTITIONS

    def seed(self, page: int) -> None:
        self.cash[page] = self.cash.get(page, 0) + mint(self.treasuries[self.owner(page)])

    def fetch(self, page: int, crash: str) -> None:
        """Send the links, then finish. A crash leaves out what follows it, and the page is as it was."""
        here = self.treasuries[self.owner(page)]
        credit = self.cash[page] + grant(even_share(here.cash, len(self.cash)), 1, 1)
        targets = self.links[page]
        amounts = worths(credit, [self.site[target] != self.site[page] for target in targets])
        for number, (target, worth) in enumerate(zip(targets, amounts, strict=True)):
            if crash == "while sending" and number == 2:
                return
            there = self.treasuries[self.owner(target)]
            self.cash[target] = self.cash.get(target, 0) + advance(there, worth)
        if crash == "before finish":
            return
        finished(here, self.cash[page])
        self.cash[page] = 0

    def tell(self, source: int, receiver: int) -> None:
        told(self.treasuries[receiver], source, self.treasuries[source].given.get(receiver, 0))

    @property
    def total(self) -> int:
        return total(self.treasuries, self.cash.values())

    @property
    def minted(self) -> int:
        return sum(treasury.minted for treasury in self.treasuries.values())


numbers = some.integers(0, 59)
steps = some.one_of(
    some.tuples(some.just("seed"), numbers),
    some.tuples(some.just("fetch"), numbers, some.sampled_from(["", "", "while sending", "before finish"])),
    some.tuples(some.just("tell"), some.integers(0, PARTITIONS - 1), some.integers(0, PARTITIONS - 1)),
    some.tuples(some.just("level"), some.integers(0, PARTITIONS - 1)),
    some.tuples(some.just("late"), some.integers(0, PARTITIONS - 1), some.integers(0, PARTITIONS - 1)),
)


@settings(max_examples=60, deadline=None)
@given(seed=some.integers(0, 1000), story=some.lists(steps, min_size=5, max_size=60))
def test_credit_is_conserved_through_crashes_and_repeated_messages(
    seed: int, story: list[tuple[object, ...]]
) -> None:
    web = Web(seed)
    web.seed(0)
    old: dict[tuple[int, int], int] = {}
    for step in story:
        match step:
            case ("seed", int(page)):
                web.seed(page)
            case ("fetch", int(page), str(crash)) if page in web.cash:
                web.fetch(page, crash)
            case ("tell", int(source), int(receiver)) if source != receiver:
                old[source, receiver] = web.treasuries[source].given.get(receiver, 0)
                web.tell(source, receiver)
                web.tell(source, receiver)
            case ("level", int(number)):
                level(web.treasuries[number], number, {each: one.cash for each, one in web.treasuries.items()})
            case ("late", int(source), int(receiver)) if (source, receiver) in old:
                told(web.treasuries[receiver], source, old[source, receiver])
        assert web.total == web.minted
        assert all(cash >= 0 for cash in web.cash.values())
        assert all(treasury.cash >= 0 for treasury in web.treasuries.values())


@settings(deadline=None)
@given(credit=some.integers(0, UNIT * 1000), crosses=some.lists(some.booleans(), max_size=40))
def test_links_are_never_worth_more_than_is_left_after_the_tax(credit: int, crosses: list[bool]) -> None:
    amounts = worths(credit, crosses)
    assert sum(amounts) <= credit - credit // 10
    assert len(amounts) == len(crosses)
    assert len({amount for amount, cross in zip(amounts, crosses, strict=True) if cross}) <= 1


def test_a_traps_share_of_credit_falls_with_every_cycle() -> None:
    """Nine honest sites link to each other; one of them linked to a trap, of which every page shows two new ones."""
    chance = random.Random(4)
    treasury = Treasury()
    honest = {f"{site}/{page}": mint(treasury) if page == 0 else 0 for site in range(9) for page in range(10)}
    trap = [advance(treasury, UNIT)]  # what its pages hold that are to be fetched
    fetched, shares = 0, []
    for _ in range(10):
        even = even_share(treasury.cash, 1000)
        for page in list(honest):
            links = chance.sample(list(honest), 8)
            amounts = worths(honest[page] + grant(even, 10, 90), [link[0] != page[0] for link in links])
            for link, worth in zip(links, amounts, strict=True):
                honest[link] += advance(treasury, worth)
            finished(treasury, honest[page])
            honest[page] = 0
        for _ in range(len(trap)):
            cash, fetched = trap.pop(0), fetched + 1
            trap += [advance(treasury, worth) for worth in worths(cash + grant(even, fetched, 0), [False] * 2)]
            finished(treasury, cash)
        shares.append(sum(trap) / treasury.minted)
        assert total({0: treasury}, [*honest.values(), *trap]) == treasury.minted
    assert all(later < earlier for earlier, later in pairwise(shares))
    assert shares[-1] < shares[0] / 2


def test_lambda_gives_no_more_than_it_has() -> None:
    treasury = Treasury()
    assert advance(treasury, 1000) == 0
    mint(treasury)
    assert advance(treasury, UNIT) == UNIT - SEED
    assert treasury.cash == 0


def test_a_site_gets_even_shares_for_as_many_pages_as_links_from_outside_earned_it() -> None:
    even = even_share(10**9, 10)
    assert even == 10**5
    assert grant(even, 24, 0) == even
    assert grant(even, 25, 0) == 0
    assert grant(even, 25, 1) == even


def test_the_rich_give_to_the_poor() -> None:
    treasuries = {0: Treasury(cash=900, minted=900), 1: Treasury(), 2: Treasury()}
    for _ in range(20):
        cashes = {number: each.cash for number, each in treasuries.items()}
        for number, treasury in treasuries.items():
            level(treasury, number, cashes)
            for other, receiver in treasuries.items():
                told(receiver, number, treasury.given.get(other, 0))
        assert total(treasuries, []) == 900
    assert all(abs(each.cash - 300) <= 5 for each in treasuries.values())


def test_what_credit_says() -> None:
    assert importance(0, UNIT) == 0
    assert importance(UNIT, UNIT) == 1
    assert 0.3 < importance(UNIT // 10**6, UNIT) < 0.34
    assert is_worth_more(200, 100) and not is_worth_more(199, 100)
    assert weight(0, UNIT / 20) == 1 / 64
    assert weight(UNIT, UNIT / 20) == 20
    assert weight(UNIT, 0.0) == 1  # the first page of a crawl
    assert has_earned_its_pages(0, 99, UNIT, 10) and not has_earned_its_pages(0, 100, UNIT, 10)
    assert has_earned_its_pages(UNIT // 10_000, 100, UNIT, 10)
