"""The gRPC service at which a worker gives jobs to fetchers: one stream for each of them.

What comes in is decoded with the types of messages.py, and heard by jobs.py. What no honest fetcher says ends its
stream, is counted, and harms nobody else. Messages of a moment go out together: a batch costs about as much as a
message (50 µs each way, measured), and a worker gives hundreds of jobs a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import grpc
import grpc.aio
import msgspec

from gossamer import __version__
from gossamer.clock import Clock
from gossamer.cluster.wire import BadMessage
from gossamer.fetchers.fetchers_pb2 import Batch
from gossamer.fetchers.jobs import Connected, Jobs
from gossamer.fetchers.messages import SILENT_S, Hello, Welcome, decode_to_worker, encode

GATHER_S = 0.01  # between two batches to a fetcher; leases come together (worker.py)


class JobService:
    """The servicer of `gossamer.Fetchers`."""

    def __init__(self, jobs: Jobs, welcome: Welcome, clock: Clock, complain: Callable[[str], None]) -> None:
        self._jobs = jobs
        self._welcome = welcome
        self._clock = clock
        self._complain = complain

    async def FetchJobs(self, _: object, context: Any) -> None:
        fetcher: Connected | None = None
        writing: asyncio.Task[None] | None = None
        try:
            while (batch := await self._read(context)) is not None:
                for message in decode_to_worker(batch):
                    if fetcher is None:
                        fetcher = self._meet(message, address_of(context.peer()))
                        fetcher.say(self._welcome)
                        writing = asyncio.ensure_future(self._write(fetcher, context))
                    else:
                        self._jobs.hear(fetcher, message)
        except (msgspec.MsgspecError, BadMessage) as fault:
            self._jobs.ignored["bad"] += 1
            who = f"fetcher {fetcher.name}" if fetcher else "a fetcher"
            self._complain(f"{who} at {address_of(context.peer())} is sent away: it {fault}")
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(fault))
        finally:
            if fetcher is not None:
                self._jobs.leave(fetcher)
            if writing is not None:
                writing.cancel()

    async def _read(self, context: Any) -> bytes | None:
        """None: it has gone, or was not heard for too long."""
        try:
            async with asyncio.timeout(SILENT_S):
                batch = await context.read()
        except TimeoutError:
            return None
        return None if batch is grpc.aio.EOF else batch.messages

    def _meet(self, message: object, address: str) -> Connected:
        if not isinstance(message, Hello):
            raise BadMessage("did not say Hello")
        if message.version != __version__:
            raise BadMessage(f"is of version {message.version}, and this crawl of {__version__}")
        return self._jobs.join(message, address)

    async def _write(self, fetcher: Connected, context: Any) -> None:
        while True:
            await fetcher.has_news.wait()
            fetcher.has_news.clear()
            batch, fetcher.outbox = fetcher.outbox, []
            await context.write(Batch(messages=encode(batch)))
            await self._clock.sleep(GATHER_S)


def address_of(peer: str) -> str:
    """Of `ipv4:127.0.0.1:1234` or `ipv6:%5B::1%5D:1234`."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
