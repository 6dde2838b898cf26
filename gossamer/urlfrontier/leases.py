"""Leases: URLs that are in process, and until when.

A URL that is handed out moves from its queue to a table in the order of the leases' ends, in the same batch that sets
its queue's clock; so nobody gets it twice, also after `kill -9`. It goes back to its old place in the queue when its
time is up, or to wherever its client puts it before that. There is no renewal: the contract has none.

In memory is the end of each, 120 bytes.
"""

from __future__ import annotations

from gossamer.frontier.disk.store import RocksStore
from gossamer.urlfrontier.change import Change, microseconds
from gossamer.urlfrontier.queues import Queue, Queues
from gossamer.urlfrontier.tables import PAIR_BYTES, number, number_in, pair, pair_in, place

STEP = 500  # leases that end in one batch


class Leases:
    def __init__(self, store: RocksStore, queues: Queues) -> None:
        self._store = store
        self._queues = queues
        self._ends: dict[int, int] = {}  # by their turns
        self._soonest = 0  # none ends before, and nothing lies before it on disk
        for key, value in store.scan("leases"):
            end, turn = pair_in(key)
            queue = queues.by_number[pair_in(value)[0]]
            self._ends[turn] = end
            queue.crawl.add(queue, 0, 0, 1)

    def __len__(self) -> int:
        return len(self._ends)

    def __contains__(self, turn: int) -> bool:
        return turn in self._ends

    def put(self, change: Change, queue: Queue, key: bytes, value: bytes, end_us: int) -> int:
        """Of the entry of a queue; returns its turn."""
        date, turn = pair_in(key, 8)
        change.batch.delete("queue", key)
        change.batch.put("leases", pair(end_us, turn), pair(queue.number, date) + value)
        return int(turn)

    def begun(self, turns: list[int], end_us: int) -> None:
        """Once they are on disk."""
        self._ends.update(dict.fromkeys(turns, end_us))
        self._soonest = min(self._soonest, end_us)

    def key(self, turn: int) -> bytes:
        return pair(self._ends[turn], turn)

    def ended(self, turn: int) -> None:
        """Once that is on disk."""
        self._ends.pop(turn, None)

    def due(self, now: float) -> list[tuple[bytes, bytes]]:
        """Entries of leases whose time is up, some of them."""
        if not self._ends or self._soonest > microseconds(now):
            return []
        found = self._store.first("leases", b"", STEP, number(self._soonest))
        due = [entry for entry in found if number_in(entry[0])[0] <= microseconds(now)]
        if found:
            self._soonest = number_in((found[len(due)] if len(due) < len(found) else found[-1])[0])[0]
        return due

    def give_back(self, change: Change, entries: list[tuple[bytes, bytes]], now: float) -> None:
        """To their queues, where they were."""
        returned: list[tuple[int, Queue, bytes]] = []
        for key, value in entries:
            turn = pair_in(key)[1]
            number_of, date = pair_in(value)
            queue, at = self._queues.by_number[number_of], place(number_of, date, turn)
            change.batch.delete("leases", key)
            change.batch.put("queue", at, value[PAIR_BYTES:])
            change.of(queue).in_process -= 1
            returned.append((turn, queue, at))
        change.write(sync=False)
        for turn, queue, at in returned:
            self.ended(turn)
            queue.head = min(queue.head, at)
            queue.crawl.wake(queue, now)

    def give_up(self, change: Change, queues: set[int]) -> list[int]:
        """Of queues that are deleted in the same batch: their URLs lie with those that are done, to be swept away."""
        turns = []
        for key, value in self._store.scan("leases") if queues else ():
            number_of = pair_in(value)[0]
            if number_of in queues:
                turns.append(pair_in(key)[1])
                change.batch.delete("leases", key)
                change.batch.put("done", pair(number_of, turns[-1]), value[PAIR_BYTES:])
        return turns
