"""How long the topics of links are, for whoever watches a cluster: asked of the brokers, not waited for."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from gossamer.cluster.kafka.client import options_of
from gossamer.cluster.kafka.topics import Topics
from gossamer.settings import ClusterSettings

ANSWER_S = 3.0


class Ends(NamedTuple):
    links: dict[int, int]  # of each partition
    dead: int  # messages that were ever set aside


class LinkEnds:
    def __init__(self, settings: ClusterSettings) -> None:
        topics = Topics(settings.name)
        self._links, self._dead = topics.links, topics.links_dead
        self._partitions = 0  # not known yet
        self._options = options_of(settings.kafka, settings.kafka_options)
        self._admin = AdminClient(self._options)

    async def ask(self) -> Ends | None:
        """None: no answer."""
        return await asyncio.to_thread(self._ask)

    def _ask(self) -> Ends | None:
        admin = self._admin  # held here: one that nobody holds gives no answers
        try:
            if not self._partitions:
                self._partitions = len(admin.list_topics(self._links, ANSWER_S).topics[self._links].partitions)
            wanted = [(self._links, number) for number in range(self._partitions)]
            asked = {TopicPartition(*each): OffsetSpec.latest() for each in [*wanted, (self._dead, 0)]}
            answers = admin.list_offsets(asked, request_timeout=ANSWER_S)
            found = {(each.topic, each.partition): answer.result().offset for each, answer in answers.items()}
        except KafkaException:
            self._admin = AdminClient(self._options)  # what it knows of brokers that were started anew is outdated
            return None
        return Ends({number: found[self._links, number] for number in range(self._partitions)}, found[self._dead, 0])
