"""The browsers that a crawl has started, as the system sees them: their processes and their memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gossamer.bench.running import memory_bytes, tree

LOOK_S = 0.1


class Browsers:
    """The memory of the browsers below a process, as long as somebody watches."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.bytes_max = 0
        self.seen: set[int] = set()

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
            await asyncio.sleep(LOOK_S)


def browsers_of(root: int) -> list[int]:
    return [pid for pid in tree(root) if is_browser(pid)]


def is_browser(pid: int) -> bool:
    try:
        return "chrom" in Path(f"/proc/{pid}/comm").read_text() or "headless" in Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return False


def memory_of(processes: list[int]) -> int:
    """Proportional shares: what they have in common counts once."""
    return sum(map(memory_bytes, processes))
