"""What the nodes of a cluster tell each other on the board, and under which keys.

    crawl             what was chosen for the crawl (gossamer.toml), by whoever created or changed it
    suffixes, format  as in a crawl's folder: they decide which partition a host belongs to
    seeds/NNNNNN      seeds, one a line, in the order in which they were added
    policies, paused  as in a crawl's folder
    instructions/N    what an operator wants done at the stores, once for each partition (instructions.py)
    again             somebody has made work in another way: appended links to their topic, or accepted a loss
    ranks             which object has the ranks (ranks.py)
    accept/NNN        somebody goes on with a partition of which something is lost (recovery.py)
    ending            why the crawl is over; deleted when somebody goes on with it
    node/NAME         the last report of a node
    now/NAME          how that node stands, for people: `Now` of control_messages.py as MessagePack (watch.py)
    allow/NAME        how many pages a node may finish since it started
    sink/TARGET/PPP   how far a partition came at a sink that cannot keep that itself, by whoever feeds it
    coordinator       which node decides what follows from the reports
    fed               up to which offset of the board seeds are on their way to their partitions
    statistics/NNN    of a partition's pages, by its owner; plan: what follows for all of them (recrawl.py)

Operators write `OUTSIDE`, and never delete it, so that all nodes agree on how far they have applied it
(`NodeReport.outside`): an empty text is no pause.

**An end counts only for what it took into account.** The coordinator writes with `ending` up to where it had read
what operators want; what makes work and stands behind that on the board, before or after `ending` itself, makes it
void. The board has one order, so all nodes say the same. Only the end that an operator wants (`stop`) is for
everything.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gossamer.cluster.kafka.board import Board

WORK = ("crawl", "seeds/", "policies", "instructions/", "again")  # what operators write that may make work
OUTSIDE = (*WORK, "paused")


class PartitionReport(msgspec.Struct, frozen=True, array_like=True):
    epoch: int
    position: int  # of the topic of links: all before was applied
    pages: int = 0
    bytes: int = 0
    hosts: int = 0
    queued: int = 0
    waiting: int = 0
    resting: int = 0
    failed: int = 0
    refused: int = 0
    duplicates: int = 0
    instructed: list[
        tuple[int, int]
    ] = []  # the last instructions that were carried out, and how many URLs each concerned


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """Of a node and all its workers. Implements `coordinator.Reported`."""

    node: str
    started_at: float  # tells one life of a node from the next
    at: float
    partitions: dict[int, PartitionReport] = {}
    in_flight: int = 0
    is_idle: bool = False
    outside: int = 0
    allowed: int = 0  # pages, as far as it has heard
    pages_left: int = 0
    pages_spare: int = 0
    pages_per_s: float = 0.0
    workers: int = 0
    memory_bytes: int = 0
    held_up: str = ""  # why it fetches nothing
    damage: dict[int, str] = {}  # partitions that it cannot open, and what to do
    version: str = ""

    @property
    def totals(self) -> dict[int, PartitionReport]:
        return self.partitions

    @property
    def positions(self) -> dict[int, int]:
        return {number: each.position for number, each in self.partitions.items()}


class Allowance(msgspec.Struct, frozen=True):
    started_at: float  # of the node that it is for
    pages: int  # since then
    epoch: int  # of whoever allows it


class Decisions(msgspec.Struct, frozen=True):
    """By the owner of partition 0, in this epoch: what an earlier one decides later counts for nothing."""

    node: str
    epoch: int
    wants_back: bool = False  # pages that were allowed: some nodes have run out of them, others need none


class Ended(msgspec.Struct, frozen=True):
    why: str
    at: float
    node: str
    outside: int | None = None  # the last that an operator had written; None: it is an operator who ends it


def ended(board: Board) -> Ended | None:
    """How the crawl has ended; None: it has not, or there is something to do that its end knew nothing of."""
    entry = board.get("ending")
    if entry is None:
        return None
    end = msgspec.json.decode(entry.value, type=Ended)
    return end if end.outside is None or last_of(board, WORK) <= end.outside else None


def last_of(board: Board, prefixes: tuple[str, ...]) -> int:
    """The offset of the last of these entries; 0: there is none."""
    entries = [entry for key in board.keys("") if key.startswith(prefixes) and (entry := board.get(key)) is not None]
    return max((entry.offset for entry in entries), default=0)


COUNTED = ("pages", "bytes", "hosts", "queued", "waiting", "resting", "failed", "refused", "duplicates")


def counts_of(reports: Iterable[NodeReport]) -> dict[str, int]:
    """Of the whole crawl: of each partition what was reported in the highest epoch."""
    last: dict[int, PartitionReport] = {}
    for report in reports:
        for number, each in report.partitions.items():
            if number not in last or each.epoch > last[number].epoch:
                last[number] = each
    return {name: sum(getattr(each, name) for each in last.values()) for name in COUNTED}
