"""Segments: the files of one partition, written one group after the other.

    PPP-SSSSSeE.warc.gz            P = partition, S = sequence, E = the epoch of the owner that began it
    PPP-FFFFF-LLLLL-GeE.warc.gz    joined by compaction: all that is kept of F to L; G = how often that was done

Their order is the order of the partition's commits. What a file holds is somebody else's business (warc.py);
here they take a group of bytes, make it durable and say where it lies.

**The epoch fences an earlier owner.** Whatever it still writes has names of its own, which no later owner uses, and
nobody removes what has another epoch than his own. Where a later epoch began at a sequence, what an earlier one has
from there on was never committed: readers pass it over (`in_force`). The file of the committed end is continued in a
folder, where the lock of the store shuts others out.

Invariant: nothing before `end` ever changes, and all that lies behind the last committed `end` may be cut off:
`go_back` does after an error, `recover` after a crash. Whole files behind it may be pages that an older copy of the
store does not know, so in a folder `recover` sets them aside, and in a bucket they stay; `verify` names them.

In a folder a group is appended to a file, and a new file begins after `file_bytes_max`. Objects of a store cannot
grow, so in a bucket every group is an object of its own, and compaction joins them. That also means that nothing is
ever cut there: what a crash left behind the end is whole objects.

A joined file stands for the files that it was made of. While both are there, readers take the joined one (`files`):
it is written whole before anybody points at it, so it does not matter to them how far the compaction came.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from gossamer.archive.storage import ArchiveDamaged, Storage
from gossamer.atomic import make_folder, sync_folder
from gossamer.records import Outcome, Place
from gossamer.shortage import lacking

ENDING = ".warc.gz"
UNKNOWN = "unknown"  # a folder for files that no store knows: a crash left them, or a store was put back from a copy
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NAME = re.compile(r"([0-9]{3,})-([0-9]{5,})(?:-([0-9]{5,})-([0-9]+))?(?:e([0-9]+))?\.warc\.gz")

Opening = Callable[[str, float], bytes]
"""What a new file begins with: its name, and the time of what comes first."""


class ArchiveFull(OSError):
    """No room to write a group. Nothing of it was kept, and saving can go on once there is room."""


class FileName(NamedTuple):
    """In the order of commits, files of one partition are in order."""

    partition: int
    first: int
    last: int
    generation: int = 0  # 0: as the crawl wrote it
    epoch: int = 0  # of whoever began it, or the last one of those that were joined; 0: of an early version

    def __str__(self) -> str:
        joined = f"-{self.last:05d}-{self.generation}" if self.generation else ""
        return f"{self.partition:03d}-{self.first:05d}{joined}{f'e{self.epoch}' if self.epoch else ''}{ENDING}"

    def holds(self, other: FileName) -> bool:
        """Whether it stands for the other, which was one of those that it was made of."""
        return (
            self.partition == other.partition
            and self.first <= other.first
            and other.last <= self.last
            and self.generation > other.generation
        )


def parsed(name: str) -> FileName | None:
    """None: it is no file of ours."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    first = int(found[2])
    return FileName(int(found[1]), first, int(found[3] or first), int(found[4] or 0), int(found[5] or 0))


def files(storage: Storage, partition: int, end: Place | None = None) -> list[str]:
    """The files of a partition in the order of its commits, up to the committed end where that is known."""
    found = filter(None, map(parsed, storage.names(f"{partition:03d}-")))
    last = name_in(end) if end is not None else None
    return [str(name) for name in in_force(name for name in found if last is None or is_committed(name, last))]


def in_force(names: Iterable[FileName]) -> list[FileName]:
    """Of one partition, without those that a joined file stands for, and without what an earlier owner wrote behind
    the end from which a later one went on."""
    kept: list[FileName] = []
    epoch = 0
    for name in sorted(names, key=lambda each: (each.first, -each.last, -each.generation, -each.epoch)):
        is_late = not name.generation and name.epoch < epoch
        epoch = max(epoch, name.epoch)
        if not is_late and not (kept and kept[-1].holds(name)):
            kept.append(name)
    return kept


