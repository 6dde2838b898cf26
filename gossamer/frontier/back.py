"""A back queue: the URLs of one host that is being crawled now, in the order they are to be asked for.

On disk it is the host's range of the `queue` table. In memory there is only its head, refilled by seeking from the
last key read, because the keys before it are mostly tombstones. An entry stays on disk until its URL is finished:
a crash puts every URL that was in flight back where it was by doing nothing.
"""

from __future__ import annotations

import asyncio
from bisect import insort

from gossamer.frontier.disk.tables import Entry
from gossamer.frontier.patterns import HostPatterns
from gossamer.interfaces import Store
from gossamer.rate_limiter import RateLimiter
from gossamer.records import Host

# Entries in memory per active host, about 7 KB: one seek while the host has its slot (frontier.host_share), and one
# entry more, because its order is wanted when the host gives way. A seek takes as long as reading a hundred entries.
HEAD_MAX = 26

# What stands for the URL being asked for, where there is none:
BOOKED = b"booked"  # a request that is no lease
IN_HAND = b"in hand"  # its turn has come, and what it is spent on is being decided


class Back:
    # Ten thousand hosts take turns, so each is out of the processor's caches when its turn comes: the fewer pieces.
    __slots__ = (
        "_head",
        "_read_to",
        "_store",
        "asked",
        "bookings",
        "host",
        "is_leaving",
        "key",
        "limiter",
        "out",
        "patterns",
        "served",
        "slot_at",
        "stored",
    )

    def __init__(self, store: Store, key: bytes, host: Host) -> None:
        self.key = key
        self.host = host
        self.asked: bytes | None = None  # the URL key of the request under way; None: the host may get a turn
        self.out = 0  # leases not yet finished; their entries are still on disk
        self.slot_at = 0.0  # its moment of its site's rate limiter (site_pace.py); 0: it has none
        self.limiter: RateLimiter | None = None  # of its site, once it was asked for
        self.served = 0  # leases since it got its slot
        self.is_leaving = False  # it has had its share, and others wait
        self.stored = (host.delay_s, host.back_off_s)  # as the disk knows them
        self.patterns: HostPatterns | None = None  # of its URLs, once they are needed
        self.bookings: list[
            asyncio.Future[bool]
        ] = []  # turns wanted for something else than a page; False: it is blocked
        self._store = store
        self._head: list[Entry] = []
        self._read_to = key

    def __repr__(self) -> str:
        state = "asked" if self.asked else f"ready at {self.host.ready_at:.3f}"
        return f"Back({self.host.name}, {state}, queued={self.host.queued}, out={self.out})"

    @property
    def has_work(self) -> bool:
        return (self.host.queued > self.out and not self.host.is_resting) or bool(self.bookings)

    @property
    def next_turn_at(self) -> float:
        return max(self.host.next_turn_at, self.slot_at)

    @property
    def is_idle(self) -> bool:
        host = self.host
        is_quiet = self.out == 0 and self.asked is None and not self.bookings
        return is_quiet and (host.queued == 0 or host.is_resting)

    @property
    def is_slower_than_stored(self) -> bool:
        """After a crash the host would be asked sooner than it should."""
        return self.host.delay_s > self.stored[0] or self.host.back_off_s > self.stored[1]

    def note_stored(self) -> None:
        self.stored = (self.host.delay_s, self.host.back_off_s)

    def admit_booking(self) -> bool:
        """Give the turn that has come to whoever booked one, if anybody still waits for it."""
        while self.bookings:
            booking = self.bookings.pop(0)
            if not booking.done():
                self.asked = BOOKED
                self.slot_at = 0.0
                booking.set_result(True)
                return True
        return False

    def turn_bookings_away(self) -> None:
        """The operator blocks the host: nobody gets a turn of it."""
        for booking in self.bookings:
            if not booking.done():
                booking.set_result(False)
        self.bookings.clear()

    def next(self) -> Entry | None:
        if not self._head:
            self._head = self._store.first("queue", self.key, HEAD_MAX, self._read_to + b"\0")
            if self._head:
                self._read_to = self._head[-1][0]
        return self._head.pop(0) if self._head else None

    def offer(self, entry: Entry) -> None:
        """A new entry is on disk: it is in the way of the next refill, or belongs into the head."""
        if entry[0] <= self._read_to:
            insort(self._head, entry)

    def renew(self, entry: Entry) -> None:
        """Something else is known of a URL that keeps its place."""
        self._head = [entry if each[0] == entry[0] else each for each in self._head]

    def withdraw(self, key: bytes) -> None:
        """An entry is no longer on disk."""
        self._head = [entry for entry in self._head if entry[0] != key]

    def put_back(self, entry: Entry) -> None:
        """A lease ended without an outcome for the URL: it stands where it stood before."""
        insort(self._head, entry)
