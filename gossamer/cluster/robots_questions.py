"""A robots.txt that redirects to a host of another node: asked by the owner of that host, in a turn of its own.

The asker sends a question to the partition of the host (gossamer/questions.py) and lets its own host wait; when the
host's turn comes again, and the answer is there, it counts as if it had been fetched here. The owner takes a turn of
the host as for a robots.txt of its own partitions, makes the one request, and answers into the partition of the
origin. So nodes need no connections, and a host is asked by its owner alone.

Nothing of it is durable beyond the topic, and nothing has to be: a question without an answer is sent once more after
`AGAIN_S`. Several origins that ask for one URL are one request, and what was answered in the last minute is answered
again from memory. What is asked at the same time is bounded, and so are the answers that wait here for their hosts;
what is too much is dropped, and asked for again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.wire import Spawn
from gossamer.interfaces import BookingOf, HostBlocked, NoBooking, SchemeFetcher
from gossamer.questions import Question, RobotsAnswer, RobotsQuestion
from gossamer.records import Answer, Exchange, Failed, Fetched, Moved, Postponed, Reason, Refused, Url
from gossamer.shortage import lacking

AGAIN_S = 30.0  # until a question without an answer is sent once more
ANSWERED_S = 60.0  # that an answer is good for others who ask for the same
KEPT_S = 600.0  # that an answer waits for the turn of its host
ASKED_MAX = 10_000  # questions that are open
KEPT_BYTES_MAX = 16 << 20  # of answers: of those that wait here, and of those that were given
ENTRY_BYTES = 1000
AT_ONCE = 100  # requests for others, waiting for their turns
BODY_BYTES_MAX = 500 << 10  # RFC 9309 2.5; with what is around it, it has to fit into a message

Send = Callable[[int, Question], Awaitable[object]]
K = TypeVar("K", bound=Hashable)


async def nobody(partition: int, message: Question) -> None:
    """On one machine there is no other node to be asked."""


class Kept(Generic[K]):
    """Answers for so many seconds, and the newest of them where they are too large together."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._answers: OrderedDict[K, tuple[RobotsAnswer, float]] = OrderedDict()  # and when each came
        self._bytes = 0

    def put(self, key: K, answer: RobotsAnswer) -> None:
        self.take(key)
        self._answers[key] = (answer, self._clock.awake())
        self._bytes += ENTRY_BYTES + len(answer.body)
        while self._bytes > KEPT_BYTES_MAX:
            self.take(next(iter(self._answers)))

    def get(self, key: K) -> RobotsAnswer | None:
        found, came_at = self._answers.get(key, (None, 0.0))
        return found if self._clock.awake() - came_at < self._seconds else None

    def take(self, key: K) -> RobotsAnswer | None:
        found = self.get(key)
        if (gone := self._answers.pop(key, None)) is not None:
            self._bytes -= ENTRY_BYTES + len(gone[0].body)
        return found


