"""Turns: a host is asked for something that is no lease of its own, such as a robots.txt that moved there.

Whoever wants that asks the owner of the host for a turn, in this process or in another, waits until it has come,
makes the one request, and gives the turn back; from then on the host's delay runs. The owner takes a turn back by
itself when the connection to its holder breaks, with the full delay, because nobody knows how the request ended.
And the holder drops its request when the connection to the owner breaks: a new owner counts from its own start.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from gossamer.clock import Clock
from gossamer.cluster.neighbours import Neighbours
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.wire import Disconnected, Message, Peer
from gossamer.interfaces import NoTurn
from gossamer.records import Url
from gossamer.url.site import host_of

TURN_S = 120.0  # no longer than this for a turn to come: the host that waits for it is asked nothing meanwhile


class Book(Message, frozen=True):
    """A turn of this URL's host, please; the answer comes when it has come."""

    turn: int  # chosen by the asker, to give it back by
    url: Url


class Booked(Message, frozen=True):
    is_granted: bool  # False: the host is not ours (any more)


class Release(Message, frozen=True):
    """The request has ended, or nobody wants the turn any more."""

    turn: int


class HasTurns(Protocol):
    """What this file needs of a frontier."""

    def book(self, name: str) -> asyncio.Future[None]: ...
    def release(self, name: str, ended_at: float) -> None: ...


@dataclass(frozen=True)
class Turn:
    partition: int
    host: str
    booking: asyncio.Future[None]


class Turns:
    def __init__(
        self,
        frontiers: Mapping[int, HasTurns],
        partitions: int,
        neighbours: Neighbours,
        clock: Clock,
        look_again: Callable[[], None],
    ) -> None:
        self._frontiers = frontiers
        self._partitions = partitions
        self._neighbours = neighbours
        self._clock = clock
        self._look_again = look_again
        self._turns: dict[tuple[Hashable, int], Turn] = {}
        self._closed: set[int] = set()  # partitions that give no more turns
        self._is_over = False
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def of(self, url: Url) -> AsyncIterator[None]:
        """Entered when the URL's host may be asked, left when the answer has ended: `interfaces.TurnOf`."""
        partition, number = partition_of(url, self._partitions), next(self._numbers)
        limit = asyncio.timeout(TURN_S)
        try:
            async with limit:
                while (holder := await self._book(partition, number, url)) is None:
                    if self._is_over:
                        raise NoTurn(host_of(url))
                    await self._neighbours.change(self._neighbours.version)
                limit.reschedule(None)
                try:
                    if isinstance(holder, Peer):
                        holder.when_closed.append(give_up := lambda: limit.reschedule(0))
                    yield
                finally:
                    if isinstance(holder, Peer):
                        holder.when_closed.remove(give_up)
                        holder.mention(Release(number))
                    else:
                        self.release(self, number)
        except TimeoutError as late:
            if limit.expired():
                raise NoTurn(host_of(url)) from late
            raise

    async def _book(self, partition: int, number: int, url: Url) -> Peer | Turns | None:
        """Whom the turn was had from; None: nobody who owns the host could be asked."""
        if partition in self._frontiers:
            return self if await self.book(self, number, url) else None
        owner = self._neighbours.owner(partition)
        if owner is None:
            return None
        try:
            peer = await self._neighbours.peer(owner)
            try:
                booked = await peer.call(Book(number, url), Booked)
            except asyncio.CancelledError:
                peer.mention(Release(number))
                raise
        except Disconnected:
            return None
        return peer if booked.is_granted else None

    # ---- the owner's side --------------------------------------------------------------------------------

    async def book(self, holder: Hashable, number: int, url: Url) -> bool:
        """True when the turn has come; False where it never will, because the host is not ours."""
        partition, host = partition_of(url, self._partitions), host_of(url)
        frontier = self._frontiers.get(partition)
        if frontier is None or partition in self._closed or self._is_over:
            return False
        turn = Turn(partition, host, frontier.book(host))
        self._turns[holder, number] = turn
        self._look_again()
        try:
            await asyncio.wait([turn.booking])
        except asyncio.CancelledError:
            self.release(holder, number)
            raise
        return not turn.booking.cancelled()

    def release(self, holder: Hashable, number: int) -> None:
        turn = self._turns.pop((holder, number), None)
        if turn is None:
            return
        if turn.booking.done() and not turn.booking.cancelled():
            self._frontiers[turn.partition].release(turn.host, self._clock.now())
        else:
            turn.booking.cancel()
        self._look_again()

    def forget(self, holder: Hashable) -> None:
        """The holder is gone."""
        for key in [key for key in self._turns if key[0] == holder]:
            self.release(*key)

    def close(self, partition: int) -> None:
        """Give no more turns of this partition's hosts; who waits for one is sent away."""
        self._closed.add(partition)
        for key, turn in list(self._turns.items()):
            if turn.partition == partition and not turn.booking.done():
                self.release(*key)

    def end(self) -> None:
        """The crawl is stopping: no more turns for anybody, and nobody waits for one."""
        self._is_over = True
        for partition in self._frontiers:
            self.close(partition)

    def open(self, partition: int) -> None:
        self._closed.discard(partition)

    def is_busy(self, partition: int) -> bool:
        return any(turn.partition == partition for turn in self._turns.values())
