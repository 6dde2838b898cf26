"""Where an export goes: standard output, a file or folder here, or objects of a bucket.

What goes to a bucket is made in a temporary folder here, after what is there and is to be added to was fetched, and
then sent: an object is replaced by its new content when all of that has arrived, or not at all. So a file in a bucket
costs its whole size at each export, and a folder of Parquet files only what is new.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from gossamer.archive.bucket import CHUNK_BYTES, BucketStorage

TABLES = ("pages", "links", "hosts")


class Target(Protocol):
    name: str  # as it is noted
    path: Path  # where the files are made

    @property
    def is_there(self) -> bool: ...
    def left_as(self) -> str:
        """Of a single file, to see whether others have changed it, or an export whose end was not noted."""
        ...

    def prepare(self, *, keep: bool) -> None:
        """`keep`: what is there is added to. Otherwise what an earlier export has left is removed."""
        ...

    def finish(self) -> None: ...


class LocalTarget:
    def __init__(self, path: Path, *, is_folder: bool) -> None:
        self.name = str(path)
        self.path = path
        self._is_folder = is_folder

    @property
    def is_there(self) -> bool:
        return self.path.is_file() or any(file.is_file() for file in self.path.rglob("*"))

    def left_as(self) -> str:
        if not self.path.is_file():
            return ""
        found = self.path.stat()
        return f"{found.st_size} bytes, {found.st_mtime_ns}"

    def prepare(self, *, keep: bool) -> None:
        for folder in [self.path / table for table in TABLES] if self._is_folder else [self.path.parent]:
            folder.mkdir(parents=True, exist_ok=True)
        if self._is_folder and not keep:
            for file in [file for table in TABLES for file in (self.path / table).glob("*.parquet")]:
                file.unlink()

    def finish(self) -> None:
        pass  # every file is put in its place by whoever wrote it


class BucketTarget:
    def __init__(self, url: str, options: Mapping[str, str], work: Path, *, is_folder: bool) -> None:
        """`work`: a temporary folder. `options`: of the store, as in `archive.options`."""
        self.name = url.rstrip("/")
        above, _, file = self.name.rpartition("/")
        self._object = "" if is_folder else file
        self.path = work / (self._object or "tables")
        self._storage = BucketStorage(self.name if is_folder else above, options, noun="the target")

    @property
    def is_there(self) -> bool:
        return bool(self.left_as()) if self._object else any(True for _ in self._storage.names())

    def left_as(self) -> str:
        try:
            return self._storage.stamp(self._object) if self._object else ""
        except FileNotFoundError:
            return ""

    def prepare(self, *, keep: bool) -> None:
        if self._object:
            if keep:
                with self.path.open("wb") as file:
                    file.writelines(self._storage.chunks(self._object))
            return
        for table in TABLES:
            (self.path / table).mkdir(parents=True)
            if not keep:
                self._storage.remove([name for name in self._storage.names(f"{table}/") if name.endswith(".parquet")])

    def finish(self) -> None:
        for file in [self.path] if self._object else sorted(self.path.rglob("*.parquet")):
            name = self._object or str(file.relative_to(self.path))
            with file.open("rb") as content:
                self._storage.put(name, iter(lambda: content.read(CHUNK_BYTES), b""), file.stat().st_size)
