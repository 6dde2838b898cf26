"""Pace per IP address: hosts that share a machine are not asked faster together than one machine bears.

A token bucket for each address, in the order of their last use, the longest unused forgotten first. Forgetting is
harmless where it happens: a bucket that nobody has touched for long is full again.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict

from gossamer.clock import Clock
from gossamer.interfaces import Fetcher, Resolver, SharedState
from gossamer.records import Lease, Postponed, Reason, Result

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


class PacedFetcher:
    """Asks for the address's pace before it lets a lease through. A host that is its own address needs none:
    its delay is longer than any pace."""

    def __init__(self, fetcher: Fetcher, resolver: Resolver, shared: SharedState) -> None:
        self._fetcher = fetcher
        self._resolver = resolver
        self._shared = shared

    async def fetch(self, lease: Lease) -> Result:
        if not is_address(lease.host):
            try:
                addresses = await self._resolver.resolve(lease.host)
            except OSError:
                addresses = []  # the fetcher will meet the same, and knows how to tell
            if addresses:
                wait_s = await self._shared.pace(addresses[0])
                if wait_s > 0:
                    return Postponed(wait_s, Reason.IP_PACE)
        return await self._fetcher.fetch(lease)


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
