"""The frontier: its store opened, its parts put together, and what is said about queues and crawls.

A deleted queue is gone at once, durably; what is left of it on disk is swept away in steps (`sweep`), also after a
crash. A URL is known only while its queue lives, so that it can be put again before it is swept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.frontier.disk.seen import Seen
from gossamer.frontier.disk.store import RocksStore
from gossamer.settings import FrontierSettings
from gossamer.urlfrontier.change import Change, Totals
from gossamer.urlfrontier.hand_out import HandOut, Wanted
from gossamer.urlfrontier.intake import Intake, Put
from gossamer.urlfrontier.leases import Leases
from gossamer.urlfrontier.queues import Crawl, Queue, Queues
from gossamer.urlfrontier.tables import (
    PAIR_BYTES,
    SERVICE,
    TABLES,
    TOTALS,
    ServiceRecord,
    UrlRecord,
    counts_in,
    encode,
    number_in,
    pair,
    pair_in,
    place,
    queue_record,
    service_record,
    url_key,
    url_record,
)
from gossamer.urlfrontier.urlfrontier_pb2 import URLInfo

SYNC_S = 1.0  # what a power cut may take; `kill -9` takes nothing
SWEEP_STEP = 500
LEASE_STEPS = 10  # of some hundred leases each, before somebody else has a turn


class Frontier:
    def __init__(self, folder: Path, settings: FrontierSettings, clock: Clock) -> None:
        self._clock = clock
        self.store = store = RocksStore(folder / "store", TABLES)
        self._deleted: dict[int, Crawl] = {}  # queues of which something may be left
        self._synced_at = 0.0
        self.service = _said(store)
        self.totals = Totals(*pair_in(store.get("meta", TOTALS) or bytes(PAIR_BYTES)))
        self.queues = self._opened(Queues())
        self.leases = Leases(store, self.queues)
        self._seen = Seen(store, settings, folder / "seen.bloom", self.totals.urls)
        self.intake = Intake(store, self.queues, self.leases, self._seen, self.service)
        self.hand_out = HandOut(store, self.queues, self.leases, self.service, self._change, clock)

    def _opened(self, queues: Queues) -> Queues:
        now = self._clock.now()
        crawls = {}
        for key, value in self.store.scan("crawls"):
            crawl = Crawl(int.from_bytes(key, "big"), value.decode())
            crawl.is_kept = True
            crawls[crawl.number] = queues.crawls[crawl.name] = crawl
        figures = self.store.scan("counts")
        figure = next(figures, None)
        for key, value in self.store.scan("queues"):
            record = queue_record(value)
            while figure is not None and figure[0] < key:
                figure = next(figures, None)
            if record.is_deleted:
                self._deleted[number_in(key)[0]] = crawls[record.crawl]
                continue
            queue = Queue(number_in(key)[0], crawls[record.crawl], record)
            queue.is_kept = True
            queues.add(queue)
            if figure is not None and figure[0] == key:
                active, completed, clock_us = counts_in(figure[1])
                queue.crawl.add(queue, active, completed, 0)
                queue.clock_us = min(clock_us, int(now * 1e6))  # the machine's clock may have been set back
            queue.crawl.wake(queue, now)
        return queues

    def _change(self) -> Change:
        return Change(self.store, self.totals, self.service)

    def close(self) -> None:
        self._seen.save(self.totals.urls)
        self.store.close()

    # ---- URLs ------------------------------------------------------------------------------------------------

    def put(self, puts: Sequence[Put | None]) -> list[int]:
        """The status of each; raises OSError or StoreDamaged where nothing could be written."""
        return self.intake.put(self._change(), puts, self._clock.now())

    def get(self, wanted: Wanted) -> Iterator[list[bytes]]:
        self.end_leases()
        return self.hand_out.steps(wanted) if self.service.is_active else iter(())

    def forget(self, keys: list[bytes]) -> int:
        """Of URLs that are not in process; how many there were."""
        return self.intake.forget(self._change(), keys, self._clock.now()) if keys else 0

    def info(self, record: UrlRecord) -> URLInfo | None:
        """What was said of a URL when it was put last."""
        if record.date == 0:
            value = self.store.get("done", pair(record.queue, record.turn))
        elif record.turn in self.leases:
            value = self.store.get("leases", self.leases.key(record.turn))
            value = value and value[PAIR_BYTES:]
        else:
            value = self.store.get("queue", place(*record[:3]))
        return URLInfo.FromString(value) if value is not None else None

    def sync(self) -> None:
        """What was written comes to the disk itself, if the last time was long enough ago."""
        now = self._clock.now()
        if not self.totals.is_synced and now - self._synced_at >= SYNC_S:
            self._change().write(sync=True)
            self._synced_at = now

    def end_leases(self) -> bool:
        """Give back what was in process for too long; whether there may be more. In steps, so that others get their
        turns also where very many end at once."""
        now = self._clock.now()
        for _ in range(LEASE_STEPS):
            due = self.leases.due(now)
            if not due:
                return False
            self.leases.give_back(self._change(), due, now)
        return True

    # ---- what is said about the whole and about queues -------------------------------------------------------

    def set_active(self, is_active: bool) -> None:
        self.service.is_active = is_active
        self._keep_service()

    def set_delay(self, delay_s: int) -> None:
        """Of all queues for which none was said."""
        self.service.delay_s = delay_s
        self._keep_service()
        for crawl in self.queues.crawls.values():
            crawl.wake_all(self._clock.now())

    def _keep_service(self) -> None:
        batch = self.store.batch()
        batch.put("meta", SERVICE, encode(self.service))
        self.store.write(batch, sync=True)

    def tell(self, crawl: str, key: str, **said: int) -> None:
        """Fields of the record of a queue. Where there is no such queue, nothing happens, as the contract has it."""
        if queue := self.queues.find(crawl, key):
            self._say([queue], self._change(), **said)
            queue.crawl.wake(queue, self._clock.now())

    def _say(self, queues: Sequence[Queue], change: Change, **said: int) -> None:
        """On disk when it returns; where it raises, nothing was said. `change`: what is written with it."""
        before = [queue.record for queue in queues]
        try:
            for queue in queues:
                queue.record = replace(queue.record, **said)
                change.keep(queue)
            change.write(sync=True)
        except BaseException:
            for queue, record in zip(queues, before, strict=True):
                queue.record = record
            raise

    # ---- deletion --------------------------------------------------------------------------------------------

    def delete(self, queues: Sequence[Queue]) -> int:
        """How many URLs they had, whatever their state."""
        change = self._change()
        ended = self.leases.give_up(change, {queue.number for queue in queues if queue.in_process})
        self._say(queues, change, is_deleted=True)
        for turn in ended:
            self.leases.ended(turn)
        self._deleted |= {queue.number: queue.crawl for queue in queues}
        return sum(map(self.queues.remove, queues))

    def sweep(self) -> bool:
        """A step of what deletion left to do, and of making the filter anew; whether there may be more."""
        self._seen.remake_some()
        if not self._deleted:
            return not self._seen.is_complete
        number, crawl = next(iter(self._deleted.items()))
        prefix, change = number.to_bytes(8, "big"), self._change()
        entries = [("queue", *entry) for entry in self.store.first("queue", prefix, SWEEP_STEP)]
        entries += [("done", *entry) for entry in islice(self.store.scan("done", prefix, prefix), SWEEP_STEP)]
        is_last = len(entries) < SWEEP_STEP
        self._remove(change, crawl, number, entries)
        if is_last:
            change.batch.delete("queues", prefix)
            change.batch.delete("counts", prefix)
        change.write(sync=False)
        if is_last:
            del self._deleted[number]
        return True

    def _remove(self, change: Change, crawl: Crawl, number: int, entries: list[tuple[str, bytes, bytes]]) -> None:
        keys = [url_key(crawl.prefix, URLInfo.FromString(value).url) for _, _, value in entries]
        for (table, at, _), key, value in zip(entries, keys, self.store.get_many("urls", keys), strict=True):
            change.batch.delete(table, at)
            if value is not None and url_record(value).queue == number:  # or it was put again since
                change.batch.delete("urls", key)
                change.urls -= 1


def _said(store: RocksStore) -> ServiceRecord:
    value = store.get("meta", SERVICE)
    return service_record(value) if value else ServiceRecord()
