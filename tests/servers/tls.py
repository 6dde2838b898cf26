"""TLS in front of a server that speaks none: those of the wheels are built without."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")  # PostgreSQL: "shall we speak TLS?"


@asynccontextmanager
async def tls_in_front_of(port: int, context: ssl.SSLContext, *, asked: bytes = b"") -> AsyncIterator[int]:
    """`asked`: what a client of PostgreSQL says before TLS; who says anything else is left."""

    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            if not asked or await has_asked(reader, writer):
                await connect(reader, writer)
        except OSError:
            pass  # either side has hung up, or does not trust us
        finally:
            serving.discard(task)
            writer.close()

    async def has_asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if await reader.read(len(asked)) != asked:
            return False
        writer.write(b"S")
        await writer.start_tls(context)
        return True

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, to_server = await asyncio.open_connection("127.0.0.1", port)

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while some := await source.read(65536):
                target.write(some)
                await target.drain()
            target.close()

        try:
            await asyncio.gather(copy(reader, to_server), copy(behind, writer), return_exceptions=True)
        finally:
            to_server.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=None if asked else context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
