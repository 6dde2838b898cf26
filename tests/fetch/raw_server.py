"""A server that says exactly what a test wants it to say, byte for byte, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

CLOSE = b"<close the connection>"


class RawServer:
    def __init__(self) -> None:
        self.port = 0
        self.requests: list[bytes] = []
        self.connections = 0
        self.answer: Callable[[bytes], list[bytes | float]] = lambda request: []

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                if length := re.search(rb"(?i)\ncontent-length: (\d+)", request):
                    request += await reader.readexactly(int(length[1]))
                self.requests.append(request)
                for part in self.answer(request):
                    if part == CLOSE:
                        return
                    if isinstance(part, float):
                        await asyncio.sleep(part)
                    else:
                        writer.write(part)
                        await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def raw_server(*answer: bytes | float, also: Sequence[str] = (), port: int = 0) -> AsyncIterator[RawServer]:
    """Answers every request with these bytes; a number is a pause in seconds. `also`: more loopback addresses.
    `port`: of a server that is back; 0: one that is free."""
    server = RawServer()
    server.answer = lambda request: list(answer)
    listening = [await asyncio.start_server(server._talk, "127.0.0.1", port)]
    server.port = listening[0].sockets[0].getsockname()[1]
    listening += [await asyncio.start_server(server._talk, address, server.port) for address in also]
    try:
        yield server
    finally:
        for _ in range(5):  # turns of the loop: a connection that was just accepted would be left open
            await asyncio.sleep(0)
        for each in listening:
            each.close()
