"""Where does the time of a page go? Looks at the stack of a process every few milliseconds of its own CPU time.

`start` is called in a process of the crawl by a `sitecustomize.py` that only `gossamer bench --profile` puts on its
path (profile.py): the crawl itself knows nothing of it and pays nothing otherwise.

A timer of CPU time (ITIMER_PROF) interrupts the main thread, and the CPU time which that thread has spent since the
last interruption is added to the stack that is found. So a long call into a library, which cannot be interrupted,
still gets all of its time. Two more things keep it honest:

- Python hands a signal over when it next runs Python code. After time in the event loop, which is compiled, that is
  the first instruction of some function; a sample found there belongs to its caller.
- Other threads (RocksDB's, and those that compress and write) are not looked into: their CPU time is listed by the
  name of the thread, as the system counts it.

At two milliseconds it costs about one hundredth of the time that it measures.
"""

from __future__ import annotations

import atexit
import json
import opcode
import os
import signal
import sys
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

INTERVAL_S = 0.002
RESUME = opcode.opmap["RESUME"]
DEPTH_MAX = 40

Stack = tuple[tuple[str, str], ...]  # module and function, innermost first


class Sampler:
    def __init__(self) -> None:
        self.cpu_s: defaultdict[Stack, float] = defaultdict(float)
        self._last_s = time.thread_time()

    def start_anew(self) -> None:
        """In a fork, which has no timer and has spent no time."""
        self.cpu_s.clear()
        self._last_s = time.thread_time()
        self.start()

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._sample)
        signal.siginterrupt(signal.SIGPROF, False)  # what waits in a system call goes on waiting
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)

    def _sample(self, _: int, frame: FrameType | None) -> None:
        now_s = time.thread_time()
        self.cpu_s[stack_of(frame)] += now_s - self._last_s
        self._last_s = now_s

    def save(self, folder: Path) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        facts = {
            "argv": sys.orig_argv,
            "main_s": time.thread_time(),
            "all_s": time.process_time(),
            "stacks": [[seconds, stack] for stack, seconds in self.cpu_s.items()],
            "threads": list(threads()),
        }
        (folder / f"{os.getpid()}.json").write_text(json.dumps(facts), encoding="utf-8")


def stack_of(frame: FrameType | None) -> Stack:
    if frame is not None and is_at_entry(frame.f_code, frame.f_lasti):
        frame = frame.f_back
    found: list[tuple[str, str]] = []
    while frame is not None and len(found) < DEPTH_MAX:
        found.append((frame.f_globals.get("__name__", "?"), frame.f_code.co_name))
        frame = frame.f_back
    return tuple(found)


@cache
def is_at_entry(code: CodeType, at: int) -> bool:
    return at < 0 or code.co_code[at] == RESUME


def threads() -> list[tuple[str, float]]:
    """The threads that live, by name, with their CPU seconds; the main one left out."""
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    found = []
    for task in Path("/proc/self/task").iterdir():
        if task.name != str(os.getpid()):
            name, _, numbers = (task / "stat").read_text().partition("(")[2].rpartition(") ")
            fields = numbers.split()
            found.append((name, (int(fields[11]) + int(fields[12])) * tick_s))
    return found


def start(folder: Path) -> None:
    """From now on until the process ends; then what was found is in a file of the folder."""
    sampler = Sampler()
    sampler.start()
    os.register_at_fork(after_in_child=sampler.start_anew)
    atexit.register(sampler.save, folder)
