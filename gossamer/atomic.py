"""Files that are replaced whole: whatever happens, a reader finds the old content or the new one, never a part.

The one way to write a small file that somebody relies on: under another name, synced, renamed, and the folder synced,
because a name is durable only with its folder. A process that is killed leaves a partial file behind, which the next
writer of the same file writes over.

A file that is read, changed and written back (policies, keys) is `locked` meanwhile, or one of two changes is lost.
The lock is a file of its own, because the file itself is another one after each change; it can be opened by its owner
alone, so that nobody else can hold it. The system lets go of it however a process ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PARTIAL = ".partial"  # a file that is being written; no reader looks at it


def replace(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Durable when it returns. `mode` as the system's mask allows it."""
    with replacing(path, mode=mode) as partial:
        partial.write_bytes(content)


@contextmanager
def replacing(path: Path, *, mode: int = 0o666, writer: str = "", of_many: bool = False) -> Iterator[Path]:
    """A path beside `path` to write to. What was there before stays until the very end, and after any error.

    `writer`: who writes, where several may write the same file at the same moment. `of_many`: the caller syncs the
    folder, once for all files."""
    partial = path.with_name(f".{path.name}{writer and '.'}{writer}{PARTIAL}")
    partial.unlink(missing_ok=True)  # what was left there may be open to others
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        if not of_many:
            sync_folder(path.parent)
    except OSError as fault:
        fault.filename = fault.filename or str(path)  # a write does not say where there was no room
        raise
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else changes this file meanwhile; whoever wants to, waits. Held for as long as a file takes."""
    lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


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
