"""Names to addresses, through our own cache: asynchronous, kept as long as the answer says, asked once at a time.

A crawler that asks the system's resolver before every fetch spends its time waiting there. Hosts come in bursts,
because the frontier groups URLs by host, so a small cache answers nearly always. TTLs are respected between a floor
and a cap; the least recently used name leaves first; a name without an address is remembered too.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

import aiodns
from pycares import AAAARecordData, ARecordData

from gossamer.clock import Clock
from gossamer.settings import DnsSettings

NAMES_MAX = 100_000  # about 30 MB; more hosts than a worker crawls at a time


@dataclass(frozen=True)
class Entry:
    addresses: list[str]
    until: float


class Dns:
    def __init__(self, clock: Clock, settings: DnsSettings) -> None:
        self._clock = clock
        self._settings = settings
        self._cache: OrderedDict[str, Entry] = OrderedDict()
        self._asking: dict[str, asyncio.Task[Entry]] = {}
        self._client: aiodns.DNSResolver | None = None

    async def resolve(self, host: str) -> list[str]:
        """The addresses of a name; none where it has none. Raises OSError where nobody could tell."""
        override = self._settings.overrides.get(host)
        if override is not None:
            return [override]
        entry = self._cache.get(host)
        if entry is not None and entry.until > self._clock.now():
            self._cache.move_to_end(host)
            return entry.addresses
        task = self._asking.get(host)
        if task is None:
            task = asyncio.create_task(self._ask(host))
            self._asking[host] = task
            task.add_done_callback(lambda _: self._asking.pop(host, None))
        # Shielded: the one who asked first may be cancelled while others wait for the same answer.
        entry = await asyncio.shield(task)
        self._cache[host] = entry
        if len(self._cache) > NAMES_MAX:
            self._cache.popitem(last=False)
        return entry.addresses

    async def _ask(self, host: str) -> Entry:
        if self._client is None:
            self._client = aiodns.DNSResolver(nameservers=list(self._settings.servers) or None)
        addresses: list[str] = []
        ttl_s = self._settings.ttl_s_max
        for kind in ("A", "AAAA"):
            try:
                answer = await self._client.query_dns(host, kind)
            except aiodns.error.DNSError as fault:
                if fault.args[0] in (aiodns.error.ARES_ENODATA, aiodns.error.ARES_ENOTFOUND):
                    continue
                raise OSError(f"{host}: {fault.args[-1]}") from fault
            for record in answer.answer:
                if isinstance(record.data, ARecordData | AAAARecordData):  # and not a CNAME on the way to them
                    addresses.append(record.data.addr)
                    ttl_s = min(ttl_s, record.ttl)
            if addresses:
                break  # IPv4 is enough where it is there
        keep_s = max(self._settings.ttl_s_min, ttl_s) if addresses else self._settings.ttl_s_min
        return Entry(addresses, self._clock.now() + keep_s)

    async def close(self) -> None:
        for task in list(self._asking.values()):
            task.cancel()
        if self._client is not None:
            await self._client.close()
