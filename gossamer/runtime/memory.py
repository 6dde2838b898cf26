"""Memory that stays where it is: what a process that runs for weeks asks of Python and of the C library."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

THREADS = 6  # they wait for the disk, and pack what is large
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # <malloc.h>


def steady_memory() -> None:
    """Two habits of the machinery below us that a process which runs for weeks is better off without."""
    # Python looks for cycles, of which we make few: some 3 to 8 % of the frontier's time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    steady_heap()


def steady_heap() -> None:
    """To be called while there is one thread."""
    # glibc keeps large buffers for later once one was freed, and RocksDB's compactions leave it many of all sizes:
    # 237 MiB were resident at three million URLs. At a fixed size it gives them back at once: 182 MiB. But not those
    # that the HTML parser takes for every page, of some 320 KB: giving them back costs it 30 to 60 us a page.
    with suppress(AttributeError, OSError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 1024 * 1024)
        libc.mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024)
        # It would give each thread of RocksDB a heap of its own, with holes of its own.
        libc.mallopt(M_ARENA_MAX, 1)


def start_threads() -> None:
    """All that the event loop will ever have, now that there is memory for them: Python waits for ever for the start
    of a thread that finds none."""
    threads, all_there = ThreadPoolExecutor(THREADS), threading.Barrier(THREADS)
    for _ in range(THREADS):
        threads.submit(all_there.wait)
    asyncio.get_running_loop().set_default_executor(threads)
