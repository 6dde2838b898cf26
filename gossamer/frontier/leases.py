"""Leases: which URL is handed out, and until when.

Invariant: a URL that is handed out is in `leases` on disk before anybody fetches it, and its queue entry is still in
place. Expiry rather than heartbeats: leases run out in the order they were given, so the oldest is looked at, and
a holder that died needs no farewell.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gossamer.frontier.back import Entry
from gossamer.frontier.tables import LeaseNote, encode
from gossamer.interfaces import Batch
from gossamer.records import Known, Lease


class Held(msgspec.Struct):
    """A lease as the frontier remembers it: where the URL's queue entry is, and what was known of it."""

    lease: Lease
    entry: Entry
    known: Known


class Leases:
    def __init__(self) -> None:
        self._held: dict[bytes, Held] = {}
        self._running: dict[bytes, float] = {}  # until when; in the order in which they run out

    def __len__(self) -> int:
        return len(self._held)

    def give(self, batch: Batch, held: Held) -> None:
        key = held.entry[1]
        self._held[key] = held
        self._running[key] = held.lease.expires_at
        batch.put("leases", key, encode(LeaseNote(held.entry[0], held.lease.attempt, held.lease.expires_at)))

    def of(self, key: bytes, lease: Lease) -> Held | None:
        """What is held under this very lease; None: it ran out, and may have been given to another."""
        held = self._held.get(key)
        return held if held is not None and held.lease is lease else None

    def answered(self, key: bytes) -> None:
        """It does not run out any more: the answer is here, and will be finished as long as we live."""
        self._running.pop(key, None)

    def end(self, batch: Batch, key: bytes) -> Held:
        batch.delete("leases", key)
        self._running.pop(key, None)
        return self._held.pop(key)

    def expired(self, now: float) -> Iterator[bytes]:
        """Keys whose lease has run out; the caller ends each before it asks for the next."""
        while self._running:
            key, until = next(iter(self._running.items()))
            if until > now:
                return
            yield key

    def next_expiry(self) -> float | None:
        return next(iter(self._running.values()), None)

    def deepen(self, key: bytes, known: Known) -> None:
        """What is known of a URL changed while it is in flight."""
        held = self._held.get(key)
        if held is not None:
            held.known = known
