"""The link log of a cluster: a topic with a partition for each partition of the crawl. A position is an offset.

**Appending** is done by the appender that all parts of a process share: when `append` returns, every copy in step has
the links. While no broker answers it waits, and `held_up` says so; nothing is lost or there twice afterwards.

**Reading** is done by one consumer in a thread (`link_reader.py`), which fills a buffer for each partition that is
open; `read` takes from there, and asks it to begin anew where its caller wants another position.

**Nothing is skipped in silence.** A message that cannot be read is copied to a topic of its own, with the reason,
before its reader goes on. What is not there any more is `LinksLost`. There are no transactions, so offsets have no
holes, and an end that brokers tell is a position that a reader comes to.

Kafka removes links by their age alone (`cluster.links_keep_s`): an owner whose disk is lost begins again at an older
position, so `trim` removes nothing. It notes how far a partition was read, by its owner here or as another node has
told; with that `unread_bytes` is known: messages times their mean size before compression.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from gossamer.clock import Clock
from gossamer.cluster.kafka.client import Appender, KafkaRefused, options_of
from gossamer.cluster.kafka.link_reader import ANSWER_S, GONE, LinkReader, Reading, links_lost
from gossamer.cluster.kafka.topics import Topics
from gossamer.cluster.link_messages import link_messages, question_message, read_message
from gossamer.interfaces import LinkBatch
from gossamer.questions import Question
from gossamer.records import Link
from gossamer.settings import ClusterSettings

MESSAGE_BYTES = 500_000  # estimated: half of what a topic takes
READ_LINKS, READ_BYTES = 500, 256 << 10  # small messages are read together until there is so much
LOOK_S = 0.5  # before brokers are asked again
EARLIEST, LATEST = OffsetSpec.earliest(), OffsetSpec.latest()


class KafkaLinkLog:
    """Implements `interfaces.LinkLog`."""

    def __init__(self, settings: ClusterSettings, partitions: int, appender: Appender, clock: Clock) -> None:
        self.dead = 0  # messages that could not be read
        self.dead_reason = ""  # of the last one
        self._topics = Topics(settings.name)
        self._partitions = partitions
        self._appender = appender
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._readings: dict[int, Reading] = {}
        options = options_of(settings.kafka, settings.kafka_options)
        self._options = options
        self._admin = AdminClient(options)  # a question to the consumer would wait behind its fetches
        self._ends: dict[int, int] = {}  # as far as this process has appended or asked
        self._read: dict[int, int] = {}  # how far others have read, as we were told
        self._messages, self._bytes = 1, 1000  # the mean of what passed here; a guess until something did
        self._unanswered = ""
        self._reader = LinkReader(self._topics.links, options)

    def close(self) -> None:
        self._reader.close()

    @property
    def held_up(self) -> str:
        return self._appender.held_up or self._unanswered

    # ---- appending ---------------------------------------------------------------------------------------

    async def append(self, links: Mapping[int, Sequence[Link]]) -> None:
        waiting = [
            self._append(partition, message)
            for partition, group in links.items()
            for message in link_messages(group, MESSAGE_BYTES)
        ]
        if waiting:
            await asyncio.gather(*waiting)

    async def ask(self, partition: int, question: Question) -> None:
        """Tell the owner of a partition, whoever that is, something that is no link."""
        await self._append(partition, question_message(question))

    def _append(self, partition: int, message: bytes) -> asyncio.Future[int]:
        def acknowledged(offset: int) -> None:
            self._ends[partition] = max(self._ends.get(partition, 0), offset + 1)

        self._count(message)
        return self._appender.append(self._topics.links, partition, message, acknowledged=acknowledged)

    # ---- reading -----------------------------------------------------------------------------------------

    async def open(self, partition: int, position: int) -> None:
        """Waits until brokers have told that what comes after the position is there."""
        earliest, latest = await asyncio.gather(
            self._offsets([partition], EARLIEST), self._offsets([partition], LATEST)
        )
        first, end = earliest[partition], latest[partition]
        if not first <= position <= end:
            raise links_lost(self._topics.links, partition, position, f"{first} to {end} are there", first)
        self._begin(partition, position, end)

    def _begin(self, partition: int, position: int, end: int = 0) -> Reading:
        reading = self._readings[partition] = Reading(partition, position, end)
        self._reader.begin(reading)
        return reading

    def shut(self, partition: int) -> None:
        if self._readings.pop(partition, None) is not None:
            self._reader.end(partition)

    def read(self, partition: int, position: int) -> LinkBatch | None:
        if self._reader.fault is not None:
            raise RuntimeError("links are not read any more") from self._reader.fault
        reading = self._readings.get(partition)
        if reading is None or reading.position != position:
            reading = self._begin(partition, position)
        links: list[Link] = []
        questions: list[Question] = []
        enough = reading.taken_bytes + READ_BYTES
        while reading.messages and len(links) < READ_LINKS and reading.taken_bytes < enough:
            offset, value = reading.messages[0]
            try:
                found = read_message(value)
            except (msgspec.MsgspecError, ValueError, RecursionError) as fault:
                if links or questions or not self._set_apart(reading, offset, value, str(fault)):
                    break
                found = []
            if isinstance(found, list):
                links += found
            else:
                questions.append(found)
            reading.messages.popleft()
            reading.taken_bytes += len(value)
            reading.position = offset + 1
            self._count(value)
        if reading.position > position:
            return LinkBatch(links, reading.position, questions)
        if reading.lost is not None:
            raise reading.lost
        return None

    def _set_apart(self, reading: Reading, offset: int, value: bytes, reason: str) -> bool:
        """Copy a message that cannot be read; True: it is done, and the reader may go on."""
        if reading.dead is None:
            headers = {"partition": str(reading.partition), "offset": str(offset), "reason": reason}
            try:
                reading.dead = self._appender.append(self._topics.links_dead, 0, value, headers=headers)
            except KafkaRefused as refused:
                reading.dead = self._loop.create_future()
                reading.dead.set_exception(refused)
        if not reading.dead.done():
            return False
        refusal = reading.dead.exception()
        reading.dead = None
        self.dead += 1
        where = f"partition {reading.partition}, offset {offset}"
        self.dead_reason = f"{where}: {reason}" + (f"; it could not be copied: {refusal}" if refusal else "")
        return True

    # ---- both ends ---------------------------------------------------------------------------------------

    def trim(self, partition: int, position: int) -> None:
        """It was read up to here. Anybody may say so, of any partition."""
        self._read[partition] = max(position, self._read.get(partition, 0))

    def end(self, partition: int) -> int:
        reading = self._readings.get(partition)
        return max(self._ends.get(partition, 0), reading.end if reading else 0)

    async def ends(self) -> dict[int, int]:
        ends = await self._offsets(range(self._partitions), LATEST)
        self._ends |= ends
        return ends

    async def _offsets(self, partitions: Iterable[int], which: OffsetSpec) -> dict[int, int]:
        """Asked of the brokers now; waits until they answer."""
        asked = {TopicPartition(self._topics.links, number): which for number in partitions}

        def ask() -> dict[int, int]:
            admin = self._admin  # held here: one that nobody holds gives no answers, and another may take its place
            answers = admin.list_offsets(asked, request_timeout=ANSWER_S)
            try:
                return {each.partition: answer.result().offset for each, answer in answers.items()}
            except KafkaException as fault:
                if fault.args[0].code() == KafkaError._NOENT:  # no leader: of now, or there is no such partition
                    topic = admin.list_topics(self._topics.links, ANSWER_S).topics[self._topics.links]
                    if not asked.keys() <= {TopicPartition(self._topics.links, each) for each in topic.partitions}:
                        raise KafkaException(topic.error or KafkaError(KafkaError._UNKNOWN_PARTITION)) from None
                raise

        while True:
            try:
                return await asyncio.to_thread(ask)
            except KafkaException as fault:
                if fault.args[0].code() in GONE:
                    raise KafkaRefused(f"{self._topics.links}: {fault.args[0].str()}") from None
                self._unanswered = f"Kafka does not answer ({fault.args[0].str()})"
                # What it remembers of a broker that was started anew would be refused for minutes.
                self._admin = AdminClient(self._options)
                await self._clock.sleep(LOOK_S)
            finally:
                self._unanswered = ""

    def unread_bytes(self, partition: int) -> int:
        """About; nothing where nobody has told how far it was read."""
        reading = self._readings.get(partition)
        position = reading.position if reading else self._read.get(partition)
        if position is None:
            return 0
        return max(0, self.end(partition) - position) * self._bytes // self._messages

    def _count(self, message: bytes) -> None:
        self._messages += 1
        self._bytes += len(message)
