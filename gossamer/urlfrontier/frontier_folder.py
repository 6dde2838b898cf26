"""A frontier's folder:

frontier.json     its format, and the version that wrote it: what makes it a frontier
frontier.lock     locked while a server has it
keys.json         who may call the service from elsewhere
store/            RocksDB (tables.py)
seen.bloom        the filter of known URLs, after a clean end
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gossamer import __version__, atomic
from gossamer.folder import CrawlFolder, FolderError, Format, held

FORMAT = 1


class FrontierFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._format = path / "frontier.json"

    @property
    def is_frontier(self) -> bool:
        return self._format.is_file()

    def must_be_frontier(self) -> None:
        if CrawlFolder(self.path).is_crawl:
            raise FolderError(f"{self.path} is the folder of a crawl, not of a frontier: choose another --dir")
        if not self.is_frontier:
            raise FolderError(
                f"{self.path} is not a frontier: `gossamer frontier --dir {self.path}` would make it one"
            )
        found = msgspec.json.decode(self._format.read_bytes(), type=Format)
        if found.format > FORMAT:
            raise FolderError(
                f"{self.path} is in format {found.format}, written by {found.made_by}; this is gossamer "
                f"{__version__}, which knows formats up to {FORMAT}: use that version, or a later one"
            )

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Nobody else has it meanwhile; made where there is nothing yet."""
        if not self.is_frontier and not CrawlFolder(self.path).is_crawl:
            self._make()
        self.must_be_frontier()
        with held(self.path / "frontier.lock", f"{self.path} is being served by {{}}: stop it first"):
            yield

    def _make(self) -> None:
        if self.path.is_file():
            raise FolderError(f"{self.path} is a file; a frontier needs a folder")
        known = {"keys.json"}
        found = (
            {entry.name for entry in self.path.iterdir() if not entry.name.startswith(".")}
            if self.path.is_dir()
            else set()
        )
        if others := found - known:
            raise FolderError(
                f"{self.path} is not empty and not a frontier (it holds {min(others)}): choose another --dir"
            )
        try:
            atomic.make_folder(self.path)
            made = Format(FORMAT, f"gossamer {__version__}")
            atomic.replace(self._format, msgspec.json.format(msgspec.json.encode(made)))
        except OSError as fault:
            raise FolderError(f"{self.path} cannot be made: {fault.strerror}") from fault
