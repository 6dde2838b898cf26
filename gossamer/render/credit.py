"""Credit: what may still be spent on the chance that a page gains something.

Two things are scarce. A look takes seconds of a processor (`PAGE_S`, and `START_S` where no browser runs): a worker
earns a share of the time in which it had nothing to do, which a polite crawl has plenty of, and a small share of all
its time. And of the pages that gain nothing few may be rendered: each page that passes earns a share of a look.
A look that gained costs nothing.

A crawl that keeps a delay waits for its hosts most of the time, so it begins with credit for `FIRST_LOOKS`: how a
site is made is found out before most of its pages are fetched. One that keeps none may be over in two seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gossamer.clock import Clock

PAGE_S, START_S = 0.3, 0.5  # of a processor: pages of the synthetic web take half of that; docs/decisions/0065
IDLE_SHARE, BUSY_SHARE = 0.1, 0.01  # of time without work, and of all time
PAGES_SHARE = 0.04  # of the pages that are not rendered
FIRST_LOOKS = 2  # at the first page, mostly, and at one that it leads to
POLITE_S = 0.5
SAVED_S_MAX, OWED_S_MAX = 5.0, 30.0


class Credit:
    def __init__(self, clock: Clock, delay_s: float, cpu_s: Callable[[], float] = time.process_time) -> None:
        """`delay_s`: that hosts are left alone for. `cpu_s`: that this process has used."""
        self._clock = clock
        self._cpu_s = cpu_s
        looks = FIRST_LOOKS if delay_s >= POLITE_S else 0
        self._looks = float(looks)
        self._left_s = START_S + looks * PAGE_S if looks else 0.0
        self._seen_at, self._used_s = clock.awake(), cpu_s()

    def passed(self) -> None:
        """A page with scripts was not rendered."""
        self._looks = min(FIRST_LOOKS, self._looks + PAGES_SHARE)

    def has_look(self, *, is_started: bool) -> bool:
        """`is_started`: a browser runs already."""
        now, used_s = self._clock.awake(), self._cpu_s()
        passed_s = now - self._seen_at
        idle_s = max(0.0, passed_s - (used_s - self._used_s))
        self._seen_at, self._used_s = now, used_s
        self._left_s = min(SAVED_S_MAX, self._left_s + IDLE_SHARE * idle_s + BUSY_SHARE * passed_s)
        return self._looks >= 1 and self._left_s >= cost_s(is_started=is_started)

    def spend(self, *, is_started: bool) -> float:
        """The seconds that a look takes, to be earned back where it gains."""
        spent_s = cost_s(is_started=is_started)
        self._looks -= 1
        self._left_s = max(-OWED_S_MAX, self._left_s - spent_s)
        return spent_s

    def earn_back(self, spent_s: float) -> None:
        self._looks += 1
        self._left_s += spent_s


def cost_s(*, is_started: bool) -> float:
    return PAGE_S if is_started else START_S + PAGE_S
