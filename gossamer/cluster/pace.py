"""Pace per IP address: hosts that share a machine are not asked faster together than one machine bears.

A token bucket for each address, in the order of their last use, the longest unused forgotten first. Forgetting is
harmless where it happens: a bucket that nobody has touched for long is full again.
"""

from __future__ import annotations

from collections import OrderedDict

from gossamer.clock import Clock

ADDRESSES_MAX = 200_000  # about 40 MB


class Pace:
    def __init__(self, clock: Clock, per_s: float, burst: int, *, addresses_max: int = ADDRESSES_MAX) -> None:
        self._clock = clock
        self._per_s = per_s
        self._burst = float(burst)
        self._addresses_max = addresses_max
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when they were counted

    def wait_s(self, ip: str) -> float:
        """0: go, and a token is taken; otherwise how long until there is one, and none is taken."""
        now = self._clock.now()
        tokens, counted_at = self._buckets.pop(ip, (self._burst, now))
        tokens = min(self._burst, tokens + (now - counted_at) * self._per_s)
        wait_s = 0.0 if tokens >= 1 else (1 - tokens) / self._per_s
        self._buckets[ip] = (tokens - 1 if wait_s == 0 else tokens, now)
        if len(self._buckets) > self._addresses_max:
            self._buckets.popitem(last=False)
        return wait_s
