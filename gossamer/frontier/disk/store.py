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

**A full disk** is `StoreFull`, an OSError. RocksDB takes nothing more after that until it is opened anew.

At a billion URLs: one store per partition, so its size is the number of URLs over the number of partitions.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    Checkpoint,
    DBCompressionType,
    DBRecoveryMode,
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

KIB, MIB = 1 << 10, 1 << 20
OWN_FILE = "rocksdict-config.json"  # rocksdict's own, beside those of RocksDB

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
# are not looked into: 10,000 hosts get their slots in 1.1 and 1.5 s instead of 1.8.
_READ_BY_HOST = frozenset({"queue"})
HOST_BYTES = 8


# What RocksDB says where there is no room to write, and the number of it.
_NO_ROOM = {
    "No space left": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "File too large": errno.EFBIG,
}


class StoreDamaged(Exception):
    """The folder cannot be read as a store; the message says why and what to do."""

    def __init__(self, text: str, folder: Path) -> None:
        super().__init__(text)
        self.folder = folder


class StoreInUse(StoreDamaged):
    """Another process has it open."""


class StoreFull(OSError):
    """No room to write. Nothing of the batch was kept, and the store has to be opened anew."""


def is_store(folder: Path) -> bool:
    """Whether there was ever a store in this folder."""
    return (folder / "CURRENT").exists()


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
        self._names = tables
        self._access = AccessType.read_only() if read_only else AccessType.read_write()
        self._links = _linked(folder) if read_only and is_store(folder) and not _is_writable(folder) else None
        self._sync = WriteOptions()
        self._sync.sync = True
        self._quick = WriteOptions()
        self._cursor: tuple[str, RdictIter] | None = None  # of a table, as it is since the last write
        self._is_full = False
        self._open()

    def _open(self) -> None:
        try:
            self._db = Rdict(
                self._links.name if self._links else str(self.folder),
                options=_options(""),
                column_families={table: _options(table) for table in self._names},
                access_type=self._access,
            )
        except Exception as fault:
            raise _translated(fault, self.folder) from fault
        self._tables = {table: self._db.get_column_family(table) for table in self._names}
        self._handles = {table: self._db.get_column_family_handle(table) for table in self._names}
        self._is_full = False

    def __repr__(self) -> str:
        return f"RocksStore({self.folder})"

    def get(self, table: str, key: bytes) -> bytes | None:
        rows = self._tables[table]
        try:
            value: bytes | None = rows.get(key)
        except Exception as fault:
            raise _translated(fault, self.folder) from fault
        return value

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """A fifth faster than one by one."""
        rows: Any = self._tables[table]  # its types know no list of bytes
        try:
            values: list[bytes | None] = rows.get(keys) if keys else []
        except Exception as fault:
            raise _translated(fault, self.folder) from fault
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
        return RocksBatch(self._handles)

    def write(self, batch: Batch, *, sync: bool) -> None:
        assert isinstance(batch, RocksBatch)
        if len(batch):
            self._cursor = None  # it would not see what is written
            try:
                self._db.write(batch.raw, self._sync if sync else self._quick)
            except Exception as fault:
                translated = _translated(fault, self.folder)
                self._is_full = isinstance(translated, StoreFull)
                raise translated from fault

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
        try:
            Checkpoint(self._db).create_checkpoint(str(folder))
        except Exception as fault:
            raise _translated(fault, folder) from fault

    def close(self) -> None:
        # The handles keep the database open; without this a second opening in the same process meets the lock.
        self._cursor = None
        self._tables.clear()
        self._handles.clear()
        with suppress(Exception):  # it has been told before, or whoever opens the store next will be told
            self._db.close()
        if self._links:
            self._links.cleanup()

    def _check(self, cursor: RdictIter) -> None:
        """Whether a cursor that has ended did so because there is no more."""
        try:
            cursor.status()
        except Exception as fault:
            raise _translated(fault, self.folder) from fault


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


def _options(table: str) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    # Any damage to the log is an error, but for a last record that was cut off. RocksDB's own choice is to take what
    # comes before the damage and to say nothing.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_write_buffer_size(8 * MIB)  # at most; nearly always the budget ends them sooner
    options.set_write_buffer_manager(_BUFFERS)
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


def _translated(fault: Exception, folder: Path) -> Exception:
    """rocksdict raises plain Exception for everything; what it means stands in the text."""
    text = str(fault).strip()
    if type(fault) is not Exception:
        return fault
    if "Permission denied" in text:
        return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    if "LOCK" in text:
        return StoreInUse(f"{folder} is in use by another process", folder)
    for words, number in _NO_ROOM.items():
        if words in text:
            return StoreFull(number, f"{words.lower()}: make room, and the crawl goes on by itself", str(folder))
    return StoreDamaged(f"{folder} is damaged{_where(folder, text)}: {text}. {_what_to_do(folder)}", folder)


def _where(folder: Path, text: str) -> str:
    """The file, where RocksDB does not name it: of its log it gives no more than what is wrong."""
    if str(folder) in text:
        return ""
    logs = sorted(path.name for path in folder.glob("*.log") if path.stat().st_size)
    return f" (its log, {' or '.join(logs)})" if "checksum mismatch" in text and logs else ""


def _what_to_do(folder: Path) -> str:
    if folder.parent.name == "partitions" and folder.name.isdecimal():
        crawl = folder.parent.parent
        return (
            f"Put {folder} back from a copy of the crawl, or make it anew from the archive: "
            f"`gossamer rebuild {crawl} --partition {int(folder.name)}`"
        )
    if folder.name == "fingerprints":
        return (
            f"Put {folder} back from a copy of the crawl, or remove it: it is made anew, and copies of pages that "
            "were stored before are stored once more"
        )
    return "Put it back from a copy"
