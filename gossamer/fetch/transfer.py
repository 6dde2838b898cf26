"""One transfer with libcurl, under limits: the part that HTTP, HTTPS and FTP have in common.

What libcurl does is the protocol and TLS. What is ours: the address is chosen by our resolver and given to libcurl
(CONNECT_TO), and a callback (incoming.py) sees the address that is really connected to and can refuse it: neither an
odd spelling of an IP address, nor a proxy in the environment, nor a name that changes its address leads inside.
Through a proxy that holds as far as the proxy lets us (proxies.py, docs/proxies.md): a `socks5` proxy is given the
address, and all others a name whose addresses were looked at here first, where they are known here.

No exception of the library leaves this file: every fault of the web is a `Reason` in what was `Received`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import certifi
import msgspec
import pycurl

from gossamer.clock import Clock
from gossamer.fetch.address import is_forbidden, is_literal, paced_as
from gossamer.fetch.dns import NameBlocked, NameServersRest
from gossamer.fetch.faults import meaning
from gossamer.fetch.idle_connections import LOOKED_AFTER_S, IdleConnections
from gossamer.fetch.incoming import Incoming
from gossamer.fetch.multi import Multi
from gossamer.fetch.proxies import SUPPRESS_CONNECT_HEADERS, Kind, Proxies, trouble_in, trouble_of
from gossamer.fetch.sockets import fault_of
from gossamer.fetch.spool import IN_MEMORY_BYTES_MAX
from gossamer.fetch.unpacking import Unpacking
from gossamer.interfaces import NotRead, Pause, Resolver
from gossamer.records import Body, Failed, Postponed, Reason, Refused, Url
from gossamer.settings import FetchSettings
from gossamer.shortage import check_memory, lacking, no_memory, postponed
from gossamer.url.ports import has_bad_port
from gossamer.url.site import host_of, site_of
from gossamer.visitor.proxies import Proxy

NotAsked = Refused | Failed | Postponed
NOT_ASKED = (Refused, Postponed)
BROKEN_OFF = (Reason.BROKEN_ANSWER, Reason.TIMEOUT, Reason.TLS)
PaceOf = Callable[[str, int], Awaitable[Pause]]  # interfaces.SharedState.pace

RECEIVED_AT_ONCE = 64 << 10  # bytes: most pages come in one piece. libcurl has one such buffer for all transfers
CHECKED_AHEAD, CHECKED_S = 16, 0.02
UNHEARD_S = 10.0  # as long as a connection may take to stand
NOT_OURS_S = 1.0  # until a host is looked at again that may not be ours any more


class Received(msgspec.Struct, frozen=True):
    """All that came of one transfer. `reason` is None where the answer came to its end, or was cut by us."""

    status: int  # 0: none came
    head: bytes
    body: Body
    ip: str
    started_at: float
    ended_at: float
    latency_s: float
    truncated: str
    tls_fault: str
    reason: Reason | None
    detail: str
    proxy: str = ""  # that it came through


class UnderWay(NamedTuple):
    """A request that is being made."""

    host: str
    started_at: float


class Transfers:
    """Transfers under one event loop. Connections are kept alive and reused, at most one a host by politeness."""

    def __init__(
        self,
        resolver: Resolver,
        clock: Clock,
        settings: FetchSettings,
        *,
        allow_private: bool = False,
        folder: Path | None = None,
        pace: PaceOf | None = None,
        may_ask: Callable[[], bool] = lambda: True,
        unheard_s: float = UNHEARD_S,
        proxy_of: Callable[[str], str | None] = lambda host: None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`folder`: where large bodies are kept while they are worked at; None: where the system wants them.

        `pace`: what a request to an address has to wait for, see interfaces.SharedState. `may_ask`: looked at when a
        request would go out. `unheard_s`: what a server's system has not acknowledged by then is taken back.
        `proxy_of`: the proxy that a policy wants for a host. Raises ConfigError where one is named and not there."""
        self.settings = settings
        self.clock = clock
        self.proxies = Proxies(settings.proxy, clock, proxy_of, say)
        self._resolver = resolver
        self._allow_private = allow_private
        self._folder = folder
        self._pace = pace
        self._may_ask = may_ask
        self._unheard_s = min(unheard_s, settings.first_byte_timeout_s, settings.timeout_s)
        self._surplus_bytes = 0  # received, and not charged yet by `pace`
        self._preparing: set[asyncio.Task[Any]] = set()  # those who wait for a name, or for `pace`
        self._hurried: set[asyncio.Task[Any]] = set()  # of these, whom we have cancelled ourselves
        self._is_ending = False
        self.under_way: dict[pycurl.Curl, UnderWay] = {}  # requests that are being made, the oldest first
        self._multi = Multi(settings.first_byte_timeout_s)
        self._multi.setopt(pycurl.M_MAXCONNECTS, settings.in_flight_max)
        self._checked_for, self._checked_at = 0, 0.0  # that there is memory: for so many requests under way
        self._idle: list[pycurl.Curl] = []
        self._idle_connections = IdleConnections(clock)
        self._unpacking = Unpacking(clock, folder)

    async def close(self) -> None:
        await self._multi.aclose()
        for curl in self._idle:
            curl.close()
        self._idle.clear()
        self._idle_connections.forget()

    def hurry(self) -> None:
        """The crawl ends: what is asked by now is finished, and what is not raises `NotRead`."""
        if not self._is_ending:
            self._is_ending = True
            self._hurried |= self._preparing
            for task in self._hurried:
                task.cancel()

    async def perform(
        self,
        url: Url,
        headers: Sequence[bytes] = (),
        *,
        body_bytes_max: int | None = None,
        incoming_type: Callable[[FetchSettings, int, Path | None, IdleConnections], Incoming] = Incoming,
        may_ask: Callable[[], bool] | None = None,  # instead of that of all
    ) -> Received | NotAsked:
        if has_bad_port(url):  # a redirect of robots.txt comes here without passing the link filter
            return Refused(Reason.BAD_PORT, url)
        host = host_of(url)
        via = self.proxies.choose(url, host)
        if isinstance(via, NOT_ASKED):
            return via
        address = await self._prepared(host, via)
        if not isinstance(address, str):
            return address
        try:  # at the very last: others may have begun while this one waited
            if under_way := self._multi.under_way:  # a single request may always try
                self._check_memory(under_way)
        except OSError as short:
            return postponed(short)
        bytes_max = body_bytes_max or self.settings.body_bytes_max
        limits = (self.settings, bytes_max, self._folder, self._idle_connections)
        asked = (url, host, headers, address, via, may_ask)
        received = await self._once(incoming := incoming_type(*limits), *asked)
        if incoming.had_news:  # nothing was asked yet, and that connection is gone now; to a proxy there may be more
            received = await self._once(incoming := incoming_type(*limits), *asked, is_fresh=True)
        if incoming.distrusts and self.settings.tls == "record":
            # Nothing was asked yet: the certificate came first. Go on without the check, and say so.
            tls_fault = received.detail or "not verified"
            received = await self._once(incoming := incoming_type(*limits), *asked, verify=False, tls_fault=tls_fault)
        if incoming.is_too_late:
            return Postponed(NOT_OURS_S, Reason.OWNERSHIP)
        if incoming.refused_address is not None:
            return Refused(Reason.PRIVATE_ADDRESS, incoming.refused_address)
        if incoming.our_fault is not None:
            self._multi.spare()
            self._idle_connections.forget(self.clock.now() - LOOKED_AFTER_S)
            return postponed(incoming.our_fault)
        through = await self._got_through(via, url, received, incoming) if via is not None else received
        if address and not is_literal(host) and (via is None or via.is_told_addresses):
            result = through.reason if isinstance(through, Received | Failed) else None
            if result in (Reason.CONNECT, Reason.TIMEOUT) and not incoming.requests:
                self._resolver.failed(host, address)
            else:
                self._resolver.worked(host)
        return through

    async def _got_through(self, via: Proxy, url: Url, received: Received, incoming: Incoming) -> Received | NotAsked:
        """What came of a request through a proxy; what became of it instead, where the proxy is to blame."""
        trouble = incoming.trouble
        if received.status:
            is_open = url.startswith("http:") and not via.is_socks  # else the proxy cannot answer in its place
            trouble = trouble_in(received.status, received.head) if is_open else None
        elif trouble is None and received.reason in BROKEN_OFF and not await self.proxies.is_there(via):
            trouble = (Kind.AWAY, "it broke off")
        if trouble is not None:
            return self.proxies.blame(via, url, trouble)
        if received.status:
            self.proxies.carried(via)
        return received

    def _check_memory(self, under_way: int) -> None:
        """Once for some requests that follow soon: asking the system takes 5 µs, and more where many threads are."""
        now = self.clock.now()
        if under_way > self._checked_for or now - self._checked_at > CHECKED_S:
            check_memory((under_way + CHECKED_AHEAD) * IN_MEMORY_BYTES_MAX)
            self._checked_for, self._checked_at = under_way + CHECKED_AHEAD, now

    async def unpacked(self, received: Received, codings: str, body_bytes_max: int | None) -> Received | Postponed:
        """Without its content codings. What did not come to its end is not worth the work."""
        if received.reason is not None:
            return msgspec.structs.replace(received, body=b"")
        bytes_max = body_bytes_max or self.settings.body_bytes_max
        try:
            body, truncated = await self._unpacking.unpack(received.body, codings, bytes_max)
        except OSError as fault:
            return postponed(fault)
        except MemoryError:
            return postponed(no_memory())
        return msgspec.structs.replace(received, body=body, truncated=received.truncated or truncated)

    async def _prepared(self, host: str, via: Proxy | None) -> str | NotAsked:
        """The address to connect to, as soon as it may be asked; empty: the proxy finds it."""
        if self._is_ending:
            raise NotRead
        task = asyncio.current_task()
        assert task is not None
        self._preparing.add(task)
        try:
            address = await self._address(host, via)
            if isinstance(address, str) and self._pace is not None:
                surplus_bytes, self._surplus_bytes = self._surplus_bytes, 0
                # Where nobody knows the address, all hosts of a site are taken for one.
                pause = await self._pace(paced_as(address) if address else site_of(host), surplus_bytes)
                if pause.wait_s > 0:
                    return Postponed(pause.wait_s, pause.reason)
                self._surplus_bytes -= pause.charged_bytes
                if pause.hold_s > 0:
                    await self.clock.sleep(pause.hold_s)
        except asyncio.CancelledError:
            if task not in self._hurried or task.uncancel():
                raise  # not by `hurry`, or not by that alone
            raise NotRead from None
        finally:
            self._preparing.discard(task)
            self._hurried.discard(task)
        return address

    async def _address(self, host: str, via: Proxy | None) -> str | NotAsked:
        """The address to connect to: our resolver's, also for names, never libcurl's own."""
        may_be_unknown = via is not None and not via.is_told_addresses
        if is_literal(host):
            if is_forbidden(host.strip("[]")) and not self._allow_private:
                return Refused(Reason.PRIVATE_ADDRESS, host)
            return host
        try:
            if via is not None and via.hides_names:
                self._resolver.check(host)
                return ""
            addresses = await self._resolver.resolve(host)
        except NameBlocked as blocked:
            return Refused(Reason.BLOCKED, str(blocked))
        except NameServersRest as rest:
            return "" if may_be_unknown else Postponed(rest.wait_s, Reason.DNS)
        except OSError as fault:
            if lacking(fault):
                return postponed(fault)
            return "" if may_be_unknown else Failed(Reason.DNS, detail=str(fault), ended_at=self.clock.now())
        allowed = [address for address in addresses if self._allow_private or not is_forbidden(address)]
        if allowed:
            return allowed[0]
        if addresses:
            return Refused(Reason.PRIVATE_ADDRESS, f"{host} is {addresses[0]}")
        if may_be_unknown:
            return ""
        return Failed(Reason.DNS, detail=f"{host} has no address", ended_at=self.clock.now())

    async def _once(
        self,
        incoming: Incoming,
        url: Url,
        host: str,
        headers: Sequence[bytes],
        address: str,
        via: Proxy | None,
        may_ask: Callable[[], bool] | None,
        *,
        verify: bool = True,
        tls_fault: str = "",
        is_fresh: bool = False,
    ) -> Received:
        curl = self._idle.pop() if self._idle else self._handle()
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.HTTPHEADER, list(headers))
        curl.setopt(pycurl.SSL_VERIFYPEER, int(verify))
        curl.setopt(pycurl.SSL_VERIFYHOST, 2 if verify else 0)
        is_pinned = address != host and (via is None or via.is_told_addresses)
        curl.setopt(pycurl.CONNECT_TO, [f"::{_bracketed(address)}:"] if is_pinned else [])
        if via is not None or is_fresh:  # as few have it; taken back below
            _go_through(curl, via.url if via else "", is_fresh=is_fresh)
        incoming.attach(
            curl,
            self._multi,
            allow_private=self._allow_private or via is not None,
            unheard_s=self._unheard_s,
            may_ask=may_ask or self._may_ask,
        )
        started_at = self.clock.now()
        self.under_way[curl] = UnderWay(host, started_at)
        reason, detail = None, ""
        is_spent = True  # cancelled half-way, the handle cannot be used again
        try:
            fault = await self._multi.perform(curl)
            if isinstance(fault, TimeoutError):
                reason, detail = Reason.TIMEOUT, f"no answer within {self.settings.first_byte_timeout_s:g} s"
            else:
                is_spent = False
                if isinstance(fault, pycurl.error):
                    reached = address if via is None else via.host
                    short = fault_of(curl, fault, reached, is_cut_by_us=incoming.is_cut_by_us)
                    incoming.our_fault = incoming.our_fault or short
                    reason, detail = meaning(fault, incoming)
                    if via is not None and not incoming.requests and not incoming.is_cut_by_us:
                        incoming.is_in_trouble(trouble_of(curl, fault, via))
        except asyncio.CancelledError:
            incoming.spool.close()
            raise
        finally:
            del self.under_way[curl]
            version = 0 if is_spent else curl.getinfo(pycurl.INFO_HTTP_VERSION)
            is_http1 = 0 < version <= pycurl.CURL_HTTP_VERSION_1_1
            incoming.hang_up(is_kept=is_http1 and reason is None and not incoming.truncated)
            if is_spent:
                curl.close()
        body = incoming.body()
        status, ip, latency_s = 0, "", 0.0
        if not is_spent:
            status, ip = curl.getinfo(pycurl.RESPONSE_CODE), curl.getinfo(pycurl.PRIMARY_IP)
            if via is not None:  # then that is the proxy's, and who is told names alone knows where they led
                ip = address.strip("[]") if via.is_told_addresses or address == host else ""
            if via is not None or is_fresh:
                _go_through(curl, "", is_fresh=False)
            self._surplus_bytes += curl.getinfo(pycurl.HEADER_SIZE) + curl.getinfo(pycurl.SIZE_DOWNLOAD_T)
            latency_s = curl.getinfo(pycurl.STARTTRANSFER_TIME) - curl.getinfo(pycurl.PRETRANSFER_TIME)
            self._idle.append(curl)
        return Received(
            status=status,
            head=b"".join(incoming.head),
            body=body,
            ip=ip,
            started_at=started_at,
            ended_at=self.clock.now(),
            latency_s=max(0.0, latency_s),
            truncated=incoming.truncated,
            tls_fault=tls_fault,
            reason=reason,
            detail=detail,
            proxy=via.shown if via else "",
        )

    def _handle(self) -> pycurl.Curl:
        settings = self.settings
        curl = pycurl.Curl()
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, int(settings.connect_timeout_s * 1000))
        curl.setopt(pycurl.TIMEOUT_MS, int(settings.timeout_s * 1000))
        curl.setopt(pycurl.LOW_SPEED_LIMIT, settings.slow_bytes_per_s)
        curl.setopt(pycurl.LOW_SPEED_TIME, max(1, int(settings.slow_s)))
        curl.setopt(pycurl.BUFFERSIZE, RECEIVED_AT_ONCE)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PROXY, "")  # not even one from the environment
        curl.setopt(pycurl.NOPROXY, "")
        curl.setopt(SUPPRESS_CONNECT_HEADERS, 1)
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS | pycurl.PROTO_FTP)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.SOCKOPTFUNCTION, keep_to_ourselves)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)  # coding.py does it
        for trusted in (pycurl.CAINFO, pycurl.PROXY_CAINFO):
            curl.setopt(trusted, settings.ca_file or certifi.where())  # libcurl brings none of its own
        return curl


def _go_through(curl: pycurl.Curl, proxy: str, *, is_fresh: bool) -> None:
    curl.setopt(pycurl.PROXY, proxy)
    curl.setopt(pycurl.FRESH_CONNECT, int(is_fresh))


def keep_to_ourselves(socket: int, _purpose: int) -> int:
    """pycurl's copy of a socket would be handed down to processes that we start, and stay open after we hung up."""
    os.set_inheritable(socket, False)
    return int(pycurl.SOCKOPT_OK)


def _bracketed(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip
