"""Who should own which partition."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gossamer.cluster.partitions import deal


@given(st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=40), st.sets(st.integers(0, 9), min_size=1))
def test_everybody_gets_a_fair_share_and_little_moves(owners: list[int | None], workers: set[int]) -> None:
    dealt = deal(owners, sorted(workers))
    shares = Counter(dict.fromkeys(workers, 0))
    shares.update(owner for owner in dealt if owner is not None)
    assert None not in dealt and shares.keys() == workers
    assert max(shares.values()) - min(shares.values()) <= 1
    assert deal(dealt, sorted(workers)) == dealt
    # Nobody loses a partition who has no more than a fair share.
    held = Counter(owner for owner in owners if owner in workers)
    fair = len(owners) // len(workers)
    for before, after in zip(owners, dealt, strict=True):
        assert before == after or before not in workers or held[before] > fair


def test_after_a_death_only_the_partitions_of_the_dead_move() -> None:
    assert deal([0, 1, 0, 1, 0, 1], [1, 2]) == [2, 1, 2, 1, 2, 1]
    assert deal([0, 1, 0, 1], [0]) == [0, 0, 0, 0]
