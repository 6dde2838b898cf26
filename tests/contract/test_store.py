"""One suite over every `Store`: RocksDB on disk, and plain dicts that the property tests use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.frontier.disk.store import RocksStore
from gossamer.interfaces import Store
from tests.property.memory_store import MemoryStore

TABLES = ("queue", "due")  # RocksDB keeps an index by host of the first, and none of the second
HOST, NEXT, LAST = b"\x01" * 8, b"\x01" * 7 + b"\x02", b"\xff" * 8  # the bytes behind the last are hard to name
KEYS = sorted(host + bytes([number]) for host in (HOST, NEXT, LAST) for number in (0, 1, 7, 255))


@pytest.fixture(params=["rocksdb", "memory"])
def reopen(request: pytest.FixtureRequest, folder: Path) -> Iterator[Callable[[], Store]]:
    """A store, and the same one again after an end that nobody announced."""
    kept = MemoryStore()
    opened: list[Store] = []

    def again() -> Store:
        for store in opened:
            store.close()
        opened[:] = [kept if request.param == "memory" else RocksStore(folder / "store", TABLES)]
        return opened[0]

    yield again
    for store in opened:
        store.close()


@pytest.fixture
def store(reopen: Callable[[], Store]) -> Store:
    return reopen()


def put(store: Store, table: str, *keys: bytes, value: bytes = b"v", sync: bool = False) -> None:
    batch = store.batch()
    for key in keys:
        batch.put(table, key, value)
    store.write(batch, sync=sync)


def keys_of(rows: Iterator[tuple[bytes, bytes]] | list[tuple[bytes, bytes]]) -> list[bytes]:
    return [key for key, _ in rows]


def test_a_batch_counts_when_it_is_written_and_not_before(store: Store) -> None:
    put(store, "queue", b"old")
    batch = store.batch()
    assert len(batch) == 0
    batch.put("queue", b"new", b"1")
    batch.put("due", b"new", b"2")
    batch.delete("queue", b"old")
    batch.delete("queue", b"never there")
    assert len(batch) == 4
    assert keys_of(store.scan("queue")) == [b"old"]
    store.write(batch, sync=False)
    assert (store.get("queue", b"new"), store.get("due", b"new"), store.get("queue", b"old")) == (b"1", b"2", None)


def test_the_last_change_of_a_key_in_a_batch_counts(store: Store) -> None:
    batch = store.batch()
    for value in (b"1", b"2"):
        batch.put("queue", b"put twice", value)
        batch.put("queue", b"deleted", value)
    batch.delete("queue", b"deleted")
    batch.delete("queue", b"put again")
    batch.put("queue", b"put again", b"3")
    store.write(batch, sync=False)
    assert list(store.scan("queue")) == [(b"put again", b"3"), (b"put twice", b"2")]


@pytest.mark.parametrize("sync", [False, True])
def test_what_was_written_survives_the_end_of_its_owner(reopen: Callable[[], Store], *, sync: bool) -> None:
    put(reopen(), "queue", *KEYS, sync=sync)
    unwritten = reopen().batch()
    unwritten.put("queue", b"in no batch that was written", b"")
    assert keys_of(reopen().scan("queue")) == KEYS


def test_many_are_found_in_the_order_in_which_they_were_asked_for(store: Store) -> None:
    batch = store.batch()
    batch.put("queue", b"a", b"1")
    batch.put("queue", b"b", b"")
    store.write(batch, sync=False)
    assert store.get_many("queue", [b"b", b"none", b"a", b"b"]) == [b"", None, b"1", b""]
    assert store.get_many("due", [b"a"]) == [None]
    assert store.get_many("queue", []) == []


@pytest.mark.parametrize("table", TABLES)
def test_a_scan_is_in_the_order_of_the_bytes_and_within_its_bounds(store: Store, table: str) -> None:
    put(store, table, *reversed(KEYS))
    assert keys_of(store.scan(table)) == KEYS
    for host in (HOST, NEXT, LAST, b"nobody's"):
        own = [key for key in KEYS if key.startswith(host)]
        assert keys_of(store.scan(table, prefix=host)) == own
        assert keys_of(store.scan(table, b"", host[:7])) == [key for key in KEYS if key.startswith(host[:7])]
        for start in (b"", b"\0", host, host + b"\1", host + b"\2", host + b"\xff\0", LAST + b"\xff\xff"):
            assert keys_of(store.scan(table, start, host)) == [key for key in own if key >= start]
            assert keys_of(store.scan(table, start)) == [key for key in KEYS if key >= start]


@pytest.mark.parametrize("table", TABLES)
def test_first_and_last_agree_with_a_scan(store: Store, table: str) -> None:
    put(store, table, *KEYS)
    for prefix in (HOST, NEXT, LAST, b"nobody's", HOST[:7], b""):
        own = keys_of(store.scan(table, prefix=prefix))
        for most in (0, 1, 3, 100):
            assert keys_of(store.first(table, prefix, most)) == own[:most]
        for start in (HOST, prefix + b"\1", prefix + b"\1\0", LAST + b"\xff"):
            assert keys_of(store.first(table, prefix, 2, start)) == [key for key in own if key >= start][:2]
        last = store.last(table, prefix)
        assert (last[0] if last else None) == (own[-1] if own else None)
        walked = []
        while last is not None:
            walked.append(last[0])
            last = store.last(table, prefix, last[0])
        assert walked == own[::-1]


def test_reading_sees_the_last_write_and_a_scan_the_moment_it_began(store: Store) -> None:
    put(store, "queue", HOST + b"1", HOST + b"3")
    assert keys_of(store.first("queue", HOST, 9)) == [HOST + b"1", HOST + b"3"]
    scan = store.scan("queue", prefix=HOST)
    assert next(scan)[0] == HOST + b"1"
    put(store, "queue", HOST + b"2")
    batch = store.batch()
    batch.delete("queue", HOST + b"3")
    store.write(batch, sync=False)
    assert keys_of(scan) == [HOST + b"3"]
    assert keys_of(store.first("queue", HOST, 9)) == [HOST + b"1", HOST + b"2"]
    assert store.last("queue", HOST) == (HOST + b"2", b"v")
