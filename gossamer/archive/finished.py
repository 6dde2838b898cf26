"""A file that is there whole or not at all: written under another name, made durable, then given its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.archive.shelf import sync_folder


@contextmanager
def finished(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to. What was there before stays until the very end, and after any error."""
    # The same name every time: what a killed process left is written over by the next.
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)
