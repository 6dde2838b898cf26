"""Shared state: what all partitions of a crawl have in common, and no one owns: content and pace per address.

On one machine it lives in the supervisor (`LocalShared`), and workers reach it over the wire (`RemoteShared`). The
supervisor knows which worker holds which claim, so that a worker that dies leaves nobody waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

from gossamer.cluster.pace import Pace
from gossamer.cluster.wire import Answer, Message, Peer
from gossamer.interfaces import Claims
from gossamer.records import Claim, Verdict


class Judge(Message, frozen=True):
    claim: Claim


class Judged(Message, frozen=True):
    verdict: Verdict


class Settle(Message, frozen=True):
    claims: list[Claim]


class Withdraw(Message, frozen=True):
    claim: Claim


class AskPace(Message, frozen=True):
    ip: str


class Wait(Message, frozen=True):
    seconds: float


Question = Judge | Settle | Withdraw | AskPace
Reply = Judged | Wait


class LocalShared:
    """Implements `interfaces.SharedState`, for one holder of claims or for many."""

    def __init__(self, claims: Claims, pace: Pace) -> None:
        self._claims = claims
        self._pace = pace
        self._waiting: set[tuple[int, Claim]] = set()  # claims that workers wait to have judged

    async def judge(self, claim: Claim, holder: int = 0) -> Verdict:
        while (verdict := self._claims.judge(claim, holder)) is None:
            await self._claims.settled(claim)
        return verdict

    async def settle(self, claims: Iterable[Claim]) -> None:
        self._claims.settle(claims)

    async def pace(self, ip: str) -> float:
        return self._pace.wait_s(ip)

    def release(self, holder: int) -> None:
        """This holder is gone: its claims are nobody's, and whoever waits for one may have it."""
        self._waiting = {(other, claim) for other, claim in self._waiting if other != holder}
        self._claims.release(holder)

    def answer(self, question: Question, holder: int) -> Answer | Awaitable[Answer]:
        """What a worker asks over the wire; at once wherever nobody has to wait, which is nearly always."""
        match question:
            case Judge(claim=claim):
                verdict = self._claims.judge(claim, holder)
                return Judged(verdict) if verdict is not None else self._judge_later(claim, holder)
            case Settle(claims=claims):
                self._claims.settle(claims)
                return None
            case Withdraw(claim=claim):
                if (holder, claim) in self._waiting:
                    self._waiting.discard((holder, claim))
                else:
                    self._claims.withdraw(claim)
                return None
            case AskPace(ip=ip):
                return Wait(self._pace.wait_s(ip))

    async def _judge_later(self, claim: Claim, holder: int) -> Answer:
        waiting = (holder, claim)
        self._waiting.add(waiting)
        while True:
            await self._claims.settled(claim)
            if waiting not in self._waiting:
                return None  # nobody wants to know any more: it must not become a claim that is never settled
            if (verdict := self._claims.judge(claim, holder)) is not None:
                self._waiting.discard(waiting)
                return Judged(verdict)


class RemoteShared:
    """Implements `interfaces.SharedState` by asking the supervisor."""

    def __init__(self, supervisor: Peer) -> None:
        self._supervisor = supervisor

    async def judge(self, claim: Claim) -> Verdict:
        try:
            return (await self._supervisor.call(Judge(claim), Judged)).verdict
        except asyncio.CancelledError:
            self._supervisor.mention(Withdraw(claim))  # or others would wait for a page that never comes
            raise

    async def settle(self, claims: Iterable[Claim]) -> None:
        if settled := list(claims):
            await self._supervisor.tell(Settle(settled))

    async def pace(self, ip: str) -> float:
        return (await self._supervisor.call(AskPace(ip), Wait)).seconds
