"""The course: the few numbers that all partitions share, found anew every few seconds from what each of them tells.

Each partition tells a `Survey`: how many of its pages want which visits (the census), what is overdue, what its
Lambda has. Whoever sees them all answers with a `Course`: the multiplier at which the pages want as many visits as
the budget has, the even share of credit, and what partitions have given each other. Both hold totals and states,
never changes: one that gets lost or comes twice does no harm.

The budget is a share of what the crawl can do. That is measured: the most fetches a second that it had in any ten
seconds, also in earlier runs, because a crawl that has only visits to make shows what they are and not what it could.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gossamer.schedule.importance import even_share
from gossamer.schedule.recrawl import DAY_S, Bounds, adapt, estimated_freshness, multiplier_for, total, visits_per_s
from gossamer.settings import ScheduleSettings

CAPACITY_PER_S_MIN = 1.0  # of a crawl that has hardly begun: one host, asked once a second


class Survey(msgspec.Struct, frozen=True):
    """What a partition tells of its pages and its credit."""

    census: dict[int, int] = {}  # pages by what they want (recrawl.py)
    known: int = 0
    cash: int = 0  # its Lambda
    minted: int = 0
    given: dict[int, int] = {}  # to other partitions, since the beginning
    visits: int = 0  # pages fetched again, since the beginning
    overdue: int = 0  # pages whose visit is late


class Course(msgspec.Struct, frozen=True):
    """What all partitions are told. Before the first one they go by these."""

    multiplier: float = DAY_S  # seconds of freshness that a visit has to gain, for a page of mean importance
    even_share: int = 0
    minted: int = 0
    known: int = 0
    cashes: dict[int, int] = {}
    given: dict[int, dict[int, int]] = {}  # by whom, to whom
    share: float = 1.0  # of the budget that the multiplier is sought for (recrawl.adapt)
    capacity_per_s: float = 0.0  # the most fetches a second so far
    budget_per_s: float = 0.0  # visits
    wanted_per_s: float = 0.0  # visits that the pages want at this multiplier
    spent_per_s: float = 0.0  # visits made, lately
    pages: int = 0  # that are to be visited again
    overdue: int = 0
    freshness: float = 1.0  # of the pages, weighted by importance, as it will be if the plan is kept
    visits: int = 0  # made in all


def bounds_of(settings: ScheduleSettings) -> Bounds:
    return Bounds(settings.shortest_s, settings.longest_s)


def steer(
    before: Course, surveys: Mapping[int, Survey], fetched_per_s: float, passed_s: float, settings: ScheduleSettings
) -> Course:
    """The next course. `fetched_per_s`: lately, of any kind; `passed_s`: since the one before."""
    bounds = bounds_of(settings)
    census = total([survey.census for survey in surveys.values()])
    cashes = {number: survey.cash for number, survey in surveys.items()}
    known = sum(survey.known for survey in surveys.values())
    visits = sum(survey.visits for survey in surveys.values())
    overdue = sum(survey.overdue for survey in surveys.values())
    capacity = max(before.capacity_per_s, fetched_per_s)
    if settings.visits_a_day is not None:
        budget = settings.visits_a_day / DAY_S
    else:
        budget = max(capacity, CAPACITY_PER_S_MIN) * settings.capacity_share
    spent = max(0, visits - before.visits) if before.pages else 0
    came_due = spent + overdue - before.overdue + overdue / 10
    periods = passed_s / (DAY_S / 4)
    share = adapt(before.share, came_due, budget * passed_s, periods) if before.pages else before.share
    multiplier = multiplier_for(census, budget * share, bounds, before.multiplier)
    return Course(
        multiplier,
        even_share(sum(cashes.values()), known),
        sum(survey.minted for survey in surveys.values()),
        known,
        cashes,
        {number: survey.given for number, survey in surveys.items() if survey.given},
        share,
        capacity,
        budget,
        visits_per_s(census, multiplier, bounds),
        spent / passed_s if passed_s else 0.0,
        sum(census.values()),
        overdue,
        estimated_freshness(census, multiplier, bounds),
        visits,
    )
