"""A topic that gets a message for every visit: `sinks.kafka`, `sinks.topic`.

A message is JSON, as docs/crawled-pages.schema.json says, and its key is the URL: all visits of a page are in one
partition of the topic, in their order. A topic that is not there is made, with what the brokers have as defaults.

Kafka keeps no position for us, so what was acknowledged is noted by us afterwards (part.py): at least once.
Whoever reads drops repeats by `id`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from gossamer.clock import Clock
from gossamer.cluster.kafka.client import MESSAGE_BYTES_MAX, REFUSALS, Appender, KafkaRefused, options_of
from gossamer.export.sinks.records import Batch, PageRecord
from gossamer.export.sinks.sink import SinkAway, SinkRefused
from gossamer.records import Place
from gossamer.settings import SinksSettings

ANSWER_S = 5.0
VALUE_BYTES_MAX = MESSAGE_BYTES_MAX - (64 << 10)  # room for the key and what a batch adds
NO_TOPIC = {KafkaError.TOPIC_EXCEPTION, KafkaError.POLICY_VIOLATION, KafkaError._INVALID_ARG}


class KafkaSink:
    to = "kafka"
    wants_hosts = False
    keeps_positions = False

    def __init__(self, settings: SinksSettings, clock: Clock) -> None:
        self.title = f"Kafka at {settings.kafka}"
        self.target = f"kafka://{settings.kafka}/{settings.topic}"
        self._servers, self._topic = settings.kafka, settings.topic
        # As Java's clients choose the partition of a key: a topic may have other writers.
        self._options = {"partitioner": "murmur2_random", **settings.kafka_options}
        self._clock = clock
        self._appender: Appender | None = None

    async def open(self, crawl: str, key: str, noted: Mapping[int, Place], *, is_full: bool) -> Mapping[int, Place]:
        await asyncio.to_thread(self._look)
        try:
            self._appender = Appender(self._servers, self._options, self._clock)
        except KafkaRefused as fault:
            raise SinkRefused(f"{self.title}: {fault}".replace("cluster.", "sinks.")) from fault
        return {} if is_full else noted

    def _look(self) -> None:
        """Is somebody there, may we, and is there the topic?"""
        said: list[KafkaError] = []
        told: dict[str, Any] = {**options_of(self._servers, self._options), "error_cb": said.append}
        told.pop("partitioner")
        try:
            admin = AdminClient(told)
            found = admin.list_topics(timeout=ANSWER_S).topics
            if self._topic not in found:
                made = admin.create_topics([NewTopic(self._topic, -1, -1)], operation_timeout=ANSWER_S)
                made[self._topic].result(ANSWER_S)
        except KafkaException as fault:
            error = error_of(fault)
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            error = next((each for each in said if each.code() in REFUSALS), error)
            if error.code() in REFUSALS | NO_TOPIC:
                raise SinkRefused(f"{self.title} does not take us: {error.str()}") from fault
            raise SinkAway(f"{self.title} does not answer ({error.str()})") from fault
        except TimeoutError as fault:
            raise SinkAway(f"{self.title} does not answer (no topic {self._topic} after {ANSWER_S:g} s)") from fault

    async def add(self, batch: Batch) -> None:
        assert self._appender is not None
        appender = self._appender
        appended = {appender.append(self._topic, -1, value_of(page), page.url.encode()) for page in batch.pages}
        while appended:
            done, appended = await asyncio.wait(appended, timeout=1.0)
            try:
                for each in done:
                    each.result()
            except KafkaRefused as fault:
                raise SinkRefused(f"{self.title}: {fault}") from fault
            if appended and (why := appender.held_up):
                raise SinkAway(f"{self.title} does not answer ({why})")

    async def close(self) -> None:
        if self._appender is not None:
            await asyncio.to_thread(self._appender.close)
            self._appender = None


def value_of(page: PageRecord) -> bytes:
    """Without its links where a broker would not take it with them: `out_links` still counts them."""
    value = msgspec.json.encode(page)
    if len(value) > VALUE_BYTES_MAX and page.links is not None:
        value = msgspec.json.encode(msgspec.structs.replace(page, links=None))
    return value


def error_of(fault: KafkaException) -> KafkaError:
    error: KafkaError = fault.args[0]
    return error
