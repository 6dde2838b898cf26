"""What happens now, as server-sent events: text that stays open, one block an event, read by EventSource or curl.

    id: 12          numbers grow; a client that comes back says the last it saw (`Last-Event-ID`)
    event: page     the name; shapes.py has the list
    data: {...}     one line of JSON

A comment every `KEEP_ALIVE_S` tells both sides that the other lives. The stream ends when the client goes or
the server stops.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import StreamingResponse

from gossamer.api.context import Context
from gossamer.api.crawl_client import Told

KEEP_ALIVE_S = 10.0
RETRY_MS = 2000


async def events(context: Context, request: Request) -> StreamingResponse:
    last = request.headers.get("last-event-id", "")
    since = int(last) if last.isascii() and last.isdigit() and len(last) < 18 else None
    context.crawl.must_have_room()

    async def blocks() -> AsyncIterator[bytes]:
        with context.crawl.listening(since) as listener:
            yield b"retry: %d\n\n" % RETRY_MS
            while True:
                told = listener.take()
                yield b"".join(block(one) for one in told) or b": still here\n\n"
                if context.is_stopping:
                    return
                await listener.wait(context.clock, KEEP_ALIVE_S)

    # A proxy that gathers an answer before it hands it on would hand on nothing.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(blocks(), media_type="text/event-stream", headers=headers)


def block(told: Told) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (told.number, told.name.encode(), told.data)
