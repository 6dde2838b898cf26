"""The board: the small things that every node of a crawl has to know, as keys and values in a compacted topic.

The topic has one partition, so there is one order, and all nodes see it. What a node puts itself it sees when it
comes back, like everybody else; `offset` says how far it has read. Kafka cannot put a value only if nobody else has
put one before: whoever has to agree with others puts its word, and goes by the order in which the words stand.

A thread reads the topic from its start, with a consumer that is in no group, and hands what it read to the event
loop, where all of this lives. An outage is waited for; `held_up` says so. A topic that is not there, or that was made
anew under our feet, is an exception. The whole board is in memory: some thousand reports of some kilobytes.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Collection
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from gossamer.clock import Clock
from gossamer.cluster.kafka.client import Appender, KafkaRefused, options_of
from gossamer.settings import ClusterSettings

POLL_S = 0.05
BATCH = 1000  # messages that are handed over at once
ASK_S = 1.0  # for the end of the topic; asked again for ever
RENEW_S = 5.0  # between two clients that ask in vain
NEW_S = 5  # so long after its creation a topic may be unknown to some broker
VALUE_BYTES_MAX = 900_000  # with its key and header it has to fit into a message of 1 MB

Changed = Callable[[str, bytes | None], None]


class Entry(NamedTuple):
    value: bytes
    offset: int


class Board:
    """One for a process; `open` makes it, `close` ends its thread. The appender is the process's own."""

    def __init__(self, topic: str, settings: ClusterSettings, appender: Appender, clock: Clock) -> None:
        self._topic, self._appender, self._clock = topic, appender, clock
        self._loop = asyncio.get_running_loop()
        self._entries: dict[str, Entry] = {}
        self.offset = 0
        """All that stands before it has been read."""
        self._subscribers: list[Changed] = []
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        # Shared with the thread:
        self._asked: deque[asyncio.Future[int]] = deque()  # who wants to know the end of the topic
        self._trouble: tuple[float, str] | None = None
        self._has_begun = False
        self._is_gone = False  # what is in memory is nobody's board any more
        self._is_closing = False
        options = self._options = {
            **options_of(settings.kafka, settings.kafka_options),
            "group.id": f"{settings.name}.board",  # the client wants one; nobody joins it
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # a topic that was made anew is no board to go on with
            "enable.partition.eof": True,
            "topic.metadata.propagation.max.ms": NEW_S * 1000,
            "enable.metrics.push": False,
            "error_cb": self._note,
        }
        self._consumer = Consumer(options)
        # On the reader's own connection a question waits behind its long poll: 0.5 s.
        self._asker, self._asker_made_at = Consumer(options), clock.awake()
        self._consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        self._thread = threading.Thread(target=self._read, name="kafka-board", daemon=True)
        self._thread.start()

    @classmethod
    async def open(cls, topic: str, settings: ClusterSettings, appender: Appender, clock: Clock) -> Board:
        """With all that stands on it now."""
        board = cls(topic, settings, appender, clock)
        try:
            await board.fence()
        except BaseException:
            await board.close()
            raise
        return board

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def keys(self, prefix: str = "") -> list[str]:
        return sorted(key for key in self._entries if key.startswith(prefix))

    async def put(self, key: str, value: bytes) -> int:
        """Its offset, once it is durable. It may not be on this board yet."""
        if len(value) > VALUE_BYTES_MAX:
            raise ValueError(f"board: {key} has {len(value)} bytes; a value has at most {VALUE_BYTES_MAX}")
        return await self._appender.append(self._topic, 0, value, key.encode())

    async def delete(self, key: str) -> int:
        return await self._appender.append(self._topic, 0, None, key.encode())

    def subscribe(self, changed: Changed) -> None:
        """Called in the event loop for each change that is read from now on, in order; None: the key is gone."""
        self._subscribers.append(changed)

    def unsubscribe(self, changed: Changed) -> None:
        self._subscribers.remove(changed)

    async def fence(self) -> int:
        """Wait until all is read that anybody put before this call; how far that was. Raises KafkaRefused if there is
        no such topic, or another one than was read."""
        asked: asyncio.Future[int] = self._loop.create_future()
        self._asked.append(asked)
        end = await asked
        if self.offset < end:
            read: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append((end, read))
            await read
        return end

    @property
    def held_up(self) -> str:
        """Why the board may be out of date; empty: all is well."""
        if (trouble := self._trouble) is None:
            return ""
        return f"the board could not be read for {self._clock.awake() - trouble[0]:.0f} s ({trouble[1]})"

    async def close(self) -> None:
        self._is_closing = True
        await asyncio.to_thread(self._thread.join)

    # ---- the event loop ------------------------------------------------------------------------------------

    def _apply(self, changes: Collection[tuple[str, bytes | None, int]], offset: int) -> None:
        for key, value, at in changes:
            if value is None:
                self._entries.pop(key, None)
            else:
                self._entries[key] = Entry(value, at)
            self.offset = at + 1
            for changed in list(self._subscribers):
                changed(key, value)
        self.offset = max(self.offset, offset)
        ready = [read for end, read in self._waiting if end <= self.offset]
        self._waiting = [(end, read) for end, read in self._waiting if end > self.offset]
        for read in ready:
            if not read.done():
                read.set_result(None)

    def _answer(self, asked: asyncio.Future[int], end: int) -> None:
        if asked.done():
            return
        if self._is_gone:
            asked.set_exception(KafkaRefused(f"{self._topic}: {self.held_up}"))
        else:
            asked.set_result(end)

    def _refuse_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for _, read in waiting:
            if not read.done():
                read.set_exception(KafkaRefused(f"{self._topic}: {self.held_up}"))

    # ---- the thread ----------------------------------------------------------------------------------------

    def _read(self) -> None:
        while not self._is_closing:
            messages = self._batch()
            offset = max((one.offset() or 0 for one in messages if is_end(one)), default=0)
            changes = [change_of(one) for one in messages if one.error() is None]
            if messages and not self._is_gone:
                self._trouble, self._has_begun = None, True
                self._loop.call_soon_threadsafe(self._apply, changes, offset)
            if self._is_gone:
                self._loop.call_soon_threadsafe(self._refuse_waiting)
            if self._asked or self._trouble:
                self._ask_for_the_end()
        self._consumer.close()
        self._asker.close()

    def _batch(self) -> list[Message]:
        messages: list[Message] = []
        while len(messages) < BATCH and (message := self._consumer.poll(0 if messages else POLL_S)) is not None:
            if (error := message.error()) is not None and not is_end(message):
                self._note(error)
            else:
                messages.append(message)
        return messages

    def _ask_for_the_end(self) -> None:
        """It is what a fence waits for, and it shows whether an outage is over."""
        asked = [self._asked.popleft() for _ in range(len(self._asked))]  # before the question: it is for all of them
        try:
            _, end = self._asker.get_watermark_offsets(TopicPartition(self._topic, 0), ASK_S)
        except KafkaException as fault:
            self._note(fault.args[0])
            if not self._is_gone:
                self._asked.extend(asked)
                self._renew_asker()
                return
            end = 0
        if not self._is_gone:
            self._trouble = None
        for one in asked:
            self._loop.call_soon_threadsafe(self._answer, one, end)

    def _renew_asker(self) -> None:
        """What it remembers of brokers that were started anew would be refused for minutes; the reader hears of them
        by itself."""
        if self._clock.awake() - self._asker_made_at >= RENEW_S:
            self._asker.close()
            self._asker, self._asker_made_at = Consumer(self._options), self._clock.awake()

    def _note(self, error: KafkaError) -> None:
        self._trouble = (self._trouble[0] if self._trouble else self._clock.awake(), error.str())
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._is_gone = True  # where we went on reading there is nothing: the topic was made anew
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and not self._has_begun:
            self._is_gone = True  # later a broker that just started may say so


def is_end(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF


def change_of(message: Message) -> tuple[str, bytes | None, int]:
    key, offset = message.key(), message.offset()
    assert isinstance(key, bytes) and offset is not None
    value = message.value()
    return key.decode(), value if value is None else bytes(value), offset
