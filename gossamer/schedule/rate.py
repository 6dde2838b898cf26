"""How often a page changes: the Poisson estimators of Cho and Garcia-Molina, and one that needs no list of visits.

Cho and Garcia-Molina, *Estimating frequency of change*, ACM TOIT 3(3), 2003. A page changes as a Poisson process with
a rate r. A visit after t seconds finds it unchanged with probability exp(-rt). What a visit cannot tell is how many
changes there were, so the obvious "changes seen / time" is too low by far for pages that change faster than they are
visited.

    regular     all intervals equal: bias-corrected, -ln((n - X + 0.5) / (n + 0.5)) / t for X changes in n visits
    likeliest   any intervals: the r at which  sum over changed of t / (exp(rt) - 1) = sum over unchanged of t
    belief      the same from a `History` of fixed size, with a prior. This is what the crawl uses.

`belief` differs from `likeliest` in two ways. The intervals that ended with a change are taken to be two lengths,
which have the mean and the spread of the true ones' logarithms; the loss is measured in docs/freshness.md. And there
is a prior: a gamma distribution that counts as `PRIOR_CHANGES` changes in as much time as the host's pages take for
them. In the equation they look like changes whose moment is known, so the prior needs no machinery of its own, the
estimate is finite from the first visit on, and with it the correction that `regular` is made for.

The result is a gamma distribution again, with the likeliest rate and the curvature of the likelihood there (Laplace's
approximation in ln r): how sure we are decides how long to wait, as much as the rate does (recrawl.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.visit_history import ChangeRates, History

PRIOR_CHANGES = 0.5  # how much the host's other pages count; measured, docs/freshness.md
PRIOR_RATE = 1 / (30 * 86_400.0)  # before anything is known: once a month
PRIOR_PAGES = 5  # of a host, that outweigh what is known of all others
PRECISION = 1e-4  # of ln r
TURNS_MAX = 60


class Belief(NamedTuple):
    """A gamma distribution of the rate: as if `changes` had been seen in `time_s`."""

    changes: float
    time_s: float

    @property
    def rate(self) -> float:
        return self.changes / self.time_s


NO_CHANGE_RATES = ChangeRates()


def regular(visits: int, changes: int, interval_s: float) -> float:
    """Cho and Garcia-Molina, section 4.2: nearly without bias, and finite where every visit found a change."""
    return -math.log((visits - changes + 0.5) / (visits + 0.5)) / interval_s


def likeliest(changed_s: Sequence[float], quiet_s: float) -> float:
    """Cho and Garcia-Molina, section 5.3: maximum likelihood for any intervals. No finite one: infinity."""
    if not changed_s:
        return 0.0
    if quiet_s <= 0:
        return math.inf
    return _root([(1.0, t) for t in changed_s], 0.0, quiet_s)


def belief(history: History, prior_rate: float, prior_changes: float = PRIOR_CHANGES) -> Belief:
    dated = history.dated + prior_changes
    quiet_s = history.quiet_s + prior_changes / prior_rate
    if not history.changes:
        return Belief(dated, quiet_s)
    mean = history.log_sum / 1000 / history.changes
    spread = math.sqrt(max(0.0, history.log_squares / 1000 / history.changes - mean * mean))
    if spread < 0.05:
        atoms = [(float(history.changes), math.exp(mean))]
    else:
        half = history.changes / 2
        atoms = [(half, math.exp(mean - spread)), (half, math.exp(mean + spread))]
    rate = _root(atoms, dated, quiet_s)
    known = dated
    for number, t in atoms:
        y = min(rate * t, 500.0)
        known += number * y * y / (math.expm1(y) * -math.expm1(-y))  # nothing for a change that was sure to come
    return Belief(known, known / rate)


def _root(atoms: Sequence[tuple[float, float]], dated: float, quiet_s: float) -> float:
    """The r with  sum of n rt / (exp(rt) - 1) + dated = r quiet_s.  Newton's steps in ln r, within what it can be."""
    low, high = dated / quiet_s, (dated + sum(number for number, _ in atoms)) / quiet_s
    rate = (low + high) / 2
    for _ in range(TURNS_MAX):
        value, slope = dated - rate * quiet_s, -rate * quiet_s
        for number, t in atoms:
            y = rate * t
            if y > 500:
                continue
            grown = math.expm1(y)
            part = y / grown
            value += number * part
            slope += number * part * (1 - y - part)  # y d/dy of y / (exp(y) - 1)
        if value > 0:
            low = rate
        else:
            high = rate
        step = rate * math.exp(max(-2.0, min(2.0, -value / slope)))
        step = step if low <= step <= high else (low + high) / 2
        if abs(step - rate) <= PRECISION * rate:
            return step
        rate = step
    return rate


# --- What a host's pages say about those that were hardly seen ---


def change_rate_of(belief_: Belief) -> int:
    return round(100 * math.log(belief_.rate))


def moved(change_rate: ChangeRates, before: int, after: int) -> ChangeRates:
    """A page is counted as `after` and no longer as `before`; 0 stands for not counted."""
    return ChangeRates(change_rate.pages + bool(after) - bool(before), change_rate.log_sum + after - before)


def prior_rate(
    host: ChangeRates, everywhere: ChangeRates = NO_CHANGE_RATES, first_guess: float = PRIOR_RATE
) -> float:
    """The middle rate of a host's pages, in so far as there are any; else of all pages; else a guess."""
    return math.exp(_mean(host, _mean(everywhere, math.log(first_guess))))


def _mean(change_rate: ChangeRates, otherwise: float) -> float:
    return (change_rate.log_sum / 100 + PRIOR_PAGES * otherwise) / (change_rate.pages + PRIOR_PAGES)
