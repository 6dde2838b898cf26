"""When to come again: the visits that keep the most importance fresh for a budget, with one number shared by all.

Cho and Garcia-Molina (*Effective page refresh policies*, ACM TODS 28(4), 2003) and Azar, Horvitz, Lubetzky, Peres and
Shahaf (*Tractable near-optimal policies for crawling*, PNAS 115(32), 2018): a budget of visits is spent best if one
more visit would gain as much with every page. That gain is the multiplier; whoever knows it can plan a page without
knowing the others.

A copy of a page that changes with rate d is fresh after t seconds with probability exp(-dt). Visits at equal
intervals t keep it fresh for a share of (1 - exp(-dt)) / dt of the time, always more than visits at random moments
do, 1 / (1 + dt), which Azar et al. solve in closed form. So the intervals are equal here (docs/freshness.md has both
measured), and t solves

    weight x (1 - (1 + dt) exp(-dt)) / d = multiplier

A page with weight / d below the multiplier has no solution: it changes faster than it is worth chasing, and is let
go.

The rate is not known, it is believed (rate.py): a gamma distribution of changes `a` in `b` seconds. Taking the mean
of both sides over it, with u = t / b, the equation has a closed form again:

    weight x b x ((1 - (1 + u)^(1 - a)) / (a - 1) - u (1 + u)^(-a)) = multiplier

With much evidence it is the same as above. With little (a <= 1) it always has a solution: nobody is let go before it
is known, and the less is known the wider the net. Exploring needs no rule of its own.

**A budget is a bound and not a goal.** Where there is more of it than the pages need, the equation would spend all of
it: a page that changes once a month would be visited every hour. So no interval is shorter than a share of the
estimated time between two changes (`Bounds.interval_share`). At a tenth a copy is fresh for 95 % of the time; all
further visits together could gain the other 5. Where even these intervals take more than the budget, every visit
competes with others that gain as much, and the floor would only move visits to where they gain less: there it does
not hold (`plan`; docs/decisions/0017 has the measurement).

**The census.** To find the multiplier one has to know how much all pages together would want at each. Each partition
counts its pages in cells, by octaves of a, b and weight: some hundred numbers, which change in the same batch as the
page. Added up over all partitions they give the multiplier for a budget at once, without waiting to see what is
spent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from gossamer.schedule.rate import Belief

DAY_S = 86_400.0
GONE_S = (DAY_S, 4 * DAY_S, 16 * DAY_S, 64 * DAY_S)  # until a page that is gone is looked for again
SMALL = 1e-4  # below it the two terms of the gain cancel each other out
WEIGHT_ZERO = 40  # the octave of weight 1 in a cell
NO_GAIN_S = 1e-9  # a multiplier at which every page wants all that its bounds allow

Census = Mapping[int, int]
"""How many pages are in each cell."""


class Bounds(NamedTuple):
    """No page is visited more often than after the first, or less often than after the second."""

    shortest_s: float = 3600.0
    longest_s: float = 90 * DAY_S
    interval_share: float = 0.1  # nor before this share of the estimated time between two changes; see `plan`


USUAL = Bounds()


def gain_s(age_s: float, belief: Belief) -> float:
    """How many seconds of freshness a visit now is worth, a copy being so old: it grows with its age."""
    a, b = belief
    u = age_s / b
    if u < SMALL:  # as if the rate were known
        x = a * u
        return b / a * (x * x / 2 if x < SMALL else -math.expm1(-x) - x * math.exp(-x))
    grown = math.log1p(u)
    first = grown if abs(a - 1) < 1e-9 else -math.expm1((1 - a) * grown) / (a - 1)
    return b * max(0.0, first - u * math.exp(-a * grown))


def interval_s(belief: Belief, weight: float, multiplier: float, bounds: Bounds = USUAL) -> float:
    """How long to wait after a visit. Newton's steps in logarithms, from below: there they cannot overshoot."""
    a, b = belief
    wanted_s = multiplier / weight
    shortest_s = max(bounds.shortest_s, bounds.interval_share * b / a)
    if gain_s(bounds.longest_s, belief) <= wanted_s:
        return bounds.longest_s  # let go, or nearly
    t = b * math.sqrt(2 * wanted_s / (a * b))
    while t > shortest_s / 2:
        gain = gain_s(t, belief)
        u = t / b
        slope = b * a * u * u * math.exp(-(a + 1) * math.log1p(u)) / gain
        step = math.log(wanted_s / gain) / slope
        t *= math.exp(min(step, 1.0))
        if step < 1e-3:
            break
    return min(bounds.longest_s, max(shortest_s, t))


def chance_fresh(age_s: float, belief: Belief) -> float:
    return math.exp(-belief.changes * math.log1p(age_s / belief.time_s))


