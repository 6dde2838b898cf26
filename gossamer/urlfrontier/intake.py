"""URLs that clients put: which are new, which take the place of what is known, and which cannot be taken.

Many at a time: one question to the Bloom filter, one to the disk for those that it may know, one batch. Items count
in their order, also where a URL is among them twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.frontier.disk.seen import Seen
from gossamer.frontier.disk.store import RocksStore
from gossamer.urlfrontier.change import Change
from gossamer.urlfrontier.leases import Leases
from gossamer.urlfrontier.queues import DEFAULT_CRAWL, Crawl, Queue, Queues
from gossamer.urlfrontier.tables import (
    QueueRecord,
    ServiceRecord,
    UrlRecord,
    packed,
    pair,
    place,
    url_key,
    url_record,
)
from gossamer.urlfrontier.urlfrontier_pb2 import AckMessage, URLInfo, URLItem

OK, SKIPPED = AckMessage.OK, AckMessage.SKIPPED
KEY_CHARACTERS_MAX = 255
# The host of a URL of any scheme: without user, port, path and query.
HOST = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]*://)?+(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:&@]+)")


class Put(NamedTuple):
    """One URL as a client put it. `date`: from when on it is due, 0: never; None: it was discovered."""

    info: URLInfo
    date: int | None
    made_at: int = 0  # where it is known from elsewhere


def put_of(item: URLItem) -> Put | None:
    if item.HasField("known"):
        return Put(item.known.info, item.known.refetchable_from_date)
    return Put(item.discovered.info, None) if item.HasField("discovered") else None


class Intake:
    def __init__(self, store: RocksStore, queues: Queues, leases: Leases, seen: Seen, service: ServiceRecord) -> None:
        self._store = store
        self._queues = queues
        self._leases = leases
        self._seen = seen
        self._service = service
        self.discovered = self.known_already = self.updated = self.completed = 0

    def put(self, change: Change, puts: Sequence[Put | None], now: float, *, sync: bool) -> list[int]:
        """The status of each. Raises where it cannot be written; then nothing was put."""
        statuses: list[int] = [SKIPPED] * len(puts)
        targets = self._targets(puts)
        records = self._known([key for _, _, key in targets])
        new: list[bytes] = []
        moved: list[UrlRecord] = []
        wakes: list[tuple[Queue, bytes, int]] = []
        second = int(now)
        write = change.batch.put
        skipped = 0
        for at, queue, key in targets:
            info, date, made_at = puts[at]  # type: ignore[misc]
            old = records.get(key)
            if old is not None and date is None:
                skipped += 1
                continue
            if old is None:
                new.append(key)
                change.urls += 1
            else:
                self._take_out(change, old)
                moved.append(old)
            if not queue.is_kept:
                self._queues.add(queue)
            change.turn += 1
            turn, delta = change.turn, change.of(queue)
            if date == 0:
                write("done", pair(queue.number, turn), info.SerializeToString())
                delta.completed += 1
            else:
                date = date or second
                entry = place(queue.number, date, turn)
                write("queue", entry, info.SerializeToString())
                delta.active += 1
                wakes.append((queue, entry, date))
            record = records[key] = UrlRecord(queue.number, date, turn, old.made_at if old else made_at or second)
            write("urls", key, packed(*record))
            statuses[at] = OK
        change.write(sync=sync)
        self._seen.add(new)
        self._come_up(wakes, moved, now)
        self.known_already += skipped
        self._count(puts, statuses)
        return statuses

    def _targets(self, puts: Sequence[Put | None]) -> list[tuple[int, Queue, bytes]]:
        """Of those that can be taken: place among all, queue and key."""
        fresh: dict[tuple[str, str], Queue] = {}
        targets = []
        for at, each in enumerate(puts):
            queue = self._queue_of(each.info, fresh) if each else None
            if each is not None and queue is not None:
                targets.append((at, queue, url_key(queue.crawl.prefix, each.info.url)))
        return targets

    def _come_up(self, wakes: list[tuple[Queue, bytes, int]], moved: list[UrlRecord], now: float) -> None:
        """Queues may have something to hand out by what was written: new entries, and URLs that left their place."""
        for old in moved:
            self._leases.ended(old.turn)
            queue = self._queues.by_number[old.queue]
            queue.crawl.wake(queue, now)  # it may have been at its limit
        for queue, entry, date in wakes:
            queue.head = min(queue.head, entry)
            if not queue.is_ready and date < queue.wake_at:
                queue.crawl.wake(queue, date)

    def _count(self, puts: Sequence[Put | None], statuses: list[int]) -> None:
        for each, status in zip(puts, statuses, strict=True):
            if each is not None and each.date is None:
                self.discovered += 1
            elif each is not None and status == OK:
                self.updated += 1
                self.completed += each.date == 0

    def _take_out(self, change: Change, old: UrlRecord) -> None:
        """Of wherever it is now. Its queue lives, or it would not be known."""
        queue = self._queues.by_number[old.queue]
        delta = change.of(queue)
        if old.date == 0:
            change.batch.delete("done", pair(old.queue, old.turn))
            delta.completed -= 1
            return
        delta.active -= 1
        if old.turn in self._leases:
            change.batch.delete("leases", self._leases.key(old.turn))
            delta.in_process -= 1
        else:
            change.batch.delete("queue", place(*old[:3]))

    def forget(self, change: Change, keys: list[bytes], now: float) -> int:
        """Of URLs that are not in process; how many there were."""
        old = {key: record for key, record in self._known(keys).items() if record.turn not in self._leases}
        for key, record in old.items():
            self._take_out(change, record)
            change.batch.delete("urls", key)
            change.urls -= 1
        change.write(sync=False)
        self._come_up([], list(old.values()), now)
        return len(old)

    def _known(self, keys: list[bytes]) -> dict[bytes, UrlRecord]:
        """Those that have a record, and a queue that lives."""
        asked = [key for key, may in zip(keys, self._seen.may_know(keys), strict=True) if may]
        living = self._queues.by_number
        found = {}
        for key, value in zip(asked, self._store.get_many("urls", asked), strict=True):
            if value is not None and (record := url_record(value)).queue in living:
                found[key] = record
        return found

    def _queue_of(self, info: URLInfo, fresh: dict[tuple[str, str], Queue]) -> Queue | None:
        """None: this URL cannot be taken. The info is completed, as it is sent later. A queue that is not there yet
        is among the fresh ones; it is made when it gets its first URL."""
        url, key, name = info.url, info.key, info.crawlID
        if not url:
            return None
        if not key:
            host = HOST.match(url)
            if host is None:
                return None
            key = info.key = host[1].lower()
        if len(key) > KEY_CHARACTERS_MAX:
            return None
        if not name:
            name = info.crawlID = DEFAULT_CRAWL
        crawl = self._queues.crawls.get(name)
        if crawl is None:
            crawl = self._new_crawl(name)
        return crawl.queues.get(key) or fresh.get((name, key)) or self._new_queue(crawl, key, fresh)

    def _new_crawl(self, name: str) -> Crawl:
        self._service.crawls += 1
        crawl = self._queues.crawls[name] = Crawl(self._service.crawls, name)
        return crawl

    def _new_queue(self, crawl: Crawl, key: str, fresh: dict[tuple[str, str], Queue]) -> Queue:
        self._service.queues += 1
        queue = fresh[crawl.name, key] = Queue(self._service.queues, crawl, QueueRecord(crawl.number, key))
        return queue
