"""The processes of a browser and their memory: private pages, because all of them share the program itself."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")


def tree_memory(root: int) -> dict[int, int]:
    """Bytes of each process below `root`, and of itself; empty where the system does not tell (it has no /proc)."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in os.scandir(PROC) if PROC.is_dir() else ():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                stat = Path(entry.path, "stat").read_bytes()
                children[int(stat.rpartition(b")")[2].split()[1])].append(int(entry.name))
    found: dict[int, int] = {}
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        with suppress(OSError, ValueError, IndexError):
            resident, shared = (PROC / str(pid) / "statm").read_bytes().split()[1:3]
            found[pid] = (int(resident) - int(shared)) * PAGE_BYTES
        waiting += children[pid]
    return found


def is_renderer(pid: int) -> bool:
    with suppress(OSError):
        return b"--type=renderer" in (PROC / str(pid) / "cmdline").read_bytes()
    return False
