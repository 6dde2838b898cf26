"""What waits for its moment: URLs for another try, and hosts that rest. On disk in the order of those moments.

**Outages.** Nothing is given up for good because a server is away. A host whose last `host_failures_max` requests
all failed rests: its queue stays as it is, nothing of it is handed out, and after its rest one request tries. Each
rest is longer than the one before (`frontier.rests_s`) until something is answered. A single URL rests in the same
way where its tries are used up and the failure is not its own, or where robots.txt cannot be fetched (steps.py). So
does a host from the first robots.txt that had no answer until its next try: whoever waits for later tries
(`crawl.wait`) waits for these too, and for no outage.

`Totals.resting` counts the URLs that were never fetched and wait for such a rest, of either kind: a crawl in which
nothing else is left has done what it can for now. A host that merely has to wait for long, because it is slow or asks
for that, leaves its slot in memory and is listed here too, but does not rest in this sense.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.frontier.change import Change
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import HOST_KEY_BYTES, OUTAGE, Meta, due_key, is_apart, moment_of, order_of
from gossamer.frontier.front import Front
from gossamer.interfaces import BATCH_MAX, Batch, Store
from gossamer.records import Host, State, UrlRecord
from gossamer.url.site import host_of


def rest_s(rests_s: Sequence[float], number: int) -> float:
    """How long the first, second, ... rest in a row is."""
    return rests_s[min(number, len(rests_s)) - 1]


class Due:
    def __init__(
        self, store: Store, reader: PartitionReader, front: Front, meta: Meta, rests_s: Sequence[float]
    ) -> None:
        self._store = store
        self._reader = reader
        self._front = front
        self._meta = meta
        self._rests_s = rests_s
        self.next_at = next((moment_of(key) for key, _ in store.scan("due")), None)

    def put(self, batch: Batch, moment: float, key: bytes, kind: bytes = b"") -> None:
        """The key of a URL or of a host."""
        batch.put("due", due_key(moment, key), kind)
        self.next_at = min(moment, self.next_at or moment)

    def put_url(self, change: Change, moment: float, key: bytes, host: Host, *, rests: bool) -> None:
        """A URL that was never fetched waits for another try, or for the end of an outage."""
        self.put(change.batch, moment, key, OUTAGE if rests else b"")
        self._meta.totals.waiting += 1
        if rests:
            change.count_resting(host, 1)
        else:
            self._meta.totals.later += 1

    def wake(self, change: Change) -> None:
        """Queue again what waited for another try, and list hosts again that rested, once their moment has come."""
        if self.next_at is None or self.next_at > change.now:
            return
        self.next_at = None
        for due, kind in self._store.scan("due"):
            if moment_of(due) > change.now or change.size >= BATCH_MAX:
                self.next_at = moment_of(due)
                break
            change.batch.delete("due", due)
            key = due[8:]
            if len(key) == HOST_KEY_BYTES:
                self._list_again(change, key)
                continue
            known = self._reader.known(key)
            assert known is not None, f"due but unknown: {due.hex()}"
            self._queue(change, key, known, kind)

    def wake_url(self, change: Change, key: bytes, known: UrlRecord) -> None:
        """Its moment is now."""
        assert known.due_at is not None, f"waits for no moment: {known}"
        due = due_key(known.due_at, key)
        kind = self._store.get("due", due)
        assert kind is not None, f"waiting, and not due: {known}"
        change.batch.delete("due", due)
        self._queue(change, key, msgspec.structs.replace(known, attempts=0), kind)

    def _queue(self, change: Change, key: bytes, known: UrlRecord, kind: bytes) -> None:
        self._meta.totals.waiting -= 1
        if kind == OUTAGE:
            change.count_resting(change.host(key, host_of(known.url)), -1)
        elif self._meta.totals.later:  # else it waited before these were counted
            self._meta.totals.later -= 1
        change.enqueue(key, msgspec.structs.replace(known, state=State.QUEUED, due_at=None))

    # ---- hosts -------------------------------------------------------------------------------------------

    def begin_rest(self, change: Change, key: bytes, host: Host) -> None:
        """The host failed too often: leave it alone, longer than the last time."""
        host.rests += 1
        self._rest_until(change, key, host, change.now + rest_s(self._rests_s, host.rests))

    def wait_for_robots(self, change: Change, key: bytes, host: Host) -> None:
        """Its robots.txt had no answer: nothing of it may be asked before the next try."""
        self._rest_until(change, key, host, host.ready_at)

    def _rest_until(self, change: Change, key: bytes, host: Host, moment: float) -> None:
        host.rest_until = moment
        self.put(change.batch, host.rest_until, key)
        self._meta.turn += 1
        self._front.set_apart(change.batch, key, host, self._meta.turn)
        self._front.turns.remove(key)
        change.count_resting(host, host.queued - host.revisits)

    def end_rest(self, change: Change, key: bytes, host: Host) -> None:
        """Its moment is now."""
        change.batch.delete("due", due_key(host.rest_until, key))
        self._list_again(change, key, host)

    def hasten(self, change: Change, key: bytes, host: Host, before: float) -> None:
        """The host may be asked sooner than it was said `before`."""
        change.batch.delete("due", due_key(before, key))
        if (back := self._front.active.get(key)) is not None:
            self._front.arm(back)
        else:
            self._list_again(change, key, host)

    def _list_again(self, change: Change, key: bytes, host: Host | None = None) -> None:
        head = next(self._store.scan("queue", prefix=key), None)
        host = host or self._front.host(key)
        if host is None:
            return
        host = change.host(key, host.name)
        if host.is_resting:
            host.rest_until = 0.0
            change.count_resting(host, host.revisits - host.queued)
        if head is not None:
            if is_apart(host.front_key):
                self._front.strike(change.batch, host)
            self._meta.turn += 1
            self._front.enlist(change.batch, key, host, order_of(head[0]), self._meta.turn)