def freshness(interval: float, belief: Belief) -> float:
    """The share of the time for which a copy is fresh that is renewed after each interval."""
    a, b = belief
    u = interval / b
    if u < SMALL:
        return -math.expm1(-a * u) / (a * u)
    grown = math.log1p(u)
    return grown / u if abs(a - 1) < 1e-9 else -math.expm1((1 - a) * grown) / (a - 1) / u


def sooner_s(age_s: float, planned_s: float, belief: Belief, odds: float) -> float:
    """How long to wait from now on, when somebody says that the page changed.

    The gain of a visit depends on the chance that the copy is still good, however we know it. A word that raises the
    odds that it is not therefore makes the copy older than its years, by as much as its chance would need to fall so
    far."""
    fresh = chance_fresh(age_s, belief)
    fresh = fresh / (fresh + (1 - fresh) * odds)
    as_old_as_s = belief.time_s * math.expm1(-math.log(max(fresh, 1e-12)) / belief.changes)
    return max(0.0, planned_s - as_old_as_s)


def again_when_gone_s(times: int) -> float | None:
    """How long to leave a page alone that was gone so many times in a row; None: for good."""
    return GONE_S[times - 1] if times <= len(GONE_S) else None


# --- The multiplier ---


def cell_of(belief: Belief, weight: float) -> int:
    changes = min(15, max(0, round(math.log2(belief.changes)) + 4))
    time = min(63, max(0, round(math.log2(belief.time_s))))
    return (changes * 64 + time) * 64 + min(63, max(0, round(math.log2(weight)) + WEIGHT_ZERO))


def middle_of(cell: int) -> tuple[Belief, float]:
    return Belief(2.0 ** (cell // 4096 - 4), 2.0 ** (cell // 64 % 64)), 2.0 ** (cell % 64 - WEIGHT_ZERO)


def recount(census: dict[int, int], before: int, after: int) -> None:
    """A page moves from one cell to another; -1: from nowhere, or out of the census."""
    if before != after:
        if before >= 0:
            census[before] -= 1
            if not census[before]:
                del census[before]
        if after >= 0:
            census[after] = census.get(after, 0) + 1


def total(parts: list[Census]) -> Census:
    """The census of several partitions."""
    together: dict[int, int] = {}
    for part in parts:
        for cell, pages in part.items():
            together[cell] = together.get(cell, 0) + pages
    return together


def visits_per_s(census: Census, multiplier: float, bounds: Bounds = USUAL) -> float:
    return sum(pages / interval_s(*middle_of(cell), multiplier, bounds) for cell, pages in census.items())


def multiplier_for(census: Census, budget_per_s: float, bounds: Bounds = USUAL, start: float = DAY_S) -> float:
    """The multiplier at which the pages want just the budget; about zero where they want less in any case."""
    wanted, low, high = math.log(budget_per_s), -30.0, 60.0
    at = math.log(start)
    for turn in range(40):
        has = visits_per_s(census, math.exp(at), bounds)
        short = math.log(has) - wanted if has else -1.0
        if abs(short) < 0.002 or high - low < 0.001:
            break
        low, high = (at, high) if short > 0 else (low, at)
        at += 1.6 * short  # wants fall with the root of the multiplier, or faster; a good guess mostly
        if turn > 8 or not low < at < high:
            at = (low + high) / 2
    return math.exp(at)


def plan(census: Census, budget_per_s: float, bounds: Bounds, start: float = DAY_S) -> tuple[float, Bounds]:
    """The multiplier for a budget, and the bounds that hold with it: without a floor where the budget is scarce."""
    if visits_per_s(census, NO_GAIN_S, bounds) > budget_per_s:
        bounds = bounds._replace(interval_share=0.0)
    return multiplier_for(census, budget_per_s, bounds, start), bounds


def adapt(share: float, wanted: float, budget: float, periods: float = 1.0) -> float:
    """What the budget is multiplied by when the multiplier is sought: a slow hand on the tiller.

    The census knows what pages want. It does not know of hosts that cannot be asked so often, or of visits that
    sitemaps call for. `wanted` is what came due in a period, whether it was fetched or not, and a tenth of what is
    overdue in all; a twentieth of the difference is made up for in each. Visits made would be no measure: they stop
    at the budget. A period is a quarter of a day; `periods` may be a part of one."""
    return float(max(0.5, min(1.5, share * (budget / max(wanted, budget / 4)) ** (0.05 * periods))))


def estimated_freshness(census: Census, multiplier: float, bounds: Bounds = USUAL) -> float:
    """The mean freshness of all pages, weighted by what they are worth, as it will be if the plan is kept."""
    fresh = worth = 0.0
    for cell, pages in census.items():
        belief, weight = middle_of(cell)
        fresh += pages * weight * freshness(interval_s(belief, weight, multiplier, bounds), belief)
        worth += pages * weight
    return fresh / worth if worth else 1.0
