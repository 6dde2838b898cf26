"""The shapes of a cluster's nodes and partitions, as the control API answers them (shapes.py)."""

from __future__ import annotations

from gossamer.api.shapes import Moment, Shape
from gossamer.messages.node_messages import NodeState


class Damage(Shape):
    """A partition that cannot be opened."""

    partition: int
    text: str  # why, and what to do


class Node(Shape):
    """Counters are since the node started."""

    name: str
    state: NodeState
    heard_at: Moment  # by its own clock
    silent_s: float  # since it was last heard of
    started_at: Moment
    version: str
    workers: int
    memory_bytes: int
    pages: int  # of its partitions, whoever fetched them
    pages_per_s: float
    in_flight: int
    partitions: list[int]  # that are open
    opening: int  # partitions that are its own, and are not open yet
    held_up: str | None  # why it fetches nothing
    shared_away: str | None  # why its workers judge copies and pace by themselves: Valkey does not answer
    damage: list[Damage]
    links_behind: int  # messages of links that are not applied yet
    unacknowledged_bytes: int  # of the journal
    restores: int
    restored_s: float  # all restores together
    restored_bytes: int  # of snapshots that were downloaded
    snapshots: int
    snapshot_bytes: int
    rebalances: int
    losses: int  # of them, those in which it lost what it had
    owned_for_s: float  # so long it owns its partitions for certain
    links_dead: int  # messages of links that it could not read
    coordinates: bool  # it decides what follows from the reports of all


class Partition(Shape):
    """What only an owner knows is null where there is none yet."""

    partition: int
    owner: str | None = None  # null: nobody who was heard of lately
    last_owner: str | None = None
    epoch: int | None = None
    pages: int | None = None
    queued: int | None = None
    links_behind: int | None = None
    unacknowledged_bytes: int | None = None
    snapshot_at: Moment | None = None  # by this owner; null: none yet
    snapshot_age_s: float | None = None
    snapshot_bytes: int | None = None
    restored: str | None = None  # from: disk | snapshot | nothing
    restored_s: float | None = None
    damage: str | None = None


class Nodes(Shape):
    """Of a cluster; of a node's own folder: that node and its partitions."""

    at: Moment
    cluster: str
    is_whole: bool  # all nodes are here
    coordinator: str | None
    links_dead: int | None  # messages that were ever set aside; null: not known
    trouble: str | None  # why these figures may be old
    look_age_s: float | None  # as in the status
    look_trouble: str | None  # why the stores could not be looked at
    nodes: list[Node]
    partitions: list[Partition]
