"""The table's types: what a row says, and whether a result is the one that it wants.

A behaviour has a number (that of the public list of hostile behaviours) and exactly one row. A row either plays the
behaviour against a transfer, in one or more ways (`Played`), or names the tests that prove it (`Proven`), or says why
it cannot be played (`Unplayable`).
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from gossamer.records import Answer, Failed, Fetched, Moved, Reason, Refused
from tests.hostile.server import Scenario, Stage, playing


@dataclass(frozen=True)
class Wanted:
    """A result that would be right. What is None may be anything."""

    kind: type[Answer]
    reasons: tuple[Reason, ...] = ()
    status: int | None = None
    body: bytes | None = None
    truncated: str | None = None
    target: str | None = None  # of a redirect; {port} stands for the stage's port
    detail: str | None = None
    in_head: bytes | None = None

    def objection(self, result: Answer, stage: Stage) -> str | None:
        """What is wrong with a result; None: nothing."""
        if not isinstance(result, self.kind):
            return f"wanted {self.kind.__name__}, got {shown(result)}"
        exchange = result.exchange
        said = {
            "reason": (getattr(result, "reason", None) in self.reasons) or not self.reasons,
            "status": self.status in (None, exchange and exchange.status),
            "body": self.body is None or _body(result) == self.body,
            "truncated": self.truncated in (None, exchange and exchange.truncated),
            "target": self.target is None or getattr(result, "target", "") == self.target.format(port=stage.port),
            "detail": self.detail is None or self.detail in getattr(result, "detail", ""),
            "head": self.in_head is None or (exchange is not None and self.in_head in exchange.head),
        }
        wrong = [name for name, is_right in said.items() if not is_right]
        return f"{', '.join(wrong)} of {shown(result)}; wanted {self}" if wrong else None


def fetched(
    body: bytes | None = None, truncated: str | None = "", *, status: int = 200, in_head: bytes | None = None
) -> Wanted:
    return Wanted(Fetched, status=status, body=body, truncated=truncated, in_head=in_head)


def failed(*reasons: Reason, status: int | None = None, detail: str | None = None) -> Wanted:
    return Wanted(Failed, reasons, status=status, detail=detail)


def refused(reason: Reason) -> Wanted:
    return Wanted(Refused, (reason,))


def moved(target: str, status: int | None = None) -> Wanted:
    return Wanted(Moved, target=target, status=status)


BROKEN = failed(Reason.BROKEN_ANSWER)
LATE = failed(Reason.TIMEOUT, Reason.TOO_SLOW)
UNSAFE = failed(Reason.TLS)


def shown(result: Answer) -> str:
    """A result on one line, its body cut short."""
    exchange = result.exchange
    facts = {
        "reason": getattr(result, "reason", None),
        "status": exchange and exchange.status,
        "truncated": exchange and exchange.truncated,
        "target": getattr(result, "target", None),
        "detail": getattr(result, "detail", None),
    }
    body = _body(result)
    words = [f"{name}={value!s}" for name, value in facts.items() if value]
    if body is not None:
        words.append(f"body={body[:60]!r} ({len(body)} bytes)")
    return f"{type(result).__name__}({', '.join(words)})"


def _body(result: Answer) -> bytes | None:
    return result.body[:] if isinstance(result, Fetched | Moved) else None


@dataclass(frozen=True)
class Play:
    """One way to play a behaviour, and the results that are right: any of them."""

    scenario: Scenario
    wanted: tuple[Wanted, ...]
    tls: Callable[[], ssl.SSLContext] | None = None
    scheme: str = ""  # what the URL claims, where that is not what is spoken
    path: str = "/page"
    place: Callable[[], AbstractAsyncContextManager[Stage]] | None = None  # where a scenario is not enough
    times_asked: int | None = 1  # requests that the server sees: never two for one fetch

    @asynccontextmanager
    async def staged(self) -> AsyncIterator[Stage]:
        if self.place is not None:
            async with self.place() as stage:
                yield stage
        else:
            async with playing(self.scenario, tls=self.tls and self.tls(), scheme=self.scheme) as stage:
                yield stage

    def objection(self, result: Answer, stage: Stage) -> str | None:
        objections = [wanted.objection(result, stage) for wanted in self.wanted]
        if None not in objections:
            return " or: ".join(filter(None, objections))
        if self.times_asked is not None and len(stage.requests) > self.times_asked:
            return f"asked {len(stage.requests)} times: {stage.asked()}"
        return None


def play(
    scenario: Scenario,
    *wanted: Wanted,
    tls: Callable[[], ssl.SSLContext] | None = None,
    scheme: str = "",
    path: str = "/page",
) -> Play:
    return Play(scenario, wanted, tls, scheme, path)


@dataclass(frozen=True)
class Played:
    """A behaviour of a transfer, in each of these ways."""

    number: int
    name: str
    ways: dict[str, Play] = field(default_factory=dict)


@dataclass(frozen=True)
class Proven:
    """A behaviour that shows elsewhere than in one transfer: the tests that prove it, as file::test."""

    number: int
    name: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Unplayable:
    number: int
    name: str
    why: str


Row = Played | Proven | Unplayable


def played(number: int, name: str, **ways: Play) -> Played:
    return Played(number, name, ways)


def proven(number: int, name: str, *tests: str) -> Proven:
    return Proven(number, name, tests)
