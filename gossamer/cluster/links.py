"""Links to the partitions that they belong to: at once where those are in this process, else through the link log.

When `send` returns, every link is durable, so that the page it came from may be finished. Nobody waits for an owner.
A link that comes twice changes nothing. In a cluster durable means more than this disk: the journal of the partition
that got the link is another one than that of the page, and one may be acknowledged long before the other.

Back-pressure is the length of the log. While somebody's log is longer than `UNREAD_BYTES_MAX`, because its owner is
slow or it has none, this process asks for no more pages (`held_up`). What is in flight may still add to it. The same
holds while the log cannot be reached.

In a cluster the log is Kafka's, which is there to hold more: others stop at `KAFKA_UNREAD_BYTES_MAX`, as far as the
owner of a partition has told how far it has read (`others_have_read`). Before that an owner that is behind helps
itself: while more than `BEHIND_BYTES_MAX` wait for one of its partitions, it adds links and asks for nothing.
"""

from __future__ import annotations

import asyncio
import errno
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.interfaces import LinkLog
from gossamer.outlinks import OwnLinks, batches, one_by_one
from gossamer.questions import Question
from gossamer.records import Link

LINKS_AT_ONCE = 2000  # applied before the event loop may do something else
UNREAD_BYTES_MAX = 64 << 20  # of one log
KAFKA_UNREAD_BYTES_MAX = 1 << 30  # the same in a cluster, before packing: hours of links to one partition
BEHIND_BYTES_MAX = 16 << 20  # of one log, in a cluster: seconds of work for its owner
TRIM_BYTES = 8 << 20  # read, before the store is synced and the log gives them back
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_ROOM_S = 1.0  # between two tries to write while the disk is full
LOOK_S = 0.03  # between two looks at logs that have nothing new


class Receiver(Protocol):
    """What this file needs of a partition."""

    is_leaving: bool

    @property
    def log_position(self) -> int: ...
    def apply_links(
        self, links: Iterable[Link | OwnLinks], position: int | None = None, *, sync: bool = True
    ) -> int: ...
    async def settled(self) -> bool:
        """Whether all that was applied so far is durable; False: it was given up meanwhile, and nobody knows."""


