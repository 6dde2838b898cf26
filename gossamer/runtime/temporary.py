"""Temporary folders: there for as long as their process lives, and taken away by the next one where it was killed.

A folder is called gossamer-XXXXXXXX and holds `owner.lock`, which its process has locked. The system lets go of the
lock however the process ends, so a free lock is the evidence that nobody needs the folder any more. Whatever else is
called gossamer-... has no such file and is left alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX, LOCK = "gossamer-", "owner.lock"
PATH_CHARS_MAX = 90  # of a socket in it; the system's limit is a little above 100


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Readable by its owner alone, and with a path that is short enough for sockets."""
    tidy()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    if len(str(folder)) > PATH_CHARS_MAX:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir="/tmp"))
    lock = os.open(folder / f".{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / f".{LOCK}").rename(folder / LOCK)  # only now: nobody finds it unlocked
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def tidy() -> None:
    """Take away what processes of this user have left that were killed."""
    for parent in {Path(tempfile.gettempdir()), Path("/tmp")}:
        for lock in parent.glob(f"{PREFIX}*/{LOCK}"):
            if _is_free(lock):
                shutil.rmtree(lock.parent, ignore_errors=True)


def _is_free(lock: Path) -> bool:
    try:
        if lock.is_symlink() or lock.parent.is_symlink() or lock.parent.stat().st_uid != os.getuid():
            return False
        with lock.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # it is held, or it is gone
    return True
