"""Where an export goes: standard output, a file or folder here, or objects of a bucket.

What goes to a bucket is made in a temporary folder here, after what is there and is to be added to was fetched, and
then sent: an object is replaced by its new content when all of that has arrived, or not at all. So a file in a bucket
costs its whole size at each export, and a folder of Parquet files only what is new.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from gossamer.archive.bucket import CHUNK_BYTES, BucketStorage


class Layout(NamedTuple):
    """Of a target that is a folder: the folders in it that we fill, and how the names of our files end."""

    folders: tuple[str, ...]
    ending: str

    def files(self, path: Path) -> list[Path]:
        return sorted(file for folder in self.folders for file in (path / folder).rglob(f"*{self.ending}"))


LAYOUTS = {"parquet": Layout(("pages", "links", "hosts"), ".parquet"), "markdown": Layout(("pages",), ".md")}


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
    def __init__(self, path: Path, layout: Layout | None) -> None:
        """`layout`: None where it is a file."""
        self.name = str(path)
        self.path = path
        self._layout = layout

    @property
    def is_there(self) -> bool:
        return self.path.is_file() or any(file.is_file() for file in self.path.rglob("*"))

    def left_as(self) -> str:
        if not self.path.is_file():
            return ""
        found = self.path.stat()
        return f"{found.st_size} bytes, {found.st_mtime_ns}"

    def prepare(self, *, keep: bool) -> None:
        folders = [self.path / name for name in self._layout.folders] if self._layout else [self.path.parent]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        if self._layout and not keep:
            for file in self._layout.files(self.path):
                file.unlink()

    def finish(self) -> None:
        pass  # every file is put in its place by whoever wrote it


class BucketTarget:
    def __init__(self, url: str, options: Mapping[str, str], work: Path, layout: Layout | None) -> None:
        """`work`: a temporary folder. `options`: of the store, as in `archive.options`."""
        self._layout = layout
        self.name = url.rstrip("/")
        above, _, file = self.name.rpartition("/")
        self._object = "" if layout else file
        self.path = work / (self._object or "tables")
        self._storage = BucketStorage(self.name if layout else above, options, noun="the target")

    @property
    def is_there(self) -> bool:
        return bool(self.left_as()) if self._object else any(True for _ in self._storage.names())

    def left_as(self) -> str:
        try:
            return self._storage.stamp(self._object) if self._object else ""
        except FileNotFoundError:
            return ""

    def prepare(self, *, keep: bool) -> None:
        if self._layout is None:
            if keep:
                with self.path.open("wb") as file:
                    file.writelines(self._storage.chunks(self._object))
            return
        for folder in self._layout.folders:
            (self.path / folder).mkdir(parents=True)
            if not keep:
                names, ending = self._storage.names(f"{folder}/"), self._layout.ending
                self._storage.remove([name for name in names if name.endswith(ending)])

    def finish(self) -> None:
        for file in self._layout.files(self.path) if self._layout else [self.path]:
            name = self._object or str(file.relative_to(self.path))
            with file.open("rb") as content:
                self._storage.put(name, iter(lambda: content.read(CHUNK_BYTES), b""), file.stat().st_size)
