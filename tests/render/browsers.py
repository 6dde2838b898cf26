"""The browsers below a process, as the system sees them: their processes, their number and their memory."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import multimode

from gossamer.bench.running import memory_bytes, tree

LOOK_S = 0.1
NAME = re.compile(rb"chrom|headless")
BELOW = re.compile(rb"--type=|crashpad")  # processes that another one of the browser has started


class Browsers:
    """As long as somebody watches. Memory is by proportional shares: what they have in common counts once."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.bytes_max = 0
        self.seen: set[int] = set()
        self._numbers: list[int] = []

    @property
    def usual(self) -> int:
        """How many there were most of the time; a process that is just being forked looks like one more."""
        return multimode(self._numbers)[0] if self._numbers else 0

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()

    async def _watch(self) -> None:
        while True:
            found = browsers_of(self.root)
            self.seen.update(found)
            self.bytes_max = max(self.bytes_max, await asyncio.to_thread(memory_of, found))
            if first := [pid for pid in found if (words := told(pid, "cmdline")) and not BELOW.search(words)]:
                self._numbers.append(len(first))
            await asyncio.sleep(LOOK_S)


def browsers_of(root: int) -> list[int]:
    """All processes of all of them."""
    return [pid for pid in tree(root) if is_browser(pid)]


def is_browser(pid: int) -> bool:
    return NAME.search(told(pid, "comm")) is not None


def memory_of(processes: list[int]) -> int:
    return sum(map(memory_bytes, processes))


def told(pid: int, what: str) -> bytes:
    """Empty where the process is gone."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""
