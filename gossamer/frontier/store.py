"""The store: ordered keys and values in named tables on disk, behind the few calls of `interfaces.Store`.

RocksDB, because a frontier is mostly writes (a page brings tens of links), because its keys are ordered (a queue is
a range), and because a batch is atomic and survives `kill -9` once `write` has returned. With `sync` it survives
a power cut as well.

Two habits of RocksDB shape the callers. `write` holds the interpreter lock, so a batch stays near BATCH_MAX
entries. And deleted keys linger as tombstones until compaction: a queue that is eaten from its head is scanned
from a remembered position, never from the start of its prefix.

At a billion URLs: one store per partition, so its size is the number of URLs over the number of partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    RdictIter,
    ReadOptions,
    SliceTransform,
    WriteBatch,
    WriteBufferManager,
    WriteOptions,
)

from gossamer.interfaces import Batch

BATCH_MAX = 2000  # entries; about 5 ms with the interpreter lock held
KIB, MIB = 1 << 10, 1 << 20

# One cache and one budget of write buffers for all stores of a process: memory must not grow with their number. Both
# are small, so that they are full soon and memory is flat from then on. With 64 and 96 MiB a process takes 120 MiB
# more at three million URLs, and is hardly faster: the system keeps the files in memory, and links go all over them.
_BLOCKS = Cache(8 * MIB)
_BUFFERS = WriteBufferManager(16 * MIB, False)
# What is written is merged with all that is there, since keys are hashes. By eight files at a time instead of four
# that takes 3 % of a worker's time at two million URLs; with buffers of 12 MiB, by four, it took 11 %.
FILES_MERGED = 8

# Tables that are asked for keys they may just have been told; in all others a filter of each buffer is a waste.
_ASKED_AT_RANDOM = frozenset({"urls", "queue", "hosts", "exact", "near", "owners"})

# Tables that are read host by host, whose key comes first. With a filter over those, files with nothing of a host
# are not looked into: 10,000 hosts get their places in 1.1 and 1.5 s instead of 1.8.
_READ_BY_HOST = frozenset({"queue"})
HOST_BYTES = 8


class StoreDamaged(Exception):
    """The folder cannot be opened as a store; the message says why and what to do."""


class StoreInUse(StoreDamaged):
    """Another process has it open."""


class RocksBatch:
    def __init__(self, handles: dict[str, Any]) -> None:
        self.raw = WriteBatch(raw_mode=True)
        self._handles = handles

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.raw.put(key, value, self._handles[table])

    def delete(self, table: str, key: bytes) -> None:
        self.raw.delete(key, self._handles[table])

    def __len__(self) -> int:
        return int(self.raw.len())


class RocksStore:
    def __init__(self, folder: Path, tables: tuple[str, ...], *, read_only: bool = False) -> None:
        self.folder = folder
        access = AccessType.read_only() if read_only else AccessType.read_write()
        try:
            self._db = Rdict(
                str(folder),
                options=_options(""),
                column_families={table: _options(table) for table in tables},
                access_type=access,
            )
        except Exception as fault:  # rocksdict raises plain Exception for everything
            if "LOCK" in str(fault):
                raise StoreInUse(f"{folder} is in use by another process") from fault
            raise StoreDamaged(_explain(folder, str(fault))) from fault
        self._tables = {table: self._db.get_column_family(table) for table in tables}
        self._handles = {table: self._db.get_column_family_handle(table) for table in tables}
        self._sync = WriteOptions()
        self._sync.sync = True
        self._quick = WriteOptions()
        self._cursor: tuple[str, RdictIter] | None = None  # of a table, as it is since the last write

    def __repr__(self) -> str:
        return f"RocksStore({self.folder})"

    def get(self, table: str, key: bytes) -> bytes | None:
        value: bytes | None = self._tables[table].get(key)
        return value

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """A fifth faster than one by one."""
        rows: Any = self._tables[table]  # its types know no list of bytes
        values: list[bytes | None] = rows.get(keys) if keys else []
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
        yield from self._tables[table].items(from_key=max(start, prefix), read_opt=bounds)

    def of_host(self, table: str, start: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """Up to `most` entries of one host, the one that `start` begins with, at or after it.

        Hosts are asked for one after the other, so one cursor serves all of them until the next write: 26 entries of
        ten million in 75 to 110 µs, and with a scan for each host in 109 to 171."""
        assert table in _READ_BY_HOST, table
        if self._cursor is None or self._cursor[0] != table:
            bounds = ReadOptions()
            bounds.set_prefix_same_as_start(True)
            self._cursor = (table, self._tables[table].iter(bounds))
        cursor = self._cursor[1]
        at, value, step = cursor.key, cursor.value, cursor.next
        cursor.seek(start)
        found: list[tuple[bytes, bytes]] = []
        while len(found) < most and (key := at()) is not None:
            found.append((key, value()))
            step()
        return found

    def last(self, table: str, prefix: bytes) -> tuple[bytes, bytes] | None:
        """The last key that begins with `prefix`."""
        cursor = self._tables[table].iter(ReadOptions())
        cursor.seek_for_prev(prefix + b"\xff" * 32)
        if not cursor.valid() or not cursor.key().startswith(prefix):
            return None
        return cursor.key(), cursor.value()

    def batch(self) -> RocksBatch:
        return RocksBatch(self._handles)

    def write(self, batch: Batch, *, sync: bool) -> None:
        assert isinstance(batch, RocksBatch)
        if len(batch):
            self._cursor = None  # it would not see what is written
            self._db.write(batch.raw, self._sync if sync else self._quick)

    def close(self) -> None:
        # The handles keep the database open; without this a second opening in the same process meets the lock.
        self._cursor = None
        self._tables.clear()
        self._handles.clear()
        self._db.close()


def _options(table: str) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_write_buffer_size(8 * MIB)  # at most; nearly always the budget ends them sooner
    options.set_write_buffer_manager(_BUFFERS)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_keep_log_file_num(2)
    options.set_max_open_files(256)
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
    blocks.set_block_cache(_BLOCKS)
    blocks.set_bloom_filter(10, False)
    # Indexes and filters live in the cache, so that memory is bounded, and in pieces, so that they fit. In one piece
    # each is about a megabyte, they push each other out, and at two million URLs 73 % of the time went there.
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
    blocks.set_partition_filters(True)
    blocks.set_pin_top_level_index_and_filter(True)
    options.set_block_based_table_factory(blocks)
    return options


def _explain(folder: Path, fault: str) -> str:
    if "No space left" in fault:
        return f"the disk that holds {folder} is full: make room, then run the same command again"
    return (
        f"{folder} cannot be opened ({fault.strip()}). Its files are damaged or not a store: "
        "put back a copy of the crawl's folder, or start a new crawl in another one"
    )
