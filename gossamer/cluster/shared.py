"""Shared state: what all partitions of a crawl have in common, and no one owns: content and pace per address.

On one machine it lives in the supervisor (`LocalShared`), and workers reach it over the wire (`RemoteShared`). The
supervisor knows which worker holds which claim, so that a worker that dies leaves nobody waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gossamer.cluster.pace import Pace
from gossamer.cluster.wire import Answer, Message, Peer
from gossamer.interfaces import Claims
from gossamer.records import Claim, Verdict

CLAIMS_AT_ONCE = 200  # in one frame: however long their URLs are, it is not too long for the wire


class Judge(Message, frozen=True):
    claims: list[Claim]


class Judged(Message, frozen=True):
    verdicts: list[Verdict | None]


class Settle(Message, frozen=True):
    claims: list[Claim]


class AskPace(Message, frozen=True):
    ip: str


class Wait(Message, frozen=True):
    seconds: float


Question = Judge | Settle | AskPace
Reply = Judged | Wait


class LocalShared:
    """Implements `interfaces.SharedState`, for one holder of claims or for many."""

    def __init__(self, claims: Claims, pace: Pace) -> None:
        self._claims = claims
        self._pace = pace

    async def judge(self, claims: Sequence[Claim]) -> list[Verdict | None]:
        return self._claims.judge(claims)

    async def settle(self, claims: Sequence[Claim]) -> None:
        self._claims.settle(claims)

    async def pace(self, ip: str) -> float:
        return self._pace.wait_s(ip)

    def release(self, holder: int) -> None:
        """This holder is gone: its claims are nobody's, and whoever waits for one may have it."""
        self._claims.release(holder)

    def answer(self, question: Question, holder: int) -> Answer:
        """What a worker asks over the wire."""
        match question:
            case Judge(claims=claims):
                return Judged(self._claims.judge(claims, holder))
            case Settle(claims=claims):
                self._claims.settle(claims)
                return None
            case AskPace(ip=ip):
                return Wait(self._pace.wait_s(ip))


class RemoteShared:
    """Implements `interfaces.SharedState` by asking the supervisor."""

    def __init__(self, supervisor: Peer) -> None:
        self._supervisor = supervisor

    async def judge(self, claims: Sequence[Claim]) -> list[Verdict | None]:
        verdicts: list[Verdict | None] = []
        for some in parts(claims):
            verdicts += (await self._supervisor.call(Judge(some), Judged)).verdicts
        return verdicts

    async def settle(self, claims: Sequence[Claim]) -> None:
        for some in parts(claims):
            await self._supervisor.tell(Settle(some))

    async def pace(self, ip: str) -> float:
        return (await self._supervisor.call(AskPace(ip), Wait)).seconds


def parts(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    for start in range(0, len(claims), CLAIMS_AT_ONCE):
        yield list(claims[start : start + CLAIMS_AT_ONCE])
