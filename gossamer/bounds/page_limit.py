"""The limit of pages, as one process keeps it: exact by what is finished, and held up by nobody.

`left` pages may still be finished. As many leases are out as could become these pages, but for those that have been
out for longer than `SLOW_S`: a few servers that answer slowly, or never, must not hold up the last pages of a crawl.
Should more of them become pages than may be finished, the last ones are given back to their queues.

What is being finished is `taken`: it is no more `left`, and not yet counted among the pages of its partition. Whoever
adds up what all processes may still do counts both (`held`).
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.clock import Clock
from gossamer.records import Fetched, Outcome

SLOW_S = 3.0  # nearly all answers come sooner, and nobody minds such a wait at the end of a crawl
REPLACED_MAX = 4  # leases out for each page that is left, beside a few: each asks a host for what may be in vain
FEW = 16


def is_new_page(outcome: Outcome) -> bool:
    return isinstance(outcome.result, Fetched) and not outcome.lease.content_hash


class PageLimit:
    def __init__(self, left: int | None, clock: Clock) -> None:
        """`left`: None where there is no limit."""
        self.left = left
        self.taken = 0
        self._clock = clock
        self._out: dict[bytes, float] = {}  # leases that are expected to become pages, and since when; oldest first

    def allow(self, pages: int) -> None:
        if self.left is not None:
            self.left += pages

    @property
    def is_used_up(self) -> bool:
        return self.left == 0 and not self.taken

    @property
    def held(self) -> int:
        return (self.left or 0) + self.taken

    @property
    def spare(self) -> int:
        """What nothing that is out is expected to need."""
        self._forget_slow()
        return max(0, (self.left or 0) - len(self._out))

    def give_back(self) -> int:
        """What is spare is not ours any more."""
        returned = self.spare
        self.allow(-returned)
        return returned

    def room(self, wanted: int, in_flight: int) -> int:
        """How many of the leases that are wanted may be given out."""
        if self.left is None:
            return wanted
        most = self.left * (1 + REPLACED_MAX) + (FEW if self.left else 0)
        return max(0, min(wanted, self.spare, most - in_flight))

    def next_at(self) -> float | None:
        """When the oldest lease that is out counts no more."""
        self._forget_slow()  # else a crawl that is paused would look again and again
        oldest = next(iter(self._out.values()), None)
        return None if oldest is None else self._clock.now() + max(0.0, oldest + SLOW_S - self._clock.awake())

    def leased(self, lease_id: bytes) -> None:
        if self.left is not None:
            self._out[lease_id] = self._clock.awake()

    def ended(self, lease_id: bytes) -> None:
        self._out.pop(lease_id, None)

    def take(self, outcome: Outcome) -> bool:
        """Whether this may be finished."""
        self.ended(outcome.lease.id)
        if self.left is None or not is_new_page(outcome):
            return True
        if self.left <= 0:
            return False
        self.left -= 1
        self.taken += 1
        return True

    def put_back(self, outcome: Outcome) -> None:
        """It is finished later."""
        if self.left is not None and is_new_page(outcome):
            self.left += 1
            self.taken -= 1

    def finished(self, outcomes: Iterable[Outcome], pages: int) -> None:
        """So many pages came of them."""
        if self.left is not None:
            taken = sum(map(is_new_page, outcomes))
            self.taken -= taken
            self.left += taken - pages

    def _forget_slow(self) -> None:
        while self._out:
            lease_id, since = next(iter(self._out.items()))
            if since > self._clock.awake() - SLOW_S:
                return
            del self._out[lease_id]
