"""Leases: which URL is handed out, and until when.

Invariant: a URL that is handed out is in `leases` on disk before anybody fetches it, and its queue entry stays in
place until it is finished. Whoever fetches it reports by the lease's id, which is a value: it may have crossed to
another process and back. A report about a lease that is not out is ignored, with a reason (`Ignored`).

URLs handed out together share one note, which goes when the last of them has ended: a note for each would be two of
the five entries that a page costs, and a tenth of the time. Expiry rather than heartbeats: leases run out in the
order they were given, so the oldest is looked at, and a holder that died needs no farewell. They run out by the time
in which this process was awake (clock.py): so do the timers by which their holders stop, and a machine that slept for
an hour wakes up with its requests still open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from gossamer.frontier.back import Back
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import (
    TURN_BYTES,
    URL_KEY_BYTES,
    Entry,
    LeaseNote,
    Meta,
    encode,
    lease_key,
    url_record_in,
)
from gossamer.frontier.front import Front
from gossamer.interfaces import Batch, Credit, Store
from gossamer.records import SITEMAP, Lease, Link, UrlRecord


def link_to(known: UrlRecord) -> Link:
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


class Ignored(StrEnum):
    """Why a report about a lease changes nothing."""

    EXPIRED = "expired"  # its time is over, and the URL was put back
    UNKNOWN = "unknown"  # reported before, handed out before a restart, or by another partition


class Held(msgspec.Struct, gc=False):
    """A lease as the frontier remembers it: where the URL's queue entry is, and what was known of it."""

    lease: Lease
    key: bytes  # of the URL
    entry: Entry
    known: UrlRecord
    turn: int  # of its note
    back: Back  # of its host, which keeps its slot for as long


class Leases:
    def __init__(self, reader: PartitionReader, meta: Meta, lease_s: float, credit: Credit | None) -> None:
        self._reader = reader
        self._meta = meta
        self._lease_s = lease_s
        self._credit = credit
        self._held: dict[bytes, Held] = {}
        self._running: dict[bytes, float] = {}  # until when, awake; in the order in which they run out
        self._open: dict[int, int] = {}  # how many of each note have not ended
        self._put_back: set[bytes] = set()  # ids whose URL is queued again, and whose outcome is still to come

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: bytes) -> bool:
        return key in self._held

    def hand_out(self, batch: Batch, picked: list[tuple[Back, Entry]], now: float, awake: float) -> list[Lease]:
        """Leases for hosts whose turn it is, and what each turn is spent on."""
        if not picked:
            return []
        self._meta.turn += 1
        turn, expires_at = self._meta.turn, now + self._lease_s
        note = lease_key(turn)
        found = self._reader.known_among([key for _, (_, key) in picked if len(key) == URL_KEY_BYTES])
        together = [self._held_by(back, entry, found, turn, note, expires_at) for back, entry in picked]
        self._held.update([(held.key, held) for held in together])
        self._running.update(dict.fromkeys([held.key for held in together], awake + self._lease_s))
        self._open[turn] = len(together)
        entries = [(held.entry[0], held.key) for held in together]
        batch.put("leases", note, encode(LeaseNote(entries, expires_at)))
        return [held.lease for held in together]

    def _held_by(
        self, back: Back, entry: Entry, found: Mapping[bytes, UrlRecord], turn: int, note: bytes, expires_at: float
    ) -> Held:
        """`found`: records of URLs that were asked for before."""
        key = back.asked
        assert key is not None
        known = url_record_in(entry[1]) or found[key]
        credit = self._credit.to_share(known, back.host) if self._credit is not None else 0
        lease = Lease(
            link_to(known),
            back.host.name,
            expires_at,
            known.attempts + 1,
            note + key,
            known.validators,
            known.content_hash,
            credit,
            bool(known.kills or back.host.kills),
        )
        return Held(lease, key, entry, known, turn, back)

    def of(self, lease: Lease) -> Held | None:
        """What is held under this very lease; None: it is not out, and its URL may have been given to another."""
        held = self._held.get(lease.id[TURN_BYTES:])
        return held if held is not None and held.lease.id == lease.id else None

    @staticmethod
    def why_not(lease: Lease, now: float) -> Ignored:
        """Why a lease is not out."""
        return Ignored.EXPIRED if lease.expires_at <= now else Ignored.UNKNOWN

    def answered(self, key: bytes) -> None:
        """It does not run out any more: the answer is here, and will be finished as long as we live."""
        self._running.pop(key, None)

    def put_back(self, batch: Batch, held: Held) -> None:
        """The turn was spent on something else. Its outcome is still to come, as for all that is in flight."""
        self.end(batch, held.key)
        self._put_back.add(held.lease.id)

    def was_put_back(self, lease: Lease) -> bool:
        """Whether this is the outcome that was still to come; asked once."""
        if lease.id not in self._put_back:
            return False
        self._put_back.remove(lease.id)
        return True

    def end(self, batch: Batch, key: bytes) -> Held:
        self._running.pop(key, None)
        held = self._held.pop(key)
        left = self._open[held.turn] = self._open[held.turn] - 1
        if left == 0:
            del self._open[held.turn]
            batch.delete("leases", lease_key(held.turn))
        return held

    def expired(self, awake: float) -> Iterator[bytes]:
        """Keys whose lease has run out; the caller ends each before it asks for the next."""
        while self._running:
            key, until = next(iter(self._running.items()))
            if until > awake:
                return
            yield key

    def runs_out_in_s(self, awake: float) -> float | None:
        """How long the oldest still runs; None: nothing is out."""
        until = next(iter(self._running.values()), None)
        return None if until is None else until - awake

    def renew(self, key: bytes, known: UrlRecord, value: bytes | None = None) -> None:
        """What is known of a URL changed while it is in flight; `value`: what its queue entry holds now."""
        held = self._held.get(key)
        if held is not None:
            held.known = known
            if value is not None:
                held.entry = (held.entry[0], value)


def expire(leases: Leases, store: Store, front: Front, delay_s: float, now: float, awake: float) -> None:
    """Take back leases that ran out. Those who hold one stop by then, so the host is free."""
    batch = store.batch()
    for key in leases.expired(awake):
        take_back(leases, batch, front, key, delay_s, now)
    store.write(batch, sync=False)


def take_back(leases: Leases, batch: Batch, front: Front, key: bytes, delay_s: float, now: float) -> None:
    """A URL that is out stands in its queue again. A host that has not answered may have been asked just now."""
    held = leases.end(batch, key)
    back = held.back
    back.put_back(held.entry)
    back.out -= 1
    if back.asked == key:
        back.asked = None
        back.host.ready_at = max(back.host.ready_at, now + max(back.host.delay_s, delay_s))
        batch.put("hosts", back.key, encode(back.host))
    front.arm(back)
