"""Pace: how fast an address is asked, and how fast the whole crawl asks and receives.

Hosts that share a machine are not asked faster together than one machine bears: a token bucket for each address, in
the order of their last use, the longest unused forgotten first. Forgetting is harmless where it happens: a bucket
that nobody has touched for long is full again.

The limits of the whole crawl are rate limiters (gossamer/rate_limiter.py) that all workers share. Who gets a moment
soon holds the request until then; who would have to hold it for long comes again, because a lease is not for ever.
What a request will bring is not known before: it is charged with what others brought lately, and what was wrong about
that is charged when it has ended.
"""

from __future__ import annotations

from collections import OrderedDict

from gossamer.clock import Clock
from gossamer.interfaces import Pause
from gossamer.rate_limiter import RateLimiter
from gossamer.records import Reason

ADDRESSES_MAX = 200_000  # about 40 MB
HOLD_S_MAX = 10.0  # a request in flight; what is held is not called back when a limit changes
EXPECTED_BYTES = 20_000.0  # of the first requests


class Pace:
    def __init__(self, clock: Clock, per_s: float, burst: int, *, addresses_max: int = ADDRESSES_MAX) -> None:
        self.clock = clock
        self.limit(per_s, burst)
        self._addresses_max = addresses_max
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when they were counted

    def limit(self, per_s: float, burst: int, share: float = 1.0) -> None:
        """From now on. Tokens are counted at the new rate since an address was asked last. `share`: what is ours of
        it, where others ask, too."""
        self._per_s = per_s * share
        self._burst = float(max(1, int(burst * share)))

    def wait_s(self, ip: str) -> float:
        """0: go, and a token is taken; otherwise how long until there is one, and none is taken."""
        now = self.clock.now()
        tokens, counted_at = self._buckets.pop(ip, (self._burst, now))
        tokens = min(self._burst, tokens + (now - counted_at) * self._per_s)
        wait_s = 0.0 if tokens >= 1 else (1 - tokens) / self._per_s
        self._buckets[ip] = (tokens - 1 if wait_s == 0 else tokens, now)
        if len(self._buckets) > self._addresses_max:
            self._buckets.popitem(last=False)
        return wait_s


class CrawlPace:
    def __init__(self, clock: Clock, requests_per_s: float | None = None, bytes_per_s: float | None = None) -> None:
        self._clock = clock
        self._mean_bytes = EXPECTED_BYTES
        self.limit(requests_per_s, bytes_per_s)

    def limit(self, requests_per_s: float | None, bytes_per_s: float | None, share: float = 1.0) -> None:
        """From now on; what is under way is not called back."""
        self._requests = RateLimiter(requests_per_s * share) if requests_per_s else None
        self._bytes = RateLimiter(bytes_per_s * share) if bytes_per_s else None

    def settle(self, surplus_bytes: int) -> None:
        """Requests that have ended brought so many bytes more than they were charged with, or fewer."""
        if self._bytes is not None and surplus_bytes:
            self._mean_bytes = max(1000.0, self._mean_bytes + surplus_bytes / 20)
            self._bytes.charge(surplus_bytes)

    def pause(self) -> Pause:
        """For the next request: when it may go, or when to ask again."""
        if self._requests is None and self._bytes is None:
            return GO
        now = self._clock.now()
        limiters = [limiter for limiter in (self._requests, self._bytes) if limiter is not None]
        hold_s = max(limiter.slot(now) for limiter in limiters) - now
        if hold_s > HOLD_S_MAX:
            return Pause(wait_s=hold_s - HOLD_S_MAX / 2, reason=Reason.CRAWL_PACE)
        if self._requests is not None:
            self._requests.take(now)
        charged = int(self._mean_bytes) if self._bytes is not None else 0
        if self._bytes is not None:
            self._bytes.take(now, charged)
        return Pause(hold_s=hold_s, charged_bytes=charged)


GO = Pause()
