"""One write batch, and what it does to the queues in memory once it is written.

Nothing in memory changes before the disk has it: a batch that could not be written (no room) has not happened.
"""

from __future__ import annotations

from gossamer.frontier.disk.store import RocksStore
from gossamer.urlfrontier.queues import Crawl, Queue
from gossamer.urlfrontier.tables import (
    MICROSECONDS,
    SERVICE,
    TOTALS,
    ServiceRecord,
    counts,
    crawl_prefix,
    encode,
    pair,
)


class Totals:
    """What is the same for all queues, as it is on disk."""

    def __init__(self, turn: int = 0, urls: int = 0) -> None:
        self.turn = turn  # the last that was given
        self.urls = urls  # in the table of this name
        self.is_synced = True  # a power cut would take nothing


class Delta:
    __slots__ = ("active", "clock_us", "completed", "in_process")

    def __init__(self, clock_us: int) -> None:
        self.active = self.completed = self.in_process = 0
        self.clock_us = clock_us


class Change:
    def __init__(self, store: RocksStore, totals: Totals, service: ServiceRecord) -> None:
        self.batch = store.batch()
        self._store = store
        self._totals = totals
        self._service = service
        self._deltas: dict[Queue, Delta] = {}
        self._records: list[Queue] = []
        self._crawls: list[Crawl] = []
        self.turn = totals.turn
        self.urls = totals.urls

    def of(self, queue: Queue) -> Delta:
        found = self._deltas.get(queue)
        if found is None:
            found = self._deltas[queue] = Delta(queue.clock_us)
            if not queue.is_kept:
                self.keep(queue)
        return found

    def keep(self, queue: Queue) -> None:
        """What is said about the queue is written too."""
        self._records.append(queue)
        if not queue.crawl.is_kept:
            self._crawls.append(queue.crawl)

    def __len__(self) -> int:
        return len(self.batch)

    def write(self, *, sync: bool) -> None:
        put = self.batch.put
        for queue, delta in self._deltas.items():
            active, completed = queue.active + delta.active, queue.completed + delta.completed
            put("counts", queue.prefix, counts(active, completed, delta.clock_us))
        for queue in self._records:
            put("queues", queue.prefix, encode(queue.record))
        for crawl in self._crawls:
            put("crawls", crawl_prefix(crawl.number), crawl.name.encode())
        if self._records:
            put("meta", SERVICE, encode(self._service))
        put("meta", TOTALS, pair(self.turn, self.urls))
        self._store.write(self.batch, sync=sync)
        self._totals.turn, self._totals.urls, self._totals.is_synced = self.turn, self.urls, sync
        for crawl in self._crawls:
            crawl.is_kept = True
        for queue in self._records:
            queue.is_kept = True
        for queue, delta in self._deltas.items():
            queue.clock_us = delta.clock_us
            queue.crawl.add(queue, delta.active, delta.completed, delta.in_process)


def microseconds(moment: float) -> int:
    return int(moment * MICROSECONDS)
