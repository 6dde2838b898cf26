"""How the nodes of a cluster stand: what a worker tells of its partitions, a node of itself, and all nodes together.

A worker tells its supervisor with each report (`Kept`, `KeepingCounts`). The supervisor of a node puts that together
(`NodeNow`), answers it to whoever asks (`control_messages.Now`), and writes it on the board once a second. Whoever
watches the whole cluster reads it there (node/watch.py). On one machine there is none of this.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gossamer.frontier.disk.tables import Totals

SILENT_S = 10.0  # nodes tell once a second
NodeState = Literal["working", "opening", "held up", "spare", "missing"]


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """How far the state of a partition is where the next owner will look for it."""

    behind: int = 0  # messages in the topic of links that are not applied yet
    unacknowledged_bytes: int = 0  # of the journal
    snapshot_at: float = 0.0  # by the present owner; 0: none yet
    snapshot_bytes: int = 0
    restored: str = ""  # from: disk | snapshot | nothing
    restored_s: float = 0.0  # it took so long


class KeepingCounts(msgspec.Struct):
    """What a worker has done for that since it lives; of a node: all its workers, the dead included."""

    restores: int = 0
    restored_s: float = 0.0
    restored_bytes: int = 0  # of snapshots that were downloaded
    snapshots: int = 0
    snapshot_bytes: int = 0
    links_dead: int = 0  # messages of the topic of links that could not be read, and were set aside


class CarriedOut(msgspec.Struct, frozen=True):
    """What has come of an instruction to all nodes (node/instructions.py)."""

    urls: int  # that it concerned so far
    partitions_left: int  # that have not followed it yet; they will


class PartitionTotals(Totals, array_like=True):
    """As few bytes as possible: they go over the board once a second."""


class PartitionNow(msgspec.Struct, frozen=True, array_like=True):
    number: int
    epoch: int
    position: int  # in the topic of links: all before was applied
    totals: PartitionTotals
    kept: Kept = Kept()


class NodeNow(msgspec.Struct, frozen=True, array_like=True):
    name: str
    at: float
    started_at: float
    partitions: tuple[PartitionNow, ...] = ()  # that are open
    opening: int = 0  # partitions that are its own, and are not open yet
    workers: int = 0
    memory_bytes: int = 0
    pages_per_s: float = 0.0
    in_flight: int = 0
    held_up: str = ""  # why it fetches nothing
    shared_away: str = ""  # why its workers judge copies and pace by themselves
    damage: dict[int, str] = {}  # partitions that it cannot open, and what to do
    rebalances: int = 0  # since it started
    losses: int = 0  # of them, those in which it lost what it had
    owned_for_s: float = 0.0  # so long it owns its partitions for certain; 0: it does not know
    keeping: KeepingCounts = msgspec.field(default_factory=KeepingCounts)
    version: str = ""
    silent_s: float = 0.0  # since it was last heard of, where somebody else tells it

    @property
    def state(self) -> NodeState:
        if self.silent_s > SILENT_S:
            return "missing"
        if self.held_up:
            return "held up"
        if self.opening:
            return "opening"
        return "working" if self.partitions else "spare"


class ClusterNow(msgspec.Struct, frozen=True, array_like=True):
    """Of all nodes; where a node tells it, of itself alone."""

    name: str
    at: float
    partitions: int  # of the crawl
    nodes: tuple[NodeNow, ...]
    coordinator: str = ""  # the node that decides what follows from the reports; empty: nobody yet
    links_dead: int | None = None  # messages that were ever set aside; None: Kafka does not answer
    is_whole: bool = False  # all nodes were looked at
    trouble: str = ""  # why this may be old


def owners(nodes: tuple[NodeNow, ...]) -> dict[int, tuple[NodeNow, PartitionNow]]:
    """Of each partition whoever has reported it in the highest epoch."""
    found: dict[int, tuple[NodeNow, PartitionNow]] = {}
    for node in nodes:
        for each in node.partitions:
            if each.number not in found or each.epoch > found[each.number][1].epoch:
                found[each.number] = (node, each)
    return dict(sorted(found.items()))
