"""The storage: where the files of an archive lie, the crawl's own folder or a bucket of an object store.

Everybody who reads an archive reads through it, so that an export, a look at one page or a compaction need not know
where that is. Reading is plain and synchronous: a name, an offset, a length. What is missing raises
`FileNotFoundError` on either storage.

Writing is by whole files (`put`), and each is there whole or not at all. Files that grow are written by segments.py,
which knows what a crash may leave.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from gossamer.atomic import PARTIAL, make_folder, replace, replacing, sync_folder
from gossamer.records import Body

CHUNK_BYTES = 256 << 10


class ArchiveDamaged(Exception):
    """The files are not what the partition's store, or the format, says they are."""


class Storage(Protocol):
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

    async def create(self, name: str, content: bytes) -> bool:
        """Whether the name was free, and is taken by this content now. Durable when it returns."""

    def modified_at(self, name: str) -> float: ...
    def remove(self, names: Iterable[str]) -> None:
        """Those that are missing are no fault."""

    def tidy(self) -> None:
        """Take away what writers left that died. Nobody may be writing meanwhile."""

    async def claim(self, partition: int, note: Path, who: str, *, take_over: bool = False) -> None:
        """We are the one to write this partition from now on. Raises `ArchiveDamaged` where somebody else is.

        `note`: a file beside the partition's store, for what has to be known the next time. `take_over`: whoever it
        was, it is our turn."""


def as_storage(place: Storage | Path) -> Storage:
    return FolderStorage(place) if isinstance(place, Path) else place


class FolderStorage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.where = str(folder)

    def __repr__(self) -> str:
        return f"FolderStorage({self.where})"

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

    async def create(self, name: str, content: bytes) -> bool:
        path = self.folder / name
        make_folder(path.parent)
        whole = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}{PARTIAL}")
        replace(whole, content)
        try:
            os.link(whole, path)
        except FileExistsError:
            return path.read_bytes() == content
        finally:
            whole.unlink()
        sync_folder(path.parent)
        return True

    def modified_at(self, name: str) -> float:
        return (self.folder / name).stat().st_mtime

    def _write(self, path: Path, parts: Iterable[Body]) -> None:
        # Others may be writing the same content at this moment.
        writer = f"{os.getpid()}-{threading.get_ident()}"
        with replacing(path, writer=writer, of_many=True) as partial, partial.open("wb") as file:
            for part in parts:
                file.write(part)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    async def claim(self, partition: int, note: Path, who: str, *, take_over: bool = False) -> None:
        """Nobody else has this folder: the crawl's lock sees to that."""

    def tidy(self) -> None:
        for path in self.folder.rglob(f"*{PARTIAL}"):
            path.unlink(missing_ok=True)
