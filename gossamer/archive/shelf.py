"""The shelf: where the files of an archive lie, the crawl's own folder or a bucket of an object store.

Everybody who reads an archive reads through it, so that an export, a look at one page or a compaction need not know
where that is. Reading is plain and synchronous: a name, an offset, a length. A name is relative to the shelf and may
have parts (`sha256/ab/...`). What is missing raises `FileNotFoundError` on either shelf.

Writing is by whole files, and each is there whole or not at all: `put` for a large one, `put_contents` for many whose
names are made of what they hold, so that one that is there needs not be written. Files that grow are written by
series.py, which knows what a crash may leave.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from gossamer.records import Body
from gossamer.settings import ArchiveSettings

CHUNK_BYTES = 256 << 10
PARTIAL = ".partial"  # a file that is being written; nobody sees it


Contents = Mapping[str, tuple[Body, str]]
"""By name: what is to be stored there, and its media type."""


class ArchiveDamaged(Exception):
    """The files are not what the partition's store, or the format, says they are."""


class Shelf(Protocol):
    where: str  # for people: the folder, or the URL

    def names(self, prefix: str = "") -> Iterator[str]:
        """The names that begin so; those in one folder in the order of their characters."""

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """The same, with how many bytes each has."""

    def size(self, name: str) -> int: ...
    def read(self, name: str, offset: int, length: int) -> bytes:
        """Fewer bytes where the file ends before."""

    def chunks(self, name: str, offset: int = 0) -> Iterator[bytes]: ...
    def put(self, name: str, parts: Iterable[bytes], bytes_max: int = 0) -> None:
        """Durable when it returns. `bytes_max`: about how large it may become."""

    async def put_contents(self, contents: Contents) -> None:
        """The same for many. A name that exists has the right content already."""

    def remove(self, names: Iterable[str]) -> None:
        """Those that are missing are no fault."""

    def tidy(self) -> None:
        """Take away what writers left that died. Nobody may be writing meanwhile."""


def open_shelf(settings: ArchiveSettings, folder: Path) -> Shelf:
    """`folder`: the crawl's own, for an archive that is not elsewhere."""
    if not settings.url:
        return FolderShelf(folder)
    from gossamer.archive.bucket import BucketShelf  # noqa: PLC0415 - most crawls need no object store

    return BucketShelf(settings.url, settings.options)


def as_shelf(place: Shelf | Path) -> Shelf:
    return FolderShelf(place) if isinstance(place, Path) else place


class FolderShelf:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.where = str(folder)

    def __repr__(self) -> str:
        return f"FolderShelf({self.where})"

    def names(self, prefix: str = "") -> Iterator[str]:
        return self._below("", prefix)

    def _below(self, above: str, prefix: str) -> Iterator[str]:
        """One folder at a time is in memory. A folder is where its name with a slash would be among the files."""
        try:
            with os.scandir(self.folder / above) as entries:
                inner = sorted(above + entry.name + ("/" if entry.is_dir() else "") for entry in entries)
        except FileNotFoundError:
            return
        for name in inner:
            if name.endswith("/") and (name.startswith(prefix) or prefix.startswith(name)):
                yield from self._below(name, prefix)
            elif name.startswith(prefix) and not name.endswith(("/", PARTIAL)):
                yield name

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        return ((name, self.size(name)) for name in self.names(prefix))

    def size(self, name: str) -> int:
        return (self.folder / name).stat().st_size

    def read(self, name: str, offset: int, length: int) -> bytes:
        with (self.folder / name).open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def chunks(self, name: str, offset: int = 0) -> Iterator[bytes]:
        with (self.folder / name).open("rb") as file:
            file.seek(offset)
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def put(self, name: str, parts: Iterable[bytes], bytes_max: int = 0) -> None:
        path = self.folder / name
        make_folder(path.parent)
        self._write(path, parts)
        sync_folder(path.parent)

    async def put_contents(self, contents: Contents) -> None:
        await asyncio.to_thread(self._put_contents, contents)

    def _put_contents(self, contents: Contents) -> None:
        paths = {self.folder / name: content for name, (content, _) in contents.items()}
        folders = {path.parent for path in paths}
        for folder in folders:
            make_folder(folder)
        for path, content in paths.items():
            if not path.exists():
                self._write(path, [content])
        for folder in folders:  # also where all were there: somebody else may have put them there just now
            sync_folder(folder)

    def _write(self, path: Path, parts: Iterable[Body]) -> None:
        # Others may be writing the same content at this moment.
        partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}{PARTIAL}")
        try:
            with partial.open("wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def tidy(self) -> None:
        for path in self.folder.rglob(f"*{PARTIAL}"):
            path.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """With all above it, and durably: a folder's name lies in the one above."""
    if not folder.exists():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