class Segments(Protocol):
    @property
    def end(self) -> Place | None:
        """To be committed together with the pages whose groups were appended."""

    async def append(self, group: bytes | bytearray, at: float) -> Place: ...
    async def go_back(self, end: Place | None) -> None: ...
    async def recover(self, end: Place | None) -> list[str]: ...
    def close(self) -> None: ...


class FolderSegments:
    def __init__(self, folder: Path, partition: int, epoch: int, opening: Opening, file_bytes_max: int) -> None:
        self.end: Place | None = None
        self._folder = folder
        self._partition = partition
        self._epoch = epoch
        self._opening = opening
        self._file_bytes_max = file_bytes_max
        self._file: int | None = None  # descriptor of the file that `end` is in, while it is open
        # A lock for threads, not for tasks: the thread of a cancelled `append` goes on writing.
        self._writing = threading.Lock()
        self._closed = False

    async def append(self, group: bytes | bytearray, at: float) -> Place:
        """Write one group behind `end`, durably, and say where. After an error `go_back` has to follow."""
        return await asyncio.to_thread(self._append, group, at)

    def _append(self, group: bytes | bytearray, at: float) -> Place:
        with self._writing:
            if self._closed:
                raise RuntimeError(f"the segments of partition {self._partition} in {self._folder} are closed")
            start, opening = self.end, b""
            if start is None or start.offset >= self._file_bytes_max or name_in(start).generation:
                start = Place(self._next_file(), 0, 0)
                opening = self._opening(start.file, at)
                self._close_file()
            path = self._folder / start.file
            try:
                if self._file is None:
                    self._file = open_at(path, start.offset)
                write_all(self._file, opening)
                write_all(self._file, group)
                os.fdatasync(self._file)
            except OSError as error:
                what = f"{error.strerror}: none of {len(group)} bytes were kept"
                if error.errno in NO_ROOM:
                    raise ArchiveFull(error.errno, f"{what}; make room and save again", str(path)) from error
                raise OSError(error.errno, what, str(path)) from error
            first = start.offset + len(opening)
            self.end = Place(start.file, first + len(group), 0)
            return Place(start.file, first, len(group))

    async def go_back(self, end: Place | None) -> None:
        # Here, because perhaps no thread can be started. Should it fail as well, the file is closed at least, and the
        # next append cuts the tail when it opens it again.
        with suppress(OSError):
            self._cut(end)
        self.end = end

    async def recover(self, end: Place | None) -> list[str]:
        if end is not None:
            path = self._folder / end.file
            check(end, path.stat().st_size if path.exists() else 0, str(path), self._partition)
        # Not what a compaction joined and did not commit: all that is in it is still in the files it was made of.
        last = name_in(end) if end is not None else None
        unknown = [name for name in self._behind(last) if last is None or not name.holds(last)]
        if unknown:
            make_folder(self._folder / UNKNOWN)
        for name in unknown:
            (self._folder / str(name)).rename(free_name(self._folder / UNKNOWN / str(name)))
        self._cut(end)
        return [f"{self._folder / UNKNOWN / str(name)}" for name in unknown]

    def _behind(self, last: FileName | None) -> list[FileName]:
        """The files of which no page knows."""
        names = filter(None, map(parsed, os.listdir(self._folder) if self._folder.exists() else ()))
        own = [name for name in names if name.partition == self._partition]
        # Joined from the last by somebody who died before he could commit it: all of it is in the last, too.
        return [name for name in own if last is None or not is_committed(name, last) or name.holds(last)]

    def _cut(self, end: Place | None) -> None:
        with self._writing:
            if self._closed:
                return  # the next owner may be writing here
            self._close_file()
            self.end = end
            for name in self._behind(name_in(end) if end is not None else None):
                if name.generation or name.epoch == self._epoch:
                    (self._folder / str(name)).unlink()
            if end is not None:
                self._file = open_at(self._folder / end.file, end.offset)

    def close(self) -> None:
        with self._writing:
            self._close_file()
            self._closed = True

    def _next_file(self) -> str:
        name = next_name(self.end, self._partition, self._epoch)
        if (self._folder / name).exists():
            raise ArchiveDamaged(
                f"{self._folder / name} exists and holds nothing committed: call recover() before save()"
            )
        return name

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class SegmentArchive:
    """What archives in segments have in common: `interfaces.Archive` but for `_save`, which is theirs.

    Where files may exist already, `recover` comes before `save`."""

    def __init__(self, storage: Storage, partition: int, segments: Segments) -> None:
        self.storage = storage
        self.partition = partition
        self._segments = segments
        self._saving = asyncio.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.storage.where}, partition={self.partition}, end={self.end})"

    @property
    def end(self) -> Place | None:
        """To be committed together with the pages of a `save`."""
        return self._segments.end

    async def save(self, outcomes: Sequence[Outcome]) -> list[Place | None]:
        """All of them or, with an exception, none."""
        async with self._saving:
            before = self.end
            try:
                return await self._save(outcomes)
            except OSError:
                await self._segments.go_back(before)
                raise
            except (MemoryError, RuntimeError) as fault:
                await self._segments.go_back(before)
                raise lacking(fault) or fault from None

    async def _save(self, outcomes: Sequence[Outcome]) -> list[Place | None]:
        raise NotImplementedError

    async def recover(self, end: Place | None) -> list[str]:
        """Cut off all that lies behind `end`, the last end that was committed; None: none ever was.

        Whole files behind it are not removed but set aside: their names are returned."""
        return await self._segments.recover(end)

    def close(self) -> None:
        self._segments.close()


