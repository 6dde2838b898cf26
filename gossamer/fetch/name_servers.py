"""Asking the name servers, with c-ares: what they say about one name, without a memory.

Names are looked up as they are: no search domains, no /etc/hosts. IPv6 is asked for where there is no IPv4. "There
is no such name" is an answer; where nobody could tell, an OSError says why, and never an exception of the library.

Against forged answers c-ares gives every query a random id, sends from a port that the kernel picked on a socket that
hears only the server, compares the question, and uses DNS cookies (RFC 7873) where the server does. Under steady load
the port stays the same until the client is replaced.

Two habits of c-ares 1.34 cannot be turned off from Python, and are lived with here. It has a cache of its own, with
no bound (1.2 KB a name) and deaf to our cap and our distrust: so a client is replaced before anything is asked of it
twice, which takes 1.5 ms. And at the first broken answer it drops the connection with whatever else was asked there:
one bad name failed the 96 beside it. So what failed like that is asked again, each name alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable

import aiodns
import pycares
from aiodns.error import ARES_EBADNAME, ARES_EBADRESP, ARES_ENODATA, ARES_ENOMEM, ARES_ENOTFOUND, DNSError

from gossamer.clock import Clock
from gossamer.settings import DnsSettings
from gossamer.shortage import no_memory

FLAGS = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS  # EDNS: room for 1,232 bytes before TCP is needed
DNS_ONLY = "b"  # c-ares' word for the name servers alone, without /etc/hosts
ADDRESSES_MAX = 8  # of a name: an answer over TCP has room for 4,000, and a hostile server for many names
CLIENT_QUERIES_MAX = 10_000  # bounds c-ares' own cache to about 12 MB
ALONE_AT_ONCE = 10  # a client has a thread and an inotify instance, and of those a user usually gets 128

Answer = tuple[list[str], float]  # addresses, and for how many seconds they hold
NO_ADDRESS: Answer = ([], 0.0)  # its own time is in a SOA record, which the library does not show


class NameServers:
    def __init__(self, clock: Clock, settings: DnsSettings) -> None:
        self._clock = clock
        self._settings = settings
        self._client: Client | None = None
        self._leaving: set[Client] = set()  # these get no further queries
        self._alone = asyncio.Semaphore(ALONE_AT_ONCE)
        self._is_closed = False

    async def ask(self, name: str) -> Answer:
        """Raises OSError where nobody could tell."""
        if not is_askable(name):
            return NO_ADDRESS
        for kind in ("A", "AAAA"):
            try:
                answer = follow(name, await self._query(name, kind))
            except (DNSError, pycares.AresError) as fault:
                if fault.args[0] in (ARES_ENOTFOUND, ARES_EBADNAME):
                    break  # and of the other kind there is nothing either: RFC 8020
                if fault.args[0] == ARES_ENODATA:
                    continue
                if fault.args[0] == ARES_ENOMEM:
                    raise no_memory() from fault
                raise OSError(str(fault.args[-1])) from fault
            if answer[0]:
                return answer
        return NO_ADDRESS

    def distrust(self) -> None:
        """What is asked from now on is asked of the servers and not of c-ares' cache."""
        if self._client is not None:
            self._leaving.add(self._client)
            self._client = None

    async def close(self) -> None:
        """Whoever still waits gets an OSError."""
        self._is_closed = True
        self.distrust()
        for client in list(self._leaving):
            await client.close()

    async def _query(self, name: str, kind: str) -> list[pycares.DNSRecord]:
        try:
            return await (await self._young_client()).query(name, kind)
        except DNSError as fault:
            if fault.args[0] != ARES_EBADRESP:
                raise
        async with self._alone:
            self._check_open()
            client = Client(self._settings, self._clock.now())
            self._leaving.add(client)
            try:
                return await client.query(name, kind)
            finally:
                self._leaving.discard(client)
                await client.close()

    async def _young_client(self) -> Client:
        """Nothing is asked for again before the floor has passed, so a younger client has no old answer."""
        self._check_open()
        now = self._clock.now()
        if self._client is not None and (
            now - self._client.born_at >= self._settings.ttl_s_min or self._client.queries >= CLIENT_QUERIES_MAX
        ):
            self.distrust()
        for idle in [client for client in self._leaving if not client.in_flight]:
            self._leaving.discard(idle)
            await idle.close()
        if self._client is None:
            self._client = Client(self._settings, now)
        return self._client

    def _check_open(self) -> None:
        if self._is_closed:
            raise OSError("the resolver is closed")


class Client:
    """One c-ares channel, and what is still under way in it."""

    def __init__(self, settings: DnsSettings, born_at: float) -> None:
        self.born_at = born_at
        self.queries = 0
        self.in_flight = 0
        self._resolver = aiodns.DNSResolver(
            nameservers=settings.servers or None,
            timeout=settings.query_timeout_s,
            tries=settings.tries,
            flags=FLAGS,
            lookups=DNS_ONLY,
        )

    async def query(self, name: str, kind: str) -> list[pycares.DNSRecord]:
        self.queries += 1
        self.in_flight += 1
        try:
            return (await self._resolver.query_dns(name, kind)).answer
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        await self._resolver.close()


def follow(name: str, records: Iterable[pycares.DNSRecord]) -> Answer:
    """The addresses that an answer has for a name, over its aliases, and for how many seconds all of that holds.

    What else is in the answer belongs to other names. Aliases in a circle lead nowhere."""
    aliases: dict[str, tuple[str, int]] = {}
    ends: list[tuple[str, str, int]] = []
    for record in records:
        match record.data:
            case pycares.CNAMERecordData(cname=target):
                aliases[record.name.lower()] = (target.lower(), record.ttl)
            case pycares.ARecordData(addr=address) | pycares.AAAARecordData(addr=address):
                ends.append((record.name.lower(), address, record.ttl))
    owner, ttls_s = name.lower(), []
    while owner in aliases:
        owner, ttl_s = aliases.pop(owner)
        ttls_s.append(ttl_s)
    ours = [(address, ttl_s) for holder, address, ttl_s in ends if holder == owner]
    ttls_s.extend(ttl_s for _, ttl_s in ours)
    # RFC 2181, section 8: with the highest bit set it means 0.
    keep_s = min((ttl_s if ttl_s < 2**31 else 0 for ttl_s in ttls_s), default=0)
    return [address for address, _ in ours[:ADDRESSES_MAX]], float(keep_s)


def is_askable(name: str) -> bool:
    """Printable ASCII, as canonical names are. c-ares would end a name at a NUL, and unpack escapes."""
    return re.fullmatch(r"[!-\[\]-~]+", name) is not None
