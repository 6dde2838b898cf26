"""Shared state: what all partitions of a crawl have in common, and no one owns: content, and the pace of addresses
and of the crawl.

On one machine it lives in the supervisor (`LocalShared`), and workers reach it over the wire (`RemoteShared`). The
supervisor knows which worker holds which claim, so that a worker that dies leaves nobody waiting. It also knows in
which epoch each partition is owned: what an earlier owner claims waits for ever, and what it settles is nothing.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Iterator, Sequence

from gossamer.cluster.pace import GO, CrawlPace, Pace
from gossamer.cluster.wire import Answer, Disconnected, Message, Peer
from gossamer.interfaces import Claims, Pause
from gossamer.records import Claim, Verdict

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_ROOM_S = 1.0  # between two tries to write while the disk is full
CLAIMS_AT_ONCE = 200  # in one frame: however long their URLs are, it is not too long for the wire


class Judge(Message, frozen=True):
    claims: list[Claim]


class Judged(Message, frozen=True):
    verdicts: list[Verdict | None]


class Settle(Message, frozen=True):
    claims: list[Claim]


class Begin(Message, frozen=True):
    partition: int
    epoch: int


class AskPace(Message, frozen=True):
    """Of all requests of a moment: the address of each, and its surplus of bytes."""

    requests: list[tuple[str, int]]


class Paced(Message, frozen=True):
    pauses: list[Pause]


Question = Begin | Judge | Settle | AskPace
Reply = Judged | Paced


class LocalShared:
    """Implements `interfaces.SharedState`, for one holder of claims or for many."""

    away = ""

    def __init__(self, claims: Claims, pace: Pace, crawl_pace: CrawlPace | None = None) -> None:
        self.no_room = ""  # why claims cannot be settled at the moment
        self._claims = claims
        self._pace = pace
        self._crawl_pace = crawl_pace
        self._epochs: dict[int, int] = {}  # in which each partition is owned

    async def begin(self, partition: int, epoch: int) -> None:
        self._begin(partition, epoch)

    def _begin(self, partition: int, epoch: int) -> None:
        self._epochs[partition] = max(epoch, self._epochs.get(partition, 0))

    def _is_late(self, claim: Claim) -> bool:
        """Whether somebody claims it who does not own its partition any more."""
        return claim.epoch < self._epochs.get(claim.partition, 0)

    async def judge(self, claims: Sequence[Claim]) -> list[Verdict | None]:
        return self._judge(claims, 0)

    def _judge(self, claims: Sequence[Claim], holder: int) -> list[Verdict | None]:
        verdicts = iter(self._claims.judge([claim for claim in claims if not self._is_late(claim)], holder))
        return [None if self._is_late(claim) else next(verdicts) for claim in claims]

    async def settle(self, claims: Sequence[Claim]) -> None:
        while not self._is_settled(claims):
            await self._pace.clock.sleep(NO_ROOM_S)

    def _is_settled(self, claims: Sequence[Claim]) -> bool:
        """False: the disk is full. Twice is as good as once."""
        try:
            self._claims.settle([claim for claim in claims if not self._is_late(claim)])
        except OSError as full:
            if full.errno not in NO_ROOM:
                raise
            self.no_room = f"{full.filename}: {full.strerror}" if full.filename else str(full)
            return False
        self.no_room = ""
        return True

    async def pace(self, ip: str, surplus_bytes: int = 0) -> Pause:
        return self._pause(ip, surplus_bytes)

    def _pause(self, ip: str, surplus_bytes: int) -> Pause:
        if self._crawl_pace is not None:
            self._crawl_pace.settle(surplus_bytes)
        wait_s = self._pace.wait_s(ip)
        if wait_s > 0:
            return Pause(wait_s)
        return self._crawl_pace.pause() if self._crawl_pace is not None else GO

    def lose(self, partition: int, epoch: int) -> None:
        """Nobody here owns the partition any more: what was claimed for it in this epoch is nobody's."""
        self._begin(partition, epoch + 1)
        self._claims.lose(partition, epoch)

    def release(self, holder: int) -> None:
        """This holder is gone: its claims are nobody's, and whoever waits for one may have it."""
        self._claims.release(holder)

    def answer(self, question: Question, holder: int) -> Answer | Awaitable[Answer]:
        """What a worker asks over the wire."""
        match question:
            case Begin(partition=partition, epoch=epoch):
                self._begin(partition, epoch)
                return None
            case Judge(claims=claims):
                return Judged(self._judge(claims, holder))
            case Settle(claims=claims):
                return None if self._is_settled(claims) else self.settle(claims)
            case AskPace(requests=requests):
                return Paced([self._pause(ip, surplus_bytes) for ip, surplus_bytes in requests])


class RemoteShared:
    """Implements `interfaces.SharedState` by asking the supervisor."""

    away = ""  # without it there is no worker

    def __init__(self, supervisor: Peer) -> None:
        self._supervisor = supervisor
        self._unasked: list[tuple[str, int, asyncio.Future[Pause]]] = []  # since the last question about pace
        self._asking: asyncio.Task[None] | None = None

    async def begin(self, partition: int, epoch: int) -> None:
        await self._supervisor.tell(Begin(partition, epoch))

    async def judge(self, claims: Sequence[Claim]) -> list[Verdict | None]:
        verdicts: list[Verdict | None] = []
        for some in parts(claims):
            verdicts += (await self._supervisor.call(Judge(some), Judged)).verdicts
        return verdicts

    async def settle(self, claims: Sequence[Claim]) -> None:
        for some in parts(claims):
            await self._supervisor.tell(Settle(some))

    async def pace(self, ip: str, surplus_bytes: int = 0) -> Pause:
        answer: asyncio.Future[Pause] = asyncio.get_running_loop().create_future()
        self._unasked.append((ip, surplus_bytes, answer))
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._ask_pace())
        return await answer

    async def _ask_pace(self) -> None:
        """One message at a time, for all who came since the last: the busier we are, the more share one."""
        while self._unasked:
            asked, self._unasked = self._unasked, []
            question = AskPace([(ip, surplus_bytes) for ip, surplus_bytes, _ in asked])
            waiting = [answer for _, _, answer in asked]
            try:
                pauses = (await self._supervisor.call(question, Paced)).pauses
            except Disconnected as gone:
                for answer in waiting:
                    if not answer.done():  # else who asked was cancelled
                        answer.set_exception(gone)
                continue
            for answer, pause in zip(waiting, pauses, strict=True):
                if not answer.done():
                    answer.set_result(pause)
        self._asking = None


def parts(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    for start in range(0, len(claims), CLAIMS_AT_ONCE):
        yield list(claims[start : start + CLAIMS_AT_ONCE])
