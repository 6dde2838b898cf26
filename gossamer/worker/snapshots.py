"""Taking snapshots of partitions: their stores as files in the object store, so that the journal stays short.

One at a time in a worker. The buffers are flushed in a thread, then the store is copied in the event loop (links to
files, milliseconds), and the copy is hashed and uploaded in the background while the crawl goes on. The manifest
comes last, when the journal has acknowledged all that is in the copy: that is what tells it from a lost owner's.

A snapshot that is cut off leaves files that no manifest names (`manifest.tidy`). One that is under way when its
partition is given up ends there: `stop` returns when the store is not touched any more.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import msgspec

from gossamer.clock import Clock
from gossamer.cluster.ownership import Ownerships
from gossamer.interfaces import Journal, Objects, OwnJournal
from gossamer.worker.manifest import (
    FILES,
    FRESH_S,
    UNNAMED_S,
    Manifest,
    SnapshotFile,
    manifest_name,
    prune,
    read_manifest,
)
from gossamer.worker.partition import NOTE, Partition
from gossamer.worker.restore import GAP_NOTE

UPLOADS_AT_ONCE = 8
LOOK_S = 5.0  # between two looks at what is due
AGAIN_S = 60.0  # after one that failed
GROWN_BYTES_MIN = 64 << 20  # of a journal: less is restored in a second or two, however small the store is


@dataclass
class _Taken:
    """What is known of the last snapshot of a partition."""

    due_at: float
    number: int = 0
    journal_bytes: int = 0
    store_bytes: int = 0
    at: float = 0.0  # 0: there is none of this owner


class _GivenUp(Exception):
    pass


class Snapshots:
    def __init__(
        self,
        objects: Objects,
        ownerships: Ownerships,
        journal: Journal,
        clock: Clock,
        folder: Path,
        every_s: float,
        say: Callable[[str], None],
    ) -> None:
        """`folder`: for copies on their way; on the same disk as the stores, so that files can be linked."""
        self.count, self.bytes = 0, 0  # of all that were taken
        self._objects = objects
        self._ownerships = ownerships
        self._journal = journal
        self._clock = clock
        self._folder = folder
        self._every_s = every_s
        self._say = say
        self._one = asyncio.Lock()
        self._touching: dict[int, asyncio.Lock] = {}
        self._tasks: dict[int, set[asyncio.Task[Manifest]]] = {}
        self._taken: dict[tuple[int, int], _Taken] = {}
        self._counts: dict[tuple[int, int], int] = {}
        self._hashes: dict[int, dict[tuple[int, int, int], str]] = {}  # by partition: of files that never change
        self._there: dict[str, tuple[str, float]] = {}  # files in the object store: their names, and since when
        shutil.rmtree(folder, ignore_errors=True)  # whatever was on its way when the last one died

    async def take(self, partition: Partition, own: OwnJournal) -> Manifest | None:
        """None: the partition was given up meanwhile."""
        task = asyncio.ensure_future(self._take(partition, own))
        tasks = self._tasks.setdefault(partition.number, set())
        tasks.add(task)
        try:
            return await task
        except _GivenUp:
            return None
        except asyncio.CancelledError:
            if task.cancelled() and partition.is_given_up:
                return None
            task.cancel()
            raise
        finally:
            tasks.discard(task)

    async def stop(self, number: int) -> None:
        """The partition is given up: nothing touches its store when this returns, and no manifest follows."""
        async with self._touching.setdefault(number, asyncio.Lock()):
            for task in self._tasks.get(number, ()):
                task.cancel()

    async def run(self, partitions: Callable[[], Iterable[tuple[Partition, OwnJournal]]]) -> None:
        """Take those that are due, one after the other, until this is cancelled."""
        while True:
            for partition, own in list(partitions()):
                last = self._last(partition, own)
                if partition.is_given_up or not self._is_due(last, own):
                    continue
                try:
                    await self.take(partition, own)
                except OSError as fault:  # the object store, or this disk; the journal waits by itself
                    last.due_at = self._clock.now() + AGAIN_S
                    self._say(f"no snapshot of partition {partition.number}: {fault}")
            await self._clock.sleep(LOOK_S)

    def last(self, number: int, epoch: int) -> tuple[float, int]:
        """When the last one of this owner was taken, and how many bytes it has; zeros: there is none."""
        taken = self._taken.get((number, epoch))
        return (taken.at, taken.store_bytes) if taken is not None else (0.0, 0)

    def _last(self, partition: Partition, own: OwnJournal) -> _Taken:
        key = (partition.number, own.epoch)
        if key not in self._taken:  # not all at the same time
            self._taken[key] = _Taken(self._clock.now() + self._every_s * self._clock.random.random())
        return self._taken[key]

    def _is_due(self, last: _Taken, own: OwnJournal) -> bool:
        if own.appended == last.number:
            return False
        grown = own.bytes - last.journal_bytes
        return self._clock.now() >= last.due_at or grown > max(GROWN_BYTES_MIN, last.store_bytes)

    # ---- one ---------------------------------------------------------------------------------------------

    async def _take(self, partition: Partition, own: OwnJournal) -> Manifest:
        number = partition.number
        async with self._one:
            copy = None
            try:
                async with self._touching.setdefault(number, asyncio.Lock()):
                    _check(partition)
                    journal_bytes = own.bytes
                    await partition.flush()
                    snapshot = await partition.snapshot(self._folder)
                    copy = self._folder / snapshot.name
                position = await own.settled()  # all that is in the copy, and perhaps a little more
                begun = self._clock.now()
                files = await self._upload(number, copy)
                _check(partition)
                if self._clock.now() - begun > UNNAMED_S - FRESH_S:
                    raise OSError("it took so long that some of its files may be gone")
                count = self._counts[number, own.epoch] = self._counts.get((number, own.epoch), 0) + 1
                manifest = Manifest(
                    manifest_name(number, own.epoch, count),
                    number,
                    own.epoch,
                    snapshot.mark.number,
                    position,
                    snapshot.mark.position,
                    snapshot.log_position,
                    snapshot.archive_end,
                    files,
                    self._clock.now(),
                    token_hex(8),
                )
                if not await self._objects.create(manifest.name, msgspec.json.encode(manifest)):
                    raise OSError(f"{manifest.name} is there already, and not from here")
                last = self._last(partition, own)
                last.due_at = self._clock.now() + self._every_s
                last.number, last.journal_bytes, last.store_bytes = manifest.number, journal_bytes, manifest.bytes
                last.at = manifest.taken_at
                self.count, self.bytes = self.count + 1, self.bytes + manifest.bytes
                with suppress(FileNotFoundError):
                    (partition.folder / GAP_NOTE).unlink()
            finally:
                if copy is not None:
                    await asyncio.to_thread(shutil.rmtree, copy, ignore_errors=True)
            try:
                history = await self._ownerships.history(number)
                needed_from = await asyncio.to_thread(prune, self._objects, number, history)
                if needed_from is not None:
                    await self._journal.delete_before(number, needed_from)
            except OSError as fault:  # the next one does it
                self._say(f"what the last snapshot of partition {number} replaces could not be removed: {fault}")
            return manifest

    async def _upload(self, number: int, copy: Path) -> list[SnapshotFile]:
        few, now = asyncio.Semaphore(UPLOADS_AT_ONCE), self._clock.now()
        known: dict[tuple[int, int, int], str] = self._hashes.get(number, {})
        hashes: dict[tuple[int, int, int], str] = {}
        self._there = {sha256: there for sha256, there in self._there.items() if there[1] > now - FRESH_S}

        async def one(path: Path) -> SnapshotFile:
            async with few:
                key = _place(path)
                # Tables never change once they are written, and the copy has links to them.
                sha256 = known.get(key, "") if path.suffix == ".sst" else ""
                sha256 = hashes[key] = sha256 or await asyncio.to_thread(_hash, path)
                if sha256 not in self._there:
                    self._there[sha256] = await asyncio.to_thread(_put, self._objects, path, sha256), now
                return SnapshotFile(path.name, key[1], sha256, self._there[sha256][0])

        if number not in self._hashes:  # the first one of this process
            self._there |= await asyncio.to_thread(_there_already, self._objects, number, now)
        files = list(await asyncio.gather(*(one(path) for path in sorted(copy.iterdir()) if path.name != NOTE)))
        self._hashes[number] = hashes
        return files


def _check(partition: Partition) -> None:
    if partition.is_given_up:
        raise _GivenUp


def _place(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _there_already(objects: Objects, partition: int, now: float) -> dict[str, tuple[str, float]]:
    """Files of the last snapshot that nobody removes for some hours, whatever becomes of its manifest."""
    found: dict[str, tuple[str, float]] = {}
    last = max(objects.names(f"snapshots/{partition:03d}/"), default=None)
    manifest = read_manifest(objects, last) if last is not None else None
    for file in manifest.files if manifest is not None else ():
        with suppress(FileNotFoundError):
            if (at := objects.modified_at(file.object)) > now - FRESH_S:
                found[file.sha256] = (file.stored_as or file.sha256, at)
    return found


def _put(objects: Objects, path: Path, sha256: str) -> str:
    """Upload a file; under which name."""
    name = f"{sha256}-{token_hex(4)}"
    with path.open("rb") as file:
        objects.put(FILES + name, iter(lambda: file.read(1 << 20), b""))
    return name
