"""Levels of priority: how room that is too small for all is shared among hosts that are worth more and worth less.

A host with work stands at a level, and lower is better (frontier/rules/priority.py); the same in every partition.
Each level is drawn half as often as the one above it, and one draw in ten goes to the lowest that has anything, so
that nothing starves. One law for all that is scarce: slots in memory (frontier/front.py), turns among hosts that may
be asked now (frontier/turns.py), and requests at once among the partitions of a worker (loop.py).
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from random import Random

LOWEST_SHARE = 0.1  # of the draws


def drawing(levels: Sequence[int], chance: Random) -> Callable[[], int]:
    """What draws one of these levels, the best of which is the first."""
    weights = list(accumulate(0.5 ** min(60, level - levels[0]) for level in levels))
    last, total = len(levels) - 1, weights[-1] if weights else 0.0

    def draw() -> int:
        if last == 0 or chance.random() < LOWEST_SHARE:
            return levels[-1]
        return levels[bisect(weights, chance.random() * total, 0, last)]  # as `choices` does, for one

    return draw


def shares(room: int, ready: Sequence[Mapping[int, int]], chance: Random) -> list[int]:
    """How much of the room each partition gets. `ready`: how many hosts each of them has to ask, by level.

    First the levels are drawn for; at one level every host has the same chance, whichever partition it is in."""
    wanted = [sum(each.values()) for each in ready]
    if sum(wanted) <= room or not room:
        return wanted if room else [0] * len(ready)
    by_level: Counter[int] = Counter()
    left = sum(map(Counter, ready), Counter[int]())
    draw = drawing(sorted(left), chance)
    for _ in range(room):
        by_level[level := draw()] += 1
        left[level] -= 1
        if left[level] == 0:
            del left[level]
            draw = drawing(sorted(left), chance)
    given = Counter[int]()
    for level, count in by_level.items():
        given.update(chance.sample(range(len(ready)), count, counts=[each.get(level, 0) for each in ready]))
    return [given[number] for number in range(len(ready))]
