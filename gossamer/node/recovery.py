"""Going on with a partition of which something is lost for good: `gossamer recover cluster.toml --partition N`.

A partition whose journal or unread links are gone (`JournalLost`, `LinksLost`) is left out, because only a person can
say that it should go on from what is there. That word is an entry on the board (`accept/NNN`). The node that has the
partition opens it once more, from the last snapshot and from the first link that is there, and takes the word back
when it is open: it holds for this loss, and not for the next one. Nor does it hold for longer than a day.
"""

from __future__ import annotations

import asyncio

import msgspec

from gossamer.clock import Clock
from gossamer.cluster.kafka.board import Board
from gossamer.settings.kinds import DAY_S
from gossamer.supervisor.worker_pool import WorkerPool

ACCEPT = "accept/"
HOLDS_S = DAY_S


class Accepted(msgspec.Struct, frozen=True):
    at: float


def key_of(partition: int) -> str:
    return f"{ACCEPT}{partition:03d}"


class Recovery:
    """A node's part."""

    def __init__(self, board: Board, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._tried: dict[int, int] = {}  # which word, by partition
        self._forgetting: dict[str, asyncio.Task[int]] = {}

    def is_accepted(self, partition: int) -> bool:
        entry = self._board.get(key_of(partition))
        if entry is None:
            return False
        return self._clock.now() - msgspec.json.decode(entry.value, type=Accepted).at < HOLDS_S

    def round(self, pool: WorkerPool) -> None:
        for key in [key for key, task in self._forgetting.items() if task.done()]:
            self._forgetting.pop(key).result()
        for key in self._board.keys(ACCEPT):
            partition, entry = int(key.removeprefix(ACCEPT)), self._board.get(key)
            if partition not in pool.mine or entry is None:
                continue
            if partition in pool.damage:
                if self._tried.get(partition) != entry.offset and self.is_accepted(partition):
                    self._tried[partition] = entry.offset
                    pool.reopen(partition)
            elif pool.owners[partition] is not None and key not in self._forgetting:
                self._forgetting[key] = asyncio.ensure_future(self._board.delete(key))

    def close(self) -> None:
        for task in self._forgetting.values():
            task.cancel()
