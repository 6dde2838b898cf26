"""Leases: which URL is handed out, and until when.

Invariant: a URL that is handed out is in `leases` on disk before anybody fetches it, and its queue entry stays in
place until it is finished. URLs handed out together share one note, which goes when the last of them has ended: a
note for each would be two of the five entries that a page costs, and a tenth of the time. Expiry rather than
heartbeats: leases run out in the order they were given, so the oldest is looked at, and a holder that died
needs no farewell.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gossamer.frontier.back import Back, Entry
from gossamer.frontier.tables import LeaseNote, encode, lease_key
from gossamer.interfaces import Batch
from gossamer.records import SITEMAP, Known, Lease, Link


def link_to(known: Known) -> Link:
    """The link that led to a URL, as far as it is still known."""
    return Link(  # by position, as in steps.after
        known.url,
        "",
        SITEMAP if known.is_sitemap else "",
        known.source,
        known.depth,
        known.chain,
        None,
        "",
        known.context / 100,
        known.max_depth,
        known.priority,
    )


class Held(msgspec.Struct):
    """A lease as the frontier remembers it: where the URL's queue entry is, and what was known of it."""

    lease: Lease
    entry: Entry
    known: Known
    turn: int  # of its note
    back: Back  # of its host, which keeps its place for as long


class Leases:
    def __init__(self) -> None:
        self._held: dict[bytes, Held] = {}
        self._running: dict[bytes, float] = {}  # until when; in the order in which they run out
        self._open: dict[int, int] = {}  # how many of each note have not ended

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: bytes) -> bool:
        return key in self._held

    def give(self, batch: Batch, turn: int, together: list[Held], expires_at: float) -> None:
        for held in together:
            key = held.lease.key
            self._held[key] = held
            self._running[key] = expires_at
        self._open[turn] = len(together)
        note = LeaseNote([(held.entry[0], held.lease.key) for held in together], expires_at)
        batch.put("leases", lease_key(turn), encode(note))

    def of(self, lease: Lease) -> Held | None:
        """What is held under this very lease; None: it ran out, and may have been given to another."""
        held = self._held.get(lease.key)
        return held if held is not None and held.lease is lease else None

    def answered(self, key: bytes) -> None:
        """It does not run out any more: the answer is here, and will be finished as long as we live."""
        self._running.pop(key, None)

    def end(self, batch: Batch, key: bytes) -> Held:
        self._running.pop(key, None)
        held = self._held.pop(key)
        self._open[held.turn] -= 1
        if self._open[held.turn] == 0:
            del self._open[held.turn]
            batch.delete("leases", lease_key(held.turn))
        return held

    def expired(self, now: float) -> Iterator[bytes]:
        """Keys whose lease has run out; the caller ends each before it asks for the next."""
        while self._running:
            key, until = next(iter(self._running.items()))
            if until > now:
                return
            yield key

    def next_expiry(self) -> float | None:
        return next(iter(self._running.values()), None)

    def renew(self, key: bytes, known: Known, value: bytes | None = None) -> None:
        """What is known of a URL changed while it is in flight; `value`: what its queue entry holds now."""
        held = self._held.get(key)
        if held is not None:
            held.known = known
            if value is not None:
                held.entry = (held.entry[0], value)
