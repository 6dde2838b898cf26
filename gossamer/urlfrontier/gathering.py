"""Group commit: what all streams put in a moment is written in one batch, and acknowledged after that.

A stream may have a bounded number of items here; until some of them are acknowledged it reads no more, and HTTP/2
tells its client to wait. So memory is bounded by the number of streams, however fast they send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from gossamer.clock import Clock
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.urlfrontier.frontier import Frontier
from gossamer.urlfrontier.intake import Put
from gossamer.urlfrontier.urlfrontier_pb2 import AckMessage

GATHER_S = 0.002
BATCH_URLS = 800  # near interfaces.BATCH_MAX: each is two or three entries

Done = Callable[[Sequence[int]], None]


class Gathering:
    """`run` it; `put` from anywhere in the same event loop."""

    def __init__(self, frontier: Frontier, clock: Clock, complain: Callable[[object], None]) -> None:
        self._frontier = frontier
        self._clock = clock
        self._complain = complain
        self._waiting: list[tuple[Sequence[Put | None], Done]] = []
        self._is_some = asyncio.Event()

    def put(self, puts: Sequence[Put | None], done: Done) -> None:
        """`done` is told the status of each once they are written, or cannot be."""
        self._waiting.append((puts, done))
        self._is_some.set()

    async def run(self) -> None:
        while True:
            await self._is_some.wait()
            await self._clock.sleep(GATHER_S)
            self._is_some.clear()
            waiting, self._waiting = self._waiting, []
            while waiting:
                at = size = 0
                while at < len(waiting) and size < BATCH_URLS:
                    size += len(waiting[at][0])
                    at += 1
                self._write(waiting[:at])
                del waiting[:at]
                await asyncio.sleep(0)  # who wants URLs comes in between

    def _write(self, some: list[tuple[Sequence[Put | None], Done]]) -> None:
        puts = [put for each, _ in some for put in each]
        statuses: list[int] = []
        for start in range(0, len(puts), BATCH_URLS):
            part = puts[start : start + BATCH_URLS]
            try:
                statuses += self._frontier.put(part)
            except (OSError, StoreDamaged) as fault:
                self._complain(fault)
                statuses += [AckMessage.FAIL] * len(part)
        at = 0
        for each, done in some:
            done(statuses[at : at + len(each)])
            at += len(each)
