"""A fetcher's stream to one worker: jobs come, answers go. It holds nothing that outlives it.

When the stream ends, whoever ended it, whatever it was given is dropped at once: the worker that gave it waits until
the time of those jobs is over, and would believe no answer. Answers of a moment go out together. Credit is the number
of jobs that may be here at once; it is 0 while too much waits to be sent, so that memory has a bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc.aio
import msgspec

from gossamer import __version__
from gossamer.clock import Clock
from gossamer.fetchers.fetchers_pb2 import Batch
from gossamer.fetchers.messages import (
    ALIVE_S,
    BATCH_BYTES_MAX,
    Alive,
    Answered,
    Drain,
    Drop,
    Hello,
    Job,
    Leaving,
    Piece,
    ToWorker,
    Welcome,
    decode_to_fetcher,
    encode,
)
from gossamer.fetchers.rules import Rules
from gossamer.interfaces import NotRead

GATHER_S = 0.05  # between two batches of answers: a page is heard of so much later, and a batch costs as a message
UNSENT_BYTES_MAX = 32 << 20
MESSAGE_BYTES = 1000  # of an answer, besides its body


class Stream:
    def __init__(self, hello: Hello, clock: Clock, rules_of: Callable[[Welcome], Rules], room: Callable[[], int]):
        """`rules_of`: what is to be done by the rules of a crawl. `room`: how many jobs may be here at once."""
        self.jobs: dict[int, asyncio.Task[None]] = {}
        self.is_drained = asyncio.Event()  # an operator wants this fetcher to end
        self.done = 0
        self.ended_by = ""
        self._hello = hello
        self._clock = clock
        self._rules_of = rules_of
        self._room = room
        self._outbox: list[ToWorker] = [hello]
        self._unsent_bytes = 0
        self._has_news = asyncio.Event()
        self._has_news.set()
        self._is_leaving = False

    @property
    def is_idle(self) -> bool:
        return not self.jobs and not self._outbox

    def leave(self) -> None:
        if not self._is_leaving:
            self._is_leaving = True
            self._say(Leaving())

    async def run(self, call: Any) -> None:
        """Until the other side ends it, or goes away. A bug of ours ends the whole fetcher: leases make that safe."""
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(self._write(call)), tasks.create_task(self._tell())]
            try:
                rules: Rules | None = None
                while (batch := await self._read(call)) is not None:
                    for message in decode_to_fetcher(batch):
                        match message:
                            case Welcome():
                                rules = self._rules_of(message)
                            case Job() if rules is not None:
                                self.jobs[message.number] = tasks.create_task(self._do(rules, message))
                            case Drop(job=number):
                                if (task := self.jobs.pop(number, None)) is not None:
                                    task.cancel()
                            case Drain():
                                self.is_drained.set()
            finally:
                for task in (*beside, *self.jobs.values()):
                    task.cancel()
                self.jobs.clear()
                self._outbox.clear()

    async def _read(self, call: Any) -> bytes | None:
        try:
            batch = await call.read()
        except grpc.aio.AioRpcError as fault:
            self.ended_by = f"{fault.code().name}: {fault.details()}"
            return None
        return None if batch is grpc.aio.EOF else batch.messages

    async def _do(self, rules: Rules, job: Job) -> None:
        try:
            answer = await rules.do(job)
        except NotRead:
            return
        if self.jobs.pop(job.number, None) is None:
            return  # nobody waits for it any more
        self.done += 1
        for message in answer:
            self._say(message)

    def _say(self, message: ToWorker) -> None:
        self._outbox.append(message)
        self._unsent_bytes += size_of(message)
        self._has_news.set()

    async def _tell(self) -> None:
        while True:
            room = 0 if self._is_leaving or self._unsent_bytes > UNSENT_BYTES_MAX else self._room()
            self._say(Alive(self._clock.boottime(), room))
            await self._clock.sleep(ALIVE_S)

    async def _write(self, call: Any) -> None:
        while True:
            await self._has_news.wait()
            self._has_news.clear()
            while self._outbox:
                batch, size = [], 0
                while self._outbox and size < BATCH_BYTES_MAX:
                    message = self._outbox.pop(0)
                    size += size_of(message)
                    batch.append(message)
                try:
                    await call.write(Batch(messages=encode(batch)))
                except (grpc.aio.AioRpcError, grpc.aio.UsageError, asyncio.InvalidStateError):
                    return  # who reads is told the same
                self._unsent_bytes -= size
            await self._clock.sleep(GATHER_S)


def hello_of(name: str, region: str, *, processes: bool) -> Hello:
    """Raises ValueError where a worker would not take it."""
    return msgspec.convert(Hello(name, region, __version__, processes), Hello, from_attributes=True)


def size_of(message: ToWorker) -> int:
    return MESSAGE_BYTES + (len(message.body) if isinstance(message, Piece | Answered) else 0)
