"""Workers as links and turns see them: some partitions on real stores, a link log, a listening socket, a table of
owners."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from gossamer.clock import Clock, RealClock
from gossamer.cluster.booking_service import Book, Booked, BookingService, Release
from gossamer.cluster.link_log import FileLinkLog
from gossamer.cluster.links import LinkExchange
from gossamer.cluster.peers import Peers
from gossamer.cluster.wire import Answer, Message, Peer, connect, listen
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.interfaces import Archive
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.worker.partition import Partition

PARTITIONS = 4
NO_ARCHIVE = cast(Archive, None)  # nothing is fetched here


class PeerWorker:
    """One worker without a crawl: it leases nothing, so a host's turn comes as soon as its delay is over."""

    def __init__(self, number: int, folder: Path, tasks: asyncio.TaskGroup, complaints: list[str]) -> None:
        self.number = number
        self.folder = folder
        self.clock: Clock = RealClock()
        self.partitions: dict[int, Partition] = {}
        self.stores: dict[int, RocksStore] = {}
        self.met: list[Peer] = []
        self.is_slow = asyncio.Event()  # while set, what comes in is not looked at
        self.may_answer = asyncio.Event()
        self._tasks = tasks
        self._complaints = complaints
        self.peers = Peers(PARTITIONS, self._connect, self.clock)
        self.log = FileLinkLog(folder / "links")
        self.links = LinkExchange(self.log, self.partitions, PARTITIONS, self.clock, is_damaged=self.peers.is_damaged)
        self.bookings = BookingService(self.partitions, PARTITIONS, self.peers, self.clock, self._give_turns)

    async def start(self) -> None:
        understood = Book | Release
        self.receiving = self._tasks.create_task(self.links.receive())
        self.server = await listen(
            self._path(self.number), understood, self._spawn, self._complaints.append, self._meet
        )

    def own(self, partition: int) -> None:
        store = self.stores[partition] = RocksStore(self.folder / f"{partition:03d}", TABLES)
        politeness = PolitenessSettings(delay_s=0.05)
        frontier = Frontier.open(store, store.folder, self.clock, lambda link: None, FrontierSettings(), politeness)
        self.partitions[partition] = Partition(partition, frontier, NO_ARCHIVE)

    def give_up(self, partition: int) -> None:
        self.partitions.pop(partition).frontier.close()
        self.stores.pop(partition).close()

    def close(self) -> None:
        """As sudden as a death, for the others."""
        self.receiving.cancel()
        self.log.close()
        self.server.close()
        self.peers.close()
        for peer in self.met:
            peer.close()
        for partition in list(self.partitions):
            self.give_up(partition)

    def _path(self, number: int) -> Path:
        return self.folder / f"worker{number}"

    def _spawn(self, work: object) -> object:
        return self._tasks.create_task(work)  # type: ignore[arg-type]

    async def _connect(self, number: int) -> Peer:
        return await connect(self._path(number), Booked, self._spawn, self._complaints.append)

    def _meet(self, peer: Peer) -> None:
        self.met.append(peer)

        async def answer(question: Message) -> Answer:
            if self.is_slow.is_set():
                await self.may_answer.wait()
            match question:
                case Book(booking=booking, url=url):
                    return await self.bookings.booked(peer, booking, url)
                case Release(booking=booking, answer=ended):
                    self.bookings.release(peer, booking, ended)
            return None

        peer.answer = answer
        peer.when_closed.append(lambda: self.bookings.forget(peer))

    def _give_turns(self) -> None:
        asyncio.get_running_loop().call_soon(self._give_those_that_have_come)

    def _give_those_that_have_come(self) -> None:
        """And again when the next one comes: a host may have been asked just now."""
        for each in self.partitions.values():
            each.frontier.lease(1)
        booked = [each.frontier.next_at(only_booked=True) for each in self.partitions.values()]
        moment = min((at for at in booked if at is not None), default=None)
        if moment is not None:
            wait_s = max(0.001, moment - self.clock.now())
            asyncio.get_running_loop().call_later(wait_s, self._give_those_that_have_come)


@asynccontextmanager
async def peer_group(
    folder: Path, complaints: list[str] | None = None
) -> AsyncIterator[tuple[PeerWorker, PeerWorker]]:
    """Two workers; the first owns the even partitions, the second the odd ones, and both know it."""
    async with asyncio.TaskGroup() as tasks:
        said = complaints if complaints is not None else []
        first, second = (PeerWorker(number, folder, tasks, said) for number in range(2))
        for each in (first, second):
            await each.start()
            each.peers.know(1, [0, 1, 0, 1])
            for partition in range(each.number, PARTITIONS, 2):
                each.own(partition)
        try:
            yield first, second
        finally:
            for each in (first, second):
                each.may_answer.set()
                each.close()
            await asyncio.sleep(0.01)  # sockets need a turn of the loop to close
