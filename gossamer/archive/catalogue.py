"""The catalogue: every visit that an archive holds, for as long as a compaction lasts, and which of them are kept.

A version of a page is a visit that showed a content, be it stored with it or known from elsewhere, or a redirect.
A visit that only brought "not modified" is no version; it belongs to the one before it. What is kept:

    1. of every page its latest `keep_versions` versions, with the visits that belong to them,
       as far as they are no older than `keep_s`
    2. its latest version, however old: a page that never changes is not forgotten for that
    3. what the record of a page points at, and what was not exported yet
    4. what any of these refers to: the original of a copy, of a near copy without a body, and of "not modified"

It is a table of SQLite in a file of its own, so that memory does not grow with the archive: a row takes about 150
bytes and 5 µs. Times are whole microseconds, as the archive writes them; pages are known by a key of their URL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

SCHEMA = """
CREATE TABLE visit (
    id INTEGER PRIMARY KEY, page BLOB, at INTEGER, is_version INTEGER, refers_to BLOB, refers_at INTEGER,
    file TEXT, start INTEGER, end INTEGER, offset INTEGER, length INTEGER,
    is_pinned INTEGER, keep INTEGER DEFAULT 0
)
"""
# Newest first, so that the sum up to a row is the number of its version; that of "not modified" is one further back.
WANTED = """
UPDATE visit SET keep = 1 WHERE is_pinned OR id IN (
    SELECT id FROM (
        SELECT id, at, is_version, sum(is_version) OVER (
            PARTITION BY page ORDER BY at DESC, id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS number FROM visit
    )
    WHERE number + 1 - is_version <= :versions AND (at >= :since OR (number = 1 AND is_version))
)
"""
REFERRED_TO = """
UPDATE visit SET keep = 1 WHERE NOT keep AND id IN (
    SELECT other.id FROM visit JOIN visit AS other ON other.page = visit.refers_to AND other.at = visit.refers_at
    WHERE visit.keep
    UNION ALL
    SELECT (
        SELECT other.id FROM visit AS other
        WHERE other.page = visit.refers_to AND other.is_version AND other.at < visit.at ORDER BY other.at DESC LIMIT 1
    ) FROM visit WHERE visit.keep AND visit.refers_to IS NOT NULL AND visit.refers_at IS NULL
)
"""


EVER = 1 << 62


class Row(NamedTuple):
    page: bytes
    at: int
    is_version: bool
    refers_to: bytes | None
    refers_at: int | None  # None: the page's last version before this visit
    file: str
    start: int  # of all its records
    end: int
    offset: int  # of the record that a place points at
    length: int
    is_pinned: bool


class Kept(NamedTuple):
    page: bytes
    start: int
    end: int
    offset: int
    length: int
    is_pinned: bool


class Catalogue:
    """Use as a context manager: the file is gone afterwards, as one that a crash left is at the start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.unlink(missing_ok=True)
        self._table = sqlite3.connect(path, isolation_level=None)
        # It is made anew after a crash, so nothing of it has to be durable.
        self._table.execute("PRAGMA journal_mode = OFF")
        self._table.execute("PRAGMA synchronous = OFF")
        self._table.execute(SCHEMA)

    def __enter__(self) -> Catalogue:
        return self

    def __exit__(self, *_: object) -> None:
        self._table.close()
        self._path.unlink(missing_ok=True)

    def add(self, rows: Iterable[Row]) -> None:
        columns = ", ".join(Row._fields)
        marks = ", ".join("?" * len(Row._fields))
        self._table.execute("BEGIN")
        self._table.executemany(f"INSERT INTO visit ({columns}) VALUES ({marks})", rows)
        self._table.execute("COMMIT")

    def decide(self, versions: int | None, since: int | None) -> None:
        """`since`: what was before is too old."""
        self._table.execute("CREATE INDEX by_page ON visit (page, at)")
        self._table.execute("CREATE INDEX by_file ON visit (file, start)")
        limits = {"versions": EVER if versions is None else versions, "since": -EVER if since is None else since}
        self._table.execute(WANTED, limits)
        while self._table.execute(REFERRED_TO).rowcount > 0:
            pass

    def kept(self, file: str) -> Iterator[Kept]:
        """In the order of the file."""
        wanted = (
            "SELECT page, start, end, offset, length, is_pinned FROM visit WHERE file = ? AND keep ORDER BY start"
        )
        return map(Kept._make, self._table.execute(wanted, (file,)))

    def kept_of(self, file: str) -> tuple[int, int, int]:
        """How many visits of a file are kept, how many bytes that is, and how many visits go."""
        asked = "SELECT sum(keep), sum(keep * (end - start)), sum(NOT keep) FROM visit WHERE file = ?"
        kept, kept_bytes, dropped = self._table.execute(asked, (file,)).fetchone()
        return kept or 0, kept_bytes or 0, dropped or 0

    def dropped(self) -> tuple[int, int]:
        """Visits, and how many of them are versions."""
        visits, versions = self._table.execute(
            "SELECT count(*), sum(is_version) FROM visit WHERE NOT keep"
        ).fetchone()
        return visits, versions or 0

    def is_dropped(self, page: bytes, at: int) -> bool:
        asked = "SELECT min(keep) FROM visit WHERE page = ? AND at = ?"
        return bool(self._table.execute(asked, (page, at)).fetchone()[0] == 0)
