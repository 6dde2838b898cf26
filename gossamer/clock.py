"""Time and chance, from one object.

`RealClock` is the machine's; `VirtualClock` stands still until a test or a simulation moves it, so that a month
of crawling runs in seconds and a failure can be repeated from its seed. Nothing else in the package may call
`time`, `asyncio.sleep` or the module-level `random`.

`now()` is in seconds since the epoch, because politeness has to survive a restart, yet it never steps back
while a process lives: a wall clock set back by an hour would otherwise let a host be asked too soon.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import time
from typing import Protocol


class Clock(Protocol):
    random: random.Random

    def now(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...
    async def wait(self, event: asyncio.Event, until: float | None) -> None:
        """Until the event is set or the moment has come, whichever is first; no moment: the event alone."""


class RealClock:
    def __init__(self, seed: int | None = None) -> None:
        self.random = random.Random(seed)
        self._epoch = time.time() - time.monotonic()

    def now(self) -> float:
        return self._epoch + time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    async def wait(self, event: asyncio.Event, until: float | None) -> None:
        if until is None:
            await event.wait()
            return
        timer = asyncio.get_running_loop().call_later(max(0.0, until - self.now()), event.set)
        try:
            await event.wait()
        finally:
            timer.cancel()


class VirtualClock:
    """Time that moves only by `advance`. Sleepers wake in the order of their moments."""

    def __init__(self, seed: int = 0, start: float = 1_700_000_000.0) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self._now = start
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def __repr__(self) -> str:
        return f"VirtualClock(seed={self.seed}, now={self._now:.3f}, sleepers={len(self._sleepers)})"

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + max(0.0, seconds), next(self._order), wake))
        await wake

    async def wait(self, event: asyncio.Event, until: float | None) -> None:
        timer = asyncio.ensure_future(self.sleep(until - self._now)) if until is not None else None
        if timer is not None:
            timer.add_done_callback(lambda task: None if task.cancelled() else event.set())
        try:
            await event.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def advance(self, seconds: float) -> None:
        """Move on, waking whoever's moment has come; they run when the event loop next does."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            wake = heapq.heappop(self._sleepers)[2]
            if not wake.done():
                wake.set_result(None)

    @property
    def next_wake_at(self) -> float | None:
        return self._sleepers[0][0] if self._sleepers else None
