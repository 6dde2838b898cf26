"""Turns: which host may be asked next. A host is in here at most once, and not while it is asked.

Hosts whose moment has not come stand in a heap, by that moment; those whose moment has come stand at their level, in
the order in which they came. Where there is room for all of them the order does not matter. Where there is not,
levels are drawn for (levels.py), and at a level the host goes first that has waited longest.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random

from gossamer.levels import drawing

Turn = tuple[float, int, bytes, int]  # the moment, a number that orders those of one moment, the host, its level


class Turns:
    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._turns: dict[bytes, Turn] = {}  # what else the heap or a queue holds is out of date
        self._heap: list[Turn] = []
        self._queues: dict[int, deque[Turn]] = {}  # those whose moment has come, by level
        self._counts: dict[int, int] = {}  # how many of each queue are not out of date; none is empty
        self._draw: Callable[[], int] | None = None  # one of those levels; None: they have changed
        self._has_come: set[bytes] = set()
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._turns)

    def __contains__(self, host: bytes) -> bool:
        return host in self._turns

    def put(self, host: bytes, moment: float, level: int = 0) -> None:
        """Set or change a host's moment."""
        if host in self._has_come:
            self.remove(host)
        turn = self._turns[host] = (moment, next(self._order), host, level)
        heappush(self._heap, turn)

    def remove(self, host: bytes) -> None:
        turn = self._turns.pop(host, None)
        if turn is not None and host in self._has_come:
            self._has_come.remove(host)
            self._count_off(turn[3])

    def _count_off(self, level: int) -> None:
        self._counts[level] -= 1
        if self._counts[level] == 0:
            del self._counts[level], self._queues[level]
            self._draw = None

    def ready(self, now: float) -> dict[int, int]:
        """How many hosts may be asked now, by level."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            turn = heappop(heap)
            _, _, host, level = turn
            if self._turns.get(host) is turn:
                self._has_come.add(host)
                if level not in self._counts:
                    self._counts[level], self._queues[level], self._draw = 0, deque(), None
                self._counts[level] += 1
                self._queues[level].append(turn)
        return self._counts

    def pop(self, now: float) -> bytes | None:
        """A host whose moment has come, or None."""
        if self._heap and self._heap[0][0] <= now:
            self.ready(now)
        if not self._counts:
            return None
        if self._draw is None:
            self._draw = drawing(sorted(self._counts), self._chance)
        queue, turns = self._queues[self._draw()], self._turns
        while turns.get(host := (turn := queue.popleft())[2]) is not turn:
            pass  # it was changed or removed since
        del turns[host]
        self._has_come.remove(host)
        self._count_off(turn[3])
        return host

    def first(self) -> tuple[float, bytes] | None:
        """Whose moment comes next, and when; None: somebody's has come already, or nobody is in here."""
        moment = self.next_at() if not self._queues else None
        return (moment, self._heap[0][2]) if moment is not None else None

    def next_at(self) -> float | None:
        if self._queues:
            return min(queue[0][0] for queue in self._queues.values())  # past, be it out of date or not
        while self._heap:
            turn = self._heap[0]
            if self._turns.get(turn[2]) is turn:
                return turn[0]
            heappop(self._heap)
        return None
