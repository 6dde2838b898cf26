"""The memory of pages in flight, as one process bounds it: by bytes, because pages differ a thousandfold.

A page that was answered holds its body and what was made of it, until it is finished. A body in a file
(fetch/spool.py) holds nothing: its memory is the system's to take back. Nothing is leased while all of them are above
the bound, and as many more as fit below it otherwise. How large a page is that is being fetched nobody knows: it
counts with the mean of those that came lately, so that the bound holds for what is on its way as well.

Two things come before the bound. A page that is larger is crawled, by itself. And a server that takes its time holds
up nobody: what has been out for longer than `SLOW_S` counts when it comes, as slow answers do, one by one.
"""

from __future__ import annotations

from gossamer.clock import Clock
from gossamer.records import Fetched, Moved, Page, Result

SLOW_S = 1.0
STEP_SHARE = 1 / 16  # of the bound: less room is none
MEAN_OF = 32  # pages, the last of which count most
FIRST_GUESS_BYTES = 256 * 1024  # rather too much: what is asked for before the first page came cannot be called back
LINK_BYTES = 400  # with its texts, as tracemalloc counts them: 398 in the pages of `gossamer bench`


class PageMemory:
    def __init__(self, bytes_max: int, clock: Clock) -> None:
        self.held_bytes = 0
        self.bytes_max = bytes_max
        self._clock = clock
        self._is_short = False  # there was less room than was wanted
        self._mean_bytes: float = min(FIRST_GUESS_BYTES, bytes_max)
        self._held: dict[bytes, int] = {}  # of each lease that was answered
        self._coming: dict[bytes, float] = {}  # leases that were not, and since when they are out; oldest first

    def room(self, wanted: int) -> int:
        """How many of the leases that are wanted may be given out."""
        self._forget_slow()
        free = self.bytes_max - self.held_bytes - len(self._coming) * self._mean_bytes
        room = max(0, int(free / self._mean_bytes))
        if room < wanted and free < self.bytes_max * STEP_SHARE:
            room = 0  # one by one, each lease would take a write of its own
        if not (self._held or self._coming):
            room = max(1, room)
        self._is_short = room < wanted
        return min(wanted, room)

    def next_at(self) -> float | None:
        """When there may be more room by itself, if there was too little: the oldest lease out counts no more."""
        if not self._is_short:
            return None
        self._forget_slow()
        oldest = next(iter(self._coming.values()), None)
        return None if oldest is None else self._clock.now() + max(0.0, oldest + SLOW_S - self._clock.awake())

    def leased(self, lease_id: bytes) -> None:
        self._coming[lease_id] = self._clock.awake()

    def answered(self, lease_id: bytes, result: Result) -> None:
        self._coming.pop(lease_id, None)
        if isinstance(result, Fetched):
            self._hold(lease_id, result.memory_bytes)
        elif isinstance(result, Moved) and isinstance(result.body, bytes):
            self._hold(lease_id, len(result.body))

    def read(self, lease_id: bytes, page: Page) -> None:
        self._hold(lease_id, size_of(page))
        self._mean_bytes += (self._held[lease_id] - self._mean_bytes) / MEAN_OF

    def of(self, lease_id: bytes) -> int:
        return self._held.get(lease_id, 0)

    def ended(self, lease_id: bytes) -> None:
        """It is finished, or nobody wants it any more. It may be said twice."""
        self._coming.pop(lease_id, None)
        self.held_bytes -= self._held.pop(lease_id, 0)

    def _hold(self, lease_id: bytes, more_bytes: int) -> None:
        self._held[lease_id] = self._held.get(lease_id, 0) + more_bytes
        self.held_bytes += more_bytes

    def _forget_slow(self) -> None:
        while self._coming:
            lease_id, since = next(iter(self._coming.items()))
            if since > self._clock.awake() - SLOW_S:
                return
            del self._coming[lease_id]


def size_of(page: Page) -> int:
    rendered = page.rendered
    shown = len(rendered.document) + len(rendered.screenshot) if rendered is not None else 0
    return page.text_bytes + LINK_BYTES * page.link_count + len(page.sketch) + shown
