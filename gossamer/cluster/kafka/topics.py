"""The topics of a cluster: their names, how they are made, and whether those that are there will do.

    NAME.links        links on their way to their partitions; one partition of the topic a partition of the crawl
    NAME.links-dead   messages of it that could not be read, with the reason
    NAME.journal      what each partition's store wrote; as many partitions
    NAME.board        what all nodes know: of each key the newest message stays (compacted)

A topic outlives the crawl's processes, and whoever runs the brokers may change it. So every node looks first: what
would lose messages or mix partitions up is refused, what is only less safe than wanted is a warning; each names
the topic, what was found, what is wanted and what to do.

Nothing is ever changed in a topic that is there. Creating is done by whoever comes first; the others find it done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from gossamer.clock import Clock
from gossamer.cluster.kafka.client import ANSWER_S, MESSAGE_BYTES_MAX, REFUSALS, KafkaAway, KafkaRefused, greet
from gossamer.settings import ClusterSettings

SETTLE_S = 30.0  # until every broker knows of a topic that was made or removed
LOOK_S = 0.05
HEAD_BYTES = 12  # of what a broker counts beside the message itself
BOARD_SEGMENT_BYTES = 1 << 20  # only what is in a full segment is compacted; the least that Kafka takes
BOARD_LAG_S = 600  # what was replaced is gone after about so long


Answer = TypeVar("Answer")


class TopicsUnfit(KafkaRefused):
    """The topics are not there, or not as a crawl needs them."""


@dataclass(frozen=True)
class Topics:
    """The names of a cluster's topics, and of the group of its nodes."""

    name: str

    @property
    def links(self) -> str:
        return f"{self.name}.links"

    @property
    def links_dead(self) -> str:
        return f"{self.name}.links-dead"

    @property
    def journal(self) -> str:
        return f"{self.name}.journal"

    @property
    def board(self) -> str:
        return f"{self.name}.board"

    @property
    def group(self) -> str:
        return self.name

    @property
    def all(self) -> tuple[str, ...]:
        return (self.links, self.links_dead, self.journal, self.board)


@dataclass(frozen=True)
class _Topic:
    partitions: int
    copies: int
    settings: Mapping[str, str]


async def create(settings: ClusterSettings, partitions: int, clock: Clock) -> list[str]:
    """Make what is missing, and `check` all of it; the warnings of that."""
    wanted = _wanted(settings, partitions)

    def make(admin: AdminClient) -> None:
        found = admin.list_topics(timeout=ANSWER_S)
        missing = {name: topic for name, topic in wanted.items() if name not in found.topics}
        if missing and len(found.brokers) < settings.copies:
            raise TopicsUnfit(_too_few(settings, len(found.brokers)))
        new = [
            NewTopic(name, topic.partitions, topic.copies, config=dict(topic.settings))
            for name, topic in missing.items()
        ]
        for name, answer in (admin.create_topics(new, operation_timeout=ANSWER_S) if new else {}).items():
            try:
                answer.result()
            except KafkaException as fault:
                code = fault.args[0].code()
                if code == KafkaError.INVALID_REPLICATION_FACTOR:  # a broker went away just now
                    raise TopicsUnfit(_too_few(settings, len(found.brokers))) from None
                if code != KafkaError.TOPIC_ALREADY_EXISTS:  # another node was quicker
                    raise TopicsUnfit(f"topic {name} cannot be made: {fault.args[0].str()}") from None

    await _with_admin(settings, make)
    await _settled(settings, clock, lambda topics: _all_led(topics, wanted))
    return await check(settings, partitions)


async def exist(settings: ClusterSettings) -> bool:
    """Somebody has made them, be it just now."""
    board = Topics(settings.name).board
    return await _with_admin(settings, lambda admin: board in admin.list_topics(timeout=ANSWER_S).topics)


async def check(settings: ClusterSettings, partitions: int) -> list[str]:
    """Warnings about the topics; `TopicsUnfit` where they will not do."""
    wanted = _wanted(settings, partitions)

    def look(admin: AdminClient) -> list[str]:
        topics = admin.list_topics(timeout=ANSWER_S).topics
        if missing := [name for name in wanted if name not in topics]:
            raise TopicsUnfit(
                f"topic {missing[0]} does not exist: create the crawl first (cluster.name is in its name)"
            )
        asked = {name: ConfigResource(ResourceType.TOPIC, name) for name in wanted}
        answers = {each.name: answer for each, answer in admin.describe_configs(list(asked.values())).items()}
        faults: list[str] = []
        warnings: list[str] = []
        for name, topic in wanted.items():
            has = {key: str(entry.value) for key, entry in answers[name].result(ANSWER_S).items()}
            replicas = [len(each.replicas) for each in topics[name].partitions.values()]
            faults += [f"topic {name} {fault}" for fault in _faults(topic, len(replicas), min(replicas), has)]
            warnings += [f"topic {name} {warning}" for warning in _warnings(topic, min(replicas), has)]
        if faults:
            raise TopicsUnfit("; ".join(faults))
        return warnings

    return await _with_admin(settings, look)


async def delete(settings: ClusterSettings, clock: Clock) -> None:
    """Remove the topics with all that is in them. What is not there is no fault."""
    names = Topics(settings.name).all

    def remove(admin: AdminClient) -> None:
        for name, answer in admin.delete_topics(list(names), operation_timeout=ANSWER_S).items():
            try:
                answer.result()
            except KafkaException as fault:
                if fault.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise TopicsUnfit(f"topic {name} cannot be removed: {fault.args[0].str()}") from None

    await _with_admin(settings, remove)
    await _settled(settings, clock, lambda topics: not any(name in topics for name in names))


