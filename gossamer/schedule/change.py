"""What visits have shown of one page: a history that is small and never grows, and how a visit is added to it.

A visit counts as a change by what matters. A page's *look* is one number of 64 bits: the SimHash of its main text,
or, where the text is too short for that, a digest of it (of the whole body where there is no text). Looks that differ
in a few bits are the same page with another date in it; digests that differ do so in some thirty bits. It is compared
with the look that counted last, not with the last one seen, so that a page that creeps away is noticed in the end.

What has to be kept for the likelihood of a change rate (rate.py)? Of visits that found nothing new only the time that
passed, added up. Of visits that found a change, all their intervals: they are kept as their number and the mean and
the spread of their logarithms. Of changes whose moment is known, because a server that proved right gave it
(trust.py), only their number. All are whole numbers, some 45 bytes as stored.

After `VISITS_MAX` visits everything is halved: the page may not be what it was, and what is long ago counts for less.
"""

from __future__ import annotations

import math
from hashlib import blake2b

import msgspec

from gossamer.visit_history import History

VISITS_MAX = 64  # the rate is then known to about 20 %, which costs next to no freshness (docs/freshness.md)
DATE_SHARE_MIN = 0.01  # of the interval: a date so near to now is the server's clock, or might as well be


NEVER = History()


def look_of(simhash: int, words: int, text: str, content_hash: str, *, words_min: int) -> int:
    """What a page looks like, as a number that moves a little when the page changes a little."""
    if words >= words_min and simhash:
        return simhash
    folded = " ".join(text.split())  # how its lines are broken is no part of it
    material = folded.encode("utf-8", "surrogatepass") if folded else bytes.fromhex(content_hash)
    return int.from_bytes(blake2b(material, digest_size=8).digest(), "big")


def is_change(before: int, now: int, bits: int) -> bool:
    return (before ^ now).bit_count() > bits


def seen(
    history: History, at: float, *, changed: bool, look: int | None = None, modified_at: float | None = None
) -> History:
    """The history after a visit that found the page. `look` is None where nothing was sent (304): it is as it was.

    `modified_at`: when it changed last, if somebody who can be trusted says so. The likelihood of a last change at
    that moment is that of one change, and of quiet since. At the first visit it is the age of the page, which says as
    much.
    """
    now = round(at)
    look = history.look if look is None else look
    if not history.visited_at:
        known = modified_at is not None and modified_at < at
        age_s = max(1, round(at - modified_at)) if known and modified_at is not None else 0
        return History(now, 0, 0, int(known), age_s, changed_at=now - age_s, look=look)
    interval_s = max(1, now - history.visited_at)
    visits, changes, dated, quiet_s = history.visits + 1, history.changes, history.dated, history.quiet_s
    log_sum, log_squares, changed_at = history.log_sum, history.log_squares, history.changed_at
    if not changed:
        quiet_s += interval_s
        look = history.look
    elif history.said == 2:
        # We came because it changed, so that we came says nothing; that nobody called us before then does.
        dated, quiet_s, changed_at = dated + 1, quiet_s + interval_s, now
    elif modified_at is not None and DATE_SHARE_MIN < (at - modified_at) / interval_s <= 1:
        changed_at = round(modified_at)
        dated, quiet_s = dated + 1, quiet_s + now - changed_at
    else:
        log = math.log(interval_s)
        changes, changed_at = changes + 1, now
        log_sum, log_squares = log_sum + round(1000 * log), log_squares + round(1000 * log * log)
    after = History(
        now,
        visits,
        changes,
        dated,
        quiet_s,
        log_sum,
        log_squares,
        changed_at,
        look,
        history.change_rate,
        history.cell,
    )
    return after if visits < VISITS_MAX else halved(after)


def halved(history: History) -> History:
    """Half as much evidence of the same. Odd numbers are rounded up as often as down, or rates would sink."""
    changes = round(history.changes / 2)
    share = changes / history.changes if history.changes else 0.0
    return msgspec.structs.replace(
        history,
        visits=history.visits // 2,
        changes=changes,
        dated=round(history.dated / 2),
        quiet_s=history.quiet_s // 2,
        log_sum=round(history.log_sum * share),
        log_squares=round(history.log_squares * share),
    )


def gone(history: History, at: float) -> History:
    """The history after a visit that found nothing there. What was learnt is kept: the page may come back."""
    return msgspec.structs.replace(history, gone=history.gone + 1, said=0)
