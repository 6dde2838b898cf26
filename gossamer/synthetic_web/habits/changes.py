"""When a page changed: a Poisson process that can be asked about any moment without living through the others.

The obvious way, adding up random gaps from the start, takes longer the longer the web has lived. Here the number
of changes in the whole life of the web is drawn first, then how many of them fall into the first half, then into the
first quarter, and so on down to a stretch that holds a handful, which are placed one by one. Each draw is a
hash of the page and the stretch, so that every question finds the same history, in about thirty steps.

For more than 64 changes the binomial draws are rounded normal ones, which nobody can tell from outside.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from gossamer.synthetic_web.chance import hash64, uniform

LIFE_S = float(2**30)  # 34 years: after that a web changes no more
HANDFUL = 4
NORMAL = NormalDist()


class Changes:
    """The history of one page. `name` says which page, `interval_s` is the mean time between two changes."""

    def __init__(self, name: str, interval_s: float, born_at: float) -> None:
        self.name = name
        self.interval_s = interval_s
        self.born_at = born_at
        mean = LIFE_S / interval_s
        self.total = max(0, round(mean + math.sqrt(mean) * NORMAL.inv_cdf(self._uniform("total"))))

    def version_at(self, now: float) -> int:
        """How often the page has changed by then."""
        before, place, length, start, changes = 0, 1, LIFE_S, self.born_at, self.total
        while changes > HANDFUL:
            left, length = self._first_half(place, changes), length / 2
            if now < start + length:
                place, changes = place * 2, left
            else:
                before += left
                place, changes, start = place * 2 + 1, changes - left, start + length
        return before + sum(moment <= now for moment in self._moments(place, changes, start, length))

    def changed_at(self, version: int) -> float:
        """When the page became this version. Version 0 is the one that it was born with."""
        if version <= 0:
            return self.born_at
        rank, place, length, start, changes = min(version, self.total), 1, LIFE_S, self.born_at, self.total
        while changes > HANDFUL:
            left, length = self._first_half(place, changes), length / 2
            if rank <= left:
                place, changes = place * 2, left
            else:
                rank -= left
                place, changes, start = place * 2 + 1, changes - left, start + length
        return self._moments(place, changes, start, length)[rank - 1]

    def _first_half(self, place: int, changes: int) -> int:
        """How many of the changes in a stretch fall into its first half."""
        if changes <= 64:
            return (hash64(f"{self.name}/half/{place}") & ((1 << changes) - 1)).bit_count()
        drawn = changes / 2 + math.sqrt(changes) / 2 * NORMAL.inv_cdf(self._uniform(f"half/{place}"))
        return min(changes, max(0, round(drawn)))

    def _moments(self, place: int, changes: int, start: float, length: float) -> list[float]:
        return sorted(start + length * self._uniform(f"moment/{place}/{i}") for i in range(changes))

    def _uniform(self, what: str) -> float:
        return max(2.0**-53, uniform(f"{self.name}/{what}"))  # inv_cdf is not defined at 0
