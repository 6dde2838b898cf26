"""The recrawl plan: the few numbers that all partitions share, found anew every few seconds from what each of them
tells.

Each partition tells a `PartitionStatistics`: how many of its pages want which visits (the census), what is overdue,
what its Lambda has. Whoever sees them all answers with a `RecrawlPlan`: the multiplier at which the pages want as
many visits as the budget has, the even share of credit, and what partitions have given each other. Both hold totals
and states, never changes: one that gets lost or comes twice does no harm.

The budget is a share of what the crawl can do. That is measured: the most fetches a second that it had in any ten
seconds, also in earlier runs, because a crawl that has only visits to make shows what they are and not what it could.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gossamer.schedule.importance import even_share
from gossamer.schedule.recrawl import DAY_S, NO_GAIN_S, Bounds, adapt, estimated_freshness, plan, total, visits_per_s
from gossamer.settings import ScheduleSettings

CAPACITY_PER_S_MIN = 1.0  # of a crawl that has hardly begun: one host, asked once a second


class PartitionStatistics(msgspec.Struct, frozen=True):
    """What a partition tells of its pages and its credit."""

    census: dict[int, int] = {}  # pages by what they want (recrawl.py)
    known: int = 0
    cash: int = 0  # its Lambda
    minted: int = 0
    given: dict[int, int] = {}  # to other partitions, since the beginning
    visits: int = 0  # pages fetched again, since the beginning
    overdue: int = 0  # pages whose visit is late
    earned: int = 0  # by the pages of the census together
    active_sites: int = 0  # being crawled now
    requests: int = 0  # since the beginning


class RecrawlPlan(msgspec.Struct, frozen=True):
    """What all partitions are told. Before the first one they go by these: as if the budget were enough for all."""

    multiplier: float = NO_GAIN_S  # seconds of freshness that a visit has to gain, for a page of mean importance
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
    mean_earned: float = 0.0  # by a page of the census: what a weight of 1 is
    active_sites: int = 0  # being crawled now
    is_scarce: bool = False  # the pages want more visits than the budget has: their intervals have no floor


def bounds_of(settings: ScheduleSettings, recrawl_plan: RecrawlPlan) -> Bounds:
    return Bounds(
        settings.shortest_s, settings.longest_s, 0.0 if recrawl_plan.is_scarce else settings.interval_share_min
    )


def make_plan(
    before: RecrawlPlan,
    statistics: Mapping[int, PartitionStatistics],
    fetched_per_s: float,
    passed_s: float,
    settings: ScheduleSettings,
) -> RecrawlPlan:
    """The next plan. `fetched_per_s`: lately, of any kind; `passed_s`: since the one before."""
    census = total([each.census for each in statistics.values()])
    cashes = {number: each.cash for number, each in statistics.items()}
    pages = sum(census.values())
    known = sum(each.known for each in statistics.values())
    visits = sum(each.visits for each in statistics.values())
    overdue = sum(each.overdue for each in statistics.values())
    capacity = max(before.capacity_per_s, fetched_per_s)
    if settings.visits_a_day is not None:
        budget = settings.visits_a_day / DAY_S
    else:
        budget = max(capacity, CAPACITY_PER_S_MIN) * settings.capacity_share
    spent = max(0, visits - before.visits) if before.pages else 0
    came_due = spent + overdue - before.overdue + overdue / 10
    periods = passed_s / (DAY_S / 4)
    share = adapt(before.share, came_due, budget * passed_s, periods) if before.pages else before.share
    multiplier, bounds = plan(census, budget * share, bounds_of(settings, RecrawlPlan()), before.multiplier)
    return RecrawlPlan(
        multiplier,
        even_share(sum(cashes.values()), known),
        sum(each.minted for each in statistics.values()),
        known,
        cashes,
        {number: each.given for number, each in statistics.items() if each.given},
        share,
        capacity,
        budget,
        visits_per_s(census, multiplier, bounds),
        spent / passed_s if passed_s else 0.0,
        pages,
        overdue,
        estimated_freshness(census, multiplier, bounds),
        visits,
        sum(each.earned for each in statistics.values()) / pages if pages else 0.0,
        sum(each.active_sites for each in statistics.values()),
        bounds.interval_share < settings.interval_share_min,
    )
