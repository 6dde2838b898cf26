"""Jobs: which fetchers are there, and what each of them has been given. The worker's side, without a network.

A job is one request for a lease. It is with one fetcher, or over; nobody else gets its host before that. It ends in
one of four ways:

    answered                  the host's delay runs from the moment at which we hear of it
    not in time               `job_s` after it was given: by then its fetcher has ended it, whether it is dead, frozen
                              or cut off (messages.py); the URL stands in its queue again, and its host is left alone
                              for its delay
    nobody may ask            no fetcher of the host's region is there: not given to anybody, and tried again later
    dropped                   our own end: its fetcher is told; the frontier leaves the host alone for `job_s`
                              (`frontier.unsure_s`), because it is not known whether the fetcher has heard it

A fetcher has as many jobs as it wants, and no new ones when it was not heard for `STALE_S`. Where its stream ends,
its jobs do not: whoever is cut off may still ask. A host's jobs go to the same fetcher where that has room, so that
connections are used again (the largest hash of both names).
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from zlib import crc32

import msgspec

from gossamer.clock import Clock
from gossamer.cluster.wire import BadMessage
from gossamer.fetch.spool import Spool
from gossamer.fetchers.answers import Limits, answer_of
from gossamer.fetchers.messages import (
    STALE_S,
    Alive,
    Answered,
    Drain,
    Drop,
    Hello,
    Job,
    Leaving,
    Piece,
    ToFetcher,
    ToWorker,
)
from gossamer.headers import ExtraHeaders
from gossamer.messages.control_messages import FetcherNow
from gossamer.records import Answer, Fetched, Lease, Postponed, Reason, Url
from gossamer.url.site import host_of

NO_FETCHER_S = 2.0  # until another look whether there is one


class Wanted(msgspec.Struct, frozen=True):
    """What a job is to be: all of it but who gets it, and when."""

    lease: Lease
    epoch: int
    url: Url
    limits: Limits
    is_page: bool = True
    takes_any_type: bool = False
    extra: ExtraHeaders | None = None


class Out:
    """A job that was given to a fetcher."""

    def __init__(self, number: int, wanted: Wanted, fetcher: Connected, sent_at: float) -> None:
        self.number = number
        self.wanted = wanted
        self.fetcher = fetcher
        self.sent_at = sent_at
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.pieces: Spool | None = None


class Connected:
    """A fetcher, as one worker knows it: its stream, and what it has."""

    def __init__(self, hello: Hello, address: str, heard_at: float) -> None:
        self.name = hello.name
        self.region = hello.region
        self.processes = hello.processes
        self.address = address
        self.room = 0
        self.at = 0.0  # its own clock, when we heard it last
        self.heard_at = heard_at  # our clock, `awake`
        self.is_leaving = False
        self.promised = 0  # places for jobs that are about to be given
        self.jobs: dict[int, Out] = {}
        self.outbox: list[ToFetcher] = []
        self.has_news = asyncio.Event()
        self.done = 0
        self.bytes = 0

    def say(self, message: ToFetcher) -> None:
        self.outbox.append(message)
        self.has_news.set()

    def has_room(self, awake: float) -> bool:
        return len(self.jobs) + self.promised < self.room and not self.is_leaving and awake - self.heard_at < STALE_S

    def weight(self, host: str) -> int:
        return crc32(f"{self.name} {host}".encode())


class Jobs:
    def __init__(self, clock: Clock, job_s: float, look_again: Callable[[], None] = lambda: None) -> None:
        """`look_again`: told when somebody has come."""
        self.connected: list[Connected] = []
        self.ignored: Counter[str] = Counter()  # reports that changed nothing, and streams that were ended, by why
        self.lost = 0
        self.received_bytes = 0
        self._clock = clock
        self._job_s = job_s
        self._look_again = look_again
        self._last = 0  # the number of the last job
        self._out: dict[int, Out] = {}
        self._waiting: deque[tuple[str, str, asyncio.Future[Connected]]] = deque()  # host, region
        self._drained: frozenset[str] = frozenset()

    @property
    def has_fetchers(self) -> bool:
        awake = self._clock.awake()
        return any(not each.is_leaving and awake - each.heard_at < STALE_S for each in self.connected)

    @property
    def regions(self) -> list[str]:
        return sorted({each.region for each in self.connected if not each.is_leaving})

    def has(self, region: str) -> bool:
        """Whether somebody may ask hosts of this region; empty: any."""
        awake = self._clock.awake()
        return any(
            not each.is_leaving and awake - each.heard_at < STALE_S and region in ("", each.region)
            for each in self.connected
        )

    async def fetch(self, wanted: Wanted, region: str) -> tuple[Answer, str]:
        """The answer, and the region that it came from."""
        host = host_of(wanted.url)
        fetcher = self._choose(host, region) or await self._wait_for(host, region, wanted.lease)
        if fetcher is None:
            return Postponed(NO_FETCHER_S, Reason.NO_FETCHER, region), ""
        out = self._give(wanted, fetcher)
        timer = asyncio.get_running_loop().call_later(self._job_s, self._lose, out)
        try:
            answer = await out.answer
        except asyncio.CancelledError:
            fetcher.say(Drop(out.number))
            raise
        finally:
            timer.cancel()
            self._end(out)
        return answer, fetcher.region

    def _lose(self, out: Out) -> None:
        """It was not answered in time, and is over, whatever became of its fetcher."""
        if not out.answer.done():
            self.lost += 1
            out.fetcher.say(Drop(out.number))
            out.answer.set_result(Postponed(0.0, Reason.FETCHER_LOST, out.fetcher.name))

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    async def _wait_for(self, host: str, region: str, lease: Lease) -> Connected | None:
        """A fetcher that has a place by now; None: none comes in time for the lease."""
        if not self.has(region):
            return None
        turn: asyncio.Future[Connected] = asyncio.get_running_loop().create_future()
        self._waiting.append((host, region, turn))
        try:
            async with asyncio.timeout(lease.expires_at - self._clock.now() - 2 * self._job_s):
                fetcher = await turn
        except TimeoutError:
            fetcher = None
        finally:
            if turn.done() and not turn.cancelled():
                turn.result().promised -= 1
        return fetcher

    def _choose(self, host: str, region: str) -> Connected | None:
        awake = self._clock.awake()
        free = [each for each in self.connected if region in ("", each.region) and each.has_room(awake)]
        return max(free, key=lambda each: each.weight(host), default=None)

    def _give(self, wanted: Wanted, fetcher: Connected) -> Out:
        self._last += 1
        out = Out(self._last, wanted, fetcher, self._clock.now())
        fetcher.jobs[out.number] = self._out[out.number] = out
        lease = wanted.lease
        fetcher.say(
            Job(
                out.number,
                lease.id,
                wanted.epoch,
                fetcher.at,
                wanted.url,
                lease.validators if wanted.is_page else None,
                wanted.limits.body_bytes_max,
                wanted.is_page,
                wanted.takes_any_type,
                lease.is_suspect,
                wanted.extra,
            )
        )
        return out

    def _end(self, out: Out) -> None:
        self._out.pop(out.number, None)
        out.fetcher.jobs.pop(out.number, None)
        if out.pieces is not None:
            out.pieces.close()
        self._give_turns()

    def _give_turns(self) -> None:
        """Whoever waits for a fetcher with room gets one, in the order in which they came."""
        still: list[tuple[str, str, asyncio.Future[Connected]]] = []
        full: set[str] = set()  # regions in which nobody has room
        while self._waiting and "" not in full:
            host, region, turn = self._waiting.popleft()
            if turn.done():
                continue  # it has given up
            found = None if region in full else self._choose(host, region)
            if found is None:
                full.add(region)
                still.append((host, region, turn))
            else:
                found.promised += 1
                turn.set_result(found)
        self._waiting.extendleft(reversed(still))

    # ---- what fetchers say -------------------------------------------------------------------------------

    def join(self, hello: Hello, address: str) -> Connected:
        fetcher = Connected(hello, address, self._clock.awake())
        self.connected.append(fetcher)
        return fetcher

    def leave(self, fetcher: Connected) -> None:
        """Its stream has ended. Its jobs are over when their time is."""
        self.connected.remove(fetcher)
        fetcher.is_leaving = True

    def hear(self, fetcher: Connected, message: ToWorker) -> None:
        """Raises `BadMessage` where no honest fetcher says that."""
        match message:
            case Alive(at=at, room=room):
                fetcher.at, fetcher.room, fetcher.heard_at = at, room, self._clock.awake()
                if fetcher.name in self._drained and not fetcher.is_leaving:
                    self._drain(fetcher)
                self._give_turns()
                self._look_again()
            case Leaving():
                fetcher.is_leaving = True
            case Piece(job=number, body=body):
                if (out := self._of(fetcher, number)) is not None:
                    out.pieces = out.pieces or Spool(out.wanted.limits.folder)
                    if out.pieces.size_bytes + len(body) > out.wanted.limits.sent_bytes_max:
                        raise BadMessage("sent a body that is too long")
                    out.pieces.write(body)
            case Answered(job=number):
                if (out := self._of(fetcher, number)) is not None:
                    self._answered(out, message)
            case Hello():
                raise BadMessage("said Hello twice")

    def _of(self, fetcher: Connected, number: int) -> Out | None:
        out = fetcher.jobs.get(number)
        if out is None:  # it was given up, or is somebody else's, or nobody's
            self.ignored["late" if 0 < number <= self._last else "unknown"] += 1
        return out

    def _answered(self, out: Out, sent: Answered) -> None:
        wanted = out.wanted
        pieces, out.pieces = out.pieces, None
        answer = answer_of(sent, pieces, wanted.url, wanted.limits, out.sent_at, self._clock.now())
        out.fetcher.done += 1
        if isinstance(answer, Fetched):
            out.fetcher.bytes += answer.body_bytes
            self.received_bytes += answer.body_bytes
        if not out.answer.done():
            out.answer.set_result(answer)

    # ---- reports by other ways, and operators ------------------------------------------------------------

    def out(self, lease: bytes, epoch: int, url: Url) -> Out | str:
        """The job of a lease that is out; else why a report about it changes nothing."""
        out = next((each for each in self._out.values() if each.wanted.lease.id == lease), None)
        if out is None or out.wanted.url != url or out.answer.done():
            return "unknown"
        return out if out.wanted.epoch == epoch else "epoch"

    def settle(self, out: Out, answer: Answer) -> None:
        """Somebody has reported it beside its stream."""
        out.answer.set_result(answer)
        out.fetcher.done += 1
        out.fetcher.say(Drop(out.number))

    def drain(self, names: frozenset[str]) -> None:
        """Those fetchers get no more jobs, and end."""
        self._drained = names
        for fetcher in self.connected:
            if fetcher.name in names and not fetcher.is_leaving:
                self._drain(fetcher)

    @staticmethod
    def _drain(fetcher: Connected) -> None:
        fetcher.is_leaving = True
        fetcher.say(Drain())

    def reports(self) -> tuple[FetcherNow, ...]:
        awake = self._clock.awake()
        return tuple(
            FetcherNow(
                each.name,
                each.region,
                each.address,
                each.processes,
                each.is_leaving,
                len(each.jobs),
                each.room,
                each.done,
                each.bytes,
                awake - each.heard_at,
            )
            for each in self.connected
        )
