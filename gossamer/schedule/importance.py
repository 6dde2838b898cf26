"""Importance while crawling: credit that moves with links, and is never made or lost (AOPIC, with the Lambda page).

Abiteboul, Preda and Cobena, *Adaptive on-line page importance computation*, WWW 2003. Pages hold credit. A page that
is fetched gives all of its credit away: a tenth to Lambda, a page that everybody links to and that links to
everybody, the rest to the pages that it links to. What a page holds is then what the pages that link to it think of
it, and they of them. A trap gets links from itself alone, so that it only ever pays the tax.

    a seed comes      a new unit: a little of it for the seed, the rest for Lambda
    a link comes      Lambda gives its page what the link is worth, if the page is still to be visited
    a page is done    all that it held goes to Lambda

So every step moves credit between one page and the Lambda of its own partition, in one atomic batch. That is what
makes it safe. Links are sent before their page is finished and may come twice after a crash: then Lambda pays twice,
is the poorer for it, and no credit was made. Where links lead from one partition to another, one Lambda pays and the
other is paid; every few seconds those that have more than the mean give of it to those that have less (`level`). That
travels as a *total since the beginning*: the receiver takes what is new in it. A total that is lost, late, or told
twice changes nothing. No message has to be kept. Paying for each link that crosses was tried, and came to the same.

A link to another site weighs `CROSS` times as much as one within its site: it is evidence, the others only spread
what the site has. Lambda gives a page that is fetched the even share that is every page's due, but only to so many
pages of a site as links from other sites have earned it: else a trap would live on that for ever.

Numbers are integers, and what division leaves over stays with Lambda: conservation is exact. A page costs two numbers
in its record, a partition one number for each other partition. Nothing is kept in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

UNIT = 1 << 40  # credit that comes with a seed: a million seeds and more fit into 63 bits
SEED = UNIT // 8  # what the seed itself gets of it. Lambda needs the rest, to advance what others will pay later
TAX = 10  # the tenth part goes to Lambda
CROSS = 3  # measured, docs/importance.md
EVEN_PAGES_MIN = 10_000  # while fewer are known the even share is as if there were so many
GRANT_PAGES = 25  # of a site that get it, for each link from another site
LAST = 1 / 4096  # weight of a page that is visited after all others: far below the least of them
KEEP_PAGES = 100  # a site has so many pages before it is asked what they are worth to others
KEEP_SHARE = 100  # and then each has to earn the hundredth part of an even share


class Treasury(msgspec.Struct):
    """A partition's Lambda, and its dealings with the others. Mutable: its partition owns it."""

    cash: int = 0
    minted: int = 0
    given: dict[int, int] = {}  # to each other partition, since the beginning
    taken: dict[int, int] = {}  # from each, since the beginning


def mint(treasury: Treasury) -> int:
    """A seed comes: what it gets."""
    treasury.minted += UNIT
    treasury.cash += UNIT - SEED
    return SEED


def advance(treasury: Treasury, worth: int) -> int:
    """A link comes to a page that is still to be visited: what the page gets. Lambda cannot give what it has not."""
    amount = min(worth, treasury.cash)
    treasury.cash -= amount
    return amount


def even_share(cash: int, pages_known: int) -> int:
    """What every page is due of all that Lambda has, in all partitions: one number that they share."""
    return cash // max(EVEN_PAGES_MIN, pages_known)


def grant(even: int, site_pages: int, site_in_links: int) -> int:
    """What a page may give away besides its own when it is fetched: the even share, if its site has earned it.

    Nothing is moved here: what its links are worth is paid from Lambda in any case."""
    return even if site_pages < GRANT_PAGES * (1 + site_in_links) else 0


def worths(credit: int, crosses: Sequence[bool], more: int = 0) -> list[int]:
    """What each link of a page is worth, which has so much to give; `crosses`: whether it leads to another site.

    `more`: so many others within the site."""
    within = part_of(credit, more + len(crosses), sum(crosses))
    return [CROSS * within if cross else within for cross in crosses]


def part_of(credit: int, links: int, crossing: int) -> int:
    """What a link within the site is worth, of so many of which some lead to other sites."""
    return (credit - credit // TAX) // max(1, links + (CROSS - 1) * crossing)


def finished(treasury: Treasury, credit: int) -> None:
    """A page is done, or will never be asked for: its credit goes to Lambda."""
    treasury.cash += credit


def told(treasury: Treasury, source: int, total: int) -> None:
    """Another partition says how much it has given us since the beginning."""
    before = treasury.taken.get(source, 0)
    if total > before:
        treasury.cash += total - before
        treasury.taken[source] = total


def level(treasury: Treasury, own: int, cashes: Mapping[int, int]) -> None:
    """Who has more than the mean gives half of that to those who have less: else the poor could not advance anything.

    `own`: the partition's number; `cashes`: what each partition said it has. It may be of a moment ago: what is given
    is ours, and it is counted."""
    mean = sum(cashes.values()) // len(cashes)
    surplus = (treasury.cash - mean) // 2
    needs = {partition: mean - cash for partition, cash in cashes.items() if cash < mean and partition != own}
    if surplus > 0 and needs:
        needed = sum(needs.values())
        for partition, need in needs.items():
            amount = surplus * need // needed
            treasury.cash -= amount
            treasury.given[partition] = treasury.given.get(partition, 0) + amount


def on_the_way(treasuries: Mapping[int, Treasury]) -> int:
    """Given and not yet taken."""
    return sum(
        total - treasuries[partition].taken.get(source, 0)
        for source, treasury in treasuries.items()
        for partition, total in treasury.given.items()
    )


# --- What credit says ---


def importance(credit: int, minted: int) -> float:
    """In [0, 1], for a priority: the share of all credit on a logarithmic scale, 0 for a thousand-millionth."""
    return max(0.0, min(1.0, 1 + math.log10(credit / minted) / 9)) if credit and minted else 0.0


def is_worth_more(credit: int, ranked: int) -> bool:
    """Whether a queued page should get a better place. Only when its credit has doubled: a few times in its life."""
    return credit >= 2 * ranked


def weight(earned: int, mean_earned: float) -> float:
    """What a page is worth to come back to: what it earned, as a multiple of the mean of all pages; 1/64 to 4096."""
    return bounded(earned / mean_earned) if mean_earned else 1.0


def bounded(weight: float) -> float:
    return max(1 / 64, min(4096.0, weight))


def has_earned_its_pages(earned_outside: int, site_pages: int, minted: int, pages_known: int) -> bool:
    """Whether a site that nobody asked for may have more pages. To a trap, others give nothing."""
    even = minted // max(EVEN_PAGES_MIN, pages_known)
    return site_pages < KEEP_PAGES or earned_outside * KEEP_SHARE >= even * site_pages


def total(treasuries: Mapping[int, Treasury], held: Iterable[int]) -> int:
    """All credit there is, `held` being that of pages. It equals what was minted, always."""
    return sum(each.cash for each in treasuries.values()) + on_the_way(treasuries) + sum(held)
