"""A TLS server that a test can stop at any byte of the handshake, and that says why it refuses, as real servers do.

asyncio's own TLS drops the alert that a refused client should get, so the records are moved by hand here: OpenSSL
writes into memory and the server sends what the test wants of it. What it speaks inside is what it is told to.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")
PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class TlsServer:
    def __init__(self, context: ssl.SSLContext, speak: Speak, cut_at: int | None) -> None:
        self.port = 0
        self.handshakes = 0  # completed ones
        self.names: list[str | None] = []  # that clients asked for, by SNI
        self.requests: list[bytes] = []
        self._context = context
        self._speak = speak
        self._cut_at = cut_at
        self._talks: set[asyncio.Task[None]] = set()
        context.sni_callback = self._asked_for

    def url(self, host: str, path: str = "/", scheme: str = "https") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def _asked_for(self, _tls: object, name: str | None, _context: object) -> None:
        self.names.append(name)

    def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.ensure_future(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def close(self) -> None:
        talks = list(self._talks)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            stream = TlsStream(self._context, reader, writer, self._cut_at)
            await stream.handshake()
            self.handshakes += 1
            await self._speak(stream, self)
        except (ssl.SSLError, ConnectionError, EOFError):
            pass  # the client's side of it is what the test looks at
        finally:
            writer.close()


class TlsStream:
    """One connection: what is written here is encrypted there."""

    def __init__(
        self, context: ssl.SSLContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut_at: int | None
    ) -> None:
        self._reader, self._writer = reader, writer
        self._room = cut_at  # bytes that may still be sent; None: all
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    @property
    def protocol(self) -> str | None:
        return self._tls.selected_alpn_protocol()

    async def handshake(self) -> None:
        await self._until_done(self._tls.do_handshake)

    async def read(self) -> bytes:
        plain = await self._until_done(lambda: self._tls.read(65536))
        if not plain:
            raise EOFError  # the client said that it ends here
        return plain

    async def write(self, plain: bytes) -> None:
        await self._until_done(lambda: self._tls.write(plain))

    async def _until_done(self, step: Callable[[], T]) -> T:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                await self._send()
                received = await self._reader.read(65536)
                if not received:
                    raise EOFError from None
                self._incoming.write(received)
            finally:
                await self._send()  # also the alert of a step that failed

    async def _send(self) -> None:
        records = self._outgoing.read()
        self._writer.write(records[: self._room])
        await self._writer.drain()
        if self._room is not None:
            self._room -= len(records)
            if self._room <= 0:
                raise EOFError


Speak = Callable[[TlsStream, TlsServer], Awaitable[None]]


async def http_1(stream: TlsStream, server: TlsServer) -> None:
    received = b""
    while True:
        received += await stream.read()
        *requests, received = received.split(b"\r\n\r\n")
        for request in requests:
            server.requests.append(request)
            await stream.write(PAGE)


@asynccontextmanager
async def tls_server(
    context: ssl.SSLContext, speak: Speak = http_1, *, cut_at: int | None = None
) -> AsyncIterator[TlsServer]:
    """Answers every request with the same page; with `cut_at` it hangs up after so many bytes."""
    server = TlsServer(context, speak, cut_at)
    listening = await asyncio.start_server(server.meet, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.close()
