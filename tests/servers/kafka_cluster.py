"""A cluster on the broker of the tests: its settings, its topics, and link logs as processes of a node have them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from itertools import count

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from gossamer.clock import RealClock
from gossamer.cluster.kafka import topics
from gossamer.cluster.kafka.client import Appender, options_of
from gossamer.cluster.kafka.link_topic import KafkaLinkLog
from gossamer.settings import ClusterSettings
from tests.servers.kafka import Kafka, kafka

_numbers = count()


def cluster_settings(brokers: Kafka | None = None) -> ClusterSettings:
    """With a name that no other test has."""
    return ClusterSettings(name=f"test{next(_numbers)}", kafka=(brokers or kafka()).bootstrap, copies=1)


@cache
def _admin(servers: str) -> AdminClient:
    return AdminClient(options_of(servers, {}))


def admin(settings: ClusterSettings) -> AdminClient:
    """Kept: one that nobody holds gives no answers."""
    return _admin(settings.kafka)


def topic_settings(settings: ClusterSettings, topic: str) -> dict[str, str]:
    (answer,) = admin(settings).describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    return {name: entry.value for name, entry in answer.result().items()}


def change(settings: ClusterSettings, topic: str, name: str, value: str) -> None:
    """A setting of a topic. The controller answers before the broker has heard of it."""
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for answer in admin(settings).incremental_alter_configs([resource]).values():
        answer.result()
    for _ in range(1000):
        if topic_settings(settings, topic)[name] == value:
            return
    raise TimeoutError(f"{topic} has not heard of {name}={value}")


class KafkaLogs:
    """Link logs, each with an appender of its own."""

    def __init__(self, settings: ClusterSettings, partitions: int) -> None:
        self.settings = settings
        self.partitions = partitions
        self.appenders: list[Appender] = []
        self._logs: list[KafkaLinkLog] = []

    def open(self) -> KafkaLinkLog:
        clock = RealClock()
        self.appenders.append(Appender(self.settings.kafka, self.settings.kafka_options, clock))
        self._logs.append(KafkaLinkLog(self.settings, self.partitions, self.appenders[-1], clock))
        return self._logs[-1]

    def close(self) -> None:
        for log in self._logs:
            log.close()
        for appender in self.appenders:
            appender.close()


@asynccontextmanager
async def kafka_logs(partitions: int = 1, brokers: Kafka | None = None) -> AsyncIterator[KafkaLogs]:
    settings = cluster_settings(brokers)
    await topics.create(settings, partitions, RealClock())
    logs = KafkaLogs(settings, partitions)
    try:
        yield logs
    finally:
        logs.close()
