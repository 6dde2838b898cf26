"""What this machine is short of: open files, memory, ports, processes. No server is to blame for it.

A fetch that meets a shortage is postponed (`no_resources`), a page waits to be read or saved; nothing is counted
against its host, and the loop has fewer requests under way at once. What was fetched has to be read and saved all the
same, so that its memory is free again: requests leave the last of it alone. Whoever needs the archive has patience
with it: without it no page is finished, and none is leased.
"""

from __future__ import annotations

import asyncio
import errno
import mmap
import os
import resource
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import TypeVar

from gossamer.clock import Clock
from gossamer.interfaces import Unreachable
from gossamer.records import Postponed, Reason, Result

SHORT_S = 5.0  # until a host is asked again
NO_ROOM_S = 10.0
FEWER_S, MORE_S = 1.0, 10.0  # between two changes of how many are asked at once
RESERVE_BYTES = 64 << 20  # to read and save: one of the largest pages, what it is packed to, stacks of threads
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, a quota, a limit: a person can make room
FULL_S = 1.0  # between two tries to save while the disk is full
AWAY_S, AWAY_S_MAX = 0.25, 15.0  # the same while the archive does not answer at all: doubled at every try
SHORTAGES_MAX = 10  # tries to save; then the worker ends, and the next one has all of its memory
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

T = TypeVar("T")


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


class Patience:
    def __init__(
        self,
        clock: Clock,
        in_flight: Callable[[], int],
        say: Callable[[str], None],
        on_shortage: Callable[[str], None],
        on_change: Callable[[], None],
    ) -> None:
        self.no_room = ""  # why nothing can be saved at the moment
        self._clock = clock
        self._in_flight = in_flight
        self._say = say
        self._on_shortage = on_shortage
        self._on_change = on_change
        self._one_by_one = asyncio.Lock()  # while memory is short, partitions are saved one after the other

    async def patiently(self, do: Callable[[], Awaitable[T]]) -> T:
        """Do something with the archive, or wait until it can be done, for ever."""
        why, wait_s, shortages = "", AWAY_S, 0
        while True:
            try:
                async with self._one_by_one if shortages else nullcontext():
                    done = await do()
                break
            except Unreachable as away:
                why, wait_s = str(away), min(2 * wait_s, AWAY_S_MAX)
            except OSError as full:
                if short := lacking(full):
                    self._on_shortage(words_for(short))
                    shortages += 1
                    if shortages > SHORTAGES_MAX:
                        raise MemoryError from full
                elif full.errno not in NO_ROOM:
                    raise
                why, wait_s = words_for(short) if short else str(full), FULL_S
            self._wait_because(why)
            await self._clock.sleep(wait_s)
        if why:
            self._wait_because("")
        return done

    def _wait_because(self, why: str) -> None:
        """Nothing is leased while there is a reason. It is said when that begins, and when it is over."""
        if why and not self.no_room:
            self._say(f"{why}. The crawl waits for it; nothing is lost")
        elif self.no_room and not why:
            self._say("the archive is back: going on")
        self.no_room = f"{why}; {self._in_flight():,} URLs in flight wait for it" if why else ""
        self._on_change()


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
