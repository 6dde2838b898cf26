"""Bookings: a host is asked for something that is no lease of its own, such as a robots.txt that moved there.

Whoever wants that asks the owner of the host for a turn, in this process or in another, waits until it has come,
makes the one request, and gives the turn back; from then on the host's delay runs. The owner takes a turn back by
itself when the connection to its holder breaks, with the full delay, because nobody knows how the request ended.
And the holder drops its request when the connection to the owner breaks, or the owner loses the host (`lose`): a new
owner counts from its own start.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.peers import Peers
from gossamer.cluster.wire import Answer as WireAnswer
from gossamer.cluster.wire import Disconnected, Message, Peer
from gossamer.interfaces import HostBlocked, HostElsewhere, NoBooking
from gossamer.records import Answer, Exchange, Failed, Fetched, Moved, Reason, Url
from gossamer.url.site import host_of

BOOKING_S = 120.0  # no longer than this for a turn to come: the host that waits for it is asked nothing meanwhile


class Book(Message, frozen=True):
    """A turn of this URL's host, please; the answer comes when it has come."""

    booking: int  # chosen by the asker, to give it back by
    url: Url


class Booked(Message, frozen=True):
    is_granted: bool  # False: the host is not ours (any more)
    is_blocked: bool = False  # it is ours, and the operator blocks it
    epoch: int = 0  # in which it is ours


class Release(Message, frozen=True):
    """The request has ended, or nobody wants the turn any more. Neither exchange nor reason: nobody knows how."""

    booking: int
    exchange: Exchange | None = None
    reason: Reason | None = None
    ended_at: float = 0.0

    @property
    def answer(self) -> Answer | None:
        if self.reason is not None:
            return Failed(self.reason, self.exchange, ended_at=self.ended_at)
        return Fetched(self.exchange, b"") if self.exchange is not None else None


def release_of(booking: int, answer: Answer | None) -> Release:
    match answer:
        case Fetched(exchange=exchange) | Moved(exchange=exchange):
            return Release(booking, exchange)
        case Failed(exchange=exchange, reason=reason, ended_at=ended_at):
            return Release(booking, exchange, reason, ended_at)
    return Release(booking)


class TakesBookings(Protocol):
    """What this file needs of a partition."""

    epoch: int

    def book(self, name: str) -> asyncio.Future[bool]: ...
    def release(self, name: str, answer: Answer | None = None) -> None: ...


@dataclass(frozen=True)
class Booking:
    partition: int
    host: str
    granted: asyncio.Future[bool]


