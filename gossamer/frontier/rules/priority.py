"""Priority: what is worth fetching next, as a number in [0, 1] that can be taken apart and explained.

    0.4 x authority of the host    0.5 to begin with (`frontier.authority_start`), more by the credit that links from
                                   other sites gave it (schedule/importance.py), or by their number where nobody
                                   counts credit, on a logarithmic scale; or what an operator says
    0.3 x need of freshness        1 for a page that was never fetched, otherwise the chance that it has changed
    0.3 x context of its links     half of it by the one that led here first: 1 for a seed, less the farther away from
                                   one, and less for a link that is worth little by where it stands and what it says
                                   (process/markup/context.py); half by the credit that all of them gave it

and 0.01 more for each day of waiting, so that nothing waits for ever. All that waits gains at the same pace, so the
order of two URLs never changes while they wait: instead of raising scores on disk every day, an *order* is written
once, which is the score turned around plus the day on which it was given. Ranks compare as the scores of any later
day would.

A seed may come with a priority of its own, which stands in place of freshness and context: 0.6 is as much as any
other seed has, 1 goes before everything on its host and before nearly all hosts, 0 after everything.

A host's authority is the same for all its URLs and changes while they wait. It decides between hosts (`level`) and
not within one (`order`), so it is never written into a queue.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from gossamer.records import Host
from gossamer.settings import FrontierSettings

EPOCH = 1_577_836_800.0  # 2020: days are counted from here, and a crawl does not start earlier
DAY_S = 86400.0
ORDERS_A_POINT = 1_000_000  # an order is in millionths of a point: 9 s of waiting
LEVELS_A_POINT = 10  # a level is a tenth of a point: ten days of waiting
# The weights of the parts. A order is stored, so they hold for good: ranks of two kinds do not compare.
AUTHORITY, FRESHNESS, CONTEXT = 0.4, 0.3, 0.3
WAITING_A_DAY = 0.01
IN_LINKS_FULL = 100_000  # links from other sites that make full authority
_LOG_FULL = math.log1p(IN_LINKS_FULL)


@dataclass(frozen=True)
class Priority:
    """A score and its parts, each in [0, 1] before it is weighed."""

    authority: float
    freshness: float
    context: float
    waiting: float  # points gained by waiting
    score: float


def authority(host: Host) -> float:
    return min(1.0, math.log1p(host.in_links) / _LOG_FULL) if host.in_links else 0.0


def context(depth: int, link: int = 100) -> float:
    """`link`: what the link itself is worth, in hundredths. It decides among URLs that are close: at most it
    halves."""
    return (100 + link) / 200 / (1 + depth)


def priority(
    host: Host,
    depth: int,
    link: int,
    waited_s: float,
    fixed: float | None = None,
    own: float | None = None,
    importance: float | None = None,
    need: float = 1.0,
) -> Priority:
    """The score of a URL now; `fixed` is what is known better than the host's authority, the others as in `order`."""
    parts = (authority(host) if fixed is None else fixed, need, with_credit(context(depth, link), importance))
    waiting = WAITING_A_DAY * waited_s / DAY_S
    of_url = FRESHNESS * need + CONTEXT * parts[2] if own is None else own
    return Priority(*parts, waiting, min(1.0, AUTHORITY * parts[0] + of_url + waiting))


def with_credit(context: float, importance: float | None) -> float:
    return context if importance is None else (context + importance) / 2


def order(
    depth: int,
    link: int,
    now: float,
    own: float | None = None,
    importance: float | None = None,
    need: float = 1.0,
) -> int:
    """The place of a URL in its host's queue: lower is better. `own`: the score that a seed was given; `importance`:
    what its credit makes it, None where nobody counts; `need`: of a new copy, in [0, 1]."""
    of_links = with_credit(context(depth, link), importance)
    score = FRESHNESS * need + CONTEXT * of_links if own is None else own
    points = (1.0 - score) + WAITING_A_DAY * (now - EPOCH) / DAY_S
    return max(0, int(points * ORDERS_A_POINT))


def level(host: Host, best_order: int, fixed: float | None = None) -> int:
    """The level at which a host waits for its slot: lower is better. It sinks by one every ten days.

    A host that fails again and again falls by one level each time, down to the worst that a page can be.
    """
    points = best_order / ORDERS_A_POINT - AUTHORITY * (authority(host) if fixed is None else fixed)
    points += min(1.0, host.failures / LEVELS_A_POINT)
    return max(0, int(points * LEVELS_A_POINT))


def with_start(links_say: float, settings: FrontierSettings) -> float:
    """A host's authority: where it starts, and the rest as far as links from other sites raise it."""
    return settings.authority_start + (1 - settings.authority_start) * links_say


def score_at(order_: int, authority_: float, now: float) -> float:
    """The score of a URL when its turn comes, by the order that it was queued with."""
    points = 1.0 - order_ / ORDERS_A_POINT + WAITING_A_DAY * (now - EPOCH) / DAY_S
    score = AUTHORITY * authority_ + points
    return 0.0 if score < 0 else min(score, 1.0)


def by_tenth(levels: Iterable[tuple[int, int]], now: float) -> list[int]:
    """How many hosts stand in each tenth of the score, best first; from levels and how many hosts stand at them."""
    best = int(WAITING_A_DAY * (now - EPOCH) / DAY_S * LEVELS_A_POINT)
    tenths = [0] * LEVELS_A_POINT
    for level_, hosts in levels:
        tenths[min(max(0, level_ - best), LEVELS_A_POINT - 1)] += hosts
    return tenths
