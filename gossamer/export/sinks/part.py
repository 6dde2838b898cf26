"""The part of a crawl that a process feeds to a sink, and where it is noted how far that came.

On one machine that is all of it, and a folder's exports.json (export/positions.py) has the notes. A node of a
cluster feeds the partitions that it owns. It loses them to others, perhaps with its disk, so how far they came has to
be where the next owner finds it: in the sink itself, where that keeps it with its rows, else on the board of the
cluster. The node's supervisor has the board; it says which partitions are ours, and puts down what we tell it.

Nobody waits for such a note, and an owner of yesterday may leave one, too. It is too early, and something is handed
on twice; or it is of a story that ended differently, and then all that has a later epoch is handed on
(archive/visits.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple, Protocol

import msgspec

from gossamer import config
from gossamer.export import positions
from gossamer.export.formats import crawl_name
from gossamer.export.positions import Export
from gossamer.export.sinks.sink import Sink
from gossamer.messages.control_messages import SinksOwned
from gossamer.records import Place
from gossamer.settings import Tree


class Noted(NamedTuple):
    """What is noted of a sink."""

    crawl: str  # the name that its records have over there
    key: str  # tells two crawls of one name apart
    positions: Mapping[int, Place]


class Part(Protocol):
    @property
    def partitions(self) -> frozenset[int] | None:
        """None: all that there are."""

    async def known(self, sink: Sink) -> Noted: ...
    async def note(self, sink: Sink, at: Mapping[int, Place]) -> None: ...


class WholeCrawl:
    """Implements `Part` for a crawl's folder."""

    partitions = None

    def __init__(self, crawl: Path) -> None:
        self._crawl = crawl
        self._keys: dict[str, str] = {}  # by target

    async def known(self, sink: Sink) -> Noted:
        tree = await asyncio.to_thread(lambda: config.load(self._crawl, environment={}).tree)
        known = positions.read(self._crawl).get(sink.target)
        key = cluster_key(tree) or (known.left_as if known is not None else "") or token_hex(16)
        at = known.positions if known is not None else {}
        self._keys[sink.target] = key
        if known is None or known.left_as != key:
            # Noted before the sink is told: a key that only the sink knows would be another folder's.
            await self.note(sink, at)
        return Noted(crawl_name(tree, self._crawl), key, at)

    async def note(self, sink: Sink, at: Mapping[int, Place]) -> None:
        export = Export(sink.to, [], dict(at), self._keys[sink.target])
        await asyncio.to_thread(positions.note, self._crawl, sink.target, export)


class NodePart:
    """Implements `Part` for a node."""

    def __init__(self, crawl: Path, tree: Tree, tell: Callable[[Sink, Mapping[int, Place]], None]) -> None:
        """`tell`: the supervisor, how far a sink came."""
        self.partitions: frozenset[int] = frozenset()
        self._name, self._key = crawl_name(tree, crawl), cluster_key(tree)
        self._tell = tell
        self._owned = SinksOwned()
        self._at: dict[str, dict[int, Place]] = {}  # by target: of the partitions that are ours

    def own(self, owned: SinksOwned) -> None:
        """What is ours from now on. Of what was ours already we know best how far it came."""
        before, self._owned = self._owned, owned
        kept = {number for number, epoch in owned.epochs.items() if before.epochs.get(number) == epoch}
        self.partitions = frozenset(owned.epochs)
        for target in self._at.keys() | owned.noted.keys():
            ours, noted = self._at.get(target, {}), owned.noted.get(target, {})
            from_board = {number: place for number, place in noted.items() if number in owned.epochs}
            self._at[target] = from_board | {number: place for number, place in ours.items() if number in kept}

    async def known(self, sink: Sink) -> Noted:
        return Noted(self._name, self._key, dict(self._at.get(sink.target, {})))

    async def note(self, sink: Sink, at: Mapping[int, Place]) -> None:
        ours = self._at.setdefault(sink.target, {})
        moved = {number: place for number, place in at.items() if ours.get(number) != place}
        ours |= moved
        if moved and not sink.keeps_positions:
            self._tell(sink, moved)


def cluster_key(tree: Tree) -> str:
    """Empty where there is no cluster. Where its objects are tells it from all others."""
    if not tree.cluster.kafka:
        return ""
    return sha256(msgspec.json.encode([tree.cluster.name, tree.archive.url.rstrip("/")])).hexdigest()[:32]
