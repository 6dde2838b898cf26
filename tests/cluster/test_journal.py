"""The journal on a real broker: what is acknowledged is there in order, and an outage is noticed and waited for."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from gossamer.clock import RealClock
from gossamer.cluster.kafka import journal as kafka_journal
from gossamer.cluster.kafka.client import Appender
from gossamer.cluster.kafka.journal import Journal
from gossamer.interfaces import JournalEntry, JournalLost, Mark
from tests.servers.kafka import Kafka


@pytest.fixture(scope="module")
def broker() -> Iterator[Kafka]:
    """One that may be frozen."""
    with Kafka() as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        admin.create_topics([NewTopic("journal", 8, 1)])["journal"].result(30)
        yield running


@pytest.fixture
async def journal(broker: Kafka) -> AsyncIterator[Journal]:
    appender = Appender(broker.bootstrap, {}, RealClock())
    yield Journal("journal", appender, broker.bootstrap, {})
    appender.close()


async def read(journal: Journal, partition: int, start: int, end: int) -> list[JournalEntry]:
    return [entry async for some in journal.entries(partition, start, end) for entry in some]


async def test_what_was_appended_is_read_back_in_order_without_the_markers(journal: Journal) -> None:
    cut = await journal.mark(0, "a")
    own = journal.begin(0, 4, cut)
    for number in range(1, 101):
        own.append(Mark(4, number, own.position), b"x" * number)
    position = await own.settled()
    assert (own.number, own.appended, journal.unacknowledged_bytes, journal.held_up) == (100, 100, 0, "")
    end = await journal.mark(0, "b")
    assert (cut, position, end) == (0, 101, 101)
    entries = await read(journal, 0, cut, end)
    assert [(entry.offset, entry.mark.number, len(entry.entries)) for entry in entries] == [
        (n, n, n) for n in range(1, 101)
    ]
    assert all(entry.mark.position <= entry.offset for entry in entries)
    assert [entry.mark.number for entry in await read(journal, 0, 50, 53)] == [50, 51, 52]
    assert await read(journal, 0, 7, 7) == []


async def test_parts_of_a_batch_that_are_mixed_with_those_of_another_owner_are_told_apart(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_journal, "PART_BYTES", 4)
    cut = await journal.mark(1, "a")
    messages: list[tuple[kafka_journal.PartitionJournal, int | None, bytes]] = []
    owners = [journal.begin(1, epoch, cut) for epoch in (1, 2)]
    send = journal.send
    monkeypatch.setattr(journal, "send", lambda *message: messages.append(message))
    for own in owners:
        own.append(Mark(own.epoch, 1), b"ab" * 7)
    monkeypatch.setattr(journal, "send", send)
    for pair in zip(messages[:4], messages[4:], strict=True):
        for message in pair:
            journal.send(*message)
    await asyncio.gather(*(own.settled() for own in owners))
    entries = await read(journal, 1, 0, await journal.mark(1, "b"))
    assert [(entry.mark.epoch, entry.entries) for entry in entries] == [(1, b"ab" * 7), (2, b"ab" * 7)]
    assert await read(journal, 1, 3, 9) == [entries[1]] * 0  # their beginnings lie before


async def test_what_was_deleted_or_never_was_there_is_said_to_be_lost(journal: Journal) -> None:
    own = journal.begin(2, 1, await journal.mark(2, "a"))
    for number in range(1, 6):
        own.append(Mark(1, number), b"entries")
    position = await own.settled()
    await journal.delete_before(2, 3)
    assert [entry.mark.number for entry in await read(journal, 2, 3, position)] == [3, 4, 5]
    for start, end in ((2, position), (3, position + 1)):
        with pytest.raises(JournalLost, match="has offsets 3 to 6"):
            await read(journal, 2, start, end)


async def test_an_outage_holds_the_leases_up_and_nothing_is_lost(
    broker: Kafka, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_journal, "UNACKNOWLEDGED_BYTES_MAX", 1 << 20)
    own = journal.begin(3, 1, await journal.mark(3, "a"))
    broker.signal(1, signal.SIGSTOP)
    try:
        for number in range(1, 13):
            own.append(Mark(1, number), bytes(100_000))
        assert "1 MiB of the journal are not acknowledged" in journal.held_up
        settling = asyncio.ensure_future(own.settled())
        await asyncio.sleep(0)
        assert not settling.done()
    finally:
        broker.signal(1, signal.SIGCONT)
    position = await asyncio.wait_for(settling, 60)
    assert journal.held_up == ""
    assert [entry.mark.number for entry in await read(journal, 3, 0, position)] == list(range(1, 13))


async def test_a_journal_that_is_refused_says_so_and_lets_nobody_wait(broker: Kafka) -> None:
    appender = Appender(broker.bootstrap, {}, RealClock())
    journal = Journal("no-such-topic", appender, broker.bootstrap, {"topic.metadata.propagation.max.ms": "1"})
    own = journal.begin(0, 1, 0)
    own.append(Mark(1, 1), b"entries")
    appender._producer.purge()
    with pytest.raises(JournalLost, match="is refused"):
        await asyncio.wait_for(own.settled(), 60)
    assert "is refused" in journal.held_up
    appender.close()
