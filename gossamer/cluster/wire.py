"""The wire: typed messages between the processes of a crawl, over Unix sockets.

A frame is its length (4 bytes, big-endian) and one letter in msgpack: a number and a message. Either side may ask;
the answer carries the question's number with its sign turned. Number 0 wants no answer.

Whatever comes in is checked before anything is done with it: the length against `FRAME_BYTES_MAX`, the bytes
against the types of the messages that this side understands, the answer against the type that was asked for. A
frame that fails closes its connection and is told about; it never stops the process.

All frames of one turn of the event loop leave in one write, so that thousands of small questions a second cost
about as many system calls as the loop has turns. A side that reads slowly makes `call` wait.

An exception in the code that answers is a bug of ours: it is raised in the task group that `spawn` belongs to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import msgspec

MIB = 1 << 20
FRAME_BYTES_MAX = 16 * MIB
UNSENT_BYTES_MAX = 4 * MIB  # more than this waiting in the socket: `call` waits too


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What can be said over the wire; the name of the class goes along."""


T = TypeVar("T", bound=Message)
M = TypeVar("M")

Answer = Message | None
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Frame(msgspec.Struct, Generic[M], frozen=True, array_like=True):
    number: int
    body: M | None = None


class BadMessage(Exception):
    """Well formed, and still nothing that an honest peer says. Raised by `answer`; closes the connection."""


class Disconnected(Exception):
    """The other side is gone, or has said something that nobody should say."""


encode = msgspec.msgpack.Encoder().encode


def framed(letter: Frame[Any]) -> bytes:
    content = encode(letter)
    if len(content) > FRAME_BYTES_MAX:
        raise ValueError(f"a message of {len(content)} bytes is too long for the wire")
    return len(content).to_bytes(4, "big") + content


class Peer(asyncio.Protocol):
    """One side of a connection. `answer` is called with every question, and may take its time (a coroutine)."""

    def __init__(self, understood: Any, spawn: Spawn, complain: Callable[[str], None]) -> None:
        """`understood`: the union of messages that may come in."""
        self.answer: Callable[[Any], Answer | Awaitable[Answer]] = _not_asked
        self.closed = asyncio.Event()
        self.when_closed: list[Callable[[], None]] = []
        self._decode: Callable[[bytes], Frame[Any]] = msgspec.msgpack.Decoder(Frame[understood]).decode
        self._spawn = spawn
        self._complain = complain
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._unsent: list[bytes] = []
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._writable = asyncio.Event()
        self._writable.set()

    # ---- asking ------------------------------------------------------------------------------------------

    async def call(self, question: Message, wanted: type[T]) -> T:
        """Ask, and wait for an answer of the wanted type. Raises `Disconnected` where none will come."""
        answer = await self._call(question)
        if not isinstance(answer, wanted):
            self._refuse(f"answered {type(question).__name__} with {type(answer).__name__}")
            raise Disconnected
        return answer

    async def tell(self, question: Message) -> None:
        """Ask for something to be done, and wait until it is."""
        await self._call(question)

    def mention(self, message: Message) -> None:
        """Say something that wants no answer; it may get lost with the connection."""
        self._post(Frame(0, message))

    async def _call(self, question: Message) -> Answer:
        await self._writable.wait()
        if self.closed.is_set():
            raise Disconnected
        self._asked += 1
        number = self._asked
        future: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting[number] = future
        try:
            self._post(Frame(number, question))
            return await future
        finally:
            self._waiting.pop(number, None)

    def _post(self, letter: Frame[Any]) -> None:
        frame = framed(letter)
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(frame)

    def _flush(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    # ---- being asked -------------------------------------------------------------------------------------

    def _take(self, letter: Frame[Any]) -> None:
        if letter.number < 0:
            future = self._waiting.get(-letter.number)
            if -letter.number > self._asked:
                self._refuse("answered what was not asked")
            elif future is not None and not future.done():  # otherwise nobody waits for it any more
                future.set_result(letter.body)
            return
        if letter.body is None:
            self._refuse("asked nothing")
            return
        try:
            answer = self.answer(letter.body)
        except BadMessage as fault:
            self._refuse(str(fault))
            return
        except Exception as bug:
            self._start(_raise(bug))
            return
        if answer is None or isinstance(answer, Message):
            self._reply(letter.number, answer)
        else:
            self._start(self._reply_later(letter.number, answer))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            self._spawn(work)
        except RuntimeError:  # the task group is ending, and with it this process
            work.close()

    def _reply(self, number: int, answer: Answer) -> None:
        if number and not self.closed.is_set():
            self._post(Frame(-number, answer))

    async def _reply_later(self, number: int, answer: Awaitable[Answer]) -> None:
        self._reply(number, await answer)

    # ---- the connection ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(UNSENT_BYTES_MAX)

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        start = 0
        while len(received) - start >= 4 and not self.closed.is_set():
            length = int.from_bytes(received[start : start + 4], "big")
            if length > FRAME_BYTES_MAX:
                self._refuse(f"announced a frame of {length} bytes")
                return
            if len(received) - start - 4 < length:
                break
            content = bytes(received[start + 4 : start + 4 + length])
            start += 4 + length
            try:
                letter = self._decode(content)
            except msgspec.MsgspecError as fault:
                self._refuse(f"sent a frame that is no message: {fault}")
                return
            self._take(letter)
        del received[:start]

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, fault: Exception | None) -> None:
        self._end()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self._end()

    def _refuse(self, what: str) -> None:
        self._complain(f"a connection was closed, because the other side {what}")
        self._received.clear()
        if self._transport is not None:
            self._transport.abort()
        self._end()

    def _end(self) -> None:
        if self.closed.is_set():
            return
        self.closed.set()
        self._writable.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Disconnected())
        for callback in self.when_closed:
            callback()


def _not_asked(question: Message) -> Answer:
    raise AssertionError(f"nobody is there to answer {question}")


async def _raise(fault: Exception) -> None:
    raise fault


async def listen(
    path: Path, understood: Any, spawn: Spawn, complain: Callable[[str], None], welcome: Callable[[Peer], None]
) -> asyncio.AbstractServer:
    """Take connections at a path; `welcome` sees each before anything is read from it."""

    def meet() -> Peer:
        peer = Peer(understood, spawn, complain)
        welcome(peer)
        return peer

    return await asyncio.get_running_loop().create_unix_server(meet, str(path))


async def connect(path: Path, understood: Any, spawn: Spawn, complain: Callable[[str], None]) -> Peer:
    """Raises `Disconnected` where nobody listens."""
    try:
        _, peer = await asyncio.get_running_loop().create_unix_connection(
            lambda: Peer(understood, spawn, complain), str(path)
        )
    except OSError as fault:
        raise Disconnected(f"{path.name}: {fault.strerror}") from fault
    return peer
