"""What this machine is short of: open files, memory, ports, processes. No server is to blame for it.

A fetch that meets a shortage is postponed (`no_resources`), a page waits to be read or saved; nothing is counted
against its host, and the loop has fewer requests under way at once. What was fetched has to be read and saved all the
same, so that its memory is free again: requests leave the last of it alone.
"""

from __future__ import annotations

import errno
import mmap
import os
import resource
from collections.abc import Callable

from gossamer.clock import Clock
from gossamer.records import Postponed, Reason, Result

SHORT_S = 5.0  # until a host is asked again
NO_ROOM_S = 10.0
FEWER_S, MORE_S = 1.0, 10.0  # between two changes of how many are asked at once
RESERVE_BYTES = 64 << 20  # to read and save: one of the largest pages, what it is packed to, stacks of threads
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS

WORDS = {
    errno.EMFILE: "too many open files for one process",
    errno.ENFILE: "too many open files on this machine",
    errno.ENOMEM: "no memory",
    errno.ENOBUFS: "no memory for sockets",
    errno.EADDRNOTAVAIL: "no free ports",
    errno.EAGAIN: "no more processes or threads",
}
NO_THREAD = "can't start new thread"  # how Python words it, as a RuntimeError


class AtOnce:
    """How many requests may be under way: fewer while this machine is short of something, and later more again."""

    def __init__(self, wanted: int, clock: Clock, say: Callable[[str], None]) -> None:
        self.most = wanted
        self._wanted = wanted
        self._clock = clock
        self._say = say
        self._changed_at = 0.0

    def learn(self, result: Result, in_flight: int) -> None:
        if isinstance(result, Postponed) and result.reason is Reason.NO_RESOURCES:
            self.lower(result.detail, in_flight)
        elif self.most < self._wanted and self._clock.now() - self._changed_at >= MORE_S:
            self.most = min(self._wanted, self.most + self.most // 8 + 1)
            self._changed_at = self._clock.now()

    def lower(self, why: str, in_flight: int) -> None:
        now = self._clock.now()
        if now - self._changed_at < FEWER_S:
            return  # those were asked for before
        if self.most == self._wanted:
            self._say(f"{why}: fewer requests at once. No host is blamed for it; nothing is lost")
        self.most = max(1, min(self.most, in_flight) * 3 // 4)
        self._changed_at = now


def lacking(fault: BaseException) -> OSError | None:
    """The shortage behind an exception; None: it means something else."""
    if isinstance(fault, OSError):
        return fault if fault.errno in WORDS else None
    if isinstance(fault, MemoryError):
        return no_memory()
    if isinstance(fault, RuntimeError) and str(fault) == NO_THREAD:
        return OSError(errno.EAGAIN, NO_THREAD)
    return None


def no_memory() -> OSError:
    return OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def check_memory(more_bytes: int) -> None:
    """Raises OSError where the system would not give us so much beside the reserve. Nothing is taken: 5 µs."""
    mmap.mmap(-1, RESERVE_BYTES + more_bytes, flags=PRIVATE).close()


def words_for(short: OSError) -> str:
    words = WORDS.get(short.errno or 0, os.strerror(short.errno or 0))
    return f"{words} (ulimit -n is {files_max():,})" if short.errno == errno.EMFILE else words


def postponed(short: OSError) -> Postponed:
    if short.errno not in WORDS:
        return Postponed(NO_ROOM_S, Reason.NO_ROOM, words_for(short))
    return Postponed(SHORT_S, Reason.NO_RESOURCES, words_for(short))


def files_max() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
