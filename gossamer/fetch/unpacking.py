"""Packed bodies are unpacked when all of them has come, a turn at a time, a few at once (docs/decisions/0022).

A decoder in the middle of its stream holds a window of up to 16 MiB, and what it needs to find the byte of a fault.
Of hundreds of slow downloads that would be gigabytes. So the packed bytes lie in a spool like any others until the
last has come, and only `LARGE_AT_ONCE` bodies have a decoder. The result goes to a spool, too.

Small bodies are unpacked at once, because there are many of them and each takes well under a millisecond. The others
take turns with everything else that the event loop has to do: however a bomb is built, it delays nobody by more than
a turn.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path

from gossamer.clock import Clock
from gossamer.fetch.coding import SLICE_BYTES, Unpacker, names_in, slices
from gossamer.fetch.spool import Spool
from gossamer.records import Body

SLICE_S = 0.004  # of CPU time, and one piece more: three layers of 64 KiB, 1 ms
LARGE_AT_ONCE = 3


class Unpacking:
    def __init__(self, clock: Clock, folder: Path | None) -> None:
        self._clock = clock
        self._folder = folder
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def unpack(self, packed: Body, codings: str, bytes_max: int) -> tuple[Body, str]:
        """The body, and why it is not whole (`length`, `decoding`). Raises OSError where there is no room."""
        if not names_in(codings) or not len(packed):
            return packed, ""
        with closing(Work(packed, codings, bytes_max, self._folder)) as small:
            if small.step():
                return small.result()
        # From the start: what waits here holds no decoder.
        async with self._large:
            with closing(Work(packed, codings, bytes_max, self._folder)) as large:
                while not large.step():
                    await self._clock.sleep(0)
                return large.result()


class Work:
    """One body on its way from one spool to another."""

    def __init__(self, packed: Body, codings: str, bytes_max: int, folder: Path | None) -> None:
        self._unpacker = Unpacker(codings, bytes_max)
        self._pieces = self._unpacker.unpack(slices(memoryview(packed), SLICE_BYTES))
        self._spool = Spool(folder)

    def step(self) -> bool:
        """Some of it; whether that was the last."""
        until = time.thread_time() + SLICE_S
        for piece in self._pieces:
            self._spool.write(piece)
            if time.thread_time() > until:
                return False
        return True

    def result(self) -> tuple[Body, str]:
        if self._unpacker.is_too_large:
            return self._spool.body(), "length"
        is_broken = self._unpacker.fault and not self._unpacker.is_raw
        return self._spool.body(), "decoding" if is_broken else ""

    def close(self) -> None:
        self._spool.close()
