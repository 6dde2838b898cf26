"""Peers: which worker owns which partition, as far as this one knows, and a connection to each of them.

The table comes from whoever deals the partitions out, with a version, and may be old by a moment. Nobody relies on
it being right: an owner that no longer owns a partition says so, and the asker waits for a newer table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from gossamer.clock import Clock
from gossamer.cluster.wire import Peer

PATIENCE_S = 0.5  # then the same is tried again, even if the table has not changed


class Peers:
    def __init__(self, partitions: int, connect: Callable[[int], Awaitable[Peer]], clock: Clock) -> None:
        self.version = -1
        self._owners: Sequence[int | None] = [None] * partitions
        self._damaged: Sequence[int] = ()
        self._epochs: Sequence[int] = ()
        self._elsewhere: frozenset[int] = frozenset()
        self._connect = connect
        self._clock = clock
        self._peers: dict[int, Peer] = {}
        self._dialling = asyncio.Lock()
        self._waiting: set[asyncio.Event] = set()

    def know(
        self,
        version: int,
        owners: Sequence[int | None],
        damaged: Sequence[int] = (),
        epochs: Sequence[int] = (),
        elsewhere: Sequence[int] = (),
    ) -> None:
        if version > self.version:
            self.version, self._owners, self._damaged, self._epochs = version, owners, damaged, epochs
            self._elsewhere = frozenset(elsewhere)
            for waiting in self._waiting:
                waiting.set()
            for gone in self._peers.keys() - set(owners):
                self._peers.pop(gone).close()

    def owner(self, partition: int) -> int | None:
        return self._owners[partition]

    def epoch(self, partition: int) -> int:
        """In which it is owned; who owns it in an earlier one does not know yet that it has lost it."""
        return self._epochs[partition] if self._epochs else 0

    def is_damaged(self, partition: int) -> bool:
        """Nobody will own it, as long as this crawl runs."""
        return partition in self._damaged

    def is_elsewhere(self, partition: int) -> bool:
        """It is another node's."""
        return partition in self._elsewhere

    async def change(self, since: int) -> None:
        """Wait for a table newer than `since`; not for ever, because not everything shows in the table."""
        if self.version > since:
            return
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            await self._clock.wait(changed, self._clock.now() + PATIENCE_S)
        finally:
            self._waiting.discard(changed)

    async def peer(self, number: int) -> Peer:
        """The connection to a worker. Raises `Disconnected` where there is none."""
        async with self._dialling:
            peer = self._peers.get(number)
            if peer is None or peer.closed.is_set():
                peer = self._peers[number] = await self._connect(number)
            return peer

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()
