"""A server for bad manners: it listens on loopback, and what it does with a connection is one function, a scenario.

A scenario gets the connection as soon as it stands, before any request is read: it may answer, hang, drip, reset or
talk nonsense. What is left open is closed (FIN) when it returns. Every behaviour has a port of its own (`playing`):
many can be played at once, and none sees the connections of another.

The simplest scenarios are bytes: `says` answers every request of a connection with the same bytes and keeps it open,
`blurts` answers once and closes.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

HEAD_BYTES_MAX = 65_536
HERE = "127.0.0.1"


class Gone(Exception):
    """The client has closed the connection, or never sent a request on it."""


class Connection:
    """One connection as a scenario sees it."""

    def __init__(self, stage: Stage, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.stage = stage
        self.number = number  # 1 is the stage's first
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """The next request, head only; raises `Gone` where none comes."""
        try:
            request = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as nothing:
            raise Gone from nothing
        self.stage.requests.append(request)
        return request

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()

    async def send_for_ever(self, part: bytes, pause_s: float = 0.0) -> None:
        while True:
            await self.send(part)
            # drain() returns at once while the socket takes everything; the others want a turn, too.
            await asyncio.sleep(pause_s)

    async def hang(self) -> None:
        """Until the client gives up."""
        while await self.reader.read(HEAD_BYTES_MAX):
            pass

    def reset(self) -> None:
        """RST instead of FIN."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Scenario = Callable[[Connection], Awaitable[None]]


class Stage:
    """Where one behaviour is played: its address, and what it has seen."""

    def __init__(self, scenario: Scenario, scheme: str = "http") -> None:
        self.scenario = scenario
        self.scheme = scheme
        self.port = 0
        self.connections = 0
        self.requests: list[bytes] = []
        self.quiet = asyncio.Event()  # a scenario may say that it has done its worst
        self._talks: set[asyncio.Task[None]] = set()

    def url(self, path: str = "/", host: str = HERE) -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def asked(self) -> list[str]:
        """The targets of all requests, in their order."""
        return [request.split(b" ", 2)[1].decode("latin-1") for request in self.requests]

    def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        talk = asyncio.ensure_future(self._talk(Connection(self, reader, writer, self.connections)))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, connection: Connection) -> None:
        try:
            await self.scenario(connection)
        except (Gone, OSError):
            pass  # the client has had enough
        finally:
            connection.writer.close()

    async def close(self) -> None:
        talks = list(self._talks)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


@asynccontextmanager
async def playing(
    scenario: Scenario, *, tls: ssl.SSLContext | None = None, scheme: str = "", host: str = HERE, port: int = 0
) -> AsyncIterator[Stage]:
    """With `tls` it speaks TLS; `scheme` is what its URLs claim."""
    stage = Stage(scenario, scheme or ("https" if tls else "http"))
    # A short handshake time-out: a client that walks out of a handshake is forgotten quickly.
    waiting = {"ssl_handshake_timeout": 5.0} if tls else {}
    listening = await asyncio.start_server(stage.meet, host, port, ssl=tls, limit=HEAD_BYTES_MAX, **waiting)
    stage.port = listening.sockets[0].getsockname()[1]
    try:
        yield stage
    finally:
        listening.close()
        await stage.close()


# ---- answers ---------------------------------------------------------------------------------------------


def answer(body: bytes = b"", *headers: str | bytes, status: str = "200 OK", length: bool = True) -> bytes:
    """An honest answer, where nothing else is wanted."""
    lines = [f"HTTP/1.1 {status}".encode(), *(line if isinstance(line, bytes) else line.encode() for line in headers)]
    if length:
        lines.append(f"Content-Length: {len(body)}".encode())
    return b"\r\n".join([*lines, b"", body])


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """The body of an answer in chunks, with its end or another one."""
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end


IN_CHUNKS = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


# ---- scenarios -------------------------------------------------------------------------------------------


def says(*parts: bytes) -> Scenario:
    """Answers every request with these bytes, as long as the client likes."""

    async def scenario(connection: Connection) -> None:
        while True:
            await connection.request()
            await connection.send(*parts)

    return scenario


def blurts(*parts: bytes) -> Scenario:
    """Answers one request with these bytes and closes."""

    async def scenario(connection: Connection) -> None:
        await connection.request()
        await connection.send(*parts)

    return scenario


def pours(head: bytes, pieces: Callable[[], Iterable[bytes]]) -> Scenario:
    """Answers one request with a body that is made while it is sent."""

    async def scenario(connection: Connection) -> None:
        await connection.request()
        await connection.send(head)
        for piece in pieces():
            await connection.send(piece)
            await asyncio.sleep(0)

    return scenario


def drips(*parts: bytes | float) -> Scenario:
    """Answers one request with bytes and pauses in seconds, then hangs."""

    async def scenario(connection: Connection) -> None:
        await connection.request()
        for part in parts:
            if isinstance(part, float):
                await asyncio.sleep(part)
            else:
                await connection.send(part)
        await connection.hang()

    return scenario
