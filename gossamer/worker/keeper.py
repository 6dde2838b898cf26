"""The keeper: what a worker of a cluster does so that its partitions outlive this machine and its disk.

It puts the journal (cluster/kafka/journal.py), the ownership records (cluster/ownership.py), snapshots and restoring
together, and goes along with a partition from its opening to its end. On one machine there is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from gossamer.clock import Clock
from gossamer.cluster.ownership import Ownerships
from gossamer.interfaces import Journal, JournalLost, Mark, Objects, OwnJournal
from gossamer.worker.partition import Partition
from gossamer.worker.restore import Restore, Restored
from gossamer.worker.snapshots import Snapshots


class ClusterKeeper:
    """Implements `partition.Keeper`."""

    def __init__(
        self,
        node: str,
        objects: Objects,
        journal: Journal,
        clock: Clock,
        folder: Path,
        say: Callable[[str], None],
        *,
        snapshot_s: float,
        settle_s: float,
    ) -> None:
        """`folder`: for snapshots on their way, on the disk of the stores. `settle_s`: what an orderly end may wait
        for the journal; after that it counts as any other end."""
        self.restored: dict[int, Restored] = {}  # how the partitions of now were restored
        self._node = node
        self._journal = journal
        self._settle_s = settle_s
        self._ownerships = Ownerships(objects, journal)
        self._restore = Restore(objects, self._ownerships, journal, clock, say)
        self._snapshots = Snapshots(objects, self._ownerships, journal, clock, folder, snapshot_s, say)
        self._one = asyncio.Lock()  # a restore takes the disk and a core
        self._own: dict[int, OwnJournal] = {}
        self._open: dict[int, Partition] = {}

    async def restore(
        self, number: int, epoch: int, folder: Path, *, accept_loss: bool = False
    ) -> tuple[Restored, OwnJournal]:
        """`accept_loss`: where the journal is gone, go on from the last snapshot."""
        async with self._one:
            restored = await self._restore(number, epoch, self._node, folder, accept_loss=accept_loss)
        history = await self._ownerships.history(number)
        cut = next(record.cut for record in history.records if record.epoch == epoch)
        self.restored[number] = restored
        self._own[number] = self._journal.begin(number, epoch, cut)
        return restored, self._own[number]

    async def opened(self, partition: Partition, *, needs_snapshot: bool) -> None:
        if needs_snapshot:
            await self._snapshots.take(partition, self._own[partition.number])
        self._open[partition.number] = partition

    async def closing(self, partition: Partition) -> None:
        self._open.pop(partition.number, None)
        await self._snapshots.stop(partition.number)

    async def closed(self, partition: Partition) -> None:
        own = self._own[partition.number]
        try:
            position = await asyncio.wait_for(own.settled(), self._settle_s)
            record = self._ownerships.release(partition.number, Mark(own.epoch, own.appended), position)
            await asyncio.wait_for(record, self._settle_s)
        except (OSError, JournalLost):
            pass  # Kafka or the object store is away: the next owner leaves every host alone for its delay

    async def take_snapshots(self) -> None:
        """Those that are due, until this is cancelled."""
        await self._snapshots.run(lambda: [(part, self._own[part.number]) for part in self._open.values()])

    @property
    def held_up(self) -> str:
        """Why nothing more should be leased; empty: all is well."""
        return self._journal.held_up
