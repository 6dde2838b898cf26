"""The consumer of a process's link log, in a thread of its own.

It is in no group and commits nothing, because the owner of a partition keeps its position in its own store. A Kafka
consumer is for one thread, so all that is done to it is done in the thread that polls: the event loop leaves it
commands. What came waits in a buffer for each partition that is open (`Reading`). Each side writes fields of its own
only, so no lock is needed. A partition that is opened anew, because its reader wants another position, gets a new
buffer, and what still comes for the old one goes nowhere. A full buffer pauses its partition: what all buffers hold
together is bounded.

A position that the topic does not have any more, and a hole between two offsets, are `LinksLost`.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from gossamer.interfaces import LinksLost
from gossamer.text import COMMAND

BUFFERED_BYTES_MAX = 32 << 20  # of all partitions that are open
BUFFER_BYTES_MIN, BUFFER_BYTES_MAX = 64 << 10, 2 << 20  # of one of them, or a single message
CLIENT_KIB = 8 << 10  # what the client itself may have fetched ahead
FETCH_WAIT_MS = 200  # a partition that is opened waits behind a fetch that is under way; 500 by default
POLL_S = 0.03  # a command waits so long at most
MESSAGES_AT_ONCE = 100
ANSWER_S = 10.0

# Of a partition: it cannot be read from there. All else passes, and the client tries again by itself.
GONE = {
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
}


class Reading:
    """A partition that is open, from one position on."""

    def __init__(self, partition: int, position: int, end: int = 0) -> None:
        self.partition = partition
        self.messages: deque[tuple[int, bytes]] = deque()  # offset and value
        # Of the event loop.
        self.position = position
        self.taken_bytes = 0
        self.dead: asyncio.Future[int] | None = None  # the copy of a message that cannot be read
        # Of the thread.
        self.fetched = position  # what comes next has this offset
        self.end = end  # as far as the consumer knows
        self.came_bytes = 0
        self.is_paused = False
        self.again_at = -1  # where there was a hole: it was asked for once more
        self.lost: LinksLost | None = None

    @property
    def held_bytes(self) -> int:
        return self.came_bytes - self.taken_bytes


class LinkReader:
    def __init__(self, topic: str, options: Mapping[str, Any]) -> None:
        self.fault: BaseException | None = None  # why the thread has ended
        self._topic = topic
        self._commands: deque[Callable[[], None]] = deque()
        self._assigned: dict[int, Reading] = {}
        self._is_closing = False
        self._consumer = Consumer(
            {
                **options,
                "group.id": topic,  # the client wants one; nobody joins it
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "queued.max.messages.kbytes": CLIENT_KIB,
                "fetch.max.bytes": CLIENT_KIB << 10,
                "fetch.wait.max.ms": FETCH_WAIT_MS,
                "fetch.queue.backoff.ms": 20,  # a second by default before it fetches again
                "error_cb": lambda error: None,  # outages; what has to be known comes with a partition
            }
        )
        self._thread = threading.Thread(target=self._run, name="kafka-links", daemon=True)
        self._thread.start()

    # ---- the event loop ----------------------------------------------------------------------------------

    def begin(self, reading: Reading) -> None:
        self._commands.append(lambda: self._assign(reading))

    def end(self, partition: int) -> None:
        self._commands.append(lambda: self._unassign(partition))

    def close(self) -> None:
        self._is_closing = True
        self._thread.join()

    # ---- the thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._is_closing:
                while self._commands:
                    self._commands.popleft()()
                messages = self._polled()
                for message in messages:
                    self._take(message)
                came = {message.partition() for message in messages}
                for reading in [each for number, each in self._assigned.items() if number in came]:
                    _, end = self._consumer.get_watermark_offsets(self._of(reading.partition), cached=True)
                    reading.end = max(reading.end, reading.fetched, end)
                self._pause_and_resume()
        except BaseException as fault:  # whoever reads next is told
            self.fault = fault
        finally:
            self._consumer.close()

    def _polled(self) -> list[Message]:
        first = self._consumer.poll(POLL_S)  # `consume` would wait the whole time for the others, too
        return [first, *self._consumer.consume(MESSAGES_AT_ONCE, 0)] if first is not None else []

    def _take(self, message: Message) -> None:
        partition, error, offset, value = message.partition(), message.error(), message.offset(), message.value()
        reading = self._assigned.get(partition) if partition is not None else None
        if reading is None:
            return
        if error is not None:
            if error.code() in GONE:
                self._lose(reading, error.str())
            return
        assert offset is not None
        if offset > reading.fetched and reading.again_at == reading.fetched:
            self._lose(reading, f"the next offset is {offset}")
        elif offset > reading.fetched:
            reading.again_at = reading.fetched
            self._assign(reading)
        elif offset == reading.fetched:
            reading.came_bytes += len(value or b"")
            reading.fetched = offset + 1
            reading.messages.append((offset, value or b""))

    def _assign(self, reading: Reading) -> None:
        self._unassign(reading.partition)
        self._assigned[reading.partition] = reading
        self._consumer.incremental_assign([self._of(reading.partition, reading.fetched)])

    def _unassign(self, partition: int) -> None:
        if (reading := self._assigned.pop(partition, None)) is not None:
            if reading.is_paused:  # or it would still be when it is assigned again
                reading.is_paused = False
                self._consumer.resume([self._of(partition)])
            self._consumer.incremental_unassign([self._of(partition)])

    def _lose(self, reading: Reading, why: str) -> None:
        self._unassign(reading.partition)
        try:
            first, end = self._consumer.get_watermark_offsets(self._of(reading.partition), timeout=ANSWER_S)
            there = f"{first} to {end} are there"
        except KafkaException as fault:
            first, there = 0, f"nothing is there: {fault.args[0].str()}"
        reading.lost = links_lost(self._topic, reading.partition, reading.fetched, f"{there} ({why})", first)

    def _pause_and_resume(self) -> None:
        share = BUFFERED_BYTES_MAX // max(1, len(self._assigned))
        most = min(BUFFER_BYTES_MAX, max(BUFFER_BYTES_MIN, share))
        for reading in self._assigned.values():
            if not reading.is_paused and reading.held_bytes > most:
                reading.is_paused = True
                self._consumer.pause([self._of(reading.partition)])
            elif reading.is_paused and reading.held_bytes <= most // 2:
                reading.is_paused = False
                self._consumer.resume([self._of(reading.partition)])

    def _of(self, partition: int, offset: int = -1001) -> TopicPartition:
        return TopicPartition(self._topic, partition, offset)


def links_lost(topic: str, partition: int, position: int, there: str, first: int) -> LinksLost:
    return LinksLost(
        f"{topic}, partition {partition}: position {position} is wanted, and {there}: links that nobody had read are "
        "gone; raise cluster.links_keep_s if they were too old. "
        f"`{COMMAND} recover FILE --partition {partition}` goes on without them",
        partition,
        first,
    )
