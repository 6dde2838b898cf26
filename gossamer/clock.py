"""Time and chance, from one object.

`RealClock` is the machine's; `VirtualClock` stands still until a test or a simulation moves it, so that a month
of crawling runs in seconds and a failure can be repeated from its seed. Nothing else in the package may call
`time`, `asyncio.sleep` or the module-level `random`.

`now()` is in seconds since the epoch, because politeness has to survive a restart. It counts on while the machine
sleeps, and does not follow the wall clock by itself: an hour that never passed would let a host be asked too soon.
When the wall clock was set forward, `step` follows it, and whoever calls it moves the moments along that were noted
before (`Frontier.put_off`). It never steps back while a process lives; the next one moves back what was noted in the
future (frontier/clock_jumps.py).

`awake()` counts the seconds in which this process could work: it stands still while the machine sleeps, as the timers
of the event loop and of libcurl do. Whatever ends when such a timer ends is measured by it.

`boottime()` counts on while the machine sleeps, nobody can set it, and it is the same in all processes of a machine:
for what one process promises another until a moment.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol


class Clock(Protocol):
    random: random.Random

    def now(self) -> float: ...
    def awake(self) -> float: ...
    def boottime(self) -> float: ...
    def step(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...
    async def wait(self, event: asyncio.Event, until: float | None) -> None:
        """Until the event is set or the moment has come, whichever is first; no moment: the event alone."""


# Linux stops its monotonic clock while the machine sleeps; this one goes on.
_SLEEPLESS = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
LOOK_S = 10.0  # timers of the event loop stop while the machine sleeps: a longer wait looks at the clock on its way
STEP_S = 1.0  # what the wall clock is ahead by less is its ordinary drift, and waits for more


passed = partial(time.clock_gettime, _SLEEPLESS)
"""Seconds since some moment, as they really passed: nobody can set it."""


class RealClock:
    def __init__(
        self,
        seed: int | None = None,
        passed: Callable[[], float] = passed,
        wall: Callable[[], float] = time.time,
        look_s: float = LOOK_S,
    ) -> None:
        self.random = random.Random(seed)
        self._look_s = look_s
        self._passed = passed
        self._wall = wall
        self._epoch = wall() - passed()

    def now(self) -> float:
        return self._epoch + self._passed()

    def awake(self) -> float:
        return time.monotonic()

    def boottime(self) -> float:
        return self._passed()

    def step(self) -> float:
        """Follow the wall clock if it was set forward; by how many seconds that never passed."""
        ahead_s = self._wall() - self.now()
        if ahead_s < STEP_S:
            return 0.0
        self._epoch += ahead_s
        return ahead_s

    async def sleep(self, seconds: float) -> None:
        until, left_s = self._passed() + seconds, seconds
        while True:
            await asyncio.sleep(max(0.0, min(left_s, self._look_s)))
            left_s = until - self._passed()
            if left_s <= 0:
                return

    async def wait(self, event: asyncio.Event, until: float | None) -> None:
        if until is None:
            await event.wait()
            return
        loop = asyncio.get_running_loop()

        def left_s() -> float:
            return max(0.0, min(until - self.now(), self._look_s))

        def look() -> None:
            if left_s():
                timers[:] = [loop.call_later(left_s(), look)]
            else:
                event.set()

        timers = [loop.call_later(left_s(), look)]
        try:
            await event.wait()
        finally:
            timers[0].cancel()


class VirtualClock:
    """Time that moves only by `advance`. Sleepers wake in the order of their moments."""

    def __init__(self, seed: int = 0, start: float = 1_700_000_000.0) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self._now = start
        self._jumped_s = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def __repr__(self) -> str:
        return f"VirtualClock(seed={self.seed}, now={self._now:.3f}, sleepers={len(self._sleepers)})"

    def now(self) -> float:
        return self._now

    def awake(self) -> float:
        return self._now - self._jumped_s

    def boottime(self) -> float:
        return self._now

    def step(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await self._woken_at(self._now + max(0.0, seconds))

    async def wait(self, event: asyncio.Event, until: float | None) -> None:
        timer = self._woken_at(max(self._now, until)) if until is not None else None
        if timer is not None:
            timer.add_done_callback(lambda woken: None if woken.cancelled() else event.set())
        try:
            await event.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def _woken_at(self, moment: float) -> asyncio.Future[None]:
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (moment, next(self._order), wake))
        return wake

    def advance(self, seconds: float) -> None:
        """Move on, waking whoever's moment has come; they run when the event loop next does."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            wake = heapq.heappop(self._sleepers)[2]
            if not wake.done():
                wake.set_result(None)

    def jump(self, seconds: float) -> None:
        """The machine slept, or its clock was set forward: nobody could do anything meanwhile."""
        self._jumped_s += seconds
        self.advance(seconds)

    @property
    def next_wake_at(self) -> float | None:
        return self._sleepers[0][0] if self._sleepers else None
