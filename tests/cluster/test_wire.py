"""The wire: typed messages, and what happens to everything else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.cluster.wire import FRAME_BYTES_MAX, BadMessage, Disconnected, Frame, Message, Peer, connect, framed
from gossamer.cluster.wire import listen as listen_at


class Double(Message, frozen=True):
    number: int


class Doubled(Message, frozen=True):
    number: int


class Other(Message, frozen=True):
    text: str


class Strange(Message, frozen=True):
    number: int


class Ends:
    """Both ends of a connection, and what was complained about."""

    def __init__(self) -> None:
        self.met: list[Peer] = []
        self.complaints: list[str] = []
        self.asked: list[Message] = []


@asynccontextmanager
async def listening(
    path: Path, answer: Callable[[Any], Any] = lambda question: Doubled(2 * question.number)
) -> AsyncIterator[Ends]:
    ends = Ends()

    def meet(peer: Peer) -> None:
        ends.met.append(peer)

        def note_and_answer(question: Message) -> Any:
            ends.asked.append(question)
            return answer(question)

        peer.answer = note_and_answer

    async with asyncio.TaskGroup() as tasks:
        server = await listen_at(path, Double | Doubled | Other, tasks.create_task, ends.complaints.append, meet)
        try:
            yield ends
        finally:
            server.close()
            for peer in ends.met:
                peer.close()
            for _ in range(3):  # the loop needs a turn to close a socket
                await asyncio.sleep(0)


async def dial(path: Path, complaints: list[str] | None = None) -> Peer:
    def spawn(work: Coroutine[Any, Any, None]) -> object:
        return asyncio.ensure_future(work)

    return await connect(path, Double | Doubled | Other, spawn, (complaints if complaints is not None else []).append)


async def test_a_question_gets_its_own_answer(folder: Path) -> None:
    async def slowly(question: Double) -> Doubled:
        for _ in range(10 - question.number):
            await asyncio.sleep(0)
        return Doubled(2 * question.number)

    async with listening(folder / "s", slowly):
        peer = await dial(folder / "s")
        answers = await asyncio.gather(*(peer.call(Double(number), Doubled) for number in range(10)))
        assert [answer.number for answer in answers] == [2 * number for number in range(10)]
        peer.close()


async def test_both_sides_may_ask(folder: Path) -> None:
    async with listening(folder / "s") as ends:
        peer = await dial(folder / "s")
        peer.answer = lambda question: Doubled(-question.number)
        await peer.call(Double(1), Doubled)
        assert await ends.met[0].call(Double(7), Doubled) == Doubled(-7)
        peer.close()


async def test_an_answer_that_never_comes_is_an_exception(folder: Path) -> None:
    async with listening(folder / "s", lambda _: asyncio.Event().wait()) as ends:
        peer = await dial(folder / "s")
        asking = asyncio.ensure_future(peer.call(Double(1), Doubled))
        while not ends.asked:  # noqa: ASYNC110
            await asyncio.sleep(0)
        ends.met[0].close()
        with pytest.raises(Disconnected):
            await asking
        with pytest.raises(Disconnected):
            await peer.call(Double(1), Doubled)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()  # the answer that never comes


async def test_nobody_listens(folder: Path) -> None:
    with pytest.raises(Disconnected):
        await dial(folder / "nobody")


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "announced a frame of"),
        ((FRAME_BYTES_MAX + 1).to_bytes(4, "big"), "announced a frame of"),
        (b"\0\0\0\x03abc", "no message"),
        (b"\0\0\0\0", "no message"),
        (framed(Frame(1, Strange(1))), "no message"),  # a message, but none for this side
        (framed(Frame(1, None)), "asked nothing"),
        (framed(Frame(-1, Double(1))), "answered what was not asked"),
        (framed(Frame(1, ["Double", "seven"])), "no message"),
    ],
)
async def test_a_bad_frame_closes_its_connection_and_no_other(folder: Path, sent: bytes, said: str) -> None:
    async with listening(folder / "s") as ends:
        good = await dial(folder / "s")
        reader, writer = await asyncio.open_unix_connection(str(folder / "s"))
        writer.write(sent)
        assert await reader.read() == b""
        writer.close()
        assert await good.call(Double(2), Doubled) == Doubled(4)
        assert len(ends.complaints) == 1 and said in ends.complaints[0]
        assert ends.asked == [Double(2)]
        good.close()


async def test_what_the_answering_side_finds_bad_closes_the_connection(folder: Path) -> None:
    def refuse(question: Message) -> Message:
        raise BadMessage("asked for too much")

    async with listening(folder / "s", refuse) as ends:
        peer = await dial(folder / "s")
        with pytest.raises(Disconnected):
            await peer.call(Double(1), Doubled)
        assert "asked for too much" in ends.complaints[0]


async def test_an_answer_of_another_type_closes_the_connection(folder: Path) -> None:
    complaints: list[str] = []
    async with listening(folder / "s", lambda _: Other("no")):
        peer = await dial(folder / "s", complaints)
        with pytest.raises(Disconnected):
            await peer.call(Double(1), Doubled)
        assert peer.closed.is_set() and "answered Double with Other" in complaints[0]


async def test_a_bug_in_answering_is_raised_where_it_is_seen(folder: Path) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with listening(folder / "s", lambda question: 1 / 0):
            peer = await dial(folder / "s")
            try:
                await peer.call(Double(1), Doubled)
            finally:
                peer.close()
    assert isinstance(caught.value.exceptions[0], ZeroDivisionError)


async def test_a_message_too_long_for_a_frame_is_not_sent(folder: Path) -> None:
    async with listening(folder / "s"):
        peer = await dial(folder / "s")
        with pytest.raises(ValueError, match="too long"):
            await peer.call(Other("x" * FRAME_BYTES_MAX), Doubled)
        assert await peer.call(Double(1), Doubled) == Doubled(2)
        peer.close()


async def test_frames_that_arrive_in_pieces(folder: Path) -> None:
    async with listening(folder / "s") as ends:
        reader, writer = await asyncio.open_unix_connection(str(folder / "s"))
        for byte in framed(Frame(1, Double(21))) + framed(Frame(2, Double(22))):
            writer.write(bytes([byte]))
            await writer.drain()
        expected = framed(Frame(-1, Doubled(42))) + framed(Frame(-2, Doubled(44)))
        assert await reader.readexactly(len(expected)) == expected
        assert ends.complaints == []
        writer.close()


async def test_a_side_that_does_not_read_makes_the_other_wait(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "s"))
        server.listen()
        peer = await dial(folder / "s")
        asking = [asyncio.ensure_future(peer.call(Other("x" * 1_000_000), Doubled)) for _ in range(50)]
        for _ in range(50):
            await asyncio.sleep(0)
        later = asyncio.ensure_future(peer.call(Double(1), Doubled))
        await asyncio.sleep(0)
        assert not peer._writable.is_set()
    # The other side has gone away without having read anything.
    results = await asyncio.gather(*asking, later, return_exceptions=True)
    assert all(isinstance(result, Disconnected) for result in results)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_bytes_at_all_do_no_harm(chunks: list[bytes]) -> None:
    async def receive() -> None:
        peer = Peer(Double | Other, asyncio.ensure_future, lambda _: None)
        peer.answer = lambda question: None
        for chunk in chunks:
            peer.data_received(chunk)

    asyncio.run(receive())
