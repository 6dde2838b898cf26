"""Names to addresses, through our own cache: asynchronous, kept as long as the answer says, asked once at a time.

A crawler that asks the system's resolver before every fetch spends its time waiting there. Hosts come in bursts,
because the frontier groups URLs by host, so a small cache answers nearly always. TTLs are respected between a floor
and a cap; the longest unused name leaves first; that a name has no address is remembered too, for the floor.

Who answers badly is left alone. Of one site (registrable domain) a few names are asked at a time. After three failed
connections in a row a name's addresses are not believed any more and asked for again. A site whose name servers fail
rests, longer each time, and with it all its hosts, because they share those servers; when its rest is over one look-
up tries, and only its success lets the others follow. A cached answer is good all the same: it needs no server.

Nothing here grows with the crawl: cache and rests are bounded by `names_max`, about 350 bytes a name. What an answer
may lead to is not decided here but at connect time (transfer.py), because it may be another one by then.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from gossamer.clock import Clock
from gossamer.fetch.name_servers import NameServers
from gossamer.settings import DnsSettings
from gossamer.shortage import lacking
from gossamer.url.canonical import canonicalize
from gossamer.url.site import host_of, site_of

FAILURES_MAX = 3  # failed connections in a row before a name is asked for again
ASKING_OF_A_SITE_MAX = 4  # names at once: servers that answer do so within milliseconds, and others are spared
ASKING_MAX = 200  # names at once: a burst that fits Linux's default UDP buffer, 212,992 bytes, 768 a small packet


class NameBlocked(OSError):
    """The configuration forbids this name."""


class NameServersRest(OSError):
    """The site's name servers failed lately; they are asked nothing until `wait_s` have passed."""

    def __init__(self, site: str, wait_s: float) -> None:
        super().__init__(f"the name servers of {site} failed; they rest for another {wait_s:.0f} s")
        self.wait_s = wait_s


class DnsCounts(msgspec.Struct):
    """What the cache is worth and what the servers cost. Blocked and overridden names are not in it."""

    asked: int = 0  # names that somebody wanted
    hits: int = 0  # ... and that were in the cache
    queries: int = 0  # names that the servers were asked for
    failures: int = 0  # ... and that nobody could tell about
    query_s: float = 0.0  # all queries together
    names: int = 0  # in the cache now


@dataclass(slots=True)
class Entry:
    addresses: list[str]
    until: float
    failures: int = 0  # connections in a row


@dataclass(slots=True)
class SiteSlots:
    free: asyncio.Semaphore
    users: int = 0


@dataclass(slots=True)
class Rest:
    since: float
    until: float
    wait_s: float


