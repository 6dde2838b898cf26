"""What goes wrong with a store, as exceptions: damage, another process that has it, no room. For a person to read.

Apart from the store, so that whoever only names them does not import RocksDB.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

# What RocksDB says where there is no room to write, and the number of it.
_NO_ROOM = {
    "No space left": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "File too large": errno.EFBIG,
}


class StoreDamaged(Exception):
    """The folder cannot be read as a store; the message says why and what to do."""

    def __init__(self, text: str, folder: Path) -> None:
        super().__init__(text)
        self.folder = folder


class StoreInUse(StoreDamaged):
    """Another process has it open."""


class StoreFull(OSError):
    """No room to write. Nothing of the batch was kept, and the store has to be opened anew."""


def translated(fault: Exception, folder: Path) -> Exception:
    """rocksdict raises plain Exception for everything; what it means stands in the text."""
    text = str(fault).strip()
    if type(fault) is not Exception:
        return fault
    if "Permission denied" in text:
        return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    if "LOCK" in text:
        return StoreInUse(f"{folder} is in use by another process", folder)
    for words, number in _NO_ROOM.items():
        if words in text:
            return StoreFull(number, f"{words.lower()}: make room, and the crawl goes on by itself", str(folder))
    return StoreDamaged(f"{folder} is damaged{_where(folder, text)}: {text}. {_what_to_do(folder)}", folder)


def _where(folder: Path, text: str) -> str:
    """The file, where RocksDB does not name it: of its log it gives no more than what is wrong."""
    if str(folder) in text:
        return ""
    logs = sorted(path.name for path in folder.glob("*.log") if path.stat().st_size)
    return f" (its log, {' or '.join(logs)})" if "checksum mismatch" in text and logs else ""


def _what_to_do(folder: Path) -> str:
    if folder.parent.name == "partitions" and folder.name.isdecimal():
        crawl = folder.parent.parent
        return (
            f"Put {folder} back from a copy of the crawl, or make it anew from the archive: "
            f"`gossamer rebuild {crawl} --partition {int(folder.name)}`"
        )
    if folder.name == "fingerprints":
        return (
            f"Put {folder} back from a copy of the crawl, or remove it: it is made anew, and copies of pages that "
            "were stored before are stored once more"
        )
    return "Put it back from a copy"
