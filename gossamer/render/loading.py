"""What pages ask for while they are rendered, loaded once: a cache of a worker in front of its fetcher.

A library that every page of a host names is asked for once. Whoever wants what is just being loaded waits for that.
An answer is kept for `KEEP_S`, data for less; one that says `no-store` is not. The cache is bounded by bytes, the
longest unused goes first.

What was answered to pages of the URL's own origin is kept apart: cookies and credentials may have gone there, and
pages of other origins must not see what came of that.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple, Protocol

from gossamer.clock import Clock
from gossamer.records import Answer, Failed, Fetched, Moved, Postponed, Refused, Url
from gossamer.settings.kinds import HOUR_S, MIB, MINUTE_S

CACHE_BYTES_MAX = 32 * MIB
ENTRY_BYTES = 1000  # of an empty one
KEEP_S, KEEP_DATA_S = HOUR_S, MINUTE_S
LIBRARIES = frozenset({"Script", "Stylesheet"})


class Fetch(Protocol):
    """One request of a page: robots.txt, turn and delay of its host are kept. At most so many bytes of its body."""

    async def __call__(self, url: Url, bytes_max: int, *, is_own: bool) -> Answer: ...


class Wanted(NamedTuple):
    url: Url
    is_own: bool  # of a page of the same origin


class Loading:
    def __init__(self, fetch: Fetch, clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._kept: OrderedDict[Wanted, tuple[Answer, float]] = OrderedDict()  # and until when
        self._bytes = 0
        self._coming: dict[Wanted, asyncio.Task[Answer]] = {}
        self._pages: dict[Wanted, int] = {}  # how many wait for it

    def kept(self, wanted: Wanted) -> Answer | None:
        """What needs no request."""
        found = self._kept.get(wanted)
        if found is None:
            return None
        if found[1] < self._clock.now():
            self._drop(wanted)
            return None
        self._kept.move_to_end(wanted)
        return found[0]

    async def load(self, wanted: Wanted, kind: str, bytes_max: int) -> Answer:
        task = self._coming.get(wanted)
        if task is None:
            task = self._coming[wanted] = asyncio.ensure_future(self._load(wanted, kind, bytes_max))
        self._pages[wanted] = self._pages.get(wanted, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._pages[wanted] -= 1
            if not self._pages[wanted]:
                del self._pages[wanted]
                task.cancel()  # nobody waits for it any more, if it has not come

    async def _load(self, wanted: Wanted, kind: str, bytes_max: int) -> Answer:
        try:
            answer = await self._fetch(wanted.url, bytes_max, is_own=wanted.is_own)
        finally:
            self._coming.pop(wanted, None)
        if is_keepable(answer, bytes_max):
            self._keep(wanted, answer, KEEP_S if kind in LIBRARIES else KEEP_DATA_S)
        return answer

    def _keep(self, wanted: Wanted, answer: Answer, keep_s: float) -> None:
        self._drop(wanted)
        self._kept[wanted] = answer, self._clock.now() + keep_s
        self._bytes += size_of(answer)
        while self._bytes > CACHE_BYTES_MAX:
            self._drop(next(iter(self._kept)))

    def _drop(self, wanted: Wanted) -> None:
        if (found := self._kept.pop(wanted, None)) is not None:
            self._bytes -= size_of(found[0])


def is_keepable(answer: Answer, bytes_max: int) -> bool:
    match answer:
        case Fetched(exchange=exchange) | Moved(exchange=exchange):
            # What was cut at what one page had left may be whole for another.
            return not exchange.truncated and "no-store" not in (exchange.header("Cache-Control") or "").lower()
        case Failed(exchange=exchange):
            return exchange is not None and exchange.status in (404, 410)
        case Refused(wait_s=wait_s):
            return not wait_s
        case Postponed():
            return False


def size_of(answer: Answer) -> int:
    return ENTRY_BYTES + (len(answer.body) if isinstance(answer, Fetched | Moved) else 0)
