"""Links between workers: durable before they are acknowledged, sent again wherever that failed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gossamer.cluster.bus import LINKS_AT_ONCE, LinkBus, Links, Taken, parts
from gossamer.cluster.partitions import partition_of
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import TABLES
from gossamer.records import Link, State
from tests.cluster.neighbourhood import PARTITIONS, Neighbour, neighbourhood

URLS = [f"http://host{number}.test/" for number in range(40)]


def of_partition(partition: int) -> list[Link]:
    return [Link(url) for url in URLS if partition_of(url, PARTITIONS) == partition]


def has(worker: Neighbour, link: Link) -> bool:
    known = worker.frontiers[partition_of(link.url, PARTITIONS)].state(link.url)
    return known is not None and known.state is State.QUEUED


async def test_every_link_reaches_its_owner(folder: Path) -> None:
    async with neighbourhood(folder) as (first, second):
        await first.bus.send(Link(url) for url in URLS)
        for number, worker in enumerate((first, second)):
            for partition in range(number, PARTITIONS, 2):
                assert of_partition(partition) and all(has(worker, link) for link in of_partition(partition))
        assert second.bus.batches_received == 1


async def test_send_returns_when_the_links_are_durable_and_not_before(folder: Path) -> None:
    async with neighbourhood(folder) as (first, second):
        second.is_slow.set()
        sending = asyncio.ensure_future(first.bus.send(of_partition(1)))
        while not second.met:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.02)
        assert not sending.done()
        second.may_answer.set()
        await sending
        # What a crash would leave: the store as it is on disk at this moment, read by somebody else.
        store = RocksStore(second.stores[1].folder, TABLES, read_only=True)
        assert all(Ledger(store).state(link.url) for link in of_partition(1))
        store.close()


async def test_a_partition_that_moves_while_links_are_on_their_way(folder: Path) -> None:
    async with neighbourhood(folder) as (first, second):
        second.give_up(1)  # and the first does not know that yet
        sending = asyncio.ensure_future(first.bus.send([*of_partition(1), *of_partition(3)]))
        while second.bus.batches_received == 0:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert not sending.done()
        assert all(has(second, link) for link in of_partition(3))
        first.own(1)
        first.neighbours.know(2, [0, 0, 0, 1])
        await asyncio.wait_for(sending, 5)
        assert all(has(first, link) for link in of_partition(1))


async def test_an_owner_that_dies_before_it_acknowledges(folder: Path) -> None:
    async with neighbourhood(folder) as (first, second):
        second.is_slow.set()
        sending = asyncio.ensure_future(first.bus.send(of_partition(1)))
        while not second.met:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        second.close()
        first.neighbours.know(2, [0, None, 0, None])
        await asyncio.sleep(0.02)
        assert not sending.done()
        first.own(1)
        first.neighbours.know(3, [0, 0, 0, None])
        await asyncio.wait_for(sending, 5)
        assert all(has(first, link) for link in of_partition(1))


async def test_an_old_table_does_not_replace_a_newer_one(folder: Path) -> None:
    async with neighbourhood(folder) as (first, _):
        first.neighbours.know(5, [0, 0, 0, 0])
        first.neighbours.know(4, [1, 1, 1, 1])
        assert first.neighbours.owner(0) == 0


async def test_links_under_the_wrong_partition_close_the_connection(folder: Path) -> None:
    complaints: list[str] = []
    async with neighbourhood(folder, complaints) as (first, second):
        wrong = next(iter(of_partition(1)))

        def take(question: Links) -> Taken:
            return second.bus.take(question)

        peer = await first.neighbours.peer(1)
        while not second.met:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        second.met[0].answer = take
        peer.mention(Links({3: [wrong]}))
        await asyncio.wait_for(peer.closed.wait(), 5)
        assert "belong to another" in complaints[0]
        assert second.frontiers[3].totals.known == 0


async def test_alone_everything_is_added_here(folder: Path) -> None:
    async with neighbourhood(folder) as (first, second):
        bus = LinkBus(first.frontiers | second.frontiers, PARTITIONS)
        await bus.send(Link(url) for url in URLS)
        assert sum(each.totals.queued for each in (first.frontiers | second.frontiers).values()) == len(URLS)


def test_frames_have_a_bounded_size() -> None:
    long = [Link(f"http://a.test/{number}", anchor="ä" * 10_000) for number in range(100)]
    many = [Link(f"http://b.test/{number}") for number in range(2 * LINKS_AT_ONCE)]
    cut = list(parts({0: long, 1: many}))
    assert [link for part in cut for group in part.values() for link in group] == [*long, *many]
    assert len(cut) >= 6
    assert all(sum(map(len, part.values())) <= LINKS_AT_ONCE for part in cut)


@pytest.mark.parametrize("count", [0, 1])
async def test_sending_little_or_nothing(folder: Path, count: int) -> None:
    async with neighbourhood(folder) as (first, _):
        await first.bus.send(of_partition(0)[:count])
