"""Pages by their next visit, on disk in the order of those moments; queued when it has come and there is room.

First visits and visits again share what the crawl can do. While there are pages that were never fetched, each first
visit earns room for a part of a visit again, by `schedule.revisit_share`; what is late waits here, and costs the
queues nothing. With nothing new to fetch there is room for all, a bounded number at a time: those at the end of a
queue could not be called off when something new is found.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from gossamer.frontier.change import Change
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import Meta, due_key, moment_of
from gossamer.interfaces import BATCH_MAX, Batch, Store
from gossamer.records import State

QUEUED_MAX = 2000  # visits again that may stand in a partition's queues
ROOM_MAX = 100.0  # earned, and not used because nothing was due
COUNTED_AT_ONCE = 10_000  # entries that have come due since the last count: some 8 ms


class Revisits:
    def __init__(self, store: Store, reader: PartitionReader, meta: Meta, share: float) -> None:
        """`share`: of all fetches, while there are first visits to make."""
        self._store = store
        self._reader = reader
        self._totals = meta.totals
        self._gain = share / (1 - share)
        self._room = 1.0
        self._read_to = b""  # before it there are tombstones only
        self._late = 0  # entries up to `_counted_to`
        self._counted_to = b""
        self._head = next((moment_of(key) for key, _ in store.scan("again")), None)

    @property
    def next_at(self) -> float | None:
        """When a visit comes due; None while there would be no room for it."""
        return self._head if self._has_room else None

    @property
    def _has_room(self) -> bool:
        totals = self._totals
        if totals.revisits >= QUEUED_MAX:
            return False
        return self._room >= 1 or totals.queued == totals.revisits

    def earn(self) -> None:
        """A first visit was made."""
        if self._room < ROOM_MAX:
            self._room = min(ROOM_MAX, self._room + self._gain)

    def put(self, batch: Batch, moment: float, key: bytes) -> None:
        due = due_key(moment, key)
        batch.put("again", due, b"")
        self._totals.again += 1
        self._late += due <= self._counted_to
        self._read_to = min(self._read_to, due)
        self._head = min(moment, self._head if self._head is not None else moment)

    def remove(self, batch: Batch, moment: float, key: bytes) -> None:
        self._delete(batch, due_key(moment, key))

    def _delete(self, batch: Batch, due: bytes) -> None:
        batch.delete("again", due)
        self._totals.again -= 1
        self._late -= due <= self._counted_to

    def overdue(self, now: float) -> int:
        """How many are late. Only those are read that have come due since it was asked last, and so many at most:
        where more are late when a crawl starts, the count is complete after a few times."""
        start = max(self._read_to, self._counted_to + b"\0")
        for due, _ in islice(self._store.scan("again", start), COUNTED_AT_ONCE):
            if moment_of(due) > now:
                break
            self._late += 1
            self._counted_to = due
        return self._late

    def wake(self, change: Change) -> None:
        """Queue the pages whose moment has come, as far as there is room."""
        if (moment := self.next_at) is None or moment > change.now:
            return
        self._head = None
        for due, _ in self._store.scan("again", self._read_to):
            if moment_of(due) > change.now or change.size >= BATCH_MAX or not self._has_room:
                self._head = moment_of(due)
                break
            self._read_to, key = due, due[8:]
            self._delete(change.batch, due)
            known = self._reader.known(key)
            assert known is not None, f"to be visited again but unknown: {due.hex()}"
            self._room = max(0.0, self._room - 1)
            change.uncount(known)
            # A visit that failed is tried again: only a new visit starts to count anew.
            attempts = known.attempts if known.state is State.WAITING else 0
            change.enqueue(key, msgspec.structs.replace(known, state=State.QUEUED, due_at=None, attempts=attempts))
