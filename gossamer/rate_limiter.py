"""A rate limiter: when the next of many may go, so that together they keep to a rate.

Whoever asks gets a moment of their own and keeps it, so nobody has to ask twice, and all go in the order in which
they asked (the generic cell rate algorithm, ITU-T I.371, with places in the line instead of refusals). What was not
used for a while is lost but for `BURST_S`: a rate is a promise at any moment, not over the day.
"""

from __future__ import annotations

BURST_S = 0.2  # of the rate, at once


class RateLimiter:
    __slots__ = ("_full_at", "rate")

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._full_at = 0.0  # by then all that was let through is within the rate

    def slot(self, now: float) -> float:
        """When the next one may go."""
        return max(now, self._full_at - BURST_S)

    def take(self, now: float, cost: float = 1.0) -> float:
        """The same, and the moment is given away."""
        full_at = self._full_at
        self._full_at = max(full_at, now) + cost / self.rate
        return max(now, full_at - BURST_S)

    def charge(self, cost: float) -> None:
        """More was used than was said before, or less."""
        self._full_at += cost / self.rate

    def put_off(self, by_s: float) -> None:
        """The clock was set forward by as much: what was let through is within the rate no sooner for it."""
        self._full_at += by_s

    def is_idle(self, now: float) -> bool:
        return self._full_at <= now
