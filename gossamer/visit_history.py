"""Visit history: what visits have shown of how pages change, as it stands with each page and each host.

Records like those of records.py, apart because only `schedule/` looks into them."""

from __future__ import annotations

import msgspec


class History(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What visits have shown of one page, in a fixed size; how it is kept is told in schedule/change.py.

    Whole seconds, and logarithms in thousandths: short to store, and the same on every machine."""

    visited_at: int = 0  # the last that could see a change; 0: never
    visits: int = 0  # that were compared with one before
    changes: int = 0  # seen by them, of which nobody knows when they happened
    dated: int = 0  # changes whose moment is known
    quiet_s: int = 0  # time in which nothing changed
    log_sum: int = 0  # of the intervals that ended with one of `changes`
    log_squares: int = 0
    changed_at: int = 0  # the last change, as far as known
    look: int = 0  # of the page when it changed last
    change_rate: int = 0  # hundredths of the logarithm of its rate, as its host counts it; 0: not counted
    cell: int = -1  # where the census counts it (schedule/recrawl.py); -1: not counted
    said: int = 0  # by a sitemap since the visit: 0 nothing, 1 that it is as it was, 2 that it changed
    gone: int = 0  # visits in a row that found nothing there
    is_last: bool = False  # a copy, or of a pattern that looks like a trap: visited after all others


class Trust(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How far a host's word was to be taken so far (schedule/trust.py). Some 10 bytes."""

    dates_right: int = 0
    dates_wrong: int = 0
    announced_changed: int = 0  # the sitemap said that a page changed, and it had
    announced_same: int = 0
    silent_changed: int = 0  # it did not say so, and it had all the same
    silent_same: int = 0


class ChangeRates(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How fast a host's pages change, or all: their number and the sum of their rates' logarithms, in hundredths."""

    pages: int = 0
    log_sum: int = 0


class Away(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An origin that does not answer, while others of its host may (frontier/rules/origins.py)."""

    failures: int = 0  # in a row
    rests: int = 0  # in a row, each longer than the one before
    until: float = 0.0  # nothing of it is asked before; 0: it has not failed often enough
    reason: str = "origin_down"  # of its URLs that wait, a `records.Reason`
    detail: str = ""
    since: float = 0.0  # the first of those failures
