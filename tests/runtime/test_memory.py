"""What a process asks of the C library, so that its memory stays where it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Threads that take memory at the same time, and then what glibc tells of its heaps.
PROGRAM = """
import ctypes, threading
from gossamer.runtime.memory import steady_heap
steady_heap()
libc, together = ctypes.CDLL(None), threading.Barrier(8)
libc.malloc.restype = ctypes.c_void_p
def take():
    together.wait()
    for _ in range(100):
        libc.malloc(50_000)
    together.wait()
threads = [threading.Thread(target=take) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have another C library")
def test_all_threads_share_one_heap() -> None:
    said = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True).stdout
    assert said.count("<heap nr=") == 1, said
