"""Counts what a worker does for its pages: calls of Python functions, operations of RocksDB, reads and writes.

Sits in a worker of a real crawl by a `sitecustomize.py` that only the test puts on its path. It begins with the first
page, so that imports and the opening of stores are not counted, and writes what it found when the worker ends.

Counts and not times: they are the same on a busy machine. Calls are those that the interpreter reports (cProfile), of
Python and of compiled functions alike. Operations of RocksDB are calls of its own classes, however we wrap them; the
steps of a cursor are not among them, because those that a scan takes inside cannot be seen.
Reads and writes are the kernel's count for the process; those of sockets that go by recv and send are not in it.
Bytes copied are counted by copies.c, where that was loaded: pieces of 4 KiB and more.
"""

from __future__ import annotations

import atexit
import cProfile
import ctypes
import json
from collections import Counter
from pathlib import Path
from types import CodeType
from typing import Any

from gossamer.loop import Crawl

STEPS = ("'key'", "'value'", "'next'")
STORE = ("'builtins.Rdict'", "'builtins.WriteBatch'", "'builtins.RdictIter'", "'builtins.RdictItems'")


def reads_and_writes() -> int:
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["syscr"]) + int(lines["syscw"])


def bytes_copied() -> int:
    counted = getattr(ctypes.CDLL(None), "gossamer_bytes_copied", None)
    if counted is None:
        return 0
    counted.restype = ctypes.c_long
    return int(counted())


def name_of(code: CodeType | str) -> str:
    if isinstance(code, str):
        return code
    return f"{Path(code.co_filename).name}:{code.co_name}"


def start(folder: Path) -> None:
    profile, crawl_one = cProfile.Profile(), Crawl.crawl_one
    before, copied_before = 0, 0

    def first_page(*arguments: Any) -> Any:
        nonlocal before, copied_before
        Crawl.crawl_one = crawl_one  # type: ignore[method-assign]
        before, copied_before = reads_and_writes(), bytes_copied()
        atexit.register(save)
        profile.enable()
        return crawl_one(*arguments)

    def save() -> None:
        profile.disable()
        counts = {
            "python_calls": 0,
            "store_operations": 0,
            "reads_and_writes": reads_and_writes() - before,
            "bytes_copied": bytes_copied() - copied_before,
        }
        most: Counter[str] = Counter()
        for row in profile.getstats():
            name, calls = name_of(row.code), row.callcount
            counts["python_calls"] += calls
            most[name] += calls
            if isinstance(row.code, str) and any(of in name for of in STORE) and not any(of in name for of in STEPS):
                counts["store_operations"] += calls
        (folder / "counts.json").write_text(json.dumps({"counts": counts, "most": most.most_common(40)}))

    Crawl.crawl_one = first_page  # type: ignore[assignment,method-assign]
