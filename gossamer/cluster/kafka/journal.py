"""The journal of a cluster: every write batch of every partition's store, in a topic with a partition for each.

A batch is written to the local store first and appended here afterwards; nobody waits for it. What is not yet
acknowledged would be lost with the machine, so it is bounded: while `held_up` gives a reason, nothing more is leased.
A message is a head (kind, epoch, number, position, part, parts) with the packed entries behind it, as they are; the
producer compresses many of them together. A batch that is larger than a message may be is cut into parts, and counts
where all of them are there.

Kafka takes whatever anybody appends, an owner of yesterday included. Which entries count is for the reader to say,
by the ownership records and their cuts (cluster/ownership.py). A cut is the offset of a marker, a kind of its own.

Messages to one partition keep the order in which they were appended, and none is missing between two that are there:
the producer is idempotent, and gives up nothing. Bytes a page: 2 to 4 KB before copies.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from gossamer.cluster.kafka.client import Appender, KafkaRefused, options_of
from gossamer.interfaces import JournalEntry, JournalLost, Mark

UNACKNOWLEDGED_BYTES_MAX = 32 << 20
PART_BYTES = 900_000  # of a message; the client takes 1,000,000 with its head
READ_MESSAGES, READ_S, ASK_S = 2_000, 0.5, 10.0
PASSING = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN)
BATCH, MARKER = 0, 1
_HEAD = struct.Struct(">BQQQHH")


class PartitionJournal:
    """The journal of one partition, as its owner appends to it. Implements `interfaces.OwnJournal`."""

    def __init__(self, journal: Journal, partition: int, epoch: int, cut: int) -> None:
        self.partition = partition
        self.epoch = epoch
        self.position = cut + 1  # behind all that is acknowledged
        self.number = 0  # of the last batch that is acknowledged
        self.bytes = 0  # that were appended
        self.appended = 0  # the number of the last batch
        self.unacknowledged_bytes = 0
        self._journal = journal
        self._waiting: list[tuple[int, asyncio.Future[int]]] = []

    def append(self, mark: Mark, entries: bytes) -> None:
        self.appended = mark.number
        self.bytes += len(entries)
        count = max(1, -(-len(entries) // PART_BYTES))
        for part in range(count):
            head = _HEAD.pack(BATCH, *mark, part, count)
            some = entries[part * PART_BYTES : (part + 1) * PART_BYTES] if count > 1 else entries
            self._journal.send(self, mark.number if part == count - 1 else None, head + some)

    def acknowledged(self, number: int | None, offset: int) -> None:
        self.position = offset + 1
        if number is None:
            return
        self.number = number
        while self._waiting and self._waiting[0][0] <= number:
            waiting = self._waiting.pop(0)[1]
            if not waiting.done():
                waiting.set_result(self.position)

    def refused(self, fault: JournalLost) -> None:
        for _, waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(fault)
        self._waiting.clear()

    async def settled(self) -> int:
        """The position behind all that was appended so far, once it is acknowledged."""
        if self.appended <= self.number:
            return self.position
        if self._journal.refusal is not None:
            raise self._journal.refusal
        waiting: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((self.appended, waiting))
        return await waiting


class Journal:
    """All of a process. Implements `interfaces.Journal`."""

    def __init__(self, topic: str, appender: Appender, servers: str, options: Mapping[str, str]) -> None:
        self.refusal: JournalLost | None = None
        self._topic = topic
        self._appender = appender
        self._told = options_of(servers, options)
        self._unacknowledged_bytes = 0

    # ---- writing -----------------------------------------------------------------------------------------

    def begin(self, partition: int, epoch: int, cut: int) -> PartitionJournal:
        """For a partition that is ours in this epoch."""
        return PartitionJournal(self, partition, epoch, cut)

    def send(self, own: PartitionJournal, number: int | None, message: bytes) -> None:
        """`number`: of the batch that is whole with this message."""
        self._unacknowledged_bytes += len(message)
        own.unacknowledged_bytes += len(message)

        def acknowledged(offset: int) -> None:
            self._unacknowledged_bytes -= len(message)
            own.unacknowledged_bytes -= len(message)
            own.acknowledged(number, offset)

        def end(done: asyncio.Future[int]) -> None:
            fault = done.exception() if not done.cancelled() else None
            if isinstance(fault, KafkaRefused):
                self.refusal = JournalLost(f"the journal is refused: {fault}")
                own.refused(self.refusal)

        done = self._appender.append(self._topic, own.partition, message, acknowledged=acknowledged)
        done.add_done_callback(end)

    async def mark(self, partition: int, node: str) -> int:
        """Append a marker; its offset, once it is durable."""
        return await self._appender.append(self._topic, partition, _HEAD.pack(MARKER, 0, 0, 0, 0, 1) + node.encode())

    @property
    def unacknowledged_bytes(self) -> int:
        return self._unacknowledged_bytes

    @property
    def held_up(self) -> str:
        """Why nothing more should be leased; empty: all is well."""
        if self.refusal is not None:
            return str(self.refusal)
        if self._unacknowledged_bytes > UNACKNOWLEDGED_BYTES_MAX:
            return f"{self._unacknowledged_bytes >> 20} MiB of the journal are not acknowledged by Kafka"
        return self._appender.held_up

    async def delete_before(self, partition: int, position: int) -> None:
        """A snapshot has it."""
        await asyncio.to_thread(self._delete_before, partition, position)

    def _delete_before(self, partition: int, position: int) -> None:
        admin = AdminClient(self._told)  # it answers for as long as somebody holds it
        wanted = admin.delete_records([TopicPartition(self._topic, partition, position)], request_timeout=ASK_S)
        for done in wanted.values():
            try:
                done.result(2 * ASK_S)
            except KafkaException as fault:
                raise OSError(f"{self._topic}[{partition}]: {fault.args[0].str()}") from fault

    # ---- reading -----------------------------------------------------------------------------------------

    async def entries(self, partition: int, start: int, end: int) -> AsyncGenerator[list[JournalEntry], None]:
        """Whole batches at these offsets, `end` not included, some at a time. Raises `JournalLost`."""
        consumer = Consumer(
            self._told
            | {
                # The client wants a name and asks for the coordinator of that group: so it is one that we may read.
                "group.id": self._topic,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 50,
                "fetch.message.max.bytes": 4 << 20,
                "queued.max.messages.kbytes": 16 << 10,
            }
        )
        whole = _Whole()
        try:
            while not await asyncio.to_thread(self._seek, consumer, partition, start, end):
                pass  # an outage is waited for; each try takes its time
            while start < end:
                most = min(READ_MESSAGES, end - start)
                found = await asyncio.to_thread(consumer.consume, most, READ_S)
                found = [message for message in found if self._is_there(message, partition)]
                yield [entry for message in found if _offset(message) < end for entry in whole.take(message)]
                start = _offset(found[-1]) + 1 if found else start
        finally:
            await asyncio.to_thread(consumer.close)

    def _seek(self, consumer: Consumer, partition: int, start: int, end: int) -> bool:
        """False: nobody answered."""
        try:
            found = consumer.get_watermark_offsets(TopicPartition(self._topic, partition), timeout=ASK_S)
        except KafkaException as fault:
            error = fault.args[0]
            if error.code() in PASSING or error.retriable():
                return False
            raise KafkaRefused(f"{self._topic}[{partition}]: {error.str()}") from fault
        low, high = found
        if start < end and (start < low or end > high):
            raise JournalLost(
                f"{self._topic}[{partition}] has offsets {low} to {high}, and {start} to {end} are wanted: "
                "it expired, or was made anew"
            )
        consumer.assign([TopicPartition(self._topic, partition, start)])
        return True

    def _is_there(self, message: Message, partition: int) -> bool:
        fault = message.error()
        if fault is None:
            return True
        if fault.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise JournalLost(f"{self._topic}[{partition}] has lost what is wanted of it: {fault.str()}")
        if fault.code() in PASSING or fault.retriable():
            return False
        raise KafkaRefused(f"{self._topic}[{partition}]: {fault.str()}")


class _Whole:
    """Puts batches together whose parts are messages of their own. Those of several epochs may be mixed."""

    def __init__(self) -> None:
        self._parts: dict[int, list[bytes]] = {}

    def take(self, message: Message) -> list[JournalEntry]:
        """The batch that is whole with this message, if any."""
        value = message.value()
        if not isinstance(value, bytes) or len(value) < _HEAD.size:
            return []  # nobody of ours wrote that
        kind, epoch, number, position, part, count = _HEAD.unpack_from(value)
        entries = value[_HEAD.size :]
        if kind != BATCH:
            return []
        if count > 1:
            parts = self._parts.setdefault(epoch, [])
            if part == 0:
                parts.clear()
            if part != len(parts):
                return []  # its first part lies before what was asked for
            parts.append(entries)
            if len(parts) < count:
                return []
            entries = b"".join(self._parts.pop(epoch))
        return [JournalEntry(_offset(message), Mark(epoch, number, position), entries)]


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset
