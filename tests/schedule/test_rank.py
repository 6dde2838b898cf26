"""PageRank from a file of links, in small pieces, beside the textbook's way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.schedule import rank as module
from gossamer.schedule.rank import Edges, Graph, agreement, node_of, numbering, pagerank


def graph_of(folder: Path, nodes: int, pairs: list[tuple[int, int]]) -> Graph:
    edges = Edges(folder, nodes)
    for source, target in pairs:
        edges.add(np.array([source], np.uint32), np.array([target], np.uint32))
    return edges.close()


def test_a_ring_has_equal_ranks_and_a_star_has_a_middle(folder: Path) -> None:
    ring = pagerank(graph_of(folder, 4, [(0, 1), (1, 2), (2, 3), (3, 0)]))
    assert ring == pytest.approx([0.25] * 4)
    star = pagerank(graph_of(folder, 4, [(1, 0), (2, 0), (3, 0)]))
    assert star.argmax() == 0
    assert star.sum() == pytest.approx(1)


def test_it_is_the_same_in_small_pieces_and_with_links_that_come_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(1)
    nodes, links = 300, 4000
    sources = chance.integers(0, nodes, links).astype(np.uint32)
    targets = (chance.random(links) ** 3 * nodes).astype(np.uint32)
    monkeypatch.setattr(module, "RUN", 500)
    monkeypatch.setattr(module, "PIECE", 64)
    edges = Edges(folder, nodes)
    for start in range(0, links, 100):
        edges.add(sources[start : start + 100], targets[start : start + 100])
    edges.add(sources[:50], targets[:50])
    found = edges.close()
    matrix = np.zeros((nodes, nodes))
    matrix[targets, sources] = 1
    assert found.links == int(matrix.sum())
    out = matrix.sum(0)
    whole = np.where(out > 0, matrix / np.maximum(out, 1), 1 / nodes)
    expected = np.full(nodes, 1 / nodes)
    for _ in range(200):
        expected = 0.85 * whole @ expected + 0.15 / nodes
    assert pagerank(found) == pytest.approx(expected, abs=1e-9)
    assert [path.name for path in folder.iterdir()] == ["edges"]


def test_a_graph_without_links_has_equal_ranks(folder: Path) -> None:
    assert pagerank(graph_of(folder, 5, [])) == pytest.approx([0.2] * 5)


def test_names_get_numbers_and_strangers_are_told_apart() -> None:
    table = numbering([np.array([50, 7], np.uint64), np.array([7, 9], np.uint64)])
    numbers, known = node_of(table, np.array([9, 50, 8, 99], np.uint64))
    assert numbers[:2].tolist() == [1, 2]
    assert known.tolist() == [True, True, False, False]


def test_agreement_is_one_for_the_same_order_and_none_for_chance() -> None:
    chance = np.random.default_rng(1)
    rank = chance.pareto(1.1, 2000)
    assert agreement(rank**0.5, rank) == pytest.approx((1, 1, 1))
    other = agreement(chance.random(2000), rank)
    assert abs(other.spearman) < 0.1 and other.top < 0.2
    assert agreement(np.zeros(2000), rank).spearman == 0
