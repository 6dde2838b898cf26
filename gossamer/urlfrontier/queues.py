"""The queues of all crawls in memory: what was said about each, its figures, and when its turn may come.

A queue that may have something to hand out is `ready`, or it waits in a heap for the moment from which on it may. It
is looked at when it comes up: what it waits for can only have moved closer by an event that wakes it. So whoever
takes URLs passes over no queue that has to wait, however many there are.

All queues are in memory, some 630 bytes each, and no URL is: at a million queues that is 0.6 GB.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from math import inf

from gossamer.urlfrontier.tables import QueueRecord, crawl_prefix, number

DEFAULT_CRAWL = "DEFAULT"


class Queue:
    __slots__ = (
        *("active", "clock_us", "completed", "crawl", "head", "in_process", "is_kept", "is_ready", "number"),
        *("prefix", "record", "wake_at"),
    )

    def __init__(self, queue: int, crawl: Crawl, record: QueueRecord) -> None:
        self.number = queue
        self.prefix = number(queue)
        self.crawl = crawl
        self.record = record
        self.is_kept = False  # whether its record is on disk
        self.active = 0  # URLs that are not done, those in process among them
        self.completed = 0
        self.in_process = 0
        self.clock_us = 0  # of the last hand-out
        self.head = b""  # nothing of it lies before this key: tombstones need not be passed
        self.is_ready = False
        self.wake_at = inf

    def __repr__(self) -> str:
        return f"Queue({self.record.key}, {self.active} active, {self.in_process} in process)"

    @property
    def is_full(self) -> bool:
        limit = self.record.limit
        return bool(limit) and self.completed + self.in_process >= limit

    def rested_at(self, delay_s: int) -> float:
        """From when on it may be asked. `delay_s`: where none was said for this queue."""
        own = self.record.delay_s
        return max(self.record.blocked_until, self.clock_us / 1e6 + (delay_s if own < 0 else own))


class Crawl:
    """Its queues by their keys, and its figures."""

    def __init__(self, crawl: int, name: str) -> None:
        self.number = crawl
        self.name = name
        self.prefix = crawl_prefix(crawl)
        self.is_kept = False
        self.queues: dict[str, Queue] = {}
        self.active = 0
        self.completed = 0
        self.in_process = 0
        self.active_queues = 0
        self.ready: deque[Queue] = deque()
        self._waiting: list[tuple[float, int, Queue]] = []

    def wake(self, queue: Queue, at: float) -> None:
        """It may have something to hand out from this moment on."""
        if not queue.is_ready and at < queue.wake_at:
            queue.wake_at = at
            heapq.heappush(self._waiting, (at, queue.number, queue))

    def wake_all(self, now: float) -> None:
        for queue in self.queues.values():
            self.wake(queue, now)

    def come_up(self, now: float) -> None:
        """Whose moment has come is ready."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            at, _, queue = heapq.heappop(waiting)
            if queue.wake_at == at and not queue.is_ready:  # or it was woken for another moment since
                queue.wake_at = inf
                queue.is_ready = True
                self.ready.append(queue)

    def add(self, queue: Queue, active: int, completed: int, in_process: int) -> None:
        """Count a change of a queue."""
        self.active_queues += (queue.active + active > 0) - (queue.active > 0)
        queue.active += active
        queue.completed += completed
        queue.in_process += in_process
        self.active += active
        self.completed += completed
        self.in_process += in_process

    def remove(self, queue: Queue) -> int:
        """Forget a queue; how many URLs it had."""
        removed = queue.active + queue.completed
        self.add(queue, -queue.active, -queue.completed, -queue.in_process)
        del self.queues[queue.record.key]
        return removed


class Queues:
    def __init__(self) -> None:
        self.crawls: dict[str, Crawl] = {}
        self.by_number: dict[int, Queue] = {}  # a number that is not here is nobody's
        self._first = 0  # which crawl begins where any will do

    def begun(self) -> list[Crawl]:
        """The crawls that have queues."""
        return [crawl for crawl in self.crawls.values() if crawl.queues]

    def find(self, crawl: str, key: str) -> Queue | None:
        found = self.crawls.get(crawl or DEFAULT_CRAWL)
        return found.queues.get(key) if found else None

    def add(self, queue: Queue) -> None:
        queue.crawl.queues[queue.record.key] = queue
        self.by_number[queue.number] = queue

    def remove(self, queue: Queue) -> int:
        del self.by_number[queue.number]
        return queue.crawl.remove(queue)

    def ready(self, crawls: list[Crawl], now: float) -> Iterator[Queue]:
        """Each queue that is ready once, in turn. Whoever takes one says when it may come up again (`wake`)."""
        self._first += 1
        first = self._first % len(crawls) if crawls else 0
        for crawl in crawls[first:] + crawls[:first]:
            crawl.come_up(now)
            for _ in range(len(crawl.ready)):
                if not crawl.ready:
                    break
                queue = crawl.ready.popleft()
                queue.is_ready = False
                if self.by_number.get(queue.number) is queue:
                    yield queue
