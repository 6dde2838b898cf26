"""The store: ordered keys and values in named tables on disk, behind the few calls of `interfaces.Store`.

RocksDB, because a frontier is mostly writes (a page brings tens of links), because its keys are ordered (a queue is
a range), and because a batch is atomic and survives `kill -9` once `write` has returned. With `sync` it survives
a power cut as well.

Two habits of RocksDB shape the callers. `write` holds the interpreter lock, so a batch stays near
`interfaces.BATCH_MAX` entries. And deleted keys linger as tombstones until compaction: a queue that is eaten from its
head is scanned from a remembered position, never from the start of its prefix.

**Damage is noticed.** Every block has a checksum, and so has every record of the write-ahead log; what a flipped bit
spoils is `StoreDamaged`, never a value that is missing. By itself RocksDB would pass over all that follows the damage
in a log, and a walk through a table would simply end there. A log whose last record was cut off is no damage: that is
how `kill -9` in the middle of a write leaves it, and that write had not returned.

**A store that holds nothing is not on the disk**: it reads as empty, and is made by the first entry that is put into
a batch. A crawl has eight partitions, and a small one has work for one or two of them; each store takes 20 files,
some 40 waits for the disk and 4 MiB of memory.

**A full disk** is `StoreFull`, an OSError. RocksDB takes nothing more after that until it is opened anew.

**A journal** may follow a store (`interfaces.StoreJournal`): then each batch has a number, kept in the same batch,
and is handed over as bytes (packed.py) once it is written here. `apply` writes a batch that was read from a journal.

Longer than 400 lines: what RocksDB is asked and told is in one place.

At a billion URLs: one store per partition, so its size is the number of URLs over the number of partitions.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Checkpoint,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
    RdictIter,
    ReadOptions,
    SliceTransform,
    WriteBatch,
    WriteOptions,
)

from gossamer.atomic import make_folder
from gossamer.frontier.disk.faults import StoreDamaged, StoreFull, translated
from gossamer.frontier.disk.memory import PARTITIONS, StoreMemory
from gossamer.frontier.disk.packed import MARK_KEY, MARK_TABLE, deletion, head, mark_in, packed_mark, unpacked
from gossamer.interfaces import Batch, Mark, StoreJournal

KIB, MIB = 1 << 10, 1 << 20
OWN_FILE = "rocksdict-config.json"  # rocksdict's own, beside those of RocksDB

# What is written is merged with all that is there, since keys are hashes. By eight files at a time instead of four
# that takes 3 % of a worker's time at two million URLs; with buffers of 12 MiB, by four, it took 11 %.
FILES_MERGED = 8

# Tables that are asked for keys they may just have been told; in all others a filter of each buffer is a waste.
_ASKED_AT_RANDOM = frozenset({"urls", "queue", "hosts", "exact", "near", "owners"})

# Tables that are read host by host, whose key comes first. With a filter over those, files with nothing of a host
# are not looked into: 10,000 hosts get their slots in 1.1 and 1.5 s instead of 1.8.
_READ_BY_HOST = frozenset({"queue"})
HOST_BYTES = 8


def is_store(folder: Path) -> bool:
    """Whether there was ever a store in this folder."""
    return (folder / "CURRENT").exists()


class _Handles(dict[str, Any]):
    """The tables of a store, as its batches name them. The first that is asked for makes the store, if need be."""

    def __init__(self, make: Callable[[], None]) -> None:
        self._make = make

    def __missing__(self, table: str) -> Any:
        self._make()
        return self[table]


class _Nothing:
    """A table of a store that is not there yet, and a cursor over it."""

    def get(self, key: bytes | list[bytes]) -> list[None] | None:
        return [None] * len(key) if isinstance(key, list) else None

    def iter(self, bounds: ReadOptions) -> _Nothing:
        return self

    def key(self) -> None:
        return None

    value = next = status = key

    def seek(self, key: bytes) -> None:
        """There is nowhere to go."""

    seek_for_prev = seek

    def valid(self) -> bool:
        return False


class RocksBatch:
    def __init__(self, handles: _Handles) -> None:
        self.raw = WriteBatch(raw_mode=True)
        self._handles = handles

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.raw.put(key, value, self._handles[table])

    def delete(self, table: str, key: bytes) -> None:
        self.raw.delete(key, self._handles[table])

    def __len__(self) -> int:
        return int(self.raw.len())


class JournalledBatch(RocksBatch):
    """The same, and its entries are kept as bytes."""

    def __init__(self, handles: _Handles, tables: dict[str, int]) -> None:
        super().__init__(handles)
        self.entries: list[bytes] = []
        self._keep = self.entries.append
        self._tables = tables

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.raw.put(key, value, self._handles[table])
        self._keep(head(self._tables[table], len(key), len(value)) + key + value)

    def delete(self, table: str, key: bytes) -> None:
        self.raw.delete(key, self._handles[table])
        self._keep(deletion(self._tables[table], key))


class RocksStore:
    def __init__(
        self,
        folder: Path,
        tables: tuple[str, ...],
        *,
        read_only: bool = False,
        journal: StoreJournal | None = None,
        memory: StoreMemory = PARTITIONS,
    ) -> None:
        self.folder = folder
        self._memory = memory
        self._names = tables
        self._journal = journal
        self._places = {table: place for place, table in enumerate(tables)}  # in the entries of a journal
        self._access = AccessType.read_only() if read_only else AccessType.read_write()
        self._links = _linked(folder) if read_only and is_store(folder) and not _is_writable(folder) else None
        self._sync = WriteOptions()
        self._sync.sync = True
        self._quick = WriteOptions()
        self._cursor: tuple[str, RdictIter] | None = None  # of a table, as it is since the last write
        self._is_full = False
        self._db: Rdict | None = None
        self._tables: dict[str, Any] = dict.fromkeys(tables, _Nothing())
        self._handles = _Handles(self._make)
        self._can_be_made = not read_only
        if is_store(folder):
            try:
                self._open()
            except StoreDamaged:
                if not (read_only and _is_being_made(folder)):
                    raise
        elif journal is not None:
            self._make()  # its owner is written down at once, and it may be copied at any time

    def _make(self) -> None:
        assert self._can_be_made, "it is closed or only to be read, or there is no such table"
        make_folder(self.folder)
        self._open()

    def _open(self) -> None:
        self._can_be_made = False
        self._cursor = None  # over what was nothing
        try:
            self._db = Rdict(
                self._links.name if self._links else str(self.folder),
                options=_options("", self._memory),
                column_families={table: _options(table, self._memory) for table in self._names},
                access_type=self._access,
            )
        except Exception as fault:
            raise translated(fault, self.folder) from fault
        self._tables = {table: self._db.get_column_family(table) for table in self._names}
        self._handles.update({table: self._db.get_column_family_handle(table) for table in self._names})
        self._is_full = False
        self._number = self.mark.number if self._journal else 0

    def __repr__(self) -> str:
        return f"RocksStore({self.folder})"

    def get(self, table: str, key: bytes) -> bytes | None:
        rows = self._tables[table]
        try:
            value: bytes | None = rows.get(key)
        except Exception as fault:
            raise translated(fault, self.folder) from fault
        return value

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """A fifth faster than one by one."""
        rows = self._tables[table]
        try:
            values: list[bytes | None] = rows.get(keys) if keys else []
        except Exception as fault:
            raise translated(fault, self.folder) from fault
        return values

    def scan(self, table: str, start: bytes = b"", prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys at or after `start`, in order, for as long as they begin with `prefix`."""
        bounds = ReadOptions()
        # A bound rather than a look at each key: RocksDB must not walk the tombstones of what lies behind.
        if stem := prefix.rstrip(b"\xff"):
            bounds.set_iterate_upper_bound(stem[:-1] + bytes([stem[-1] + 1]))
        if len(prefix) < HOST_BYTES:
            bounds.set_total_order_seek(True)  # more than one host: their filters must not hide any
        # `bounds` has to outlive the walk: the bound is its memory, and RocksDB does not copy it.
        # By a cursor, because `items` takes a damaged block for the end and says nothing.
        cursor = self._tables[table].iter(bounds)
        at, value, step = cursor.key, cursor.value, cursor.next
        cursor.seek(max(start, prefix))
        while (key := at()) is not None:
            yield key, value()
            step()
        self._check(cursor)

    def first(self, table: str, prefix: bytes, most: int, start: bytes = b"") -> list[tuple[bytes, bytes]]:
        """Up to `most` entries whose keys begin with `prefix`, at or after `start`.

        Hosts are asked for one after the other, so one cursor serves all of them until the next write: 26 entries of
        ten million in 75 to 110 µs, and with a scan for each host in 109 to 171."""
        if table not in _READ_BY_HOST or len(prefix) != HOST_BYTES:
            return list(islice(self.scan(table, start, prefix), most))
        if start > prefix and not start.startswith(prefix):
            return []
        if self._cursor is None or self._cursor[0] != table:
            bounds = ReadOptions()
            bounds.set_prefix_same_as_start(True)
            self._cursor = (table, self._tables[table].iter(bounds))
        cursor = self._cursor[1]
        at, value, step = cursor.key, cursor.value, cursor.next
        cursor.seek(max(start, prefix))
        found: list[tuple[bytes, bytes]] = []
        while len(found) < most and (key := at()) is not None:
            found.append((key, value()))
            step()
        if len(found) < most:
            self._check(cursor)
        return found

    def last(self, table: str, prefix: bytes, before: bytes | None = None) -> tuple[bytes, bytes] | None:
        """The last key that begins with `prefix`; `before`: of those that come before this one."""
        bounds = ReadOptions()
        if len(prefix) < HOST_BYTES:
            bounds.set_total_order_seek(True)
        cursor = self._tables[table].iter(bounds)
        cursor.seek_for_prev(prefix + b"\xff" * 32 if before is None else before)
        if before is not None and cursor.valid() and cursor.key() == before:
            cursor.prev()
        if not cursor.valid():
            self._check(cursor)
            return None
        if not cursor.key().startswith(prefix):
            return None
        return cursor.key(), cursor.value()

    def batch(self) -> RocksBatch:
        if self._is_full:  # there may be room by now
            self.close()
            self._open()
        return RocksBatch(self._handles) if self._journal is None else JournalledBatch(self._handles, self._places)

    def write(self, batch: Batch, *, sync: bool) -> None:
        assert isinstance(batch, RocksBatch)
        if len(batch):
            if isinstance(batch, JournalledBatch):
                assert self._journal is not None
                mark = Mark(self._journal.epoch, self._number + 1, self._journal.position)
                batch.raw.put(MARK_KEY, packed_mark(mark), self._handles[MARK_TABLE])
            self._cursor = None  # it would not see what is written
            self._memory.share_out()
            assert self._db is not None, "its first entry has made it"
            try:
                self._db.write(batch.raw, self._sync if sync else self._quick)
            except Exception as fault:
                meant = translated(fault, self.folder)
                self._is_full = isinstance(meant, StoreFull)
                raise meant from fault
            if self._journal is not None and isinstance(batch, JournalledBatch):
                self._number = mark.number
                self._journal.append(mark, b"".join(batch.entries))

    # ---- for a journal -----------------------------------------------------------------------------------

    @property
    def mark(self) -> Mark:
        """How far it is; that of a store without a journal is zero."""
        return mark_in(self.get(MARK_TABLE, MARK_KEY))

    def apply(self, mark: Mark, entries: bytes) -> int:
        """Write a batch that was read from a journal, exactly as it was; returns how many entries it has."""
        raw, handles, count = WriteBatch(raw_mode=True), self._handles, 0
        for count, (table, key, value) in enumerate(unpacked(entries, self._names), 1):  # noqa: B007
            if value is None:
                raw.delete(key, handles[table])
            else:
                raw.put(key, value, handles[table])
        raw.put(MARK_KEY, packed_mark(mark), handles[MARK_TABLE])
        self._cursor = None
        assert self._db is not None, "its first entry has made it"
        try:
            self._db.write(raw, self._quick)
        except Exception as fault:
            raise translated(fault, self.folder) from fault
        return count

    def flush(self) -> None:
        """Write all buffers to files, so that a copy right afterwards takes milliseconds. For a thread: others get
        their turns meanwhile, and none during a copy."""
        try:
            for rows in list(self._tables.values()):
                rows.flush(True)
        except Exception as fault:
            raise translated(fault, self.folder) from fault

    def check(self) -> Iterator[str]:
        """Read everything: what is damaged, as sentences for a person."""
        for table in self._names:
            try:
                for _ in self.scan(table):
                    pass
            except StoreDamaged as fault:
                yield str(fault)

    def copy_to(self, folder: Path) -> None:
        """All of it as it is now, in a folder that does not exist yet: files that never change are linked."""
        if self._db is None:
            self._make()
        assert self._db is not None
        try:
            Checkpoint(self._db).create_checkpoint(str(folder))
        except Exception as fault:
            raise translated(fault, folder) from fault

    def close(self) -> None:
        # The handles keep the database open; without this a second opening in the same process meets the lock.
        self._can_be_made = False
        self._cursor = None
        self._tables.clear()
        self._handles.clear()
        if self._db is not None:
            with suppress(Exception):  # it has been told before, or whoever opens the store next will be told
                self._db.close()
        if self._links:
            self._links.cleanup()

    def _check(self, cursor: RdictIter) -> None:
        """Whether a cursor that has ended did so because there is no more."""
        try:
            cursor.status()
        except Exception as fault:
            raise translated(fault, self.folder) from fault


