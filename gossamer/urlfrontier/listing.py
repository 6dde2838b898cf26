"""Looking through the URLs of a frontier, whatever their state: for listing, counting, purging and exports.

A walk goes queue by queue and reads in steps; between two steps anything may happen, so it gives what is there when
it comes by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from gossamer.frontier.disk.store import RocksStore
from gossamer.urlfrontier.queues import Crawl, Queue
from gossamer.urlfrontier.tables import PAIR_BYTES, UrlRecord, pair_in, url_key, url_record
from gossamer.urlfrontier.urlfrontier_pb2 import URLInfo

STEP = 500


class Listed(NamedTuple):
    info: URLInfo
    record: UrlRecord
    key: bytes


def containing(text: str, ignore_case: bool) -> Callable[[str], bool]:
    """A filter of URLs; an empty text lets all through."""
    if ignore_case:
        wanted = text.lower()
        return lambda url: wanted in url.lower()
    return lambda url: text in url


def find(store: RocksStore, crawl: Crawl, url: str) -> UrlRecord | None:
    """Also of a queue that was deleted, and is not swept away yet."""
    value = store.get("urls", url_key(crawl.prefix, url))
    return url_record(value) if value is not None else None


def listed(store: RocksStore, queues: Iterable[Queue]) -> Iterator[list[Listed]]:
    """The URLs of these queues in steps: those that wait, then those in process, then those that are done."""
    chosen = {queue.number: queue for queue in queues}
    for queue in chosen.values():
        for entries in _steps(store, "queue", queue.prefix):
            yield _with_records(store, [(queue, value) for _, value in entries])
    for entries in _steps(store, "leases", b""):
        leased = [(pair_in(value)[0], value[PAIR_BYTES:]) for _, value in entries]
        yield _with_records(store, [(chosen[number], value) for number, value in leased if number in chosen])
    for queue in chosen.values():
        for entries in _steps(store, "done", queue.prefix):
            yield _with_records(store, [(queue, value) for _, value in entries])


def _steps(store: RocksStore, table: str, prefix: bytes) -> Iterator[list[tuple[bytes, bytes]]]:
    start = prefix
    while entries := list(islice(store.scan(table, start, prefix), STEP)):
        yield entries
        start = entries[-1][0] + b"\0"


def _with_records(store: RocksStore, entries: list[tuple[Queue, bytes]]) -> list[Listed]:
    infos = [URLInfo.FromString(value) for _, value in entries]
    keys = [url_key(queue.crawl.prefix, info.url) for (queue, _), info in zip(entries, infos, strict=True)]
    values = store.get_many("urls", keys)
    return [
        Listed(info, url_record(value), key)
        for info, value, key in zip(infos, values, keys, strict=True)
        if value is not None
    ]
