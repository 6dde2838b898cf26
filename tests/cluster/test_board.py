"""The board on a real broker: one order for all, nothing lost in an outage, and only the last value of a key kept."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest
from confluent_kafka.admin import AdminClient

from gossamer.clock import RealClock
from gossamer.cluster.kafka.board import VALUE_BYTES_MAX, Board, Changed
from gossamer.cluster.kafka.client import Appender, KafkaRefused
from gossamer.settings import ClusterSettings
from tests.cluster.gate import GatedKafka, create_topic, gated_kafka


class Stage:
    def __init__(self, broker: GatedKafka, ends: AsyncExitStack) -> None:
        self.broker = broker
        self.settings = ClusterSettings(name=f"crawl-{uuid.uuid4().hex[:8]}", kafka=broker.bootstrap, copies=1)
        self.topic = f"{self.settings.name}.board"
        self.clock = RealClock()
        self._ends = ends
        self.appender = self.new_appender()
        self.create()

    def create(self) -> None:
        create_topic(
            self.broker.bootstrap,
            self.topic,
            1,
            cleanup_policy="compact",
            segment_ms="100",
            min_cleanable_dirty_ratio="0.01",
            delete_retention_ms="0",
        )

    def new_appender(self) -> Appender:
        appender = Appender(self.broker.bootstrap, {}, self.clock)
        self._ends.callback(appender.close)
        return appender

    async def board(self) -> Board:
        board = await Board.open(self.topic, self.settings, self.new_appender(), self.clock)
        self._ends.push_async_callback(board.close)
        return board


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with AsyncExitStack() as ends:
        yield Stage(gated_kafka(), ends)


async def until(is_so: Callable[[], bool], seconds: float = 25) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)


async def test_what_is_put_is_there_with_its_offset_for_all_and_after_a_restart(stage: Stage) -> None:
    one, other = await stage.board(), await stage.board()
    offset = await one.put("config", b"first")
    await one.put("node/a", b"")
    await other.fence()
    assert other.get("config") == (b"first", offset) and other.get("node/a") == (b"", offset + 1)
    assert other.keys("node/") == ["node/a"] and other.offset == offset + 2
    await other.put("config", b"second")
    await other.delete("node/a")
    for board in (one, other, await stage.board()):
        assert await board.fence() == offset + 4
        assert board.keys() == ["config"] and board.get("config") == (b"second", offset + 2)
        assert board.get("node/a") is None and board.held_up == ""


async def test_all_see_the_same_order_also_of_what_they_put_themselves(stage: Stage) -> None:
    boards = [await stage.board() for _ in range(3)]
    seen: list[list[tuple[str, bytes | None]]] = [[] for _ in boards]

    def note_in(its: list[tuple[str, bytes | None]]) -> Changed:
        return lambda key, value: its.append((key, value))

    for board, its in zip(boards, seen, strict=True):
        board.subscribe(note_in(its))
    await asyncio.gather(
        *(board.put("word", f"{name} {n}".encode()) for n in range(50) for name, board in enumerate(boards))
    )
    await asyncio.gather(*(board.fence() for board in boards))
    assert len(seen[0]) == 150 and seen[0] == seen[1] == seen[2]
    assert {board.get("word") for board in boards} == {(seen[0][-1][1], 149)}


async def test_a_value_is_seen_when_it_comes_back_and_not_before(stage: Stage) -> None:
    board = await stage.board()
    putting = asyncio.create_task(board.put("key", b"value"))
    await asyncio.sleep(0)
    assert board.get("key") is None
    await putting
    await board.fence()
    assert board.get("key") is not None


async def test_a_fence_waits_for_what_others_put_before_it(stage: Stage) -> None:
    one, other = await stage.board(), await stage.board()
    for n in range(20):
        offset = await one.put("n", b"%d" % n)
        assert await other.fence() == offset + 1
        assert other.get("n") == (b"%d" % n, offset)


async def test_large_values_pass_and_larger_ones_are_refused(stage: Stage) -> None:
    board = await stage.board()
    large = uuid.uuid4().bytes * (VALUE_BYTES_MAX // 16)
    await board.put("large", large)
    await board.fence()
    entry = board.get("large")
    assert entry is not None and entry.value == large
    with pytest.raises(ValueError, match=f"board: larger has {VALUE_BYTES_MAX + 1} bytes"):
        await board.put("larger", b"x" * (VALUE_BYTES_MAX + 1))


async def test_a_board_of_many_changes_is_compacted_and_reads_the_same(stage: Stage) -> None:
    """What a cleaner took away leaves holes in the offsets, also at the end."""
    board = await stage.board()

    async def change(times: int) -> None:
        for n in range(times):
            await asyncio.gather(*(board.put(f"k{key}", b"%d" % n) for key in range(5)))
            await asyncio.sleep(0.15)  # a segment is closed by its age, and only closed ones are cleaned

    await change(4)
    await board.delete("k0")
    await change_until_cleaned(stage, board)
    fresh = await stage.board()
    end = await fresh.fence()
    await board.fence()
    assert fresh.offset == board.offset == end
    left = fresh.keys()
    assert [(key, fresh.get(key)) for key in left] == [(key, board.get(key)) for key in board.keys("")]
    assert left == ["clock", "k1", "k2", "k3", "k4"]


async def change_until_cleaned(stage: Stage, board: Board) -> None:
    """Until a reader from the start meets fewer messages than were put."""
    for n in range(200):
        await board.put("clock", b"%d" % n)
        count = 0

        def one_more(key: str, value: bytes | None) -> None:
            nonlocal count
            count += 1

        reader = Board(stage.topic, stage.settings, stage.appender, stage.clock)
        reader.subscribe(one_more)
        end = await reader.fence()
        await reader.close()
        if count < end - 15:
            return
        await asyncio.sleep(0.2)
    pytest.fail("the cleaner did not come")


async def test_an_outage_is_waited_for_and_told(stage: Stage) -> None:
    board, other = await stage.board(), await stage.board()
    await board.put("before", b"1")
    stage.broker.kill(1)
    try:
        await until(lambda: "could not be read" in board.held_up)
        putting = asyncio.create_task(board.put("during", b"2"))
        fencing = asyncio.create_task(other.fence())
        await asyncio.sleep(1)
        assert not putting.done() and not fencing.done()
    finally:
        stage.broker.start(1)
    await asyncio.wait_for(asyncio.gather(putting, fencing), 30)
    await until(lambda: board.held_up == other.held_up == "" and board.keys() == other.keys() == ["before", "during"])


async def test_a_board_that_is_not_there_is_refused(stage: Stage) -> None:
    with pytest.raises(KafkaRefused, match="no-such"):
        await asyncio.wait_for(Board.open("no-such.board", stage.settings, stage.appender, stage.clock), 30)


async def test_a_board_that_was_made_anew_is_not_gone_on_with(stage: Stage) -> None:
    board = await stage.board()
    for n in range(5):
        await board.put("key", b"%d" % n)
    await board.fence()
    admin = AdminClient({"bootstrap.servers": stage.broker.bootstrap, "log_level": 2})
    admin.delete_topics([stage.topic])[stage.topic].result(30)
    stage.create()
    with pytest.raises(KafkaRefused, match="could not be read"):
        for _ in range(200):  # nobody knows of it yet
            await board.fence()
            await asyncio.sleep(0.1)
    assert board.held_up
