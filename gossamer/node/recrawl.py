"""The recrawl plan over all nodes: one budget of visits, shared by what all partitions want.

    statistics/NNN   what a partition tells (schedule/recrawl_plan.py), with the epoch of its owner
    plan             what the coordinator made of all of them

When a plan has stood for some seconds, each owner tells anew, once. The coordinator makes the next plan as soon as
every partition that somebody can own has told since the last one, in the epoch in which it is owned now. It waits for
nobody longer than that: a partition whose owner is gone is told by the next one, and the plan before holds meanwhile.
All of it is a function of the board, so whoever is coordinator next goes on where the last one was.

What partitions have given each other grows with the square of their number. So it is not in the entry `plan`: each
node takes it from the statistics themselves. They are totals, and whichever is the newest is right.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

import msgspec

from gossamer.clock import Clock
from gossamer.cluster.kafka.board import Board
from gossamer.schedule.recrawl_plan import PartitionStatistics, RecrawlPlan
from gossamer.settings import ScheduleSettings
from gossamer.supervisor.recrawl_coordinator import plan_every_s

PLAN, STATISTICS = "plan", "statistics/"
ASK_S = 1.0  # between two times that workers are asked, where some partition is not open yet


class Told(msgspec.Struct, frozen=True, array_like=True):
    epoch: int
    statistics: PartitionStatistics


encode = msgspec.msgpack.Encoder().encode
decode_told = msgspec.msgpack.Decoder(Told).decode
decode_plan = msgspec.msgpack.Decoder(RecrawlPlan).decode


def key_of(partition: int) -> str:
    return f"{STATISTICS}{partition:03d}"


def plan_on(board: Board) -> RecrawlPlan | None:
    """As the coordinator wrote it: without what partitions have given each other."""
    entry = board.get(PLAN)
    return decode_plan(entry.value) if entry is not None else None


def told_since_the_plan(board: Board, epochs: Mapping[int, int]) -> dict[int, PartitionStatistics]:
    """By the owners of these epochs."""
    plan, found = board.get(PLAN), {}
    for partition, epoch in epochs.items():
        entry = board.get(key_of(partition))
        if entry is not None and (plan is None or entry.offset > plan.offset):
            told = decode_told(entry.value)
            if told.epoch == epoch:
                found[partition] = told.statistics
    return found


def given(board: Board) -> dict[int, dict[int, int]]:
    """What partitions have given each other so far: by whom, to whom."""
    found = {}
    for key in board.keys(STATISTICS):
        if (entry := board.get(key)) is not None and (gave := decode_told(entry.value).statistics.given):
            found[int(key.removeprefix(STATISTICS))] = gave
    return found


class NodeRecrawl:
    """Implements `recrawl_coordinator.Recrawl` for a node: its supervisor's part, where another one may plan."""

    def __init__(
        self,
        board: Board,
        settings: ScheduleSettings,
        clock: Clock,
        epochs: Callable[[], Mapping[int, int]],
        keep: Callable[[RecrawlPlan], None],
    ) -> None:
        """`epochs`: of the partitions that are this node's. `keep`: told each new plan."""
        self._board = board
        self._settings = settings
        self._clock = clock
        self._epochs = epochs
        self._keep = keep
        self._seen = -1  # the offset of the last plan
        self._seen_at = clock.now()
        self._asked_at = -ASK_S
        self._is_taken = True  # that plan, by the supervisor
        self._telling: asyncio.Task[None] | None = None

    @property
    def wants_statistics(self) -> bool:
        now = self._clock.now()
        self._look(now)
        is_early = self._seen >= 0 and now - self._seen_at < plan_every_s(self._settings)
        if is_early or now - self._asked_at < min(ASK_S, plan_every_s(self._settings)):
            return False
        if self._telling is not None and not self._telling.done():
            return False  # Kafka is away, or slow
        epochs = self._epochs()
        if told_since_the_plan(self._board, epochs).keys() == epochs.keys():
            return False
        self._asked_at = now
        return True

    def take(self, statistics: Mapping[int, PartitionStatistics], partitions: Collection[int]) -> RecrawlPlan | None:
        """What the workers have told; the plan of the board where it is a new one."""
        self._look(self._clock.now())
        epochs = self._epochs()
        told = told_since_the_plan(self._board, epochs)
        new = {n: Told(epochs[n], each) for n, each in statistics.items() if n in epochs and n not in told}
        if new and (self._telling is None or self._telling.done()):
            if self._telling is not None:
                self._telling.result()
            self._telling = asyncio.ensure_future(self._tell(new))
        plan = plan_on(self._board)
        if plan is None or self._is_taken:
            return None
        self._is_taken = True
        plan = msgspec.structs.replace(plan, given=given(self._board))
        self._keep(plan)
        return plan

    def _look(self, now: float) -> None:
        entry = self._board.get(PLAN)
        if entry is not None and entry.offset != self._seen:
            self._seen, self._seen_at, self._is_taken = entry.offset, now, False

    async def _tell(self, new: Mapping[int, Told]) -> None:
        await asyncio.gather(*(self._board.put(key_of(number), encode(each)) for number, each in new.items()))

    def close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