def _is_being_made(folder: Path) -> bool:
    """By somebody else at this moment: RocksDB writes down its options when all tables are there."""
    return not any(folder.glob("OPTIONS-??????"))


def _is_writable(folder: Path) -> bool:
    own = folder / OWN_FILE
    return os.access(folder, os.W_OK) and (not own.exists() or os.access(own, os.W_OK))


def _linked(folder: Path) -> TemporaryDirectory[str]:
    """Links to all files of a store. rocksdict writes a file of its own beside every store, also where it is only to
    be read; where that is not allowed, the store is opened through these."""
    links = TemporaryDirectory(prefix="gossamer-store-")
    for file in folder.iterdir():
        if file.name != OWN_FILE:
            (Path(links.name) / file.name).symlink_to(file.absolute())
    return links


def _options(table: str, memory: StoreMemory) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    # Any damage to the log is an error, but for a last record that was cut off. RocksDB's own choice is to take what
    # comes before the damage and to say nothing.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_write_buffer_size(8 * MIB)  # at most; nearly always the budget ends them sooner
    options.set_write_buffer_manager(memory.buffers)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_keep_log_file_num(2)
    # Of each store: a worker has several, and hundreds of connections beside them.
    options.set_max_open_files(max(16, min(256, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 32)))
    options.set_table_cache_num_shard_bits(0)  # of 64 parts, each would have one file at least, whatever the bound
    options.set_allow_concurrent_memtable_write(False)
    options.set_compaction_readahead_size(256 * KIB)  # for each file; with 2 MiB, memory grows with the store
    # What is asked for is mostly there, because seen.py knows what is new: filters need not cover the last level.
    options.set_optimize_filters_for_hits(True)
    options.set_level_zero_file_num_compaction_trigger(FILES_MERGED)
    options.set_arena_block_size(64 * KIB)  # a store has a dozen tables, and most hold next to nothing
    if table in _ASKED_AT_RANDOM:
        options.set_memtable_whole_key_filtering(True)
        options.set_memtable_prefix_bloom_ratio(0.02)
    if table in _READ_BY_HOST:
        options.set_prefix_extractor(SliceTransform.create_fixed_prefix(HOST_BYTES))
    blocks = BlockBasedOptions()
    blocks.set_block_cache(memory.blocks)
    blocks.set_bloom_filter(10, False)
    # Indexes and filters live in the cache, so that memory is bounded, and in pieces, so that they fit. In one piece
    # each is about a megabyte, they push each other out, and at two million URLs 73 % of the time went there.
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
    blocks.set_partition_filters(True)
    blocks.set_pin_top_level_index_and_filter(True)
    options.set_block_based_table_factory(blocks)
    return options
