"""A store that a journal follows: its batches are numbered, and a store that applies them is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.interfaces import Mark


class Kept:
    """A journal in memory."""

    def __init__(self, epoch: int = 1) -> None:
        self.epoch = epoch
        self.position = 7
        self.batches: list[tuple[Mark, bytes]] = []

    def append(self, mark: Mark, entries: bytes) -> None:
        self.batches.append((mark, entries))
        self.position += 1


Open = Callable[..., RocksStore]


@pytest.fixture
def opened(folder: Path) -> Iterator[Open]:
    stores: list[RocksStore] = []

    def open_store(name: str, journal: Kept | None = None) -> RocksStore:
        stores.append(RocksStore(folder / name, TABLES, journal=journal))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


def write_some(store: RocksStore, chance: Random, batches: int) -> None:
    for _ in range(batches):
        batch = store.batch()
        for _ in range(chance.randrange(1, 40)):
            table, key = chance.choice(TABLES[:-1]), bytes([chance.randrange(8)]) * chance.choice((1, 20, 300))
            if chance.random() < 0.3:
                batch.delete(table, key)
            else:
                batch.put(table, key, chance.randbytes(chance.choice((0, 1, 16, 400))))
        store.write(batch, sync=False)


def everything(store: RocksStore) -> dict[str, list[tuple[bytes, bytes]]]:
    return {table: list(store.scan(table)) for table in TABLES}


@pytest.mark.parametrize("seed", range(5))
def test_a_store_that_applies_the_batches_of_another_is_the_same_in_every_byte(seed: int, opened: Open) -> None:
    journal = Kept()
    first, second = opened("first", journal), opened("second")
    write_some(first, Random(seed), 30)
    assert [mark.number for mark, _ in journal.batches] == list(range(1, 31))
    for mark, entries in journal.batches:
        second.apply(mark, entries)
    assert everything(second) == everything(first) and any(everything(first).values())
    assert second.mark == first.mark == Mark(1, 30, 7 + 29)


def test_the_numbers_go_on_over_owners_and_an_empty_batch_has_none(opened: Open) -> None:
    journal = Kept()
    store = opened("store", journal)
    write_some(store, Random(1), 3)
    store.write(store.batch(), sync=False)
    store.close()
    later = Kept(epoch=2)
    again = opened("store", later)
    write_some(again, Random(2), 1)
    assert [mark[:2] for mark, _ in journal.batches + later.batches] == [(1, 1), (1, 2), (1, 3), (2, 4)]


def test_a_store_without_a_journal_has_no_mark(opened: Open) -> None:
    store = opened("store")
    write_some(store, Random(1), 2)
    assert (store.mark, list(store.scan("meta"))) == (Mark(), [])


def test_a_copy_after_a_flush_has_all_that_was_written(opened: Open, folder: Path) -> None:
    store = opened("store", Kept())
    write_some(store, Random(1), 20)
    store.flush()
    store.copy_to(folder / "copy")
    before = everything(store)
    write_some(store, Random(2), 5)
    assert everything(opened("copy")) == before != everything(store)
