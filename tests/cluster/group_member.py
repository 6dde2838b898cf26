"""A member of a group as the tests see it: what it may ask for, moment by moment; and as a process of its own.

    python -m tests.cluster.group_member SETTINGS NODE      # a line of JSON each time that anything changes

A member notes when it might have asked for a partition (`spans`): from where it was assigned and its lease was proven
to where it was not. No two members' spans of a partition may overlap, whatever happened: that is what the group and
the lease clock are for. Moments are of a clock that all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from gossamer.clock import RealClock
from gossamer.cluster.kafka.group import Group, Partitions
from gossamer.settings import ClusterSettings

LOOK_S = 0.005
GAP_S = 0.25  # a member that did not look for so long did not ask either


class Span(NamedTuple):
    partition: int
    since: float
    until: float


def no_line(line: dict[str, Any]) -> None: ...


class Member:
    """Looks at its lease in a thread of its own, as fast as a worker would."""

    def __init__(
        self, settings: ClusterSettings, node: str, hand_over_s: float = 0.0, say: Callable[..., None] = no_line
    ) -> None:
        self.node, self.mine = node, frozenset[int]()
        self.events: list[tuple[str, Partitions, float]] = []
        self.spans: list[Span] = []
        self.clock = RealClock()
        self._hand_over_s, self._say = hand_over_s, say
        self._open: dict[int, float] = {}
        self._looked_at = self.clock.boottime()
        self._is_over = threading.Event()
        self.group = Group(
            f"{settings.name}.links", node, settings, self.clock, self._assigned, self._revoked, self._lost
        )
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._thread.start()

    async def _assigned(self, partitions: Partitions) -> None:
        self.mine |= partitions
        self._note("assigned", partitions)

    async def _revoked(self, partitions: Partitions) -> None:
        self._note("revoked", partitions)
        await asyncio.sleep(self._hand_over_s)
        self.mine -= partitions
        self._note("let go", partitions)

    def _lost(self, partitions: Partitions) -> None:
        self.mine -= partitions
        self._note("lost", partitions)

    def _note(self, what: str, partitions: Partitions) -> None:
        self.events.append((what, partitions, self.clock.boottime()))
        self._say({"event": what, "partitions": sorted(partitions), "at": self.clock.boottime()})

    @property
    def may_ask(self) -> Partitions:
        mine = self.mine  # first: what comes between the two looks is seen by the second
        return mine if self.clock.boottime() < self.group.owned_until else frozenset()

    def _look_on(self) -> None:
        while not self._is_over.wait(LOOK_S):
            self._look(self.may_ask)

    def _look(self, may_ask: Partitions) -> None:
        now = self.clock.boottime()
        slept = now - self._looked_at > GAP_S
        if slept:
            self._say({"event": "woke", "at": now, "slept_since": self._looked_at, "until": self.group.owned_until})
        for partition in list(self._open):
            if slept or partition not in may_ask:
                self.spans.append(Span(partition, self._open.pop(partition), self._looked_at))
                self._say({"event": "span", "span": self.spans[-1], "at": now})
        for partition in may_ask - self._open.keys():
            self._open[partition] = now
        if may_ask:
            self._say({"event": "may ask", "partitions": sorted(may_ask), "at": now})
        self._looked_at = now

    def stop_looking(self) -> None:
        self._is_over.set()
        self._thread.join()
        self._look(frozenset())

    async def leave(self) -> None:
        await self.group.leave()
        self.stop_looking()

    async def close(self) -> None:
        self.mine = frozenset()
        await self.group.close()
        self.stop_looking()


class Lines:
    """To standard output; that a partition may still be asked, only when it was not so before."""

    def __init__(self) -> None:
        self._last: object = None
        self._lock = threading.Lock()

    def __call__(self, line: dict[str, Any]) -> None:
        with self._lock:
            what = line.get("partitions") if line["event"] == "may ask" else None
            if what is None or what != self._last:
                print(json.dumps(line), flush=True)
            if line["event"] in ("may ask", "span", "woke"):
                self._last = what


async def main(settings: str, node: str) -> None:
    Member(msgspec.json.decode(settings, type=ClusterSettings), node, say=Lines())
    await asyncio.Event().wait()  # until it is killed


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
