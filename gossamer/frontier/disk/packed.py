"""A write batch as bytes: how the entries of a store travel through a journal, and how they are read back.

Each entry is a head (the table's place among the store's tables, whether the key is deleted, the lengths), the key
and the value. Nothing is compressed here: whoever carries it does that for many batches at once.

The mark of a store says how far it is: the number of its last batch, the epoch of the owner that wrote it, and a
position in the journal at or behind which that batch and all that follow lie. It stands in the store itself, in the
same batch as what it speaks of, so that nobody has to guess after a crash.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from gossamer.interfaces import Mark

MARK_TABLE, MARK_KEY = "meta", b"journal"
_DELETED = 0x80
_HEAD = struct.Struct(">BHI")
_MARK = struct.Struct(">QQQ")

head = _HEAD.pack


def deletion(table: int, key: bytes) -> bytes:
    return head(table | _DELETED, len(key), 0) + key


def unpacked(entries: bytes, tables: Sequence[str]) -> Iterator[tuple[str, bytes, bytes | None]]:
    """Table, key and value of each, in the order in which they were written; without a value it is deleted."""
    at, read, size = 0, _HEAD.unpack_from, _HEAD.size
    while at < len(entries):
        table, key_bytes, value_bytes = read(entries, at)
        middle = at + size + key_bytes
        key = entries[at + size : middle]
        at = middle + value_bytes
        if table & _DELETED:
            yield tables[table ^ _DELETED], key, None
        else:
            yield tables[table], key, entries[middle:at]


def packed_mark(mark: Mark) -> bytes:
    return _MARK.pack(*mark)


def mark_in(value: bytes | None) -> Mark:
    return Mark(*_MARK.unpack(value)) if value is not None else Mark()
