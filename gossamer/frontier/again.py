"""Pages by their next visit, on disk in the order of those moments; queued when it has come and there is room.

First visits and visits again share what the crawl can do. While there are pages that were never fetched, each first
visit earns room for a part of a visit again, by `schedule.revisit_share`; what is late waits here, and costs the
queues nothing. With nothing new to fetch there is room for all, a bounded number at a time: those at the end of a
queue could not be called off when something new is found.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.change import Change
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.store import BATCH_MAX
from gossamer.frontier.tables import Meta, due_key, moment_of
from gossamer.interfaces import Batch, Store
from gossamer.records import State

QUEUED_MAX = 2000  # visits again that may stand in a partition's queues
ROOM_MAX = 100.0  # earned, and not used because nothing was due
OVERDUE_COUNTED_MAX = 100_000


class Again:
    def __init__(self, store: Store, ledger: Ledger, meta: Meta, share: float) -> None:
        """`share`: of all fetches, while there are first visits to make."""
        self._store = store
        self._ledger = ledger
        self._totals = meta.totals
        self._gain = share / (1 - share)
        self._room = 1.0
        self._read_to = b""  # before it there are tombstones only
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
        self._room = min(ROOM_MAX, self._room + self._gain)

    def put(self, batch: Batch, moment: float, key: bytes) -> None:
        due = due_key(moment, key)
        batch.put("again", due, b"")
        self._totals.again += 1
        self._read_to = min(self._read_to, due)
        self._head = min(moment, self._head if self._head is not None else moment)

    def remove(self, batch: Batch, moment: float, key: bytes) -> None:
        batch.delete("again", due_key(moment, key))
        self._totals.again -= 1

    def overdue(self, now: float) -> int:
        """How many are late; not counted beyond a bound."""
        count = 0
        for due, _ in self._store.scan("again", self._read_to):
            if moment_of(due) > now or count >= OVERDUE_COUNTED_MAX:
                break
            count += 1
        return count

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
            change.batch.delete("again", due)
            self._totals.again -= 1
            known = self._ledger.known(key)
            assert known is not None, f"to be visited again but unknown: {due.hex()}"
            self._room = max(0.0, self._room - 1)
            change.enqueue(key, msgspec.structs.replace(known, state=State.QUEUED, due_at=None, attempts=0))
