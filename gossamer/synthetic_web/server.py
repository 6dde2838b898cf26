"""An HTTP/1.1 server for the synthetic web. It decides nothing: it plays the answers of `Web.answer`.

One socket listens for all hosts. Linux delivers the whole of 127.0.0.0/8 to a socket only if it is bound to the
wildcard address, so it is, but it is tied to the loopback interface where the system allows that, and a connection
to any other local address is dropped before a byte is read: the web is never visible from outside.

When an answer ends is what politeness is judged by, so it is taken with care. An answer that the socket takes at
once ends just *before* the write, since the client may have it before the write returns; a client that waits its
delay from then on is never accused wrongly. An answer that has to wait for the client to read ends when the last byte
is taken. The write buffer of the transport is kept at zero so that the transport tells when that is.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from email.utils import formatdate
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, cast

from gossamer.clock import Clock, RealClock
from gossamer.synthetic_web.access_log import AccessLog, Entry
from gossamer.synthetic_web.answer import NO_ANSWER, Answer, Delivery, Request
from gossamer.synthetic_web.html import plain_answer
from gossamer.synthetic_web.web import Web

HEAD_BYTES_MAX = 64 * 1024
BACKLOG = 4096
CHUNK_BYTES = 1000
DRIP_BYTES = 64
ENDLESS_PAUSE_S = 0.05
MISSING_BYTES = 1000  # so much more is promised than a truncated answer has
AT_ONCE = frozenset({Delivery.WHOLE, Delivery.CHUNKED})
STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}


class Server:
    """What runs: where it listens, what it saw."""

    def __init__(self, web: Web, clock: Clock, log: AccessLog) -> None:
        self.web = web
        self.clock = clock
        self.log = log
        self.port = 0
        self.connections: set[Connection] = set()
        self.times_asked: Counter[tuple[int, str]] = Counter()
        self._date = (0, "")

    def __repr__(self) -> str:
        return f"Server(port={self.port}, connections={len(self.connections)}, log={self.log!r})"

    def url(self, host_index: int, path: str = "/") -> str:
        return self.web.url(host_index, path)

    def date(self) -> str:
        second = int(self.clock.now())
        if self._date[0] != second:
            self._date = (second, formatdate(second, usegmt=True))
        return self._date[1]


@asynccontextmanager
async def serve(
    web: Web,
    clock: Clock | None = None,
    port: int = 0,
    *,
    host: str = "",
    log: AccessLog | None = None,
    log_file: Path | None = None,
    any_interface: bool = False,
) -> AsyncIterator[Server]:
    """Serve a web until the block ends. Port 0: the one of the web's options, or else a free one.

    `host` restricts the server to one loopback address; by default it answers on all of them. `any_interface`: also
    to those who reach them from another network namespace; still at loopback addresses only.
    """
    server = Server(web, clock or RealClock(), log or AccessLog(log_file))
    listening = _listen(host, port or web.options.port, any_interface=any_interface)
    server.port = web.port = listening.getsockname()[1]
    loop = asyncio.get_running_loop()
    acceptor = await loop.create_server(lambda: Connection(server), sock=listening, backlog=BACKLOG)
    try:
        yield server
    finally:
        acceptor.close()
        for connection in list(server.connections):
            connection.end()
        await acceptor.wait_closed()
        server.log.close()


def _listen(host: str, port: int, *, any_interface: bool) -> socket.socket:
    if host and not ipaddress.ip_address(host).is_loopback:
        raise ValueError(f"The synthetic web is only served on loopback addresses, and {host} is none.")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if not host and not any_interface and hasattr(socket, "SO_BINDTODEVICE"):
            # Old kernels ask for a privilege here; the check of each connection is there anyway.
            with suppress(OSError):
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
        listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    return listening


class Asked(NamedTuple):
    """A request whose answer has not ended."""

    time_in: float
    host: str
    target: str
    status: int | None
    user_agent: str
    method: str


class Connection(asyncio.Protocol):
    """One client. Its requests are answered one after the other, in their order."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.transport: asyncio.Transport
        self.local_address = self.client = ""
        self.received = b""
        self.asked: Asked | None = None
        self.closes = False  # after the answer that is being played
        self.takes_chunks = True
        self.playing: asyncio.Task[None] | None = None

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self.local_address = transport.get_extra_info("sockname")[0]
        self.client = transport.get_extra_info("peername")[0]
        if not self.local_address.startswith("127."):
            transport.abort()
            return
        transport.set_write_buffer_limits(high=0)
        self.server.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self.received += data
        self._answer_what_came()
        if self.asked and len(self.received) > HEAD_BYTES_MAX:
            self.end()  # who sends so much without reading is no client

    def resume_writing(self) -> None:
        # Only the last piece of an answer is waited for.
        if self.asked and not self.playing:
            self._ended(self.server.clock.now())
            self._answer_what_came()

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    def end(self) -> None:
        """The connection is gone, or has to go."""
        self.server.connections.discard(self)
        if self.playing:
            self.playing.cancel()
            self.playing = None
        if self.asked:
            self._log(self.server.clock.now(), aborted=True)
        self.transport.abort()

    # From bytes to an answer.

    def _answer_what_came(self) -> None:
        while self.asked is None and not self.transport.is_closing():
            head, mark, rest = self.received.partition(b"\r\n\r\n")
            if not mark:
                if len(self.received) > HEAD_BYTES_MAX:
                    self._refuse(431)
                return
            self.received = rest
            self._answer(head.decode("latin-1"))

    def _answer(self, head: str) -> None:
        time_in = self.server.clock.now()
        request_line, *lines = head.lstrip("\r\n").split("\r\n")
        words = request_line.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            self._refuse(400)
            return
        method, target, version = words
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if target.startswith("http://"):  # as proxies are asked
            target = "/" + target[7:].partition("/")[2]
        if not target.startswith("/"):
            self._refuse(400)
            return

        atlas = self.server.web.atlas
        hostname = headers.get("host", "").partition(":")[0].lower()
        host = atlas.host_of(hostname)
        if host is None:
            hostname, host = self.local_address, atlas.host_of(self.local_address)
        self.takes_chunks = version == "HTTP/1.1"
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        self.closes = has_body or not self.takes_chunks or headers.get("connection", "").lower() == "close"
        if method not in ("GET", "HEAD"):
            answer = plain_answer("method", 405, ("Allow", "GET, HEAD"))
            self.closes = True
        elif host is None:
            answer = plain_answer("unknown_host", 404)
        else:
            answer = self.server.web.answer(
                Request(
                    host,
                    target,
                    time_in,
                    self._count(host, target),
                    headers.get("accept-encoding", ""),
                    headers.get("if-none-match", ""),
                    headers.get("if-modified-since", ""),
                )
            )
        status = None if answer.delivery in NO_ANSWER else answer.status
        self.asked = Asked(time_in, hostname, target, status, headers.get("user-agent", ""), method)
        at_once = answer.delivery in AT_ONCE or (method == "HEAD" and answer.delivery not in NO_ANSWER)
        if answer.wait_s or not at_once:
            self.playing = asyncio.get_running_loop().create_task(self._play(answer))
        else:
            self._send_last(self._message(answer, method))

    def _count(self, host: int, target: str) -> int:
        if not self.server.web.counts(target):
            return 0
        self.server.times_asked[host, target] += 1
        return self.server.times_asked[host, target] - 1

    def _refuse(self, status: int) -> None:
        """Not a request that can be understood, so there is no use in reading on."""
        self.asked = Asked(self.server.clock.now(), self.local_address, "", status, "", "")
        self.received = b""
        self.closes = True
        self._send_last(self._message(plain_answer("refused", status), "GET"))

    # From an answer to bytes.

    def _message(self, answer: Answer, method: str) -> bytes:
        """Head and body of an answer that is sent at once."""
        chunked = answer.delivery is Delivery.CHUNKED and self.takes_chunks
        if chunked:
            framing = "Transfer-Encoding: chunked\r\n"
        elif answer.status == 304:
            framing = ""
        else:
            framing = f"Content-Length: {len(answer.body)}\r\n"
        head = self._head(answer, framing)
        if method == "HEAD" or answer.status == 304:
            return head
        return head + (_chunks(answer.body) if chunked else answer.body)

    def _head(self, answer: Answer, framing: str) -> bytes:
        fields = "".join([f"{name}: {value}\r\n" for name, value in answer.headers])
        closing = "Connection: close\r\n" if self.closes else ""
        line = STATUS_LINES[answer.status]
        return f"{line}Date: {self.server.date()}\r\n{fields}{framing}{closing}\r\n".encode("latin-1")

    def _send_last(self, data: bytes) -> None:
        """Send the last piece of an answer, and note when it ended."""
        now = self.server.clock.now()
        self.transport.write(data)
        if not self.transport.get_write_buffer_size():
            self._ended(now)

    async def _play(self, answer: Answer) -> None:
        """Everything that takes time. Cancelled when the client goes away."""
        clock, body, method = self.server.clock, answer.body, self.asked.method if self.asked else "GET"
        if answer.wait_s:
            await clock.sleep(answer.wait_s)
        last = b""
        match answer.delivery:
            case Delivery.SILENT:
                await asyncio.get_running_loop().create_future()
            case Delivery.RESET:
                self._linger_not()
                self.closes = True
            case Delivery.HANG_UP:
                self.closes = True
            case Delivery.TRUNCATED:
                self.closes = True
                last = self._head(answer, f"Content-Length: {len(body) + MISSING_BYTES}\r\n") + body
            case Delivery.DRIP:
                self.transport.write(self._head(answer, f"Content-Length: {len(body)}\r\n"))
                pieces = [body[start : start + DRIP_BYTES] for start in range(0, len(body), DRIP_BYTES)]
                started = clock.now()
                for number, piece in enumerate(pieces[:-1], 1):
                    self.transport.write(piece)
                    # By the timetable and not by equal pauses: on a busy machine every pause is late a little.
                    await clock.sleep(started + answer.takes_s * number / (len(pieces) - 1) - clock.now())
                last = pieces[-1]
            case Delivery.ENDLESS:
                self.closes = True
                self.transport.write(self._head(answer, ""))
                while True:
                    self.transport.write(body[:DRIP_BYTES])
                    await clock.sleep(ENDLESS_PAUSE_S)
            case _:
                last = self._message(answer, method)
        self.playing = None
        self._send_last(last)
        self._answer_what_came()

    def _linger_not(self) -> None:
        """A socket that does not linger is reset when it is closed."""
        with socket.socket(fileno=os.dup(self.transport.get_extra_info("socket").fileno())) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _ended(self, now: float) -> None:
        self._log(now)
        if self.closes:
            self.transport.close()

    def _log(self, now: float, *, aborted: bool = False) -> None:
        asked, self.asked = self.asked, None
        assert asked is not None
        self.server.log.add(
            Entry(
                asked.time_in,
                now,
                asked.host,
                self.server.port,
                asked.target,
                asked.status,
                aborted,
                asked.user_agent,
                asked.method,
                self.client,
            )
        )


def _chunks(body: bytes) -> bytes:
    pieces = [body[start : start + CHUNK_BYTES] for start in range(0, len(body), CHUNK_BYTES)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
