"""The estimators against the truth, against each other, and at their edges."""

from __future__ import annotations

import math
import random

import pytest

from gossamer.schedule.change import NEVER, seen
from gossamer.schedule.rate import PRIOR_RATE, belief, change_rate_of, likeliest, moved, prior_rate, regular
from gossamer.visit_history import ChangeRates, History

DAY_S = 86_400.0


def history_of(visits: list[tuple[float, bool]]) -> History:
    history, at = seen(NEVER, 1e9, changed=False), 1e9
    for interval_s, changed in visits:
        at += interval_s
        history = seen(history, at, changed=changed)
    return history


def visits(chance: random.Random, number: int, rate: float, mean_s: float) -> list[tuple[float, bool]]:
    some = [mean_s * chance.lognormvariate(-0.5, 1) for _ in range(number)]
    return [(t, chance.random() < -math.expm1(-rate * t)) for t in some]


def test_the_papers_example() -> None:
    """Cho and Garcia-Molina, section 4: ten visits, six changes. The naive estimate is 0.6."""
    assert regular(10, 6, 1.0) == pytest.approx(-math.log(4.5 / 10.5))
    assert regular(10, 10, 1.0) == pytest.approx(math.log(21))
    assert regular(10, 0, 1.0) == 0


def test_with_equal_intervals_the_likeliest_rate_has_a_closed_form() -> None:
    assert likeliest([DAY_S] * 6, 4 * DAY_S) * DAY_S == pytest.approx(-math.log(0.4), rel=1e-3)
    assert likeliest([], DAY_S) == 0
    assert likeliest([DAY_S], 0) == math.inf


def test_the_likeliest_rate_solves_its_equation() -> None:
    changed, quiet_s = [3600.0, 40_000.0, 500_000.0, 86_400.0], 200_000.0
    rate = likeliest(changed, quiet_s)
    assert sum(t / math.expm1(rate * t) for t in changed) == pytest.approx(quiet_s, rel=1e-3)


def test_a_history_of_fixed_size_is_nearly_as_good_as_the_whole_list() -> None:
    chance = random.Random(1)
    differences = []
    for _ in range(200):
        some = visits(chance, 40, 1 / DAY_S, DAY_S * chance.choice((0.3, 1, 2)))
        exact = likeliest([t for t, changed in some if changed], sum(t for t, changed in some if not changed))
        differences.append(abs(math.log(belief(history_of(some), 1 / DAY_S, 1e-9).rate / exact)))
    assert sum(differences) / len(differences) < 0.03
    assert max(differences) < 0.25


@pytest.mark.parametrize("per_visit", [0.2, 1.0, 3.0])
def test_many_visits_lead_to_the_truth_whatever_the_prior(per_visit: float) -> None:
    chance = random.Random(2)
    rates = [
        belief(history_of(visits(chance, 60, 1 / DAY_S, per_visit * DAY_S)), prior).rate * DAY_S
        for prior in (1 / DAY_S / 10, 10 / DAY_S)
        for _ in range(50)
    ]
    assert 0.85 < sum(rates) / len(rates) < 1.2


def test_no_visits_leave_the_prior_and_every_visit_adds_evidence() -> None:
    assert belief(NEVER, 1 / DAY_S).rate == pytest.approx(1 / DAY_S)
    history, before = seen(NEVER, 1e9, changed=False), 0.0
    for visit in range(1, 10):
        history = seen(history, 1e9 + visit * DAY_S, changed=visit % 2 == 0)
        now = belief(history, 1 / DAY_S).changes
        assert now >= before
        before = now


def test_a_page_that_always_changed_has_a_finite_rate_and_little_is_known_of_it() -> None:
    always = belief(history_of([(30 * DAY_S, True)] * 5), 1 / (30 * DAY_S))
    assert 1 / (30 * DAY_S) < always.rate < 1 / DAY_S
    assert always.changes < 4


def test_a_hosts_pages_speak_for_one_that_is_new() -> None:
    host = ChangeRates()
    assert prior_rate(host) == pytest.approx(PRIOR_RATE)
    daily = change_rate_of(belief(NEVER, 1 / DAY_S))
    for _ in range(100):
        host = moved(host, 0, daily)
    assert prior_rate(host) * DAY_S == pytest.approx(1, rel=0.2)
    weekly = change_rate_of(belief(NEVER, 1 / DAY_S / 7))
    for _ in range(100):
        host = moved(host, daily, weekly)
    assert host.pages == 100
    assert prior_rate(host) * DAY_S * 7 == pytest.approx(1, rel=0.2)
