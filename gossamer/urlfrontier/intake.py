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
    number_in,
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

    def put(self, change: Change, puts: Sequence[Put | None], now: float) -> list[int]:
        """The status of each. Raises where it cannot be written; then nothing was put."""
        statuses: list[int] = [SKIPPED] * len(puts)
        targets = self._targets(puts)
        records = self._known([target[4] for target in targets])
        new: list[bytes] = []
        moved: list[UrlRecord] = []
        wakes: list[tuple[Queue, bytes, int]] = []
        second = int(now)
        write = change.batch.put
        skipped = discovered = completed = 0
        for at, put, url_info, queue, key in targets:
            date = put.date
            discovered += date is None
            value = records.get(key)
            if value is None:
                made_at = put.made_at or second
                new.append(key)
            elif date is None:
                skipped += 1
                continue
            else:
                old = url_record(value)
                made_at = old.made_at
                self._take_out(change, old)
                moved.append(old)
            if not queue.is_kept:
                self._queues.add(queue)
            change.turn = turn = change.turn + 1
            delta = change.of(queue)
            if date == 0:
                write("done", pair(queue.number, turn), url_info.SerializeToString())
                delta.completed += 1
                completed += 1
            else:
                date = date or second
                entry = place(queue.number, date, turn)
                write("queue", entry, url_info.SerializeToString())
                delta.active += 1
                wakes.append((queue, entry, date))
            value = records[key] = packed(queue.number, date, turn, made_at)
            write("urls", key, value)
            statuses[at] = OK
        change.urls += len(new)
        change.write(sync=False)
        self._seen.add(new)
        self._come_up(wakes, moved, now)
        self.known_already += skipped
        self.discovered += discovered
        self.updated += len(targets) - discovered
        self.completed += completed
        return statuses

    def _targets(self, puts: Sequence[Put | None]) -> list[tuple[int, Put, URLInfo, Queue, bytes]]:
        """Of those that can be taken: place among all, what was put, queue and key."""
        fresh: dict[tuple[str, str], Queue] = {}
        crawls = self._queues.crawls
        targets = []
        for at, put in enumerate(puts):
            if put is None:
                continue
            url_info = put.info
            url, key = url_info.url, url_info.key
            # Most are in a queue that is there, with nothing left out.
            crawl = crawls.get(url_info.crawlID)
            queue = crawl.queues.get(key) if crawl is not None and url else None
            if queue is None:
                queue = self._queue_of(url_info, fresh)
                if queue is None:
                    continue
            targets.append((at, put, url_info, queue, url_key(queue.crawl.prefix, url)))
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
        """Whatever is known of these URLs, but of those in process; how many there were."""
        known = {key: url_record(value) for key, value in self._known(keys).items()}
        old = {key: record for key, record in known.items() if record.turn not in self._leases}
        for key, record in old.items():
            self._take_out(change, record)
            change.batch.delete("urls", key)
            change.urls -= 1
        change.write(sync=False)
        self._come_up([], list(old.values()), now)
        return len(old)

    def _known(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """The records of those that have one, and a queue that lives."""
        # Sorted, because keys of one block are then read together: 7 % of all that a URL costs at a million.
        asked = sorted(key for key, may in zip(keys, self._seen.may_know(keys), strict=True) if may)
        living = self._queues.by_number
        found = zip(asked, self._store.get_many("urls", asked), strict=True)
        return {key: value for key, value in found if value is not None and number_in(value)[0] in living}

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
