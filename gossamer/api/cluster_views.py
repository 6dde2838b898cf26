"""The stores of a whole cluster, as its last look has left them in the folder beside its file (node/look.py).

Who asks starts the next look where the last one is older than `AGE_S`, or than some times what it took. A short one
is waited for; a long one is not, and the answer is of the look before: `age_s` says how old that is. Before the first
look there is nothing to answer from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from gossamer.api.route import NoAnswer
from gossamer.api.views import View, Views
from gossamer.clock import Clock

T = TypeVar("T")

AGE_S = 5.0
REST = 5  # times what a look took
WAIT_S, FIRST_WAIT_S = 2.0, 10.0  # a browser has 15 s of patience


class ClusterViews(Views):
    def __init__(self, path: Path, clock: Clock, look: Callable[[], Awaitable[None]]) -> None:
        super().__init__(path, clock)
        self.trouble = ""
        self._look = look
        self._looked_at: float | None = None
        self._due_at = 0.0
        self._outdated_at = 0.0
        self._looking: asyncio.Task[None] | None = None

    @property
    def age_s(self) -> float | None:
        """None: there was no look yet."""
        return self._clock.awake() - self._looked_at if self._looked_at is not None else None

    def outdate(self) -> None:
        super().outdate()
        self._outdated_at = self._due_at = self._clock.awake()

    async def read(self, work: Callable[[View], T]) -> T:
        if self._clock.awake() >= self._due_at and self._looking is None:
            self._looking = asyncio.ensure_future(self._look_once())
        if self._looking is not None:
            await asyncio.wait([self._looking], timeout=FIRST_WAIT_S if self._looked_at is None else WAIT_S)
        if self._looked_at is None:
            why = self.trouble or "the state of the cluster is being brought here for the first time; ask again"
            raise NoAnswer(503, "not_looked_yet", why, retry_after="5")
        return await super().read(work)

    async def _look_once(self) -> None:
        began = self._clock.awake()
        try:
            await self._look()
            self._looked_at, self.trouble = began, ""
        except* Exception as faults:  # whatever it is, what was brought here before can still be read
            fault: BaseException = faults
            while isinstance(fault, BaseExceptionGroup):
                fault = fault.exceptions[0]
            self.trouble = f"the state of the cluster cannot be brought here: {fault}"
        finally:
            now = self._clock.awake()
            self._due_at = now + max(AGE_S, REST * (now - began)) if began > self._outdated_at else now
            self._looking = None

    def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        super().close()
