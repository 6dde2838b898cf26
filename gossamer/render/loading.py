"""What pages ask for while they are rendered, loaded once: a cache of a worker in front of its fetcher.

A library that every page of a host names is asked for once. Whoever wants what is just being loaded waits for that.
An answer is kept for `KEEP_S`, data for less; one that says `no-store` is not. The cache is bounded by bytes, the
longest unused goes first.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from gossamer.clock import Clock
from gossamer.records import Answer, Failed, Fetched, Moved, Postponed, Refused, Url
from gossamer.settings.kinds import HOUR_S, MIB, MINUTE_S

CACHE_BYTES_MAX = 32 * MIB
ENTRY_BYTES = 1000  # of an empty one
KEEP_S, KEEP_DATA_S = HOUR_S, MINUTE_S
LIBRARIES = frozenset({"Script", "Stylesheet"})

Fetch = Callable[[Url, int], Awaitable[Answer]]
"""One request of a page: robots.txt, turn and delay of its host are kept. At most so many bytes of its body."""


class Loading:
    def __init__(self, fetch: Fetch, clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._kept: OrderedDict[Url, tuple[Answer, float]] = OrderedDict()  # and until when
        self._bytes = 0
        self._coming: dict[Url, asyncio.Task[Answer]] = {}
        self._wanted: dict[Url, int] = {}  # by how many pages

    def kept(self, url: Url) -> Answer | None:
        """What needs no request."""
        found = self._kept.get(url)
        if found is None:
            return None
        if found[1] < self._clock.now():
            self._drop(url)
            return None
        self._kept.move_to_end(url)
        return found[0]

    async def load(self, url: Url, kind: str, bytes_max: int) -> Answer:
        task = self._coming.get(url)
        if task is None:
            task = self._coming[url] = asyncio.ensure_future(self._load(url, kind, bytes_max))
        self._wanted[url] = self._wanted.get(url, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._wanted[url] -= 1
            if not self._wanted[url]:
                del self._wanted[url]
                task.cancel()  # nobody waits for it any more, if it has not come

    async def _load(self, url: Url, kind: str, bytes_max: int) -> Answer:
        try:
            answer = await self._fetch(url, bytes_max)
        finally:
            self._coming.pop(url, None)
        if is_keepable(answer, bytes_max):
            self._keep(url, answer, KEEP_S if kind in LIBRARIES else KEEP_DATA_S)
        return answer

    def _keep(self, url: Url, answer: Answer, keep_s: float) -> None:
        self._drop(url)
        self._kept[url] = answer, self._clock.now() + keep_s
        self._bytes += size_of(answer)
        while self._bytes > CACHE_BYTES_MAX:
            self._drop(next(iter(self._kept)))

    def _drop(self, url: Url) -> None:
        if (found := self._kept.pop(url, None)) is not None:
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
