"""The flight recorder: which page was being read when a worker died.

A page that crashes its worker (a parser bug, memory) does so while it is read, and pages are read one at a time. So
its URL is written into a small memory-mapped file before and wiped after: two copies of a few hundred bytes, no
system call. The pages of a file mapping outlive the process, also after `kill -9`. At the next start the URL that is
found there, and no other that was in flight, is a suspect (recovery.py).
"""

from __future__ import annotations

import mmap
from pathlib import Path

from gossamer.records import Url

SIZE = 16 * 1024  # twice the longest canonical URL


class Recorder:
    def __init__(self, file: Path) -> None:
        """The file is made when the first page is read."""
        self._file = file
        self._map = self._opened() if file.exists() else None

    def _opened(self) -> mmap.mmap:
        if not self._file.exists() or self._file.stat().st_size != SIZE:
            self._file.write_bytes(bytes(SIZE))
        with self._file.open("r+b") as opened:
            return mmap.mmap(opened.fileno(), SIZE)

    def enter(self, url: Url) -> None:
        if self._map is None:
            self._map = self._opened()
        text = url.encode()[: SIZE - 2]
        self._map[2 : 2 + len(text)] = text
        self._map[:2] = len(text).to_bytes(2, "big")  # last: a half-written name is not there

    def leave(self) -> None:
        if self._map is not None:
            self._map[:2] = b"\0\0"

    def found(self) -> Url | None:
        """The URL that was being processed at the end, if the end was not clean."""
        if self._map is None:
            return None
        size = int.from_bytes(self._map[:2], "big")
        return self._map[2 : 2 + size].decode("utf-8", "replace") if 0 < size <= SIZE - 2 else None

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
