"""The link log on one machine: links on their way to their partitions, a folder of files for each partition.

    links/NNN/OOOOOOOOOOOOOOOO.links     O = the position of its first byte in the log

Whoever finds links appends them to the logs of the partitions they belong to, and may forget them: they are durable.
The owner of a partition reads its log when it likes and keeps its position in its own store, in the same batch as the
links; so nobody waits for an owner, and it does not matter who the owner is, or whether there is one.

A position is a number of bytes from the beginning of the log, for ever. A file is full after `FILE_BYTES`, and is
removed when all of it was applied; the newest stays, because it knows where the log ends. A frame is

    magic (4)  length of the links (4)  their CRC-32 (4)  the links (MessagePack)

Several processes append, one at a time, under a lock that the system takes back from whoever dies. What a death in
the middle of a write leaves is a piece of a frame, which was acknowledged to nobody: readers skip it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from zlib import crc32

from gossamer.atomic import make_folder, sync_folder
from gossamer.cluster.link_messages import link_messages, read_links
from gossamer.interfaces import LinkBatch
from gossamer.records import Link

FILE_BYTES = 8 << 20
FRAME_BYTES_MAX = 64 << 20  # more is no frame
SUFFIX = ".links"

_MAGIC = b"\xff\xfeLK"  # never part of a text, whatever a page says
_HEAD = struct.Struct(">4sII")


@dataclass(slots=True)
class _File:
    descriptor: int
    start: int  # the position of its first byte

    @property
    def end(self) -> int:
        return self.start + os.fstat(self.descriptor).st_size


class FileLinkLog:
    """Implements `interfaces.LinkLog`."""

    held_up = ""  # a disk that is full is an exception

    def __init__(self, folder: Path, file_bytes: int = FILE_BYTES) -> None:
        self._folder = folder
        self._file_bytes = file_bytes
        self._appending: dict[int, _File] = {}
        self._reading: dict[int, _File] = {}
        self._locks: dict[tuple[int, bool], int] = {}  # by partition, for appending and for reading
        self._writing = threading.Lock()  # for threads: one of a cancelled `append` goes on writing

    def close(self) -> None:
        for file in (*self._appending.values(), *self._reading.values()):
            os.close(file.descriptor)
        for lock in self._locks.values():
            os.close(lock)
        self._appending.clear()
        self._reading.clear()
        self._locks.clear()

    # ---- appending ---------------------------------------------------------------------------------------

    async def append(self, links: Mapping[int, Sequence[Link]]) -> None:
        await asyncio.to_thread(self._append, links)

    def _append(self, links: Mapping[int, Sequence[Link]]) -> None:
        with self._writing:
            written = [
                self._write(number, b"".join(map(_framed, link_messages(group))))
                for number, group in links.items()
                if group
            ]
            for descriptor in written:
                os.fdatasync(descriptor)

    def _write(self, partition: int, data: bytes) -> int:
        with self._locked(partition):
            file = self._newest(partition)
            if file.end - file.start >= self._file_bytes:
                file = self._begin(partition, file.end)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(file.descriptor, rest) :]
            return file.descriptor

    def _newest(self, partition: int) -> _File:
        """Others append, too, and may have begun a new file."""
        starts = self._starts(partition)
        file = self._appending.get(partition)
        if not starts:
            return self._begin(partition, 0)
        if file is None or file.start != starts[-1]:
            file = self._take(partition, starts[-1], os.O_WRONLY | os.O_APPEND)
        return file

    def _begin(self, partition: int, start: int) -> _File:
        file = self._take(partition, start, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        sync_folder(self._of(partition))  # the name is durable before anything is in it
        return file

    def _take(self, partition: int, start: int, flags: int) -> _File:
        if (before := self._appending.pop(partition, None)) is not None:
            os.close(before.descriptor)
        file = _File(os.open(self._path(partition, start), flags | os.O_CLOEXEC, 0o600), start)
        self._appending[partition] = file
        return file

    # ---- reading -----------------------------------------------------------------------------------------

    def read(self, partition: int, position: int) -> LinkBatch | None:
        file = self._reading.get(partition)
        if file is None or not file.start <= position <= file.end:
            file = self._open(partition, position)
        if file is not None and position == file.end and position - file.start >= self._file_bytes:
            file = self._open(partition, position)  # it is full: there may be another
        if file is None or position >= file.end:
            return None
        return self._next(partition, file, max(position, file.start))

    def _next(self, partition: int, file: _File, position: int) -> LinkBatch | None:
        at = position - file.start
        if (payload := _payload(file.descriptor, at)) is not None:
            return LinkBatch(read_links(payload), position + _HEAD.size + len(payload))
        # Somebody is writing this very moment, or died while writing.
        with self._locked(partition, to_read=True) as is_free:
            if not is_free:
                return None
            data = os.pread(file.descriptor, file.end - position, at)
        while True:
            following = data.find(_MAGIC, 1)
            if following < 0:
                return LinkBatch([], file.end)
            data, at = data[following:], at + following
            if _payload(file.descriptor, at) is not None:
                return LinkBatch([], file.start + at)

    def _open(self, partition: int, position: int) -> _File | None:
        """The file that has what comes after a position."""
        starts = self._starts(partition)
        before = self._reading.pop(partition, None)
        if before is not None:
            os.close(before.descriptor)
        if not starts:
            return None
        for start, following in zip(starts, [*starts[1:], None], strict=True):
            if following is None or position < following:
                file = _File(os.open(self._path(partition, start), os.O_RDONLY | os.O_CLOEXEC), start)
                self._reading[partition] = file
                return file
        raise AssertionError("one of them is the last")

    def shut(self, partition: int) -> None:
        if (file := self._reading.pop(partition, None)) is not None:
            os.close(file.descriptor)

    # ---- both ends ---------------------------------------------------------------------------------------

    async def open(self, partition: int, position: int) -> None:
        """Before it is read. Where the log was lost, it goes on from where its reader has come to."""
        await asyncio.to_thread(self._make_sure, partition, position)

    def _make_sure(self, partition: int, position: int) -> None:
        if position == 0 and not self._starts(partition):
            return  # whoever appends first makes it
        with self._writing, self._locked(partition):
            # After a power cut a file can be shorter than it was when the next one began: nobody was told that the
            # rest is durable, and readers skip what is no frame.
            for start, following in pairwise(self._starts(partition)):
                path = self._path(partition, start)
                if path.stat().st_size < following - start:
                    os.truncate(path, following - start)
            if self._newest(partition).end < position:
                self._begin(partition, position)

    def end(self, partition: int) -> int:
        starts = self._starts(partition)
        return starts[-1] + self._path(partition, starts[-1]).stat().st_size if starts else 0

    async def ends(self) -> dict[int, int]:
        names = os.listdir(self._folder) if self._folder.exists() else []
        return {int(name): self.end(int(name)) for name in names if name.isdigit()}

    def unread_bytes(self, partition: int) -> int:
        """About: what was read is only removed by whole files."""
        starts = self._starts(partition)
        return self.end(partition) - starts[0] if len(starts) > 1 else 0

    def trim(self, partition: int, position: int) -> None:
        starts = self._starts(partition)
        for start, following in pairwise(starts):
            if following <= position:
                with suppress(FileNotFoundError):
                    self._path(partition, start).unlink()

    def _of(self, partition: int) -> Path:
        return self._folder / f"{partition:03d}"

    def _path(self, partition: int, start: int) -> Path:
        return self._of(partition) / f"{start:016d}{SUFFIX}"

    def _starts(self, partition: int) -> list[int]:
        try:
            names = os.listdir(self._of(partition))
        except FileNotFoundError:
            return []
        return sorted(int(name.removesuffix(SUFFIX)) for name in names if name.endswith(SUFFIX))

    @contextmanager
    def _locked(self, partition: int, *, to_read: bool = False) -> Iterator[bool]:
        """Readers do not wait: they are told whether somebody is writing."""
        lock = self._locks.get((partition, to_read))
        if lock is None:
            make_folder(self._of(partition))
            lock = os.open(self._of(partition) / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._locks[partition, to_read] = lock
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (fcntl.LOCK_NB if to_read else 0))
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)


def _framed(payload: bytes) -> bytes:
    return _HEAD.pack(_MAGIC, len(payload), crc32(payload)) + payload


def _payload(descriptor: int, at: int) -> bytes | None:
    """What is in the frame that begins here; None: there is no whole frame."""
    head = os.pread(descriptor, _HEAD.size, at)
    if len(head) < _HEAD.size:
        return None
    magic, length, checksum = _HEAD.unpack(head)
    if magic != _MAGIC or length > FRAME_BYTES_MAX:
        return None
    payload = os.pread(descriptor, length, at + _HEAD.size)
    return payload if len(payload) == length and crc32(payload) == checksum else None
