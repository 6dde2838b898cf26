"""Where a body grows while it is received: in memory as long as it is small, in a file without a name after that.

A thousand slow downloads of ten megabytes must not be ten gigabytes of memory. A large body comes back as a memory
map of its file: it has a length, can be sliced, hashed and written like bytes, as often as anybody likes, and its
pages are the system's to take back. `body[:]` gives plain bytes either way. The file goes when the body does.
"""

from __future__ import annotations

import mmap
import tempfile
from pathlib import Path
from typing import BinaryIO

from gossamer.records import Body

IN_MEMORY_BYTES_MAX = 256 * 1024  # most pages are smaller; a page of 100 KB costs 145 µs more in a file
PIECES_MAX = 64  # libcurl gives 16 KiB at a time; a server may send two bytes at a time, which take 40 as a piece


class Spool:
    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._pieces: list[bytes] = []
        self._file: BinaryIO | None = None
        self.size_bytes = 0

    def write(self, chunk: bytes | memoryview) -> None:
        self.size_bytes += len(chunk)
        if self._file is not None:
            self._file.write(chunk)
            return
        self._pieces.append(bytes(chunk))
        if len(self._pieces) >= PIECES_MAX:
            self._pieces = [b"".join(self._pieces)]
        if self.size_bytes > IN_MEMORY_BYTES_MAX:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed with the body
            self._file.write(b"".join(self._pieces))
            self._pieces = []

    def body(self) -> Body:
        """All that was written; nothing more can be."""
        if self._file is None:
            body, self._pieces = b"".join(self._pieces), []
            return body
        with self._file as file:
            file.flush()
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # with a descriptor of its own

    def close(self) -> None:
        """Nobody wants the body."""
        if self._file is not None:
            self._file.close()