class Dns:
    def __init__(self, clock: Clock, settings: DnsSettings) -> None:
        self.counts = DnsCounts()
        self._clock = clock
        self._settings = settings
        self._overrides = {canonical_name(name): ip for name, ip in settings.overrides.items()}
        self._blocked = frozenset(map(canonical_name, settings.blocked))
        self._cache: OrderedDict[str, Entry] = OrderedDict()
        self._rests: OrderedDict[str, Rest] = OrderedDict()  # by site
        self._asking: dict[str, asyncio.Task[Entry | OSError]] = {}
        self._slots = asyncio.Semaphore(ASKING_MAX)
        self._slots_of: dict[str, SiteSlots] = {}  # of sites that are being asked about
        self._servers = NameServers(clock, settings)
        self._is_closed = False

    async def resolve(self, host: str) -> list[str]:
        """The addresses of a name, the best first; none where it has none.

        Raises OSError where nobody could tell: `NameServersRest`, at once, where there is no use in asking yet, and
        `NameBlocked` where that is forbidden."""
        name = host.removesuffix(".")
        entry = self._cache.get(name)
        if entry is not None and entry.until > self._clock.now():
            self._cache.move_to_end(name)
            self.counts.asked += 1
            self.counts.hits += 1
            return list(entry.addresses)
        self.check(host)
        if name in self._overrides:
            return [self._overrides[name]]
        self.counts.asked += 1
        # Shielded: the one who asked first may be cancelled while others wait for the same answer.
        found = await asyncio.shield(self._asking.get(name) or self._start(name))
        if isinstance(
            found, OSError
        ):  # one of its own for each who waits: an exception remembers where it was raised
            raise OSError(*found.args) if lacking(found) else OSError(f"{host}: {found}")
        return list(found.addresses)

    def check(self, host: str) -> None:
        """Raises NameBlocked, for those who ask for an address elsewhere."""
        if self._blocked and not self._blocked.isdisjoint(domains(host.removesuffix("."))):
            raise NameBlocked(f"{host} is blocked (dns.blocked)")

    def failed(self, host: str, address: str) -> None:
        """A connection failed. The next one goes to another address, and after some the name is asked for again."""
        name = host.removesuffix(".")
        entry = self._cache.get(name)
        if entry is None or address not in entry.addresses:
            return  # the answer that it came from is gone already
        entry.failures += 1
        if entry.failures >= FAILURES_MAX:
            del self._cache[name]
            self.counts.names = len(self._cache)
            self._servers.distrust()
            return
        entry.addresses.remove(address)
        entry.addresses.append(address)

    def worked(self, host: str) -> None:
        """A connection stood."""
        entry = self._cache.get(host.removesuffix("."))
        if entry is not None:
            entry.failures = 0

    async def close(self) -> None:
        """Whoever still waits gets an OSError."""
        self._is_closed = True
        await self._servers.close()
        await asyncio.gather(*self._asking.values())

    # --- One look-up ---

    def _start(self, name: str) -> asyncio.Task[Entry | OSError]:
        site = site_of(name)
        self._check_rest(site)
        task = asyncio.create_task(self._look_up(name, site))
        self._asking[name] = task
        task.add_done_callback(lambda _: self._asking.pop(name, None))
        return task

    async def _look_up(self, name: str, site: str) -> Entry | OSError:
        """The entry, put into the cache too, or why there is none. Never raises: perhaps nobody waits any more."""
        asked_at = self._clock.now()
        async with self._slots_of_site(site), self._slots:
            if site in self._rests and self._rests[site].since >= asked_at:
                return OSError(f"the name servers of {site} failed meanwhile")
            started_at = self._clock.now()
            try:
                addresses, ttl_s = await self._servers.ask(name)
            except OSError as fault:
                self.counts.failures += 1
                if not self._is_closed and not lacking(fault):
                    self._begin_rest(site, asked_at)
                return OSError(*fault.args)
            finally:
                self.counts.queries += 1
                self.counts.query_s += self._clock.now() - started_at
        self._rests.pop(site, None)
        keep_s = min(max(ttl_s, self._settings.ttl_s_min), self._settings.ttl_s_max)
        entry = self._cache[name] = Entry(addresses, self._clock.now() + keep_s)
        self._cache.move_to_end(name)
        if len(self._cache) > self._settings.names_max:
            self._cache.popitem(last=False)
        self.counts.names = len(self._cache)
        return entry

    @asynccontextmanager
    async def _slots_of_site(self, site: str) -> AsyncIterator[None]:
        slots = self._slots_of.get(site)
        if slots is None:
            slots = self._slots_of[site] = SiteSlots(asyncio.Semaphore(ASKING_OF_A_SITE_MAX))
        slots.users += 1
        try:
            async with slots.free:
                yield
        finally:
            slots.users -= 1
            if slots.users == 0:
                del self._slots_of[site]

    # --- Sites whose name servers fail ---

    def _check_rest(self, site: str) -> None:
        rest = self._rests.get(site)
        if rest is None:
            return
        now = self._clock.now()
        if now < rest.until:
            raise NameServersRest(site, rest.until - now)
        # This one tries. The others wait a little longer for how it fares.
        rest.until = now + self._settings.failure_s

    def _begin_rest(self, site: str, asked_at: float) -> None:
        now = self._clock.now()
        rest = self._rests.pop(site, None)
        if rest is None or asked_at > rest.since:  # otherwise they failed together, and that counts once
            wait_s = min(rest.wait_s * 2 if rest else self._settings.failure_s, self._settings.ttl_s_max)
            rest = Rest(now, now + wait_s, wait_s)
        self._rests[site] = rest
        if len(self._rests) > self._settings.names_max:
            self._rests.popitem(last=False)


def domains(name: str) -> Iterator[str]:
    """a.b.test, b.test, test"""
    while name:
        yield name
        name = name.partition(".")[2]


def canonical_name(name: str) -> str:
    """As names are in canonical URLs: people write capitals, accents and a dot at the end."""
    name = name.strip(".")
    url = canonicalize(f"http://{name}/")
    return host_of(url) if url else name.lower()
