"""What waits for its moment: URLs for another try, and hosts that rest. On disk in the order of those moments."""

from __future__ import annotations

import msgspec

from gossamer.frontier.change import Change
from gossamer.frontier.front import Front
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.store import BATCH_MAX
from gossamer.frontier.tables import HOST_KEY_BYTES, Meta, due_key, moment_of, rank_of
from gossamer.interfaces import Batch, Store
from gossamer.records import State


class Due:
    def __init__(self, store: Store, ledger: Ledger, front: Front, meta: Meta) -> None:
        self._store = store
        self._ledger = ledger
        self._front = front
        self._meta = meta
        self.next_at = next((moment_of(key) for key, _ in store.scan("due")), None)

    def put(self, batch: Batch, moment: float, key: bytes) -> None:
        """The key of a URL or of a host."""
        batch.put("due", due_key(moment, key), b"")
        self.next_at = min(moment, self.next_at or moment)

    def wake(self, change: Change) -> None:
        """Queue again what waited for another try, and list hosts again that rested, once their moment has come."""
        if self.next_at is None or self.next_at > change.now:
            return
        self.next_at = None
        for due, _ in self._store.scan("due"):
            if moment_of(due) > change.now or change.size >= BATCH_MAX:
                self.next_at = moment_of(due)
                break
            change.batch.delete("due", due)
            key = due[8:]
            if len(key) == HOST_KEY_BYTES:
                self._end_rest(change, key)
                continue
            known = self._ledger.known(key)
            assert known is not None, f"due but unknown: {due.hex()}"
            known = msgspec.structs.replace(known, state=State.QUEUED, due_at=None)
            self._meta.totals.waiting -= 1
            change.enqueue(key, known)

    def _end_rest(self, change: Change, key: bytes) -> None:
        head = next(self._store.scan("queue", prefix=key), None)
        host = self._front.host(key)
        if head is not None and host is not None:
            self._meta.turn += 1
            self._front.enlist(change.batch, key, change.host(key, host.name), rank_of(head[0]), self._meta.turn)
