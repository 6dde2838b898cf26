"""Ownership records: who owned a partition, one after the other, and which entries of its journal count.

    ownership/PPP/EEEEEEEE    the partition is this node's in this epoch; with the cut in its journal
    released/PPP/EEEEEEEE     its owner gave it up in order: nothing was in flight, and the journal has everything

A record is an object that is created and never changed, so of two that want the same epoch one gets it. Minting reads
the list, appends a marker to the journal, and creates the next record; where that name is taken, all of it again. The
list comes first: whatever was minted before it has its marker before ours, and whatever is minted after it takes the
name that we want. So cuts grow with the epochs.

**The fence.** An entry of epoch e at offset o counts if cut(e) <= o < cut(the next epoch), whatever an owner of
yesterday still appends. A snapshot of epoch e counts if all that is in it was acknowledged before the next cut. Both
are functions of records that never change: everybody who looks comes to the same end, now and later.

**The sequence.** Numbers of batches go on from owner to owner. An owner whose disk had more than the journal goes on
from there (worker/restore.py); until its first snapshot nobody else can follow its entries, and another owner may go
on from before. So an epoch is followed from its first batch or not at all: a later number may fit by chance.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from secrets import token_hex
from typing import TypeVar

import msgspec

from gossamer.interfaces import Journal, JournalEntry, LaterOwner, Mark, Objects

READ_AT_ONCE = 8
RECORD_BYTES_MAX = 1 << 16


class Ownership(msgspec.Struct, frozen=True):
    """What is in `ownership/PPP/EEEEEEEE`."""

    partition: int
    epoch: int
    node: str  # NAME/ID: its name, and which folder that is; two folders of one name are not the same owner
    cut: int  # the offset of its marker in the journal
    token: str = ""  # tells two of the same node apart


class Released(msgspec.Struct, frozen=True):
    """What is in `released/PPP/EEEEEEEE`."""

    partition: int
    epoch: int
    number: int  # of the last batch
    position: int  # in the journal, behind it
    token: str = ""


class History:
    """The ownership records of a partition."""

    def __init__(self, records: Sequence[Ownership]) -> None:
        self.records = sorted(records, key=lambda record: record.epoch)
        self._ranges: dict[int, tuple[int, int | None]] = {}
        following: int | None = None
        for record in reversed(self.records):
            self._ranges[record.epoch] = (record.cut, following)
            following = record.cut

    def __repr__(self) -> str:
        return f"History({', '.join(f'{record.epoch} from {record.cut}' for record in self.records)})"

    def counts(self, epoch: int, offset: int) -> bool:
        """Whether an entry of the journal does."""
        if (between := self._ranges.get(epoch)) is None:
            return False
        return between[0] <= offset and (between[1] is None or offset < between[1])

    def is_valid(self, epoch: int, position: int) -> bool:
        """Whether a snapshot is, all of which lies before this position of the journal."""
        if (between := self._ranges.get(epoch)) is None:
            return False
        return between[0] <= position and (between[1] is None or position <= between[1])

    def before(self, epoch: int) -> Ownership | None:
        """The record before this one."""
        return next((record for record in reversed(self.records) if record.epoch < epoch), None)

    def others_since(self, epoch: int, until: int, node: str) -> bool:
        """Whether another node owned the partition between these two epochs."""
        return any(epoch < record.epoch < until and record.node != node for record in self.records)


class Passed(StrEnum):
    """Why an entry is passed over."""

    FENCED = "of an owner that had lost it"
    KNOWN = "in the state already"
    GAP = "does not follow what is there"


class Follower:
    """Says of the entries of a journal, one by one, which of them follow a state. Pure: it applies nothing."""

    def __init__(self, history: History, base: Mark, *, is_known: bool) -> None:
        """`is_known`: the base comes from what counts. Otherwise it may be ahead, until its own entry is met."""
        self.history = history
        self.epoch, self.number = base.epoch, base.number
        self.is_known = is_known
        self.is_diverged = (
            False  # a later owner began before the base's end: the base is not what others went on from
        )
        self.passed: Counter[Passed] = Counter()
        self._left: set[int] = set()  # epochs that are not followed

    def follows(self, entry: JournalEntry) -> bool:
        epoch, number, _ = entry.mark
        if not self.history.counts(epoch, entry.offset):
            return self._pass(Passed.FENCED)
        if epoch < self.epoch or (epoch == self.epoch and number <= self.number):
            self.is_known = self.is_known or (epoch, number) == (self.epoch, self.number)
            return self._pass(Passed.KNOWN)
        if epoch > self.epoch and (number <= self.number or not self.is_known) and epoch not in self._left:
            self.is_diverged = True
        if number != self.number + 1 or epoch in self._left or not self.is_known:
            if epoch > self.epoch:
                self._left.add(epoch)
            return self._pass(Passed.GAP)
        self.epoch, self.number = epoch, number
        return True

    def _pass(self, why: Passed) -> bool:
        self.passed[why] += 1
        return False


Record = TypeVar("Record", Ownership, Released)


class Ownerships:
    def __init__(self, objects: Objects, journal: Journal) -> None:
        self._objects = objects
        self._journal = journal

    async def mint(self, partition: int, node: str, is_ours: Callable[[], bool] = lambda: True) -> Ownership:
        """The partition is this node's from now on. Raises `LaterOwner` where it is not `is_ours` any more.

        That is asked between the list and the record: whoever owns it after us mints later, and takes that name. A
        record that is made without being asked would fence an owner who knows nothing of it."""
        while True:
            epoch = max(await asyncio.to_thread(self._epochs, partition), default=0) + 1
            cut = await self._journal.mark(partition, node)
            if not is_ours():
                raise LaterOwner(f"partition {partition} is not certain to be ours")
            record = Ownership(partition, epoch, node, cut, token_hex(8))
            if await self._objects.create(_name("ownership", partition, epoch), msgspec.json.encode(record)):
                return record

    async def has_namesake_before(self, own: Ownership) -> bool:
        """Whether a node of the same name in another folder owned the partition right before, and has not given it
        up: it may still be at work, because the group knows names only."""
        before = await asyncio.to_thread(self._read, _name("ownership", own.partition, own.epoch - 1), Ownership)
        if before is None or before.node == own.node or _called(before) != _called(own):
            return False
        return await self.released(own.partition, before.epoch) is None

    async def history(self, partition: int) -> History:
        epochs = await asyncio.to_thread(self._epochs, partition)
        names = [_name("ownership", partition, epoch) for epoch in epochs]
        few = asyncio.Semaphore(READ_AT_ONCE)

        async def one(name: str) -> Ownership | None:
            async with few:
                return await asyncio.to_thread(self._read, name, Ownership)

        return History([record for record in await asyncio.gather(*map(one, names)) if record is not None])

    async def release(self, partition: int, mark: Mark, position: int) -> None:
        """Its owner has written all it had to say, and asks nothing more."""
        record = Released(partition, mark.epoch, mark.number, position, token_hex(8))
        await self._objects.create(_name("released", partition, mark.epoch), msgspec.json.encode(record))

    async def released(self, partition: int, epoch: int) -> Released | None:
        return await asyncio.to_thread(self._read, _name("released", partition, epoch), Released)

    def _epochs(self, partition: int) -> list[int]:
        last_parts = (name.rpartition("/")[2] for name in self._objects.names(f"ownership/{partition:03d}/"))
        return [int(part) for part in last_parts if part.isdecimal()]

    def _read(self, name: str, kind: type[Record]) -> Record | None:
        try:
            return msgspec.json.decode(self._objects.read(name, 0, RECORD_BYTES_MAX), type=kind)
        except FileNotFoundError:
            return None


def _called(own: Ownership) -> str:
    return own.node.partition("/")[0]


def _name(kind: str, partition: int, epoch: int) -> str:
    return f"{kind}/{partition:03d}/{epoch:08d}"
