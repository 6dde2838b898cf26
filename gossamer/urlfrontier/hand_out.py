"""URLs that clients get: the queues in turn, of each those that are due, the oldest date first.

A queue is asked if it is not blocked, its limit is not reached, its delay since the last hand-out is over, and fewer
of its URLs are in process than the client wants of it. The leases and the queues' clocks are on disk before a URL is
sent. What a client takes without bounds comes in steps, so that others get their turns, and is leased step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gossamer.clock import Clock
from gossamer.frontier.disk.store import RocksStore
from gossamer.urlfrontier.change import Change, microseconds
from gossamer.urlfrontier.leases import Leases
from gossamer.urlfrontier.queues import Queue, Queues
from gossamer.urlfrontier.tables import ServiceRecord, pair_in

STEP = 500  # URLs that are leased in one batch
LEASE_S = 30
NO_BOUND = 1 << 62


class Wanted(NamedTuple):
    crawl: str = ""  # empty: any
    key: str = ""  # of one queue; empty: any
    queues_max: int = NO_BOUND
    urls_max: int = NO_BOUND  # of a queue, those in process among them
    lease_s: int = LEASE_S


class HandOut:
    def __init__(
        self,
        store: RocksStore,
        queues: Queues,
        leases: Leases,
        service: ServiceRecord,
        change: Callable[[], Change],
        clock: Clock,
    ) -> None:
        self._store = store
        self._queues = queues
        self._leases = leases
        self._service = service
        self._change = change
        self._clock = clock
        self.urls = 0

    def steps(self, wanted: Wanted) -> Iterator[list[bytes]]:
        """URLs, as messages, in lists of some hundreds; between two of them anything may happen."""
        step, served = self._step(wanted), 0
        for queue in self._candidates(wanted, step.now):
            room = self._room(queue, wanted, step.now)
            is_served = False
            while room > 0:
                asked = min(room, STEP)
                found = self._due(queue, asked, step.now)
                if found:
                    is_served = True
                    step.take(queue, found)
                    room -= len(found)
                if len(step.sent) >= STEP:
                    yield self._written(step)
                    step = self._step(wanted)
                if len(found) < asked or queue.number not in self._queues.by_number:
                    break
            served += is_served
            if served >= wanted.queues_max:
                break
        if step.sent:
            yield self._written(step)

    def _step(self, wanted: Wanted) -> _Step:
        now = self._clock.now()
        return _Step(self._change(), self._leases, now, now + wanted.lease_s)

    def _written(self, step: _Step) -> list[bytes]:
        for queue in step.write():
            queue.crawl.wake(queue, queue.rested_at(self._service.delay_s))
        self.urls += len(step.sent)
        return step.sent

    def _candidates(self, wanted: Wanted, now: float) -> Iterator[Queue]:
        if wanted.key:
            queue = self._queues.find(wanted.crawl, wanted.key) if wanted.crawl else None
            return iter([queue] if queue else [])
        crawls = self._queues.begun()
        return self._queues.ready([each for each in crawls if wanted.crawl in ("", each.name)], now)

    def _room(self, queue: Queue, wanted: Wanted, now: float) -> int:
        """How many URLs it may hand out now. Where it has to wait, it comes up again by itself."""
        rested_at = queue.rested_at(self._service.delay_s)
        if rested_at > now:
            queue.crawl.wake(queue, rested_at)
            return 0
        if queue.is_full:
            return 0  # until its limit is another, or a lease ends
        room = wanted.urls_max - queue.in_process
        if room <= 0:
            queue.crawl.wake(queue, now)  # somebody else may want more of it
            return 0
        limit = queue.record.limit
        return min(room, limit - queue.completed - queue.in_process) if limit else room

    def _due(self, queue: Queue, most: int, now: float) -> list[tuple[bytes, bytes]]:
        found = self._store.first("queue", queue.prefix, most, queue.head)
        if found and pair_in(found[-1][0], 8)[0] > now:
            due = [entry for entry in found if pair_in(entry[0], 8)[0] <= now]
            key = found[len(due)][0]
            if not due:
                queue.head = key
                queue.crawl.wake(queue, pair_in(key, 8)[0])
            return due
        return found


class _Step:
    """What is leased in one batch."""

    def __init__(self, change: Change, leases: Leases, now: float, end: float) -> None:
        self.now = now
        self.sent: list[bytes] = []
        self._change = change
        self._leases = leases
        self._end_us = microseconds(end)
        self._turns: list[int] = []
        self._heads: list[tuple[Queue, bytes]] = []

    def take(self, queue: Queue, found: list[tuple[bytes, bytes]]) -> None:
        for key, value in found:
            self._turns.append(self._leases.put(self._change, queue, key, value, self._end_us))
            self.sent.append(value)
        delta = self._change.of(queue)
        delta.in_process += len(found)
        delta.clock_us = microseconds(self.now)
        self._heads.append((queue, found[-1][0]))

    def write(self) -> list[Queue]:
        """The queues that had something."""
        self._change.write(sync=False)
        self._leases.begun(self._turns, self._end_us)
        for queue, head in self._heads:
            queue.head = head
        return [queue for queue, _ in self._heads]
