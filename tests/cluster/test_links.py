"""Links between partitions: durable before a page is finished, whoever owns what, and whether anybody does."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.cluster import links as exchange
from gossamer.cluster.link_log import FileLinkLog
from gossamer.cluster.links import LINKS_AT_ONCE
from gossamer.cluster.partitions import partition_of
from gossamer.interfaces import LinkBatch, Mark
from gossamer.records import Link, State
from tests.cluster.peer_group import PARTITIONS, PeerWorker, peer_group

URLS = [f"http://host{number}.test/" for number in range(40)]


def of_partition(partition: int) -> list[Link]:
    return [Link(url) for url in URLS if partition_of(url, PARTITIONS) == partition]


def has(worker: PeerWorker, links: list[Link]) -> bool:
    partitions = [worker.partitions.get(partition_of(link.url, PARTITIONS)) for link in links]
    found = [each and each.frontier.state(link.url) for each, link in zip(partitions, links, strict=True)]
    return bool(found) and all(known and known.state is State.QUEUED for known in found)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_every_link_reaches_its_owner(folder: Path) -> None:
    async with peer_group(folder) as (first, second):
        await first.links.send(Link(url) for url in URLS)
        assert has(first, of_partition(0)) and has(first, of_partition(2))  # at once
        await until(lambda: has(second, of_partition(1)) and has(second, of_partition(3)))
        assert not first.links.has_unread and not second.links.has_unread
        assert first.log.end(0) == 0  # what is ours needs no log


class Unacknowledged:
    """The journal of a partition, as it is while Kafka does not answer."""

    epoch = position = appended = number = unacknowledged_bytes = 0

    def __init__(self) -> None:
        self.bytes = 0
        self.is_back = asyncio.Event()

    def append(self, mark: Mark, entries: bytes) -> None: ...

    async def settled(self) -> int:
        await self.is_back.wait()
        return 0


@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_link_within_a_process_outlives_its_machine_before_its_page_is_finished(
    folder: Path, is_lost: bool
) -> None:
    async with peer_group(folder) as (first, _):
        journal = first.partitions[0]._journal = Unacknowledged()
        sending = asyncio.ensure_future(first.links.send(of_partition(0)))
        await until(lambda: has(first, of_partition(0)))
        await asyncio.sleep(0.01)
        assert not sending.done()
        first.partitions[0].is_lost = is_lost  # then somebody else went on without them
        journal.is_back.set()
        await asyncio.wait_for(sending, 5)
        assert (first.log.end(0) > 0) == is_lost


async def test_nobody_waits_for_an_owner_and_the_next_one_finds_all(folder: Path) -> None:
    async with peer_group(folder) as (first, second):
        second.give_up(1)
        for link in of_partition(1):
            await asyncio.wait_for(first.links.send([link]), 5)
        second.close()
        assert sum(len(batch.links) for batch in batches(folder, 1)) == len(of_partition(1))
        first.own(1)
        await until(lambda: has(first, of_partition(1)))


async def test_a_partition_that_moves_while_links_are_being_sent(folder: Path) -> None:
    """There and back, again and again, while both send: whatever was sent is there in the end, and once."""
    async with peer_group(folder) as (first, second):
        hosts = [link.url for link in of_partition(0)]
        urls = [f"{host}{number}" for host in hosts for number in range(60)]
        sent = asyncio.gather(*(worker.links.send([Link(url)]) for url in urls for worker in (first, second)))
        owner, other = first, second
        while not sent.done():
            owner.give_up(0)
            await asyncio.sleep(0.005)
            other.own(0)
            await asyncio.sleep(0.02)
            owner, other = other, owner
        await sent
        await until(lambda: not owner.links.has_unread)
        assert has(owner, [Link(url) for url in urls])
        assert owner.partitions[0].totals.known == len(urls)


async def test_a_partition_that_is_given_up_in_the_middle_of_adding_to_it(folder: Path) -> None:
    """What is not added yet goes to the log, and waits for nobody."""
    async with peer_group(folder) as (first, second):
        host = next(link.url for link in of_partition(0))
        links = [Link(f"{host}{number}") for number in range(2 * LINKS_AT_ONCE)]
        sending = asyncio.ensure_future(first.links.send(links))
        while not first.partitions[0].totals.known:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not sending.done()
        first.give_up(0)
        await asyncio.wait_for(sending, 5)
        second.own(0)
        await until(lambda: second.partitions[0].totals.known == len(links))


async def test_what_was_applied_is_not_applied_again_by_the_next_owner(folder: Path) -> None:
    async with peer_group(folder) as (first, second):
        await first.links.send(of_partition(1))
        await until(lambda: has(second, of_partition(1)))
        position = second.partitions[1].log_position
        assert position == first.log.end(1) > 0
        second.give_up(1)
        first.own(1)
        assert first.partitions[1].log_position == position and not first.links.has_unread


async def test_a_log_that_nobody_reads_holds_up_leasing_and_not_sending(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "UNREAD_BYTES_MAX", 20_000)
    monkeypatch.setattr(exchange, "TRIM_BYTES", 5_000)
    async with peer_group(folder) as (first, second):
        first.log._file_bytes = second.log._file_bytes = 5_000
        second.give_up(1)
        host = next(link.url for link in of_partition(1))
        for start in range(0, 2000, 20):
            await asyncio.wait_for(first.links.send(Link(f"{host}{n}") for n in range(start, start + 20)), 5)
        assert "partition 1" in first.links.held_up
        second.own(1)
        await until(lambda: not first.links.held_up)
        await until(lambda: second.partitions[1].totals.known == 2000)
        assert first.log.unread_bytes(1) < 20_000


async def test_links_to_a_damaged_partition_are_dropped(folder: Path) -> None:
    async with peer_group(folder) as (first, second):
        second.give_up(1)
        first.peers.know(2, [0, None, 0, 1], [1])
        await first.links.send(of_partition(1))
        assert first.log.end(1) == 0


async def test_an_old_table_does_not_replace_a_newer_one(folder: Path) -> None:
    async with peer_group(folder) as (first, _):
        first.peers.know(5, [0, 0, 0, 0])
        first.peers.know(4, [1, 1, 1, 1])
        assert first.peers.owner(0) == 0


@pytest.mark.parametrize("count", [0, 1])
async def test_sending_little_or_nothing(folder: Path, count: int) -> None:
    async with peer_group(folder) as (first, _):
        await first.links.send(of_partition(0)[:count])


def batches(folder: Path, partition: int) -> list[LinkBatch]:
    log, found, position = FileLinkLog(folder / "links"), [], 0
    while (batch := log.read(partition, position)) is not None:
        found.append(batch)
        position = batch.position
    log.close()
    return found


async def test_links_wait_for_room_on_the_disk_and_nothing_more_is_asked_for_meanwhile(folder: Path) -> None:
    async with peer_group(folder) as (first, second):
        append, tries = first.log.append, 0

        async def full(links: Mapping[int, Sequence[Link]]) -> None:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise OSError(errno.ENOSPC, "No space left on device")
            await append(links)

        first.log.append = full  # type: ignore[method-assign]
        first.links._clock = clock = VirtualClock()
        sending = asyncio.ensure_future(first.links.send(of_partition(1)))
        await until(lambda: tries == 1)
        assert first.links.held_up == "No space left on device: links cannot be stored"
        while not sending.done():
            clock.advance(1.0)
            await asyncio.sleep(0)
        await until(lambda: has(second, of_partition(1)))
        assert first.links.held_up == ""
