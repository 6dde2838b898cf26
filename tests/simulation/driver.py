"""An event loop on virtual time: when nothing can run, the clock jumps to the next moment at which something can.

asyncio asks its selector to wait when it has nothing to do. Here that wait moves the `VirtualClock` instead, so a
month passes as fast as the program can live through it. The loop's own timers (`asyncio.timeout`) run on the same
clock. There are no sockets and no threads in a simulation: whatever happens is decided by the seed.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from gossamer.clock import VirtualClock

T = TypeVar("T")

STEP_S_MIN = 1e-6  # at least this much, because a moment in 2023 is known to a quarter of it only


class Stuck(Exception):
    """Nothing can run and nobody sleeps: everything waits for something that will never come."""


class Skipping(selectors.SelectSelector):
    """A selector that never waits for the world."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return []
        now = self._clock.now()
        moments = [self._clock.next_wake_at, now + timeout if timeout is not None else None]
        known = [moment for moment in moments if moment is not None]
        if not known:
            raise Stuck(f"nothing will ever happen again: {self._clock}")
        self._clock.advance(max(STEP_S_MIN, min(known) - now))
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: VirtualClock) -> None:
        self._virtual = clock
        super().__init__(Skipping(clock))
        # asyncio takes a nanosecond for the grain of time, and would wait for ever for a moment that has come.
        self._clock_resolution = STEP_S_MIN

    def time(self) -> float:
        return self._virtual.now()


def drive(clock: VirtualClock, story: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(story)
