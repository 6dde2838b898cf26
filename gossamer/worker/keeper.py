"""The keeper: what a worker of a cluster does so that its partitions outlive this machine and its disk.

It puts the journal (cluster/kafka/journal.py), the ownership records (cluster/ownership.py), snapshots and restoring
together, and goes along with a partition from its opening to its end. On one machine there is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster.ownership import Ownerships
from gossamer.interfaces import Journal, JournalLost, Mark, Objects, OwnJournal
from gossamer.messages.node_messages import KeepingCounts, Kept
from gossamer.worker.manifest import tidy
from gossamer.worker.partition import Partition
from gossamer.worker.restore import Restore, Restored
from gossamer.worker.snapshots import Snapshots

TIDY_S = 3600.0  # a listing of all files, and of all manifests


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
        self._counts = KeepingCounts()
        self._node = node
        self._objects = objects
        self._clock = clock
        self._say = say
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
        self._counts.restores += 1
        self._counts.restored_s += restored.seconds
        self._counts.restored_bytes += restored.bytes
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

    async def tidy(self) -> None:
        """Remove files of snapshots that were cut off, now and then, until this is cancelled. The owner of partition
        0 does it for all: more than one at a time would do no harm, and no good."""
        while True:
            await self._clock.sleep(TIDY_S)
            if 0 in self._open:
                try:
                    await asyncio.to_thread(tidy, self._objects, self._clock.now())
                except OSError as fault:
                    self._say(f"files that no snapshot needs could not be removed: {fault}")

    def kept(self, number: int, behind: int) -> Kept:
        """`behind`: links that wait for this partition."""
        own, restored = self._own[number], self.restored[number]
        last = self._snapshots.last(number, own.epoch)
        return Kept(behind, own.unacknowledged_bytes, *last, restored.how, restored.seconds)

    @property
    def counts(self) -> KeepingCounts:
        return replace(self._counts, snapshots=self._snapshots.count, snapshot_bytes=self._snapshots.bytes)

    @property
    def held_up(self) -> str:
        """Why nothing more should be leased; empty: all is well."""
        return self._journal.held_up