class LinkExchange:
    """Implements `interfaces.Links`."""

    def __init__(
        self,
        log: LinkLog,
        partitions: Mapping[int, Receiver],
        count: int,
        clock: Clock,
        *,
        is_damaged: Callable[[int], bool] = lambda partition: False,
        look_again: Callable[[], None] = lambda: None,
        hear: Callable[[Question], None] = lambda question: None,
        is_alone: bool = True,
    ) -> None:
        """`partitions`: those of this process, as they come and go, of `count` in all. `hear`: what other nodes ask
        of our partitions. `is_alone`: this machine is no node of a cluster."""
        self.held_up = ""  # why no more pages should be asked for
        self._log = log
        self._partitions = partitions
        self._count = count
        self._clock = clock
        self._is_damaged = is_damaged
        self._look_again = look_again
        self._hear = hear
        self._is_alone = is_alone
        self._behind: set[int] = set()  # of ours: partitions with more links than can be added beside crawling
        self._trimmed: dict[int, int] = {}  # up to which position, by partition
        self._no_room = ""
        self._long: set[int] = set()  # partitions whose log is too long

    async def send(self, links: Iterable[Link | OwnLinks]) -> None:
        groups: defaultdict[int, list[Link | OwnLinks]] = defaultdict(list)
        by_origin: dict[str, list[Link | OwnLinks]] = {}
        origin, group = "?", list[Link | OwnLinks]()
        for link in links:
            url = link.url
            if not url.startswith(origin):  # most links lead to where the one before led
                origin = url[: url.index("/", url.index("//") + 2) + 1]
                found = by_origin.get(origin)
                group = by_origin[origin] = groups[partition_of(url, self._count)] if found is None else found
            group.append(link)
        ours = {number: partition for number in groups if (partition := self._partitions.get(number)) is not None}
        away = {number: rest for number, group in groups.items() if (rest := await self._apply(number, group))}
        for number, partition in ours.items():
            if not await partition.settled():
                away[number] = one_by_one(groups[number])
        if away:
            await self._append(away)
            self._long |= {number for number in away if self._is_long(number)}
            self._tell()

    def _is_long(self, number: int) -> bool:
        most = UNREAD_BYTES_MAX if self._is_alone else KAFKA_UNREAD_BYTES_MAX
        return self._log.unread_bytes(number) > most

    def others_have_read(self, positions: Mapping[int, int] | None) -> None:
        """How far partitions were read, as their owners have told; those of ours we know ourselves."""
        for number, position in (positions or {}).items():
            if number not in self._partitions:
                self._log.trim(number, position)

    @property
    def unread_bytes(self) -> dict[int, int]:
        """Of our own partitions in a cluster: about how much is still to be added, where there is anything."""
        if self._is_alone:
            return {}
        found = {number: self._log.unread_bytes(number) for number in self._partitions}
        return {number: unread for number, unread in found.items() if unread}

    async def _append(self, away: Mapping[int, Sequence[Link]]) -> None:
        """Or wait until there is room on the disk: meanwhile nothing more is asked for."""
        while True:
            try:
                return await self._log.append(away)
            except OSError as full:
                if full.errno not in NO_ROOM:
                    raise
                self._no_room = f"{full.strerror}: links cannot be stored"
                self._tell()
                await self._clock.sleep(NO_ROOM_S)
            finally:
                self._no_room = ""

    async def _apply(self, number: int, group: Sequence[Link | OwnLinks]) -> list[Link]:
        """Add links to a partition of ours, some at a time; returns what is left where it is not, or no more."""
        added = 0
        for some in batches(group, LINKS_AT_ONCE):
            partition = self._partitions.get(number)  # asked for each time: what was ours may be closed by now
            if partition is None:
                # Where nobody can own it they are in the archive, from which the partition can be made anew.
                return [] if self._is_damaged(number) else one_by_one(group[added:])
            partition.apply_links(some)
            added += len(some)
            self._look_again()
            await asyncio.sleep(0)
        return []

    async def receive(self) -> None:
        """Apply what others have sent, for ever."""
        while True:
            is_any = False
            for number in list(self._partitions):
                is_any |= await self._receive(number)
            self._long = {number for number in self._long if self._is_long(number)}
            most = {number: BEHIND_BYTES_MAX // (2 if number in self._behind else 1) for number in self._partitions}
            self._behind = {number for number, unread in self.unread_bytes.items() if unread > most[number]}
            self._tell()
            if not is_any:
                await self._clock.sleep(LOOK_S)

    async def _receive(self, number: int) -> bool:
        partition = self._partitions.get(number)
        if partition is None or partition.is_leaving:
            return False
        batch = self._log.read(number, partition.log_position)
        if batch is None:
            return False
        # Not synced: what a crash of the machine takes away is read again.
        is_due = batch.position - self._trimmed.setdefault(number, partition.log_position) >= TRIM_BYTES
        partition.apply_links(batch.links, batch.position, sync=is_due)
        for question in batch.questions:
            self._hear(question)
        if is_due:
            self._trimmed[number] = batch.position
            self._log.trim(number, batch.position)
        self._look_again()
        await asyncio.sleep(0)
        return True

    @property
    def has_unread(self) -> bool:
        return any(self._log.end(number) > each.log_position for number, each in self._partitions.items())

    def _tell(self) -> None:
        why = self._no_room or self._log.held_up
        if self._long and not why:
            why = f"partition {min(self._long)} has too many unread links: its worker is slow or missing"
        if self._behind and not why:
            why = f"links that came for partition {min(self._behind)} are added first: there are many"
        if why != self.held_up:
            self.held_up = why
            self._look_again()