class BookingService:
    def __init__(
        self,
        frontiers: Mapping[int, TakesBookings],
        partitions: int,
        peers: Peers,
        clock: Clock,
        look_again: Callable[[], None],
    ) -> None:
        self._frontiers = frontiers
        self._partitions = partitions
        self._peers = peers
        self._clock = clock
        self._look_again = look_again
        self._bookings: dict[tuple[Hashable, int], Booking] = {}
        self._closed: set[int] = set()  # partitions that give no more turns
        self._dropped_by: dict[int, Callable[[], None]] = {}  # our own turns of our own hosts, while they last
        self._is_over = False
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def of(self, url: Url) -> AsyncIterator[Callable[[Answer], None]]:
        """Entered when the URL's host may be asked, left when the answer has ended: `interfaces.BookingOf`."""
        answers: list[Answer] = []
        partition, number = partition_of(url, self._partitions), next(self._numbers)
        limit = asyncio.timeout(BOOKING_S)
        try:
            async with limit:
                version = self._peers.version  # of before the question: what changes meanwhile is not waited for
                while (holder := await self._book(partition, number, url)) is None:
                    if self._is_over:
                        raise NoBooking(host_of(url))
                    await self._peers.change(version)
                    version = self._peers.version
                limit.reschedule(None)
                give_up = partial(limit.reschedule, 0)
                try:
                    if isinstance(holder, Peer):
                        holder.when_closed.append(give_up)
                    else:
                        self._dropped_by[number] = give_up
                    yield answers.append
                finally:
                    self._dropped_by.pop(number, None)
                    release = release_of(number, answers[-1] if answers else None)
                    if isinstance(holder, Peer):
                        holder.when_closed.remove(give_up)
                        holder.mention(release)
                    else:
                        self.release(self, number, release.answer)
        except TimeoutError as late:
            if limit.expired():
                raise NoBooking(host_of(url)) from late
            raise

    async def _book(self, partition: int, number: int, url: Url) -> Peer | BookingService | None:
        """Who gave the turn; None: nobody who owns the host could be asked."""
        if partition in self._frontiers:
            return self if await self.book(self, number, url) else None
        if self._peers.is_elsewhere(partition):
            raise HostElsewhere(host_of(url))
        owner = self._peers.owner(partition)
        if owner is None:
            return None
        try:
            peer = await self._peers.peer(owner)
            try:
                booked = await peer.call(Book(number, url), Booked)
            except asyncio.CancelledError:
                peer.mention(Release(number))
                raise
        except Disconnected:
            return None
        if booked.is_blocked:
            raise HostBlocked(host_of(url))
        if booked.is_granted and booked.epoch < self._peers.epoch(partition):
            peer.mention(Release(number))  # somebody else owns the host by now
            return None
        return peer if booked.is_granted else None

    # ---- the owner's side --------------------------------------------------------------------------------

    async def book(self, holder: Hashable, number: int, url: Url) -> bool:
        """True when the turn has come; False where it never will, because the host is not ours. Or `HostBlocked`."""
        partition, host = partition_of(url, self._partitions), host_of(url)
        frontier = self._frontiers.get(partition)
        if frontier is None or partition in self._closed or self._is_over:
            return False
        booking = Booking(partition, host, frontier.book(host))
        self._bookings[holder, number] = booking
        self._look_again()
        try:
            await asyncio.wait([booking.granted])
        except asyncio.CancelledError:
            self.release(holder, number)
            raise
        if booking.granted.cancelled():
            return False
        if not booking.granted.result():
            self._bookings.pop((holder, number), None)
            raise HostBlocked(host)
        return True

    def meet(self, peer: Peer) -> None:
        """Another process may ask for turns from now on."""

        def answer(question: Message) -> WireAnswer | Awaitable[WireAnswer]:
            match question:
                case Book(booking=booking, url=url):
                    return self.booked(peer, booking, url)
                case Release(booking=booking, answer=ended):
                    self.release(peer, booking, ended)
            return None

        peer.answer = answer
        peer.when_closed.append(lambda: self.forget(peer))

    async def booked(self, holder: Hashable, number: int, url: Url) -> Booked:
        """The same for a holder in another process."""
        try:
            partition = self._frontiers.get(partition_of(url, self._partitions))
            is_granted = await self.book(holder, number, url)
            return Booked(is_granted, epoch=partition.epoch if partition is not None else 0)
        except HostBlocked:
            return Booked(is_granted=False, is_blocked=True)

    def release(self, holder: Hashable, number: int, answer: Answer | None = None) -> None:
        booking = self._bookings.pop((holder, number), None)
        if booking is None:
            return
        if booking.granted.done() and not booking.granted.cancelled() and booking.granted.result():
            if (partition := self._frontiers.get(booking.partition)) is not None:  # else it was lost meanwhile
                partition.release(booking.host, answer)
        else:
            booking.granted.cancel()
        self._look_again()

    def forget(self, holder: Hashable) -> None:
        """The holder is gone."""
        for key in [key for key in self._bookings if key[0] == holder]:
            self.release(*key)

    def close(self, partition: int) -> None:
        """Give no more turns of this partition's hosts; who waits for one is sent away."""
        self._closed.add(partition)
        for key, booking in list(self._bookings.items()):
            if booking.partition == partition and not booking.granted.done():
                self.release(*key)

    def lose(self, partition: int) -> None:
        """The hosts of this partition are another's: whoever still asks one of them in its turn drops that."""
        self.close(partition)
        for (holder, number), booking in list(self._bookings.items()):
            if booking.partition != partition:
                continue
            if isinstance(holder, Peer):
                holder.close()  # which forgets all its turns
            elif (give_up := self._dropped_by.get(number)) is not None:
                give_up()

    def end(self) -> None:
        """The crawl is stopping: no more turns for anybody, and nobody waits for one."""
        self._is_over = True
        for partition in self._frontiers:
            self.close(partition)

    def open(self, partition: int) -> None:
        self._closed.discard(partition)

    def is_busy(self, partition: int) -> bool:
        return any(booking.partition == partition for booking in self._bookings.values())
