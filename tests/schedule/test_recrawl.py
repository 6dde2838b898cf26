"""When to come again: the equation is solved, the budget is met, and what is not worth it is let go."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from gossamer.schedule.rate import Belief
from gossamer.schedule.recrawl import (
    DAY_S,
    GONE_S,
    Bounds,
    adapt,
    again_when_gone_s,
    cell_of,
    chance_fresh,
    estimated_freshness,
    freshness,
    gain_s,
    interval_s,
    middle_of,
    multiplier_for,
    recount,
    sooner_s,
    total,
    visits_per_s,
)

WIDE = Bounds(1.0, 1e12, interval_share=0.0)
beliefs = some.builds(
    lambda changes, rate: Belief(changes, changes / rate), some.floats(0.3, 200), some.floats(1e-8, 1e-3)
)


@settings(deadline=None)
@given(belief=beliefs, weight=some.floats(0.01, 1000), multiplier=some.floats(1, 1e7))
def test_a_visit_comes_when_it_gains_as_much_as_anywhere_else(
    belief: Belief, weight: float, multiplier: float
) -> None:
    wait_s = interval_s(belief, weight, multiplier, WIDE)
    if 1.0 < wait_s < 1e12:
        assert weight * gain_s(wait_s, belief) == pytest.approx(multiplier, rel=0.02)


@settings(deadline=None)
@given(belief=beliefs, multiplier=some.floats(1, 1e7))
def test_what_is_worth_more_comes_sooner(belief: Belief, multiplier: float) -> None:
    assert interval_s(belief, 2.0, multiplier) <= interval_s(belief, 1.0, multiplier)
    assert interval_s(belief, 1.0, multiplier) <= interval_s(belief, 1.0, 2 * multiplier)


def test_with_much_evidence_it_is_the_known_solution() -> None:
    rate, wait_s = 1 / DAY_S, 0.7 * DAY_S
    sure = Belief(1e6, 1e6 / rate)
    multiplier = (1 - (1 + rate * wait_s) * math.exp(-rate * wait_s)) / rate
    assert interval_s(sure, 1.0, multiplier) == pytest.approx(wait_s, rel=0.01)
    assert chance_fresh(wait_s, sure) == pytest.approx(math.exp(-0.7), rel=1e-3)
    assert freshness(wait_s, sure) == pytest.approx((1 - math.exp(-0.7)) / 0.7, rel=1e-3)


def test_a_page_that_changes_faster_than_it_is_worth_chasing_is_let_go_once_that_is_sure() -> None:
    hourly = 1 / 3600
    bounds = Bounds()
    assert interval_s(Belief(50, 50 / hourly), 1.0, DAY_S) == bounds.longest_s
    assert interval_s(Belief(0.5, 0.5 / hourly), 1.0, DAY_S) < bounds.longest_s
    assert interval_s(Belief(50, 50 / hourly), 1000.0, DAY_S) < DAY_S


def test_nobody_is_visited_more_often_or_less_often_than_the_bounds_say() -> None:
    bounds = Bounds(100.0, 1000.0, interval_share=0.0)
    assert interval_s(Belief(5, 500), 1e9, 1.0, bounds) == 100.0
    assert interval_s(Belief(5, 5e9), 1e-9, 1e6, bounds) == 1000.0


@settings(deadline=None)
@given(belief=beliefs, weight=some.floats(0.01, 1000))
def test_however_much_budget_there_is_nobody_comes_before_a_tenth_of_the_estimated_interval(
    belief: Belief, weight: float
) -> None:
    wait_s = interval_s(belief, weight, 1e-12)
    assert wait_s == pytest.approx(min(90 * DAY_S, max(3600.0, 0.1 / belief.rate)))


def test_a_budget_that_the_pages_do_not_need_is_not_spent() -> None:
    census = {cell_of(Belief(2, 60 * DAY_S), 1.0): 20}  # once a month each
    multiplier = multiplier_for(census, 0.5)
    assert 20 / (4 * DAY_S) < visits_per_s(census, multiplier) < 20 / (2 * DAY_S)


@settings(deadline=None, max_examples=30)
@given(some.lists(some.tuples(beliefs, some.floats(0.02, 1000)), min_size=20, max_size=60))
def test_the_multiplier_meets_the_budget(pages: list[tuple[Belief, float]]) -> None:
    census: dict[int, int] = {}
    for belief, weight in pages:
        recount(census, -1, cell_of(belief, weight))
    bounds = Bounds(interval_share=0.0)
    most, least = len(pages) / bounds.shortest_s, len(pages) / bounds.longest_s
    budget = math.sqrt(most * least)
    multiplier = multiplier_for(census, budget, bounds)
    # Where a whole cell is let go at once, wants fall in a step.
    assert visits_per_s(census, multiplier * 1.02, bounds) <= 1.01 * budget
    assert visits_per_s(census, multiplier / 1.02, bounds) >= 0.99 * budget
    assert 0 < estimated_freshness(census, multiplier, bounds) < 1


def test_partitions_need_only_their_counts_added_up() -> None:
    one, other = (
        {cell_of(Belief(1, DAY_S), 1.0): 5},
        {cell_of(Belief(1, DAY_S), 1.0): 2, cell_of(Belief(9, 10), 1.0): 1},
    )
    assert sorted(total([one, other]).values()) == [1, 7]


def test_a_page_is_counted_once_wherever_it_moves() -> None:
    census: dict[int, int] = {}
    recount(census, -1, 7)
    recount(census, 7, 9)
    assert census == {9: 1}
    recount(census, 9, -1)
    assert census == {}


def test_a_cell_stands_for_what_is_near_its_middle() -> None:
    belief, weight = middle_of(cell_of(Belief(3.0, 1e6), 0.01))
    assert 2 < belief.changes < 5 and 5e5 < belief.time_s < 2e6 and 0.005 < weight < 0.02


def test_a_word_that_it_changed_brings_a_visit_forward_by_as_much_as_it_is_believed() -> None:
    belief = Belief(10, 100 * DAY_S)  # once in ten days
    waits = [sooner_s(DAY_S, 8 * DAY_S, belief, odds) for odds in (1.0, 2.0, 5.0, 30.0)]
    assert waits[0] == pytest.approx(7 * DAY_S)
    assert waits == sorted(waits, reverse=True)
    assert waits[-1] == 0


def test_the_share_follows_what_is_wanted_and_stays_within_bounds() -> None:
    share = 1.0
    for _ in range(1000):
        share = adapt(share, 200, 100)
    assert share == 0.5
    assert adapt(1.0, 100, 100) == 1.0
    assert 1.0 < adapt(1.0, 50, 100) < 1.1


def test_what_is_gone_is_looked_for_ever_more_rarely_and_then_forgotten() -> None:
    waits = [again_when_gone_s(times) for times in range(1, len(GONE_S) + 2)]
    assert waits[:-1] == sorted(GONE_S) and waits[-1] is None
