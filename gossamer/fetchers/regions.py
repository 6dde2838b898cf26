"""Regions: from where a host is asked. The first rule that knows the host decides:

    a policy                    an operator's word on the host or its site
    fetchers.tlds               its top-level domain
    fetchers.countries          the country of its address, by a file of the operator's
    fetchers.by_latency         the region in which its answers begin soonest; each is tried once
    fetchers.region             what is left; empty: any

A host has one lease at a time, so it is asked from one region at a time, also while it moves from one to another.
Latencies are in memory, of the hosts that were asked last: after a restart they are measured anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

from gossamer.fetchers.countries import Countries
from gossamer.interfaces import Resolver
from gossamer.records import Answer
from gossamer.settings import FetchersSettings
from gossamer.url.site import is_address

HOSTS_MAX = 100_000  # whose latencies are remembered
LAST_COUNTS = 0.3  # of a mean latency, what the last answer makes


class Regions:
    def __init__(
        self, settings: FetchersSettings, policy_of: Callable[[str], str | None], resolver: Resolver
    ) -> None:
        """`policy_of`: the region that an operator wants for a host; None: nobody has said anything."""
        self._settings = settings
        self._policy_of = policy_of
        self._resolver = resolver
        self._countries = Countries.read(Path(settings.country_file)) if settings.country_file else None
        self._latencies: OrderedDict[str, dict[str, float]] = OrderedDict()

    async def of(self, host: str, there: Sequence[str]) -> str:
        """`there`: the regions that have fetchers. Empty: any."""
        settings = self._settings
        wanted = self._policy_of(host)
        if wanted is not None:
            return wanted
        tld = host.removesuffix(".").rpartition(".")[2]
        if tld in settings.tlds:
            return settings.tlds[tld]
        if settings.countries and (country := await self._country(host)) in settings.countries:
            return settings.countries[country]
        if settings.by_latency and there:
            latencies = self._latencies.get(host, {})
            return min(there, key=lambda region: latencies.get(region, 0.0))
        return settings.region

    async def _country(self, host: str) -> str:
        if self._countries is None:
            return ""
        if is_address(host):
            return self._countries.of(host)
        try:
            addresses = await self._resolver.resolve(host)
        except OSError:
            return ""  # its fetcher will find out why
        return self._countries.of(addresses[0]) if addresses else ""

    def learn(self, host: str, region: str, answer: Answer) -> None:
        if not self._settings.by_latency or answer.exchange is None:
            return
        latencies = self._latencies.setdefault(host, {})
        self._latencies.move_to_end(host)
        latency_s = max(answer.exchange.latency_s, 1e-6)  # 0 is for those that were never asked
        before_s = latencies.get(region, latency_s)
        latencies[region] = before_s + (latency_s - before_s) * LAST_COUNTS
        while len(self._latencies) > HOSTS_MAX:
            self._latencies.popitem(last=False)
