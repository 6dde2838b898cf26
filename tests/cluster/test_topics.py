"""Topics of a cluster are made once, by whoever comes first, and looked at by everybody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import NewPartitions, NewTopic

from gossamer.clock import RealClock
from gossamer.cluster.kafka.client import KafkaAway
from gossamer.cluster.kafka.topics import Topics, TopicsUnfit, check, create, delete
from gossamer.settings import ClusterSettings
from tests.servers.kafka import free_ports
from tests.servers.kafka_cluster import admin, change, cluster_settings, topic_settings

CLOCK = RealClock()
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
async def settings() -> AsyncIterator[ClusterSettings]:
    yield (made := cluster_settings())
    await delete(made, CLOCK)


def partitions(settings: ClusterSettings) -> dict[str, int]:
    names = Topics(settings.name)
    answers = admin(settings).describe_topics(TopicCollection([*names.all])).items()
    return {name.removeprefix(settings.name): len(answer.result().partitions) for name, answer in answers}


async def test_topics_are_made_as_they_are_needed(settings: ClusterSettings) -> None:
    assert await create(settings, 5, CLOCK) == []
    assert partitions(settings) == {".links": 5, ".links-dead": 1, ".journal": 5, ".board": 1}
    names = Topics(settings.name)
    links, journal, board = (topic_settings(settings, name) for name in (names.links, names.journal, names.board))
    assert links["cleanup.policy"] == "delete" and int(links["retention.ms"]) == 7 * DAY_MS
    assert journal["cleanup.policy"] == "delete" and int(journal["retention.ms"]) == 365 * DAY_MS
    assert board["cleanup.policy"] == "compact" and int(board["max.compaction.lag.ms"]) == 600_000
    assert {each["min.insync.replicas"] for each in (links, journal, board)} == {"1"}


async def test_twice_is_harmless_and_so_are_several_nodes_at_once(settings: ClusterSettings) -> None:
    assert await asyncio.gather(*(create(settings, 3, CLOCK) for _ in range(4))) == [[]] * 4
    assert await create(settings, 3, CLOCK) == await check(settings, 3) == []
    assert partitions(settings)[".links"] == 3


async def test_what_is_missing_is_made_and_what_is_there_stays_as_it_is(settings: ClusterSettings) -> None:
    board = NewTopic(Topics(settings.name).board, 1, 1, config={"cleanup.policy": "compact"})
    for answer in admin(settings).create_topics([board]).values():
        answer.result()
    assert await create(settings, 3, CLOCK) == []
    assert topic_settings(settings, board.topic)["max.compaction.lag.ms"] != "600000"


async def test_topics_that_are_gone_are_missed(settings: ClusterSettings) -> None:
    await create(settings, 2, CLOCK)
    await delete(settings, CLOCK)
    await delete(settings, CLOCK)
    with pytest.raises(TopicsUnfit, match=r"topic test\d+\.links does not exist: create the crawl first"):
        await check(settings, 2)
    assert await create(settings, 3, CLOCK) == []
    assert partitions(settings)[".links"] == 3


async def test_another_number_of_partitions_is_refused(settings: ClusterSettings) -> None:
    await create(settings, 2, CLOCK)
    with pytest.raises(
        TopicsUnfit, match=r"links has 2 partitions and 3 are wanted: set crawl.partitions.*journal has"
    ):
        await create(settings, 3, CLOCK)
    for answer in admin(settings).create_partitions([NewPartitions(Topics(settings.name).journal, 4)]).values():
        answer.result()
    with pytest.raises(TopicsUnfit, match=r"^topic test\d+\.journal has 4 partitions and 2 are wanted"):
        await check(settings, 2)


REFUSED = [
    ("links", "cleanup.policy", "compact", "delete"),
    ("journal", "cleanup.policy", "compact,delete", "delete"),
    ("board", "cleanup.policy", "delete", "compact"),
    ("journal", "retention.bytes", "1000000", "-1"),
    ("links", "max.message.bytes", "100000", "1048588"),
    ("links", "min.insync.replicas", "2", "1"),
]


@pytest.mark.parametrize(("topic", "name", "value", "wanted"), REFUSED)
async def test_a_setting_that_would_lose_messages_is_refused(
    settings: ClusterSettings, topic: str, name: str, value: str, wanted: str
) -> None:
    await create(settings, 2, CLOCK)
    change(settings, f"{settings.name}.{topic}", name, value)
    with pytest.raises(TopicsUnfit) as refused:
        await check(settings, 2)
    said = str(refused.value)
    assert said.startswith(f"topic {settings.name}.{topic} has {name}={value} and {wanted} is wanted: ")
    assert said.endswith(f"change it by kafka-configs --alter --add-config {name}={wanted}")


async def test_what_is_less_safe_than_wanted_is_a_warning(settings: ClusterSettings) -> None:
    await create(settings, 2, CLOCK)
    change(settings, Topics(settings.name).links, "retention.ms", "60000")
    change(settings, Topics(settings.name).board, "unclean.leader.election.enable", "true")
    short, unclean = await check(settings, 2)
    assert "links has retention.ms=60000 and 604800000 is wanted: messages nobody has read by then are lost" in short
    assert "board has unclean.leader.election.enable=true and false is wanted" in unclean
    copies = await check(msgspec.structs.replace(settings, copies=3), 2)
    assert sum("has 1 copies and 3 are wanted (cluster.copies)" in each for each in copies) == 4


async def test_retention_that_is_longer_or_without_end_is_fine(settings: ClusterSettings) -> None:
    await create(settings, 2, CLOCK)
    change(settings, Topics(settings.name).links, "retention.ms", "-1")
    change(settings, Topics(settings.name).journal, "retention.ms", str(400 * DAY_MS))
    assert await check(settings, 2) == []


async def test_fewer_brokers_than_copies(settings: ClusterSettings) -> None:
    three = msgspec.structs.replace(settings, copies=3)
    with pytest.raises(TopicsUnfit, match=r"cluster.copies = 3, but 127.0.0.1:\d+ has 1 broker: start more, or set"):
        await create(three, 2, CLOCK)


async def test_no_broker_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.cluster.kafka.topics.ANSWER_S", 0.5)
    nobody = ClusterSettings(name="a", kafka=f"127.0.0.1:{free_ports(1)[0]}", copies=1)
    with pytest.raises(KafkaAway, match=r"Kafka at 127.0.0.1:\d+ does not answer: "):
        await create(nobody, 2, CLOCK)
