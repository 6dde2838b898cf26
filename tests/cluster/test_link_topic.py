"""The link log on Kafka: what brokers do to it, what is in a topic that does not belong there, and what is gone."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from gossamer.clock import RealClock
from gossamer.cluster import links as exchange
from gossamer.cluster.kafka import client, link_reader, topics
from gossamer.cluster.kafka.client import KafkaRefused
from gossamer.cluster.kafka.link_topic import MESSAGE_BYTES, KafkaLinkLog
from gossamer.cluster.link_messages import link_messages
from gossamer.cluster.links import LinkExchange
from gossamer.interfaces import LinksLost
from gossamer.outlinks import OwnLinks
from gossamer.records import Link
from tests.servers.kafka import Kafka, needed
from tests.servers.kafka_cluster import KafkaLogs, admin, change, kafka_logs

PARTITIONS = 3


@pytest.fixture
async def logs() -> AsyncIterator[KafkaLogs]:
    async with kafka_logs(PARTITIONS) as logs:
        yield logs


@pytest.fixture
async def mortal() -> AsyncIterator[tuple[Kafka, KafkaLogs]]:
    """On a broker of its own, that may be killed."""
    needed()
    with Kafka() as broker:
        async with kafka_logs(PARTITIONS, broker) as logs:
            yield broker, logs


def some(start: int, count: int = 3) -> list[Link]:
    return [Link(f"http://a.test/{number}") for number in range(start, start + count)]


def numbers(urls: list[str]) -> list[int]:
    return [int(url.rpartition("/")[2]) for url in urls]


async def until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def read_to(log: KafkaLinkLog, partition: int, position: int, end: int) -> list[str]:
    urls: list[str] = []
    async with asyncio.timeout(30):
        while position < end:
            if (batch := log.read(partition, position)) is None:
                await asyncio.sleep(0.001)
                continue
            urls += [link.url for link in batch.links]
            position = batch.position
    assert position == end
    return urls


async def everything(log: KafkaLinkLog, partition: int) -> list[str]:
    await log.open(partition, 0)
    return await read_to(log, partition, 0, (await log.ends())[partition])


# ---- brokers ---------------------------------------------------------------------------------------------


async def test_a_broker_that_is_killed_while_links_are_appended_costs_no_link_and_doubles_none(
    mortal: tuple[Kafka, KafkaLogs],
) -> None:
    """Others read meanwhile, and see all of it in order as well."""
    broker, logs = mortal
    writer, reader = logs.open(), logs.open()
    await reader.open(0, 0)
    sent = 0
    is_over = False

    async def write() -> None:
        nonlocal sent
        while not is_over:
            await writer.append({0: some(sent, 5), 1: some(sent, 5)})
            sent += 5

    writing = asyncio.ensure_future(asyncio.wait_for(write(), 180))
    await until(lambda: sent > 100)
    broker.kill(1)
    before = sent
    broker.launch(1)
    await asyncio.to_thread(broker.wait, 1)
    await until(lambda: sent > before + 100)
    is_over = True
    await writing
    ends = await writer.ends()
    assert ends == {0: sent // 5, 1: sent // 5, 2: 0}
    assert numbers(await read_to(reader, 0, 0, ends[0])) == [*range(sent)]
    assert numbers(await everything(logs.open(), 1)) == [*range(sent)]


async def test_an_append_while_no_broker_is_there_waits_and_is_there_once_afterwards(
    mortal: tuple[Kafka, KafkaLogs], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LATE_S", 0.2)
    broker, logs = mortal
    log, leaver = logs.open(), logs.open()
    links = LinkExchange(log, {}, PARTITIONS, RealClock())
    receiving = asyncio.ensure_future(links.receive())
    broker.kill(1)
    appended = asyncio.ensure_future(links.send([*some(0, 9), Link("http://b.test/")]))
    opened = asyncio.ensure_future(log.open(0, 0))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(leaver.append({0: some(100)}), 0.1)
    leaver.close()
    logs.appenders[1].close()  # what it did not get rid of holds up nobody's end
    await until(lambda: "Kafka has acknowledged nothing" in links.held_up)
    assert not appended.done() and not opened.done()
    broker.start(1)
    await asyncio.wait_for(asyncio.gather(appended, opened), 30)
    await until(lambda: not links.held_up)
    found = [url for partition in range(PARTITIONS) for url in await everything(log, partition)]
    assert sorted(found) == sorted([f"http://a.test/{number}" for number in range(9)] + ["http://b.test/"])
    receiving.cancel()


# ---- several of us ---------------------------------------------------------------------------------------


async def test_two_writers_keep_each_their_order(logs: KafkaLogs) -> None:
    first, second, reader = logs.open(), logs.open(), logs.open()
    await reader.open(0, 0)
    for start in range(0, 100, 5):
        await asyncio.gather(first.append({0: some(start, 5)}), second.append({0: some(1000 + start, 5)}))
    found = numbers(await read_to(reader, 0, 0, 40))
    assert [n for n in found if n < 1000] == [*range(100)]
    assert [n for n in found if n >= 1000] == [*range(1000, 1100)]


async def test_ends_are_those_of_this_moment_whoever_appended(logs: KafkaLogs) -> None:
    writer, other = logs.open(), logs.open()
    assert await other.ends() == {0: 0, 1: 0, 2: 0}
    for start in range(5):
        await writer.append({1: some(start)})
        assert other.end(1) == start  # as it was asked last
        assert await other.ends() == {0: 0, 1: start + 1, 2: 0}
    await other.open(1, 0)
    await read_to(other, 1, 0, 5)
    await writer.append({1: some(9)})
    await until(lambda: other.end(1) == 6)  # it is open: what comes tells


async def test_how_much_is_unread_elsewhere_is_known_once_it_is_told(logs: KafkaLogs) -> None:
    writer = logs.open()
    for start in range(0, 50, 5):
        await writer.append({0: some(start, 5)})
    assert writer.unread_bytes(0) == 0  # nobody knows
    writer.trim(0, 2)
    size = len(next(link_messages(some(0, 5))))
    assert 8 * size * 0.5 < writer.unread_bytes(0) < 8 * size * 3
    writer.trim(0, 1)  # an old message
    writer.trim(0, 10)
    assert writer.unread_bytes(0) == 0


class Slow:
    """A partition that takes its time: the links of one batch, each time that it is let."""

    is_leaving = False

    def __init__(self) -> None:
        self.log_position, self.known = 0, 0

    def apply_links(self, links: Iterable[Link | OwnLinks], position: int | None = None, *, sync: bool = True) -> int:
        self.known += len(list(links))
        self.log_position = position or self.log_position
        return 0

    async def settled(self) -> bool:
        return True


async def test_who_is_behind_with_its_own_links_adds_them_first(
    logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "BEHIND_BYTES_MAX", 20_000)
    writer, log = logs.open(), logs.open()
    for start in range(0, 4000, 100):
        await writer.append({1: some(start, 100)})
    await log.open(1, 0)
    slow = Slow()
    links = LinkExchange(log, {1: slow}, PARTITIONS, RealClock(), is_alone=False)
    assert links.unread_bytes[1] > 20_000
    seen: list[tuple[int, str]] = []
    links._look_again = lambda: seen.append((slow.known, links.held_up))
    receiving = asyncio.ensure_future(links.receive())
    await until(lambda: slow.known == 4000 and not links.held_up)
    receiving.cancel()
    held_up = [known for known, why in seen if "partition 1 are added first" in why]
    assert held_up and min(held_up) < 1000 < max(held_up), seen
    assert links.unread_bytes == {}


async def test_a_partition_that_nobody_reads_holds_up_who_sends_to_it_once_that_is_told(
    logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "KAFKA_UNREAD_BYTES_MAX", 20_000)
    log = logs.open()
    links = LinkExchange(log, {}, 1, RealClock(), is_alone=False)
    receiving = asyncio.ensure_future(links.receive())
    links.others_have_read({0: 0})
    for start in range(0, 4000, 100):
        await links.send(some(start, 100))
    assert "partition 0 has too many unread links" in links.held_up
    links.others_have_read({0: log.end(0)})  # as its owner has reported
    await until(lambda: not links.held_up)
    receiving.cancel()


# ---- what cannot be read ---------------------------------------------------------------------------------


DEAD = {
    "no MessagePack": b"\xc1\xc1",
    "something else": b"\x81\xa1a\x01",
    "cut off": next(link_messages(some(0)))[:-5],
    "nothing": b"",
    "deep": b"\x91\x81\xa1a" + b"\x91" * 100_000 + b"\x01",
    "of another shape": b"\x91\x81\xa3url\x05",
    "no text": b"\x91\x81\xa3url\xa2\xff\xfe",
    "as large as can be": os.urandom(client.MESSAGE_BYTES_MAX - 200),
}


@pytest.mark.parametrize("what", DEAD)
async def test_a_message_that_cannot_be_read_is_set_apart_and_stops_nothing(logs: KafkaLogs, what: str) -> None:
    writer, reader = logs.open(), logs.open()
    names = topics.Topics(logs.settings.name)
    await writer.append({1: some(0)})
    await logs.appenders[0].append(names.links, 1, DEAD[what])
    await writer.append({1: some(3)})
    await reader.open(1, 0)
    assert numbers(await read_to(reader, 1, 0, 3)) == [*range(6)]
    assert reader.dead == 1 and reader.dead_reason.startswith("partition 1, offset 1: ")
    assert "copied" not in reader.dead_reason
    (copy,) = await asyncio.to_thread(messages, logs, names.links_dead, 1)
    assert copy.value() == DEAD[what]
    headers = dict(copy.headers())
    assert headers["partition"] == b"1" and headers["offset"] == b"1" and headers["reason"]


async def test_a_message_that_cannot_even_be_copied_stops_nothing(logs: KafkaLogs) -> None:
    reader = logs.open()
    names = topics.Topics(logs.settings.name)
    change(logs.settings, names.links_dead, "max.message.bytes", "1000")
    await logs.appenders[0].append(names.links, 0, b"\xc1" + os.urandom(5000))
    await reader.append({0: some(0)})
    await reader.open(0, 0)
    assert numbers(await read_to(reader, 0, 0, 2)) == [0, 1, 2]
    assert reader.dead == 1
    assert re.search(r"offset 0: .*; it could not be copied: .*links-dead: .*too large", reader.dead_reason)


def messages(logs: KafkaLogs, topic: str, count: int) -> list[Any]:
    consumer = Consumer({"bootstrap.servers": logs.settings.kafka, "group.id": "looks", "fetch.wait.max.ms": 50})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = consumer.consume(count, 10)
    consumer.close()
    return found


# ---- what is gone ----------------------------------------------------------------------------------------


async def expired(logs: KafkaLogs, partition: int, before: int) -> None:
    """As if they had become too old."""
    which = TopicPartition(topics.Topics(logs.settings.name).links, partition, before)
    for answer in admin(logs.settings).delete_records([which]).values():
        await asyncio.to_thread(answer.result)


async def test_links_that_are_gone_are_missed_when_the_partition_is_opened(logs: KafkaLogs) -> None:
    log = logs.open()
    for start in range(6):
        await log.append({0: some(start)})
    await expired(logs, 0, 4)
    with pytest.raises(LinksLost, match=r"links, partition 0: position 1 is wanted, and 4 to 6 are there.*keep_s"):
        await log.open(0, 1)
    with pytest.raises(LinksLost, match="position 7 is wanted, and 4 to 6 are there"):
        await log.open(0, 7)  # the topic was made anew
    await log.open(0, 4)
    assert numbers(await read_to(log, 0, 4, 6)) == [4, 5, 6, 5, 6, 7]


async def test_links_that_are_gone_are_missed_when_they_are_read(logs: KafkaLogs) -> None:
    log = logs.open()
    for start in range(6):
        await log.append({0: some(start), 1: some(start)})
    await expired(logs, 0, 4)
    with pytest.raises(LinksLost, match="partition 0: position 1 is wanted, and 4 to 6 are there"):
        await read_to(log, 0, 1, 6)
    with pytest.raises(LinksLost, match="partition 0: position 9 is wanted, and 4 to 6 are there"):
        await read_to(log, 0, 9, 10)
    assert len(await read_to(log, 1, 0, 6)) == 18  # the others go on


async def test_a_topic_that_is_not_there_is_said_to_be_missing(logs: KafkaLogs) -> None:
    log = logs.open()
    await topics.delete(logs.settings, RealClock())
    with pytest.raises(KafkaRefused, match=r"\.links: .*[Uu]nknown topic"):
        await log.open(0, 0)


# ---- bounds ----------------------------------------------------------------------------------------------


async def test_a_slow_reader_has_a_bounded_buffer_and_misses_nothing(
    logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_reader, "BUFFER_BYTES_MAX", 100_000)
    monkeypatch.setattr(link_reader, "BUFFER_BYTES_MIN", 1_000)
    monkeypatch.setattr(link_reader, "MESSAGES_AT_ONCE", 4)
    writer, reader = logs.open(), logs.open()
    many = [Link(f"http://a.test/{number}", anchor=os.urandom(500).hex()) for number in range(2000)]
    size = len(next(link_messages(many[:10])))
    await asyncio.gather(*(writer.append({0: many[start : start + 10]}) for start in range(0, 2000, 10)))
    await writer.append({0: [Link("http://a.test/2000")], 1: some(0)})
    await reader.open(0, 0)
    await reader.open(1, 0)
    assert numbers(await read_to(reader, 1, 0, 1)) == [0, 1, 2]  # a full one holds up no other
    held = reader._readings[0]
    await until(lambda: held.is_paused)
    assert 100_000 < held.held_bytes < 100_000 + 5 * size  # what came in one go
    highest, found, position = 0, 0, 0
    async with asyncio.timeout(60):
        while position < 201:
            highest = max(highest, held.held_bytes)
            if (batch := reader.read(0, position)) is None:
                await asyncio.sleep(0.001)
                continue
            assert numbers([link.url for link in batch.links]) == [*range(found, found + len(batch.links))]
            found += len(batch.links)
            position = batch.position
    assert found == 2001 and highest < 100_000 + 5 * size


async def test_a_partition_that_was_full_can_be_opened_elsewhere_in_it(
    logs: KafkaLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_reader, "BUFFER_BYTES_MAX", 1_000)
    log = logs.open()
    for start in range(0, 300, 3):
        await log.append({0: some(start)})
    for position in (0, 90, 50):
        await log.open(0, position)
        await until(lambda: log._readings[0].is_paused or log._readings[0].fetched == 100)
        assert numbers(await read_to(log, 0, position, 100)) == [*range(3 * position, 300)]


async def test_links_as_large_as_can_be_fit_into_a_message(logs: KafkaLogs) -> None:
    """Random, so that compression does not help."""
    log = logs.open()
    long = [Link(f"http://a.test/{number}", source=os.urandom(30_000).hex()) for number in range(100)]
    sizes = [len(message) for message in link_messages(long, MESSAGE_BYTES)]
    assert 0.8 * MESSAGE_BYTES < max(sizes) <= MESSAGE_BYTES
    await log.append({0: long})
    assert numbers(await everything(log, 0)) == [*range(100)]
    one = Link("http://a.test/1", source=os.urandom((client.MESSAGE_BYTES_MAX - 500) // 2).hex())
    await log.append({1: [one]})
    assert numbers(await everything(log, 1)) == [1]
    with pytest.raises(KafkaRefused, match=r"links: .*too large"):
        await log.append({0: [Link("http://a.test/2", source=os.urandom(600_000).hex())]})
    await log.append({0: some(2, 1)})  # and goes on
    assert numbers(await everything(log, 0))[-1] == 2
    assert logs.appenders[0].unacknowledged_bytes == 0
