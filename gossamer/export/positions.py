"""How far each export has come: `exports.json` in the crawl's folder.

    {TARGET: {"to": "parquet", "options": [], "positions": {"0": [FILE, OFFSET, 0], ...}, "left_as": "..."}}

An export is noted here before its first byte is written, with no positions: nothing is handed on yet. Its positions
move when what it wrote is durable, and only then, so a crash in between repeats an export and loses nothing. A
position is the end of a partition's archive as it was committed then; what lies behind it is still to be handed on,
and compaction leaves it alone. A target that nobody fills any more holds the archive up until it is forgotten.

One at a time works on exports or on the files that they read: `locked`. Sinks (export/sinks/) are exports that go on
while a crawl runs, when nobody can compact: they note their positions here, and need no lock.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gossamer import atomic
from gossamer.records import Place

FILE, LOCK = "exports.json", "exports.lock"


class ExportsFault(Exception):
    """What is noted of the exports cannot be used; the message says why and what to do."""


class Export(msgspec.Struct, frozen=True):
    """What is known of one target."""

    to: str  # the format
    options: list[str] = []  # the flags that decide what is in it
    positions: dict[int, Place] = {}  # by partition: all before it is handed on
    left_as: str = ""  # where the target is one file: its size and time as this export left it


Exports = dict[str, Export]


def read(crawl: Path) -> Exports:
    path = crawl / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Exports)
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as fault:
        raise ExportsFault(f"{path} is damaged ({fault}): remove it, and export everything once more") from fault


def note(crawl: Path, target: str, export: Export | None) -> None:
    """Keep this about a target, durably; None: forget it. Sinks of a running crawl do so beside an export."""
    folder = os.open(crawl, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # for as long as it takes to write it
        exports = read(crawl)
        exports.pop(target, None)
        if export is not None:
            exports[target] = export
        atomic.replace(crawl / FILE, msgspec.json.format(msgspec.json.encode(exports)))
    finally:
        os.close(folder)


@contextmanager
def locked(crawl: Path, *, only_reading: bool = False) -> Iterator[None]:
    """Nobody else exports from this crawl meanwhile, ranks or compacts it. However we end, the lock is let go.

    `only_reading`: nothing is written, so it may be a folder where that is not allowed."""
    try:
        lock = (crawl / LOCK).open("a")
    except OSError:
        if not only_reading:
            raise
        yield
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            busy = f"{crawl} is being exported, ranked or compacted by another process: wait for it"
            raise ExportsFault(busy) from None
        yield
