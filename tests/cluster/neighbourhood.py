"""Workers as the bus sees them: some frontiers on real stores, a listening socket, a table of owners."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gossamer.clock import Clock, RealClock
from gossamer.cluster.bus import LinkBus, Links, Taken
from gossamer.cluster.neighbours import Neighbours
from gossamer.cluster.turns import Book, Booked, Release, Turns
from gossamer.cluster.wire import Answer, Message, Peer, connect, listen
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import TABLES
from gossamer.settings import FrontierSettings, PolitenessSettings

PARTITIONS = 4


class Neighbour:
    """One worker without a crawl: it leases nothing, so its hosts are always ready for whoever wants a turn."""

    def __init__(self, number: int, folder: Path, tasks: asyncio.TaskGroup, complaints: list[str]) -> None:
        self.number = number
        self.folder = folder
        self.clock: Clock = RealClock()
        self.frontiers: dict[int, Frontier] = {}
        self.stores: dict[int, RocksStore] = {}
        self.met: list[Peer] = []
        self.is_slow = asyncio.Event()  # while set, what comes in is not looked at
        self.may_answer = asyncio.Event()
        self._tasks = tasks
        self._complaints = complaints
        self.neighbours = Neighbours(PARTITIONS, self._connect, self.clock)
        self.bus = LinkBus(self.frontiers, PARTITIONS, self.neighbours)
        self.turns = Turns(self.frontiers, PARTITIONS, self.neighbours, self.clock, self._give_turns)

    async def start(self) -> None:
        understood = Links | Book | Release
        self.server = await listen(
            self._path(self.number), understood, self._spawn, self._complaints.append, self._meet
        )

    def own(self, partition: int) -> None:
        store = self.stores[partition] = RocksStore(self.folder / f"{partition:03d}", TABLES)
        politeness = PolitenessSettings(delay_s=0.05)
        self.frontiers[partition] = Frontier(store, self.clock, lambda link: None, FrontierSettings(), politeness)

    def give_up(self, partition: int) -> None:
        self.frontiers.pop(partition).close()
        self.stores.pop(partition).close()

    def close(self) -> None:
        """As sudden as a death, for the others."""
        self.server.close()
        self.neighbours.close()
        for peer in self.met:
            peer.close()
        for partition in list(self.frontiers):
            self.give_up(partition)

    def _path(self, number: int) -> Path:
        return self.folder / f"worker{number}"

    def _spawn(self, work: object) -> object:
        return self._tasks.create_task(work)  # type: ignore[arg-type]

    async def _connect(self, number: int) -> Peer:
        return await connect(self._path(number), Taken | Booked, self._spawn, self._complaints.append)

    def _meet(self, peer: Peer) -> None:
        self.met.append(peer)

        async def answer(question: Message) -> Answer:
            if self.is_slow.is_set():
                await self.may_answer.wait()
            match question:
                case Links():
                    return self.bus.take(question)
                case Book(turn=turn, url=url):
                    return Booked(await self.turns.book(peer, turn, url))
                case Release(turn=turn):
                    self.turns.release(peer, turn)
            return None

        peer.answer = answer
        peer.when_closed.append(lambda: self.turns.forget(peer))

    def _give_turns(self) -> None:
        asyncio.get_running_loop().call_soon(lambda: [each.lease(1) for each in self.frontiers.values()])


@asynccontextmanager
async def neighbourhood(
    folder: Path, complaints: list[str] | None = None
) -> AsyncIterator[tuple[Neighbour, Neighbour]]:
    """Two workers; the first owns the even partitions, the second the odd ones, and both know it."""
    async with asyncio.TaskGroup() as tasks:
        said = complaints if complaints is not None else []
        first, second = (Neighbour(number, folder, tasks, said) for number in range(2))
        for each in (first, second):
            await each.start()
            each.neighbours.know(1, [0, 1, 0, 1])
            for partition in range(each.number, PARTITIONS, 2):
                each.own(partition)
        try:
            yield first, second
        finally:
            for each in (first, second):
                each.may_answer.set()
                each.close()
            await asyncio.sleep(0.01)  # sockets need a turn of the loop to close
