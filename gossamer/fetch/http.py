"""HTTP and HTTPS with libcurl: one request, one answer, under limits. A redirect is an answer, not a second request.

libcurl does the transfer and removes content encodings while it reads, so that a bomb of zeros is cut off at
`body_bytes_max` of *unpacked* bytes. What is ours: the address is chosen by our resolver and given to libcurl
(CONNECT_TO), and a callback sees the address that is really connected to and can refuse it: neither an odd spelling
of an IP address, nor a proxy in the environment, nor a name that changes its address leads inside.

No exception of the library leaves this file: every fault of the web becomes a `Failed` with its reason.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Any

import pycurl

from gossamer.clock import Clock
from gossamer.interfaces import Resolver
from gossamer.records import Exchange, Failed, Fetched, Moved, Reason, Refused, Url
from gossamer.settings import FetchSettings
from gossamer.url.canonical import canonicalize
from gossamer.url.site import host_of

REDIRECTS = frozenset({301, 302, 303, 307, 308})
GONE = frozenset({404, 410})
OVERLOADED = frozenset({429, 503})

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_ENCODING = "gzip, deflate, br"  # what this libcurl was built to unpack

# libcurl's codes, by what they mean for us; anything else is a broken answer.
FAULTS = {
    pycurl.E_COULDNT_RESOLVE_HOST: Reason.DNS,
    pycurl.E_COULDNT_CONNECT: Reason.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: Reason.TIMEOUT,
    pycurl.E_FILESIZE_EXCEEDED: Reason.TOO_LARGE,
    pycurl.E_SSL_CONNECT_ERROR: Reason.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: Reason.TLS,
    pycurl.E_SSL_CERTPROBLEM: Reason.TLS,
    pycurl.E_SSL_CIPHER: Reason.TLS,
    pycurl.E_TOO_MANY_REDIRECTS: Reason.BAD_REDIRECT,
}
LOW_SPEED = "too slow"  # how libcurl words the low-speed limit; both limits share one code

Answer = Fetched | Moved | Refused | Failed


class Http:
    """Transfers under one event loop. Connections are kept alive and reused, at most one a host by politeness."""

    def __init__(
        self,
        resolver: Resolver,
        clock: Clock,
        limits: FetchSettings,
        user_agent: str,
        *,
        allow_private: bool = False,
    ) -> None:
        self._resolver = resolver
        self._clock = clock
        self._limits = limits
        self._allow_private = allow_private
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, limits.in_flight_max)
        self._idle: list[pycurl.Curl] = []
        self._headers = [
            f"User-Agent: {user_agent}",
            f"Accept: {ACCEPT}",
            f"Accept-Language: {limits.accept_language}",
        ]
        self.user_agent = user_agent

    async def close(self) -> None:
        await self._multi.aclose()
        for curl in self._idle:
            curl.close()
        self._idle.clear()

    async def fetch(self, url: Url, *, body_bytes_max: int | None = None, cut: bool = False) -> Answer:
        """Ask once. With `cut`, a body longer than the limit is cut there instead of refused."""
        host = host_of(url)
        target = await self._address(host)
        if not isinstance(target, str):
            return target
        transfer = Transfer(self._limits, body_bytes_max or self._limits.body_bytes_max, cut, self._allow_private)
        curl = self._idle.pop() if self._idle else self._handle()
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.CONNECT_TO, [f"::{_bracketed(target)}:"] if target != host else [])
        curl.setopt(pycurl.OPENSOCKETFUNCTION, transfer.open_socket)
        curl.setopt(pycurl.PREREQFUNCTION, transfer.on_request)
        curl.setopt(pycurl.HEADERFUNCTION, transfer.on_header)
        curl.setopt(pycurl.WRITEFUNCTION, transfer.on_body)
        started_at = self._clock.now()
        fault: pycurl.error | None = None
        try:
            await self._multi.perform(curl)
        except pycurl.error as error:
            fault = error
        except BaseException:
            curl.close()  # cancelled half-way: the connection cannot be used again
            raise
        finally:
            transfer.close()
        exchange = self._exchange(curl, url, transfer, started_at)
        self._idle.append(curl)
        if fault is not None and not (cut and transfer.is_cut):
            return _failure(fault, transfer, exchange, self._clock.now())
        return answer_of(url, exchange, transfer.body(), self._clock.now())

    async def _address(self, host: str) -> str | Refused | Failed:
        """The address to connect to: our resolver's, also for names, never libcurl's own."""
        literal = host.strip("[]")
        try:
            ipaddress.ip_address(literal)
        except ValueError:
            pass
        else:
            if is_forbidden(literal) and not self._allow_private:
                return Refused(Reason.PRIVATE_ADDRESS, literal)
            return host
        try:
            addresses = await self._resolver.resolve(host)
        except OSError as fault:
            return Failed(Reason.DNS, detail=str(fault), ended_at=self._clock.now())
        allowed = [address for address in addresses if self._allow_private or not is_forbidden(address)]
        if allowed:
            return allowed[0]
        if addresses:
            return Refused(Reason.PRIVATE_ADDRESS, f"{host} is {addresses[0]}")
        return Failed(Reason.DNS, detail=f"{host} has no address", ended_at=self._clock.now())

    def _handle(self) -> pycurl.Curl:
        limits = self._limits
        curl = pycurl.Curl()
        curl.setopt(pycurl.HTTPHEADER, self._headers)
        curl.setopt(pycurl.ACCEPT_ENCODING, ACCEPT_ENCODING)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, int(limits.connect_timeout_s * 1000))
        curl.setopt(pycurl.TIMEOUT_MS, int(limits.timeout_s * 1000))
        curl.setopt(pycurl.LOW_SPEED_LIMIT, limits.slow_bytes_per_s)
        curl.setopt(pycurl.LOW_SPEED_TIME, max(1, int(limits.slow_s)))
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PROXY, "")  # not even one from the environment
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        return curl

    def _exchange(self, curl: pycurl.Curl, url: Url, transfer: Transfer, started_at: float) -> Exchange | None:
        ended_at = self._clock.now()
        status: int = curl.getinfo(pycurl.RESPONSE_CODE)
        if not status:
            return None
        latency_s = curl.getinfo(pycurl.STARTTRANSFER_TIME) - curl.getinfo(pycurl.PRETRANSFER_TIME)
        return Exchange(
            request=request_text(url, self._headers),
            head=b"".join(transfer.head),
            status=status,
            ip=curl.getinfo(pycurl.PRIMARY_IP),
            started_at=started_at,
            ended_at=ended_at,
            latency_s=max(0.0, latency_s),
        )


class Transfer:
    """What one transfer has received so far, and the limits it is held to."""

    def __init__(self, limits: FetchSettings, body_bytes_max: int, cut: bool, allow_private: bool) -> None:
        self.head: list[bytes] = []
        self.refused_address: str | None = None
        self.too_large = ""
        self.is_cut = False
        self._socket: socket.socket | None = None
        self._requests = 0
        self._chunks: list[bytes] = []
        self._head_room = limits.header_bytes_max
        self._body_room = body_bytes_max
        self._cut = cut
        self._allow_private = allow_private

    def on_request(self, *_addresses: object) -> int:
        """One fetch, one request: libcurl would ask again by itself where a kept connection breaks under it."""
        self._requests += 1
        return int(pycurl.PREREQFUNC_OK if self._requests == 1 else pycurl.PREREQFUNC_ABORT)

    def on_header(self, line: bytes) -> int | None:
        if line.startswith(b"HTTP/"):
            self.head.clear()  # what came before was a 1xx
        self.head.append(line)
        self._head_room -= len(line)
        if self._head_room < 0:
            self.too_large = "headers"
            return -1
        return None

    def on_body(self, chunk: bytes) -> int | None:
        self._body_room -= len(chunk)
        if self._body_room < 0:
            if self._cut:
                self._chunks.append(chunk[: self._body_room])
                self.is_cut = True
            self.too_large = "body"
            return -1
        self._chunks.append(chunk)
        return None

    def body(self) -> bytes:
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    def open_socket(self, _purpose: int, address: Any) -> Any:
        """The last word on where we connect, at connect time."""
        ip = address.addr[0]
        if not self._allow_private and is_forbidden(ip):
            self.refused_address = ip
            return pycurl.SOCKET_BAD
        self._socket = socket.socket(address.family, address.socktype, address.protocol)
        return self._socket

    def close(self) -> None:
        """libcurl has made its own copy of the socket; ours may go."""
        if self._socket is not None:
            self._socket.close()


def answer_of(url: Url, exchange: Exchange | None, body: bytes, ended_at: float) -> Answer:
    """What a complete answer means, by its status (DESIGN: policies)."""
    if exchange is None:
        return Failed(Reason.BROKEN_ANSWER, detail="no status line", ended_at=ended_at)
    status = exchange.status
    if 200 <= status < 300:
        return Fetched(exchange, body)
    if status in REDIRECTS:
        location = exchange.header("Location") or ""
        target = canonicalize(location, url) if location else None
        if target is None:
            return Failed(Reason.BAD_REDIRECT, exchange, f"Location: {location[:200]}")
        return Moved(exchange, body, target)
    if status in GONE:
        return Failed(Reason.GONE, exchange)
    if status in OVERLOADED:
        return Failed(Reason.OVERLOADED, exchange)
    if 300 <= status < 500:
        return Failed(Reason.CLIENT_ERROR, exchange)
    if 500 <= status < 600:
        return Failed(Reason.SERVER_ERROR, exchange)
    return Failed(Reason.BROKEN_ANSWER, exchange, f"status {status}")


def _failure(fault: pycurl.error, transfer: Transfer, exchange: Exchange | None, ended_at: float) -> Refused | Failed:
    code, message = (*fault.args, "")[:2]
    if transfer.refused_address is not None:
        return Refused(Reason.PRIVATE_ADDRESS, transfer.refused_address)
    if transfer.too_large:
        return Failed(Reason.TOO_LARGE, exchange, transfer.too_large, ended_at)
    if code == pycurl.E_ABORTED_BY_CALLBACK:
        return Failed(Reason.BROKEN_ANSWER, exchange, "the connection was closed instead of an answer", ended_at)
    reason = FAULTS.get(code, Reason.BROKEN_ANSWER)
    if reason is Reason.TIMEOUT and LOW_SPEED in message:
        reason = Reason.TOO_SLOW
    return Failed(reason, exchange, message, ended_at)


def request_text(url: Url, headers: Sequence[str]) -> bytes:
    """The request as libcurl sends it; a test compares it with what a server received."""
    _, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    lines = [
        f"GET {slash}{path} HTTP/1.1",
        f"Host: {authority}",
        f"Accept-Encoding: {ACCEPT_ENCODING}",
        *headers,
    ]
    return "\r\n".join((*lines, "", "")).encode("latin-1", "replace")


def is_forbidden(ip: str) -> bool:
    """Not an address of the public internet: private, loopback, link-local, multicast, metadata, reserved."""
    try:
        address = ipaddress.ip_address(ip.partition("%")[0])
    except ValueError:
        return True
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            address = inner
    return not address.is_global or address.is_multicast


def _bracketed(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip
