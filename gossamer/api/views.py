"""Views: the crawl's stores, read while the crawl writes them, and never by the event loop.

A partition's store is read as of the moment it was opened. Opening one costs some 15 ms, and more while much of it is
not yet in its files. So each is opened when it is first asked for, and all who ask share what is open, for `AGE_S`,
or for some times what the opening took; then the next question begins anew. A page is so found a second or two after
it was stored, and looking at a crawl costs no more than a small share of one core. Reading happens in a few threads:
there are never more views open than threads, and one.
"""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import host_key
from gossamer.inspect.view import CrawlView, bracketed
from gossamer.records import Host, RobotsCopy, State, Url, UrlRecord

T = TypeVar("T")

AGE_S = 1.0
REST = 5  # times what opening took
THREADS = 4


class LateStore:
    """A store that is opened when it is first read."""

    def __init__(self, open_it: Callable[[], RocksStore]) -> None:
        self._open_it = open_it
        self._opened: RocksStore | None = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._opened is None:
                self._opened = self._open_it()
        return getattr(self._opened, name)


class View(CrawlView):
    """What the API needs beyond what the verbs do: reading on from a place, and all about one host."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self._begun_at = clock.now()
        self._opening_s = 0.0
        self._in_flight_keys: dict[int, frozenset[bytes]] = {}
        self.is_broken = False  # or of no use any more
        super().__init__(path)

    @property
    def is_fresh(self) -> bool:
        return not self.is_broken and self._clock.now() < self._begun_at + max(AGE_S, REST * self._opening_s)

    def _open(self, number: int) -> RocksStore:
        def now() -> RocksStore:
            started_at = self._clock.now()
            store = super(View, self)._open(number)
            self._opening_s += self._clock.now() - started_at
            return store

        return cast(RocksStore, LateStore(now))

    def in_flight_keys(self, partition: int) -> frozenset[bytes]:
        if partition not in self._in_flight_keys:
            self._in_flight_keys[partition] = frozenset(self._readers[partition].keys_in_flight())
        return self._in_flight_keys[partition]

    def partition_of_host(self, host: str) -> int:
        return partition_of(f"http://{bracketed(host)}/", len(self._stores))

    def known_from(self, cursor: str | None, host: str | None) -> Iterator[tuple[str, UrlRecord]]:
        """Records in the order of the store, each with the cursor that goes on after it."""
        first, start = read_cursor(cursor)
        prefix = host_key(host) if host is not None else b""
        numbers = [self.partition_of_host(host)] if host is not None else self.partitions
        for number in numbers:
            if number < first:
                continue
            rows = self._readers[number].all_url_records(start if number == first else b"", prefix)
            for key, known in rows:
                if known.state is State.QUEUED and key in self.in_flight_keys(number):
                    yield write_cursor(number, key), msgspec.structs.replace(known, state=State.IN_FLIGHT)
                else:
                    yield write_cursor(number, key), known

    def levels(self) -> Iterator[tuple[int, int]]:
        """How many hosts with something queued stand at which level."""
        for reader in self._readers:
            levels = reader.meta().levels
            yield from (reader.levels() if levels is None else levels).items()

    def hosts_in(self, partition: int) -> Iterator[Host]:
        return self._readers[partition].all_hosts()

    def robots_of(self, host: str) -> list[RobotsCopy]:
        """Of all origins that a host has: by scheme and by port."""
        store = self._stores[self.partition_of_host(host)]
        found = []
        for scheme in ("http", "https", "ftp"):
            stem = f"{scheme}://{bracketed(host)}"
            for key, _ in store.scan("robots", prefix=stem.encode()):
                origin = key.decode()
                if origin[len(stem) :][:1] in ("", ":") and (copy := self.robots(origin)):
                    found.append(copy)
        return found

    def queued_of(self, host: str, most: int) -> list[Url]:
        """The next URLs of a host, best first."""
        queued = self._readers[self.partition_of_host(host)].queued(host_key(host))
        return [known.url for known in islice(queued, most)]


def write_cursor(partition: int, key: bytes) -> str:
    return base64.urlsafe_b64encode(partition.to_bytes(2, "big") + key).decode().rstrip("=")


def read_cursor(cursor: str | None) -> tuple[int, bytes]:
    """The partition, and the first key to be read there."""
    if cursor is None:
        return 0, b""
    raw = base64.urlsafe_b64decode(cursor + "==")
    return int.from_bytes(raw[:2], "big"), raw[2:] + b"\0"


class Held:
    """A view, and how many are reading it."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.readers = 0
        self.is_current = True


class Views:
    trouble = ""  # why what is read here could not be brought up to date

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._threads = ThreadPoolExecutor(THREADS, "view")
        self._lock = threading.Lock()
        self._held: Held | None = None

    @property
    def age_s(self) -> float | None:
        """How old what is read here is; None: it is as the crawl has it."""
        return None

    def outdate(self) -> None:
        """What was looked at before now is of no use: the crawl has ended, and its last figures are wanted."""
        with self._lock:
            if self._held is not None:
                self._held.view.is_broken = True

    async def read(self, work: Callable[[View], T]) -> T:
        """What `work` makes of the crawl, in a thread. It must not keep the view."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, work)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """The same for other work that may wait for the disk."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        if self._held is not None:
            self._held.view.__exit__()

    def _read(self, work: Callable[[View], T]) -> T:
        for tries_left in (2, 1, 0):
            held = self._take()
            try:
                return work(held.view)
            except StoreDamaged:
                # A running crawl removes files that it has no use for, and a view may learn too late.
                held.view.is_broken = True
                if tries_left == 0:
                    raise
            finally:
                with self._lock:
                    held.readers -= 1
                    self._drop(held)
        raise AssertionError("not reached")

    def _take(self) -> Held:
        with self._lock:
            held = self._held
            if held is None or not held.view.is_fresh:
                self._held = Held(View(self._path, self._clock))
                if held is not None:
                    held.is_current = False
                    self._drop(held)
                held = self._held
            held.readers += 1
            return held

    def _drop(self, held: Held) -> None:
        if not held.is_current and held.readers == 0:
            held.view.__exit__()
