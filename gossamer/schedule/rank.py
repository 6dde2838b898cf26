"""Importance after crawling: PageRank over a stored graph of links, however many they are, in stated memory.

Brin and Page, *The anatomy of a large-scale hypertextual web search engine*, WWW 1998: the chance of being at a page,
for somebody who follows a link of the page at hand with chance 0.85, each as likely as the others, and otherwise goes
to any page. Pages without links lead to any page too. It is found by power iteration, until a round moves less than
1e-9 in all.

The graph is a file of pairs of numbers (source, target), 8 bytes a link, sorted by target and read from start to end
in every round, a piece at a time. The links of a piece lead to few, neighbouring targets, and are added up with
numpy's `bincount`. Memory is 30 bytes a page and `PIECE` links, whatever the number of links; scipy and igraph
need the whole graph in it (docs/importance.md has what each takes). Files are read and not mapped: a system counts
what is mapped as memory, too.

`Edges` makes that file: pairs come in any order, are sorted in runs in memory, and the runs are merged a band of
targets at a time. A link that is there twice counts once. `node_of` numbers things by 64 bits of a hash and a sorted
table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint32]
Floats = NDArray[np.float64]

DAMPING = 0.85
RUN = 1 << 21  # pairs sorted at once: 16 MiB
PIECE = 1 << 18  # pairs read at once: a few MiB; larger ones are no faster
MOVED_MAX = 1e-9
ROUNDS_MAX = 200


class Edges:
    """A graph under construction: `add` pairs, then `close`. The folder holds runs until then, `edges` after."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self._folder = folder
        self._nodes = nodes
        self._pairs: list[NDArray[np.uint64]] = []
        self._waiting = 0
        self._runs: list[Path] = []

    def add(self, sources: Numbers, targets: Numbers) -> None:
        """Target above source in one number, so that its order is the order of targets."""
        self._pairs.append(targets.astype(np.uint64) << np.uint64(32) | sources)
        self._waiting += len(sources)
        if self._waiting >= RUN:
            self._flush()

    def _flush(self) -> None:
        if self._pairs:
            path = self._folder / f"run-{len(self._runs)}"
            _sorted(self._pairs).tofile(path)
            self._runs.append(path)
            self._pairs, self._waiting = [], 0

    def close(self) -> Graph:
        """Merge the runs: of each the part up to a common target, sorted together, then the next part."""
        self._flush()
        out = np.zeros(self._nodes, np.uint32)
        links, path = 0, self._folder / "edges"
        with path.open("wb") as file:
            for band in _bands(self._runs):
                merged = _sorted(band)
                sources, times = np.unique((merged & np.uint64(0xFFFFFFFF)).astype(np.uint32), return_counts=True)
                out[sources] += times.astype(np.uint32)
                merged.tofile(file)
                links += len(merged)
        for run in self._runs:
            run.unlink()
        return Graph(path, self._nodes, links, out)


def _sorted(parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """All of them in order, each once."""
    pairs = np.concatenate(parts)
    pairs.sort()
    return pairs[np.append(True, pairs[1:] != pairs[:-1])] if len(pairs) else pairs


def _bands(runs: list[Path]) -> Iterator[list[NDArray[np.uint64]]]:
    """Pieces of all runs that together hold everything up to a bound, bound after bound."""
    starts = [0] * len(runs)
    size = max(1, PIECE // max(1, len(runs)))
    while True:
        pieces = [
            np.fromfile(run, np.uint64, size, offset=8 * start) for run, start in zip(runs, starts, strict=True)
        ]
        bound = min((piece[-1] for piece in pieces if len(piece)), default=None)
        if bound is None:
            return
        band = [piece[: int(np.searchsorted(piece, bound, "right"))] for piece in pieces]
        yield band
        starts = [start + len(part) for start, part in zip(starts, band, strict=True)]


class Graph(NamedTuple):
    path: Path
    nodes: int
    links: int
    out: Numbers  # how many links each has


def pagerank(
    graph: Graph, *, damping: float = DAMPING, watch: Callable[[int, float], None] = lambda number, moved: None
) -> Floats:
    """The PageRank of each node; all together they are 1. `watch` hears of every round, and how much it moved."""
    nodes = graph.nodes
    rank = np.full(nodes, 1 / max(1, nodes))
    if not graph.links:
        return rank
    leads_nowhere, passed = graph.out == 0, np.zeros(nodes)
    for number in range(1, ROUNDS_MAX + 1):
        np.divide(rank, graph.out, out=passed, where=~leads_nowhere)
        after = np.zeros(nodes)
        for start in range(0, graph.links, PIECE):
            piece = np.fromfile(graph.path, np.uint64, PIECE, offset=8 * start)
            targets = (piece >> np.uint64(32)).astype(np.int64)
            first = int(targets[0])
            got = np.bincount(targets - first, passed[(piece & np.uint64(0xFFFFFFFF)).astype(np.int64)])
            after[first : first + len(got)] += got
        after *= damping
        after += (1 - damping + damping * float(rank.sum(where=leads_nowhere))) / nodes
        rank -= after
        moved = float(np.abs(rank, out=rank).sum())
        rank = after
        watch(number, moved)
        if moved < MOVED_MAX:
            break
    return rank


# --- Names to numbers, and how well two orders agree ---


def numbering(hashes: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """A sorted table of 64-bit hashes; the place of a hash in it is its number. Eight bytes a page, and 32 meanwhile.

    New ones are sorted in when there are many, so that the table is not gone through for a few."""
    known = np.empty(0, np.uint64)
    waiting: list[NDArray[np.uint64]] = []
    for some in hashes:
        waiting.append(_sorted([some]))
        if sum(map(len, waiting)) > max(RUN, len(known) // 2):
            known, waiting = _sorted([known, *waiting]), []
    return _sorted([known, *waiting])


def node_of(table: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The numbers of hashes, and which of them are in the table at all."""
    places = np.zeros(len(hashes), np.int64)
    if not len(table):
        return places, np.zeros(len(hashes), np.bool_)
    order = np.argsort(hashes)  # looked up in their order they take half the time: the table is in the cache then
    places[order] = np.searchsorted(table, hashes[order])
    places[places == len(table)] = 0
    return places, table[places] == hashes


class Agreement(NamedTuple):
    spearman: float  # correlation of the two orders: 1 the same, 0 none
    top: float  # of the best hundredth by one, how many are among the best hundredth by the other
    top_rank: float  # share of the best hundredth's PageRank that the estimate's best hundredth has


def agreement(estimate: Floats, rank: Floats) -> Agreement:
    """How well a running estimate agrees with PageRank. Equals share their mean place."""
    places, true_places = _places(estimate), _places(rank)
    spread = float(places.std() * true_places.std())
    spearman = (
        float(((places - places.mean()) * (true_places - true_places.mean())).mean()) / spread if spread else 0.0
    )
    best = max(1, len(rank) // 100)
    ours, truly = np.argsort(-estimate, kind="stable")[:best], np.argsort(-rank, kind="stable")[:best]
    both = len(np.intersect1d(ours, truly)) / best
    return Agreement(spearman, both, float(rank[ours].sum() / rank[truly].sum()))


def _places(values: Floats) -> Floats:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse], np.float64)
