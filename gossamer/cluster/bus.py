"""The bus: links to the partitions that own them, in this process or in another.

The contract is the same for every bus: when `send` returns, the links are durable at their owners, so that the page
they came from may be finished. A link that is sent twice changes nothing, so whatever goes wrong on the way has one
answer: send it again, to whoever owns its partition then.

Back-pressure needs no machinery of its own. A slow owner acknowledges late, `send` returns late, the pages whose
links these are stay in flight, and the sender leases less. One `send` has at most one frame of about
`LINKS_BYTES_MAX` on the way to each owner.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from gossamer.cluster.neighbours import Neighbours
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.wire import BadMessage, Disconnected, Message
from gossamer.interfaces import Frontier
from gossamer.records import Link

LINKS_BYTES_MAX = 1 << 20  # of one frame, estimated: a sixteenth of what a frame may have
LINKS_AT_ONCE = 2000  # added before the event loop may do something else; as many as one batch of the store holds

Groups = dict[int, list[Link]]
"""Links by the partition they belong to."""


class Links(Message, frozen=True):
    """Take these; the answer comes when they are durable."""

    groups: Groups


class Taken(Message, frozen=True):
    refused: list[int]  # partitions that are not ours


class LinkBus:
    def __init__(
        self,
        frontiers: Mapping[int, Frontier],
        partitions: int,
        neighbours: Neighbours | None = None,
        look_again: Callable[[], None] = lambda: None,
    ) -> None:
        """`frontiers`: those of this process, as they come and go. No neighbours: all of them are here."""
        self.batches_received = 0
        self._frontiers = frontiers
        self._partitions = partitions
        self._neighbours = neighbours
        self._look_again = look_again

    async def send(self, links: Iterable[Link]) -> None:
        left = self._grouped(links)
        while left:
            version = self._neighbours.version if self._neighbours else 0
            by_owner: defaultdict[int, Groups] = defaultdict(dict)
            for partition, group in list(left.items()):
                if partition in self._frontiers:
                    await self._add(self._frontiers[partition], group)
                    del left[partition]
                elif self._neighbours and (owner := self._neighbours.owner(partition)) is not None:
                    by_owner[owner][partition] = group
            taken = await asyncio.gather(*(self._deliver(owner, groups) for owner, groups in by_owner.items()))
            for partition in (partition for partitions in taken for partition in partitions):
                del left[partition]
            if left and self._neighbours:
                await self._neighbours.change(version)

    def _grouped(self, links: Iterable[Link]) -> Groups:
        groups: defaultdict[int, list[Link]] = defaultdict(list)
        for link in links:
            groups[partition_of(link.url, self._partitions)].append(link)
        return dict(groups)

    async def _deliver(self, owner: int, groups: Groups) -> list[int]:
        """Send to one owner; returns the partitions that it took all links of."""
        assert self._neighbours is not None
        refused: set[int] = set()
        try:
            peer = await self._neighbours.peer(owner)
            for part in parts(groups):
                refused.update((await peer.call(Links(part), Taken)).refused)
        except Disconnected:
            return []
        return [partition for partition in groups if partition not in refused]

    async def _add(self, frontier: Frontier, group: list[Link]) -> None:
        rest = iter(group)
        while several := list(islice(rest, LINKS_AT_ONCE)):
            # Synced each time: the partition may move to another process in between.
            frontier.add(several)
            self._look_again()
            await asyncio.sleep(0)

    def take(self, links: Links) -> Taken:
        """What another worker sent. Durable when this returns."""
        refused = []
        for partition, group in links.groups.items():
            # Under the wrong partition a URL would be known in two places.
            if any(partition_of(link.url, self._partitions) != partition for link in group):
                raise BadMessage(f"sent links under partition {partition} that belong to another")
            frontier = self._frontiers.get(partition)
            if frontier is None:
                refused.append(partition)
            else:
                frontier.add(group)
        self.batches_received += 1
        self._look_again()
        return Taken(refused)


def parts(groups: Groups) -> Iterator[Groups]:
    """Cut what goes to one owner into frames."""
    part: Groups = {}
    room, count = LINKS_BYTES_MAX, 0
    for partition, group in groups.items():
        for link in group:
            bytes_ = 150 + len(link.url) + len(link.source or "") + 4 * len(link.anchor) + len(link.rel)
            if part and (bytes_ > room or count == LINKS_AT_ONCE):
                yield part
                part, room, count = {}, LINKS_BYTES_MAX, 0
            part.setdefault(partition, []).append(link)
            room -= bytes_
            count += 1
    if part:
        yield part
