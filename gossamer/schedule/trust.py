"""How far a host's word is to be taken: `Last-Modified`, and `lastmod` in its sitemaps, by how they proved right.

Both are noisy. There are servers that give the moment of the request for `Last-Modified`, and sitemaps in which every
page changed today. So a word counts for what it was worth before, on this host: what it said is compared with what a
visit then found. Four small counters a question, halved when they get large, so that a host can mend its ways, or
lose them.

`Last-Modified` is believed or not. A sitemap's word is weighed: Bayes' rule with the ratio of how often it says
"changed" of pages that did, and of pages that did not. A sitemap that says it of every page has the ratio 1, and
moves nothing.
"""

from __future__ import annotations

import msgspec

from gossamer.visit_history import Trust

COUNT_MAX = 1000
DATES_SHARE_MIN = 0.8  # of dates that were right: with nothing known it is a half, after three right ones it is this
ODDS_MAX = 30.0  # nobody is believed more than that


UNKNOWN = Trust()


def dates_are_trusted(trust: Trust) -> bool:
    return (trust.dates_right + 1) / (trust.dates_right + trust.dates_wrong + 2) >= DATES_SHARE_MIN


def after_visit(trust: Trust, *, changed: bool, dated_later: bool | None, said: int) -> Trust:
    """`dated_later`: whether its date is later than our last visit; None: no date, or no body to check it by (304).

    `said`: by a sitemap since that visit, as in `History`."""
    right, wrong, announced_changed, announced_same, silent_changed, silent_same = msgspec.structs.astuple(trust)
    if dated_later is not None:
        right, wrong = right + (dated_later is changed), wrong + (dated_later is not changed)
    if said == 2:
        announced_changed, announced_same = announced_changed + changed, announced_same + (not changed)
    elif said == 1:
        silent_changed, silent_same = silent_changed + changed, silent_same + (not changed)
    counts = (right, wrong, announced_changed, announced_same, silent_changed, silent_same)
    if max(counts) > COUNT_MAX:
        counts = tuple(count // 2 for count in counts)
    return Trust(*counts)


def odds_of_announcement(trust: Trust) -> float:
    """By how much "it changed", said by the sitemap, raises the odds that it did."""
    of_changed = (trust.announced_changed + 1) / (trust.announced_changed + trust.silent_changed + 2)
    of_same = (trust.announced_same + 1) / (trust.announced_same + trust.silent_same + 2)
    return max(1 / ODDS_MAX, min(ODDS_MAX, of_changed / of_same))
