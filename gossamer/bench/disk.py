"""Where the folders of the crawls are while they are measured: on the disk, or in memory.

A crawler that waits for a slow disk says nothing about crawlers. So the disk of the cache is tried before: where it
takes less than a fast crawler would write, and /dev/shm has room, the folders are there. What is written is then not
known, since nothing goes towards a disk; everything else is measured as usual.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer.bench.mix import Mix
from gossamer.clock import RealClock

WAYS = ("auto", "yes", "no")
RAM_DISK = Path("/dev/shm")
FAST_PER_S = 3_000  # pages: what wget2 has on two cores, and it writes every one of them to a file
PIECE_BYTES, PIECES, PROBE_S = 4 * 2**20, 16, 1.0
SPARE_BYTES = 512 * 2**20
PREFIX = "gossamer-bench-"


@dataclass(frozen=True)
class Place:
    folder: Path
    is_ram: bool
    said: str


def choose(way: str, mix: Mix, cache: Path, ram: Path = RAM_DISK) -> Place:
    on_disk = f"crawl folders on disk, in {cache}"
    if way == "no":
        return Place(cache, False, on_disk)
    needed = 2 * mix.pages * mix.page_bytes + SPARE_BYTES
    there = room(ram)
    has_room = there >= needed
    shortage = f"{ram} has room for {there / 1e9:.1f} GB, and {needed / 1e9:.1f} may be needed"
    if way == "yes":
        return _in(ram, "as asked for") if has_room else Place(cache, False, f"{on_disk}: {shortage}")
    disk, wanted = pace(cache), FAST_PER_S * mix.page_bytes
    figures = f"it takes {disk / 1e6:,.0f} MB/s, {FAST_PER_S:,} pages a second are {wanted / 1e6:,.0f}"
    if disk >= wanted:
        return Place(cache, False, f"{on_disk}: {figures}")
    if has_room:
        return _in(ram, f"the disk would be the limit ({figures})")
    return Place(cache, False, f"{on_disk}, which may be the limit ({figures}): {shortage}")


def pace(folder: Path) -> float:
    """Bytes a second that reach the disk, tried for a second at most."""
    clock, piece, written = RealClock(), os.urandom(PIECE_BYTES), 0
    started_at = clock.now()
    with tempfile.TemporaryFile(dir=folder) as file:
        while written < PIECES * PIECE_BYTES and clock.now() - started_at < PROBE_S:
            file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            written += PIECE_BYTES
        return written / max(clock.now() - started_at, 1e-6)


def room(ram: Path) -> int:
    """What a disk in memory can take, without using up more than half of the memory that is left."""
    with suppress(OSError):
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
        available = int(found[1]) * 1024 if found else 0
        return min(shutil.disk_usage(ram).free, available // 2) if os.access(ram, os.W_OK) else 0
    return 0


def fresh(parent: Path) -> Path:
    """A folder of this process; those of processes that were killed are removed."""
    for old in parent.glob(f"{PREFIX}*-*"):
        if not Path("/proc", old.name.removeprefix(PREFIX).partition("-")[0]).exists():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))


def _in(ram: Path, why: str) -> Place:
    return Place(ram, True, f"crawl folders in memory, in {ram}: {why}; bytes written are not known")