# ---- what is wanted --------------------------------------------------------------------------------------


def _wanted(settings: ClusterSettings, partitions: int) -> dict[str, _Topic]:
    topics = Topics(settings.name)
    common = {
        "min.insync.replicas": str(max(1, settings.copies - 1)),
        "max.message.bytes": str(MESSAGE_BYTES_MAX + HEAD_BYTES),
    }

    def kept(keep_s: float) -> dict[str, str]:
        # Only whole segments are given back, so a segment may be open for a part of that time only.
        keep = {"retention.ms": _ms(keep_s), "retention.bytes": "-1", "segment.ms": _ms(keep_s / 4)}
        return common | {"cleanup.policy": "delete"} | keep

    board = common | {
        "cleanup.policy": "compact",
        "segment.bytes": str(BOARD_SEGMENT_BYTES),
        "segment.ms": _ms(BOARD_LAG_S),
        "min.cleanable.dirty.ratio": "0.1",
        "max.compaction.lag.ms": _ms(BOARD_LAG_S),
    }
    # A copy of a message has the reason with it, so it may be larger than the message.
    dead = kept(settings.links_keep_s) | {"max.message.bytes": str(2 * MESSAGE_BYTES_MAX)}
    return {
        topics.links: _Topic(partitions, settings.copies, kept(settings.links_keep_s)),
        topics.links_dead: _Topic(1, settings.copies, dead),
        topics.journal: _Topic(partitions, settings.copies, kept(settings.journal_keep_s)),
        topics.board: _Topic(1, settings.copies, board),
    }


def _faults(wanted: _Topic, partitions: int, copies: int, has: Mapping[str, str]) -> Iterator[str]:
    if partitions != wanted.partitions:
        yield (
            f"has {partitions} partitions and {wanted.partitions} are wanted: "
            "set crawl.partitions to what it was made with, or choose another cluster.name"
        )
    for setting in ("cleanup.policy", "retention.bytes"):
        if setting in wanted.settings and has[setting] != wanted.settings[setting]:
            yield _unlike(wanted, has, setting, "messages would be removed that somebody needs")
    if int(has["max.message.bytes"]) < int(wanted.settings["max.message.bytes"]):
        yield _unlike(wanted, has, "max.message.bytes", "larger messages would be refused")
    if int(has["min.insync.replicas"]) > copies:
        why = f"it has {copies} copies, so nothing can be appended"
        yield _unlike(wanted, has, "min.insync.replicas", why)


def _warnings(wanted: _Topic, copies: int, has: Mapping[str, str]) -> Iterator[str]:
    if copies < wanted.copies:
        yield (
            f"has {copies} copies and {wanted.copies} are wanted (cluster.copies): "
            "messages are lost with fewer brokers than you think; add copies by kafka-reassign-partitions"
        )
    if int(has["min.insync.replicas"]) < int(wanted.settings["min.insync.replicas"]) and copies >= wanted.copies:
        yield _unlike(wanted, has, "min.insync.replicas", "what is acknowledged may be on fewer brokers")
    keep = has["retention.ms"]
    if "retention.ms" in wanted.settings and keep != "-1" and int(keep) < int(wanted.settings["retention.ms"]):
        yield _unlike(wanted, has, "retention.ms", "messages nobody has read by then are lost")
    if has.get("unclean.leader.election.enable") == "true":
        yield (
            "has unclean.leader.election.enable=true and false is wanted: acknowledged messages can be lost; "
            "change it by kafka-configs"
        )


def _unlike(wanted: _Topic, has: Mapping[str, str], setting: str, why: str) -> str:
    return (
        f"has {setting}={has[setting]} and {wanted.settings[setting]} is wanted: {why}; "
        f"change it by kafka-configs --alter --add-config {setting}={wanted.settings[setting]}"
    )


def _too_few(settings: ClusterSettings, brokers: int) -> str:
    return (
        f"cluster.copies = {settings.copies}, but {settings.kafka} has {brokers} broker{'s' * (brokers != 1)}: "
        f"start more, or set cluster.copies = {brokers}"
    )


def _ms(seconds: float) -> str:
    return str(int(seconds * 1000))


# ---- asking brokers --------------------------------------------------------------------------------------


async def _with_admin(settings: ClusterSettings, ask: Callable[[AdminClient], Answer]) -> Answer:
    """In a thread: the client waits for its answers."""

    def run() -> Answer:
        admin = greet(settings.kafka, settings.kafka_options)
        try:
            return ask(admin)
        except KafkaException as fault:
            if fault.args[0].code() in REFUSALS:
                raise TopicsUnfit(f"Kafka at {settings.kafka} does not let us: {fault.args[0].str()}") from None
            raise KafkaAway(f"Kafka at {settings.kafka} does not answer: {fault.args[0].str()}") from None

    return await asyncio.to_thread(run)


async def _settled(settings: ClusterSettings, clock: Clock, is_so: Callable[[Mapping[str, Any]], bool]) -> None:
    """What one broker has done the others hear of a little later."""
    for _ in range(int(SETTLE_S / LOOK_S)):
        if await _with_admin(settings, lambda admin: is_so(admin.list_topics(timeout=ANSWER_S).topics)):
            return
        await clock.sleep(LOOK_S)
    names = ", ".join(Topics(settings.name).all)
    raise TopicsUnfit(f"brokers have not agreed on {names} after {SETTLE_S:.0f} s: see whether all of them run")


def _all_led(topics: Mapping[str, Any], wanted: Iterable[str]) -> bool:
    return all(
        name in topics and all(each.leader >= 0 for each in topics[name].partitions.values()) for name in wanted
    )
