"""The sandbox: documents that are large or risky are read in another process, which may die of them.

A worker has one such process, started when it is first needed and used for one document after the other. A parser
that crashes, hangs or eats memory ends that process and costs that page its text, with a fault that says why; the
next document finds a new process. It is a fresh Python rather than a fork: a worker has threads and an open database,
and nothing of that is handed down.

The limits are the system's, so that no parser gets around them: an alarm clock that ends the process (SIGALRM, also
in the middle of C code), and a bound on its memory beyond what it had before the first document. Should the worker
die, the end of its pipe is what the process reads next, and it ends; while it reads a document, the alarm ends it.

There is one question at a time, and the others wait in line; a worker has a bounded number of pages in flight, so the
line is bounded too. If the asker is cancelled, the process is killed: so no answer can reach the wrong page. When the
crawl ends, the line goes home at once and the document that is being read has `HURRY_S` left: their pages stay leased
and are fetched again at the next start. A process that somebody else has killed (SIGKILL: an operator, or a system
short of memory) or that got less memory than it may have proves nothing against its document or its site: it is read
once more, and if that ends in the same way, it is this machine that is short of memory.

This is the worker's side, `sandbox_process.py` is the other. What it all costs is in docs/media-types.md.
"""

from __future__ import annotations

import asyncio
import errno
import signal
import sys
from collections import Counter
from contextlib import suppress
from typing import cast

import msgspec

from gossamer.interfaces import NotRead
from gossamer.process.sandbox_process import NO_MEMORY, OUT_OF_MEMORY, Question, Setup, framed
from gossamer.records import Body, Page, Url
from gossamer.settings.kinds import GIB, MIB
from gossamer.shortage import no_memory
from gossamer.url.site import host_of, site_of

ANSWER_BYTES_MAX = 256 * MIB  # ten times what 50,000 links take
DOCUMENTS_MAX = 1000  # then a new process: whatever parsers leak is gone with the old one

# A site whose documents end more than one process in four is not read in the sandbox any more: each can cost
# `time_s_max`, and all others wait. A death costs three, an answer earns one.
DEATH, DEATHS_MAX = 3, 9
SITES_MAX = 10_000
HURRY_S = 2.0


class Died(Exception):
    """The process ended before it answered; why, in a sentence."""

    is_by_others = False  # somebody killed it, and nobody knows why; or there was no memory for it


class Sandbox:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._line = asyncio.Lock()  # first come, first served
        self._child: _Child | None = None
        self._deaths: Counter[str] = Counter()  # by site, as above
        self._is_ending = False

    async def read(self, url: Url, media_type: str, content_type: str | None, body: Body) -> Page:
        site = site_of(host_of(url))
        async with self._line:
            if self._deaths[site] >= DEATHS_MAX:
                return Page(url, media_type=media_type, fault="too many documents of its site could not be read")
            question = Question(url, media_type, content_type, len(body))
            try:
                try:
                    page = await self._ask(question, body)
                except Died as death:
                    if not death.is_by_others:
                        raise
                    await self._end()
                    page = await self._ask(question, body)
            except Died as death:
                await self._end()
                if self._is_ending:
                    raise NotRead from death
                if death.is_by_others:
                    raise OSError(errno.ENOMEM, str(death)) from death
                if len(self._deaths) > SITES_MAX:
                    self._deaths.clear()
                self._deaths[site] += DEATH
                return Page(url, media_type=media_type, fault=str(death))
            except BaseException:  # the asker is gone, and its answer must not reach the next one
                await self._end()
                raise
            self._deaths[site] -= 1
            if self._deaths[site] <= 0:
                del self._deaths[site]
            return page

    async def _ask(self, question: Question, body: Body) -> Page:
        if self._is_ending:
            raise NotRead
        return await (await self._ready()).ask(question, body)

    def hurry(self) -> None:
        """The crawl ends."""
        if not self._is_ending:
            self._is_ending = True
            asyncio.get_running_loop().call_later(HURRY_S, self._stop_reading)

    def _stop_reading(self) -> None:
        if self._child is not None:
            self._child.kill()

    async def close(self) -> None:
        self._is_ending = True
        await self._end()

    async def _ready(self) -> _Child:
        if self._child and (self._child.has_ended or self._child.documents >= DOCUMENTS_MAX):
            await self._end()
        if self._child is None:
            _, self._child = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Child(self._setup),
                *(sys.executable, "-m", "gossamer.process.sandbox_process"),
                # What it says to nobody must not keep the supervisor waiting for the end of a dead worker's words.
                stderr=asyncio.subprocess.DEVNULL,
            )
        return self._child

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.end()


class _Child(asyncio.SubprocessProtocol):
    """The process, seen from the worker."""

    def __init__(self, setup: Setup) -> None:
        self.documents = 0
        self._setup = setup
        self._received = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self.has_ended = False
        self._exited, self._closed = asyncio.Event(), asyncio.Event()

    async def ask(self, question: Question, body: Body) -> Page:
        self.documents += 1
        if self._exited.is_set():
            raise self._death()
        self._answer = asyncio.get_running_loop().create_future()
        self._write(framed(question))
        self._write(body)
        content = await self._answer
        try:
            return msgspec.msgpack.decode(content, type=Page)
        except msgspec.MsgspecError as fault:
            raise Died(f"the reader gave no page: {fault}") from fault

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._transport.kill()

    async def end(self) -> None:
        """It holds nothing that anybody needs; and it leaves no zombie."""
        self.kill()
        await self._exited.wait()
        self._transport.close()
        await self._closed.wait()

    def _write(self, data: Body) -> None:
        with suppress(RuntimeError):  # uvloop's word for a pipe that nobody reads; we hear of the exit in time
            cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0)).write(memoryview(data))

    # What asyncio calls:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._write(framed(self._setup))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self._transport.kill()  # it was not asked
            return
        try:
            self._receive(self._answer, data)
        except MemoryError:
            self._answer.set_exception(no_memory())

    def _receive(self, answer: asyncio.Future[bytes], data: bytes) -> None:
        received = self._received
        received += data
        if len(received) < 4:
            return
        length = int.from_bytes(received[:4], "big")
        if length > ANSWER_BYTES_MAX:
            answer.set_exception(Died(f"the reader gave more than {ANSWER_BYTES_MAX // MIB} MiB"))
        elif len(received) - 4 >= length:
            answer.set_result(bytes(received[4 : 4 + length]))
            received.clear()

    def pipe_connection_lost(self, fd: int, fault: Exception | None) -> None:
        self.has_ended = True

    def process_exited(self) -> None:
        self.has_ended = True
        self._exited.set()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(self._death())

    def connection_lost(self, fault: Exception | None) -> None:
        self._closed.set()

    def _death(self) -> Died:
        death = Died(self._why())
        death.is_by_others = self._transport.get_returncode() in (-signal.SIGKILL, NO_MEMORY)
        return death

    def _why(self) -> str:
        limits, code = self._setup.process, self._transport.get_returncode() or 0
        if code == -signal.SIGALRM:
            return f"it took longer than {limits.time_s_max:g} s to read"
        if code == OUT_OF_MEMORY:
            most = limits.memory_bytes_max
            size = f"{most / GIB:g} GiB" if most >= GIB else f"{most / MIB:g} MiB"
            return f"it needed more than {size} of memory to read"
        if code == NO_MEMORY:
            return "there was no memory to read it"
        return f"the reader died (signal {-code})" if code < 0 else f"the reader ended (status {code})"
