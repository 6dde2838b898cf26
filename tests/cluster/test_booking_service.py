"""Turns of hosts that another worker owns."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gossamer.cluster import peers
from gossamer.cluster.booking_service import Book
from gossamer.cluster.partitions import partition_of
from gossamer.interfaces import HostElsewhere, NoBooking
from gossamer.url.site import host_of
from tests.cluster.peer_group import PARTITIONS, PeerWorker, peer_group

FAR = next(url for n in range(99) if partition_of(url := f"http://far{n}.test/robots.txt", PARTITIONS) == 1)
NEAR = next(url for n in range(99) if partition_of(url := f"http://near{n}.test/robots.txt", PARTITIONS) == 0)


def ready_at(worker: PeerWorker, url: str) -> float:
    host = worker.partitions[partition_of(url, PARTITIONS)].frontier.host(host_of(url))
    return host.ready_at if host is not None else 0.0


@pytest.mark.parametrize("url", [NEAR, FAR])
async def test_a_host_rests_after_a_turn_that_another_had(folder: Path, url: str) -> None:
    async with peer_group(folder) as (first, second):
        owner = first if url == NEAR else second
        async with first.bookings.of(url):
            assert owner.bookings.is_busy(partition_of(url, PARTITIONS))
            ended_at = first.clock.now()
        while owner.bookings.is_busy(partition_of(url, PARTITIONS)):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert ready_at(owner, url) >= ended_at + 0.05


async def test_a_turn_whose_holder_dies_is_taken_back_with_the_full_delay(folder: Path) -> None:
    async with peer_group(folder) as (first, second):
        peer = await first.peers.peer(1)
        asking = asyncio.ensure_future(peer.tell(Book(1, FAR)))
        await asking
        assert second.bookings.is_busy(1)
        died_at = first.clock.now()
        peer.close()
        while second.bookings.is_busy(1):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert ready_at(second, FAR) >= died_at + 0.05


async def test_a_request_is_dropped_when_whoever_gave_the_turn_dies(folder: Path) -> None:
    async with peer_group(folder) as (first, second):
        with pytest.raises(NoBooking):
            async with first.bookings.of(FAR):
                second.close()
                await asyncio.sleep(10)  # the request


@pytest.mark.parametrize("url", [NEAR, FAR])
async def test_a_request_is_dropped_when_the_host_is_another_nodes(folder: Path, url: str) -> None:
    async with peer_group(folder) as (first, second):
        partition = partition_of(url, PARTITIONS)
        owner = first if url == NEAR else second
        with pytest.raises(NoBooking):
            async with first.bookings.of(url):
                owner.bookings.lose(partition)
                await asyncio.sleep(10)  # the request
        while owner.bookings.is_busy(partition):  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_a_turn_is_asked_for_again_where_the_host_has_moved_to(folder: Path) -> None:
    async with peer_group(folder) as (first, second):
        second.bookings.close(1)
        second.give_up(1)
        entered = asyncio.Event()

        async def ask() -> None:
            async with first.bookings.of(FAR):
                entered.set()

        asking = asyncio.ensure_future(ask())
        await asyncio.sleep(0.02)
        assert not entered.is_set()
        first.own(1)
        first.peers.know(2, [0, 0, 0, 1])
        await asyncio.wait_for(asking, 30)
        assert entered.is_set()


async def test_a_move_that_is_told_while_the_last_owner_is_asked_is_not_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "PATIENCE_S", 3600.0)
    async with peer_group(folder) as (first, second):
        second.bookings.close(1)
        second.is_slow.set()

        async def ask() -> None:
            async with first.bookings.of(FAR):
                pass

        asking = asyncio.ensure_future(ask())
        while not second.met:  # noqa: ASYNC110 - it is asked
            await asyncio.sleep(0.001)
        second.give_up(1)
        first.own(1)
        first.peers.know(2, [0, 0, 0, 1])
        second.may_answer.set()
        await asyncio.wait_for(asking, 30)


async def test_nobody_waits_for_a_turn_of_a_crawl_that_is_stopping(folder: Path) -> None:
    async with peer_group(folder) as (first, _):
        first.bookings.end()
        with pytest.raises(NoBooking):
            async with first.bookings.of(NEAR):
                pass


async def test_a_turn_that_an_earlier_owner_gives_is_not_taken(folder: Path) -> None:
    """The second worker has not heard yet that the first one owns the host by now."""
    async with peer_group(folder) as (first, second):
        second.partitions[1].epoch = 4
        first.peers.know(2, [0, 1, 0, 1], epochs=[5, 5, 5, 5])

        async def ask() -> None:
            async with first.bookings.of(FAR):
                pass

        asking = asyncio.ensure_future(ask())
        await until_asked(second)
        assert not asking.done()
        second.bookings.close(1)
        while second.bookings.is_busy(1):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        second.give_up(1)
        first.own(1)
        first.partitions[1].epoch = 5
        first.peers.know(3, [0, 0, 0, 1], epochs=[5, 5, 5, 5])
        await asyncio.wait_for(asking, 30)


async def until_asked(worker: PeerWorker) -> None:
    """It has given a turn, and got it back."""
    while not worker.bookings.is_busy(1):  # noqa: ASYNC110
        await asyncio.sleep(0)
    while worker.bookings.is_busy(1):  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_a_host_of_another_node_gives_no_turn_and_nobody_waits_for_it(folder: Path) -> None:
    async with peer_group(folder) as (first, _):
        first.peers.know(first.peers.version + 1, [0, None], elsewhere=[1])
        with pytest.raises(HostElsewhere):
            async with asyncio.timeout(5), first.bookings.of(FAR):
                pass
        async with first.bookings.of(NEAR):
            pass
