"""The bus: links to the partitions that own them.

On one worker that owns every partition it is a function call. The contract is the same for every bus: when `send`
returns, the links are durable at their owners, so that the page they came from may be finished.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from gossamer.cluster.partitions import partition_of
from gossamer.interfaces import Frontier
from gossamer.records import Link


class LocalBus:
    def __init__(self, frontiers: Mapping[int, Frontier]) -> None:
        self._frontiers = frontiers

    async def send(self, links: Iterable[Link]) -> None:
        by_owner: defaultdict[int, list[Link]] = defaultdict(list)
        for link in links:
            by_owner[partition_of(link.url, len(self._frontiers))].append(link)
        for owner, group in by_owner.items():
            self._frontiers[owner].add(group)