class RobotsQuestions:
    def __init__(
        self, send: Send, booking_of: BookingOf, partitions: int, clock: Clock, spawn: Spawn = asyncio.ensure_future
    ) -> None:
        """`send`: to the owner of a partition."""
        self.scheme_fetchers: Mapping[str, SchemeFetcher] = {}
        self._send = send
        self._booking_of = booking_of
        self._partitions = partitions
        self._clock = clock
        self._asked: OrderedDict[tuple[str, Url], float] = OrderedDict()  # and when
        self._answers: Kept[tuple[str, Url]] = Kept(clock, KEPT_S)  # for our hosts
        self._asking: dict[Url, set[str]] = {}  # for others: the origins that want it
        self._told: Kept[Url] = Kept(clock, ANSWERED_S)  # to others
        self._start = spawn
        self._tasks: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def hear(self, message: Question) -> None:
        match message:
            case RobotsQuestion():
                self._take(message)
            case RobotsAnswer(origin=origin, url=url):
                self._asked.pop((origin, url), None)
                self._answers.put((origin, url), message)

    # ---- the asker's side --------------------------------------------------------------------------------

    def answer_for(self, origin: str, url: Url) -> Answer | None:
        """None: it is asked for, and may be here when the host has its next turn."""
        now, key = self._clock.awake(), (origin, url)
        if (found := self._answers.take(key)) is not None:
            return answer_of(found, self._clock.now())
        if now - self._asked.get(key, -AGAIN_S) >= AGAIN_S:
            self._asked[key] = now
            self._asked.move_to_end(key)
            if len(self._asked) > ASKED_MAX:
                self._asked.popitem(last=False)
            self._spawn(self._tell(url, RobotsQuestion(origin, url)))
        return None

    # ---- the owner's side --------------------------------------------------------------------------------

    def _take(self, question: RobotsQuestion) -> None:
        url = question.url
        if (told := self._told.get(url)) is not None:
            self._spawn(self._answer(told, {question.origin}))
        elif url in self._asking:
            self._asking[url].add(question.origin)
        elif len(self._asking) < AT_ONCE:
            self._asking[url] = {question.origin}
            self._spawn(self._ask(url))

    async def _ask(self, url: Url) -> None:
        answer: Answer
        try:
            async with self._booking_of(url) as tell:
                answer = await self._fetch(url)
                tell(answer)
        except HostBlocked:
            answer = Failed(Reason.BLOCKED, None, "a policy blocks that host", self._clock.now())
        except NoBooking:
            answer = Postponed(0.0, Reason.ROBOTS_UNREACHABLE)
        except (OSError, MemoryError, RuntimeError) as fault:
            answer = Postponed(0.0, Reason.NO_RESOURCES)
            if lacking(fault) is None:
                raise
        finally:
            origins = self._asking.pop(url, set())
        if not isinstance(answer, Postponed):  # else they ask again
            told = told_of(url, answer)
            self._told.put(url, told)
            await self._answer(told, origins)

    async def _fetch(self, url: Url) -> Answer:
        scheme = url.partition(":")[0]
        if scheme not in self.scheme_fetchers:
            return Refused(Reason.SCHEME, f"{scheme} is not among fetch.schemes")
        return await self.scheme_fetchers[scheme].fetch(url, body_bytes_max=BODY_BYTES_MAX)

    async def _answer(self, told: RobotsAnswer, origins: set[str]) -> None:
        for origin in sorted(origins):
            await self._tell(f"{origin}/", replace(told, origin=origin))

    # ---- both --------------------------------------------------------------------------------------------

    async def _tell(self, whom: Url, message: Question) -> None:
        await self._send(partition_of(whom, self._partitions), message)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._start(self._watched(work))

    async def _watched(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await work
        finally:
            self._tasks.discard(task)


def told_of(url: Url, answer: Answer) -> RobotsAnswer:
    origin = ""  # whoever asked for it
    match answer:
        case Fetched(exchange=exchange, body=body):
            return RobotsAnswer(origin, url, exchange.status, bytes(body[:BODY_BYTES_MAX]))
        case Moved(exchange=exchange, target=target):
            return RobotsAnswer(origin, url, exchange.status, target=target)
        case Failed(reason=reason, exchange=failed, detail=detail):
            status = failed.status if failed is not None else None
            return RobotsAnswer(origin, url, status, reason=reason, detail=detail)
        case Refused(reason=reason, detail=detail):
            return RobotsAnswer(origin, url, reason=reason, detail=detail, is_refused=True)
    raise AssertionError(f"nobody is told of {answer}")


def answer_of(told: RobotsAnswer, now: float) -> Answer:
    """As if it had been asked for here, now: the clock of another machine says nothing to us."""
    exchange = Exchange(b"", b"", told.status, "", now, now, 0.0) if told.status is not None else None
    if told.is_refused:
        return Refused(told.reason or Reason.ROBOTS_UNREACHABLE, told.detail)
    if told.reason is not None or exchange is None:
        return Failed(told.reason or Reason.ROBOTS_UNREACHABLE, exchange, told.detail, now)
    if told.target is not None:
        return Moved(exchange, b"", told.target)
    return Fetched(exchange, told.body)