def check_new(store: Path, storage: Storage, partition: int) -> None:
    """A partition without a store has no archive either; where it has one, its store was lost."""
    if next(storage.names(f"{partition:03d}-"), None) is not None:
        raise ArchiveDamaged(
            f"{store} is missing or empty, but {storage.where} has files of partition "
            f"{partition}: its store was lost. "
            f"Nothing was removed. Put {store} back from a copy of the crawl, or make it anew from the archive: "
            f"`gossamer rebuild {store.parent.parent} --partition {partition}`"
        )


def free_name(path: Path) -> Path:
    number = 0
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


def name_in(place: Place) -> FileName:
    name = parsed(place.file)
    if name is None:
        raise ArchiveDamaged(f"{place.file} is not the name of an archive file")
    return name


def next_name(end: Place | None, partition: int, epoch: int) -> str:
    sequence = 0 if end is None else name_in(end).last + 1
    return str(FileName(partition, sequence, sequence, epoch=epoch))


def is_committed(name: FileName, last: FileName) -> bool:
    """Whether a file holds anything that was committed; `last`: the file of the committed end. Others are later, or
    of an owner who was not the one to commit that sequence."""
    if name.first >= last.first and not (name.generation or last.generation):
        return name == last
    return name.first <= last.last


def check(end: Place, size_bytes: int, path: str, partition: int) -> None:
    name = name_in(end)
    if size_bytes < end.offset or name.partition != partition:
        raise ArchiveDamaged(
            f"{path}: {end.offset} bytes of partition {partition} were committed, {size_bytes} are there. Either "
            "archive.url was changed, or something outside of gossamer changed the archive: put the file back from a "
            "copy, or begin a new crawl in another folder."
        )


def open_at(path: Path, size_bytes: int) -> int:
    """A descriptor to write behind the first `size_bytes` of a file, anything behind them cut off."""
    is_new = size_bytes == 0
    if is_new:
        make_folder(path.parent)
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC | (os.O_CREAT if is_new else 0), 0o644)
    try:
        os.ftruncate(file, size_bytes)
        os.lseek(file, size_bytes, os.SEEK_SET)
        if is_new:
            # fdatasync keeps a file's bytes; its name is in the folder, and the folder's name in the one above.
            sync_folder(path.parent)
            sync_folder(path.parent.parent)
    except OSError:
        os.close(file)
        raise
    return file


def write_all(file: int, data: bytes | bytearray) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
