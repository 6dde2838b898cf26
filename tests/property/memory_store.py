"""A `Store` in plain dicts: what a property test asks a thousand times a second, and a second opinion on RocksDB.

It survives a crash as RocksDB does after `kill -9`: whatever `write` returned for is there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from gossamer.interfaces import Batch


class MemoryBatch:
    def __init__(self) -> None:
        self.changes: list[tuple[str, bytes, bytes | None]] = []

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.changes.append((table, key, value))

    def delete(self, table: str, key: bytes) -> None:
        self.changes.append((table, key, None))

    def __len__(self) -> int:
        return len(self.changes)


class MemoryStore:
    def __init__(self) -> None:
        self.tables: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)

    def get(self, table: str, key: bytes) -> bytes | None:
        return self.tables[table].get(key)

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        return [self.tables[table].get(key) for key in keys]

    def scan(self, table: str, start: bytes = b"", prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        # A copy, because a cursor of RocksDB sees the table as it was when the scan began, too.
        return iter(
            [row for row in sorted(self.tables[table].items()) if row[0] >= start and row[0].startswith(prefix)]
        )

    def first(self, table: str, prefix: bytes, most: int, start: bytes = b"") -> list[tuple[bytes, bytes]]:
        return list(islice(self.scan(table, start, prefix), most))

    def last(self, table: str, prefix: bytes, before: bytes | None = None) -> tuple[bytes, bytes] | None:
        rows = (row for row in self.tables[table].items() if row[0].startswith(prefix))
        return max((row for row in rows if before is None or row[0] < before), default=None)

    def batch(self) -> MemoryBatch:
        return MemoryBatch()

    def write(self, batch: Batch, *, sync: bool) -> None:
        assert isinstance(batch, MemoryBatch)
        for table, key, value in batch.changes:
            if value is None:
                self.tables[table].pop(key, None)
            else:
                self.tables[table][key] = value

    def close(self) -> None:
        pass
