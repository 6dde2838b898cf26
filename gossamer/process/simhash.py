"""SimHash: 64 bits of a text that stay nearly the same when a few of its words change.

A text is the shingles in it (shingles.py). Each shingle has a vote, and the sign of the sum of votes is a bit, as
in every SimHash. What is ours is how unequal the votes are. A shingle votes for one bit only, with a weight that its
hash gives, and the weights have a very long tail: nearly always the heaviest shingle of a bit decides it, and the
others can come and go. So the bits that change are proportional to the share of shingles that change; with equal
votes in all bits they would grow with its root, and one new word among 250 would move three bits already.
docs/decisions/0010-near-duplicates.md has the measurement.

Dynamic parts are kept from counting: a word with a digit in it (dates, times, counters, prices, session ids) is no
word here, and a shingle that is repeated a thousand times still has a say in one bit of 64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gossamer.process.fingerprints.shingles import shingles_of, words_in


def simhash(text: str) -> int:
    return simhash_of(words_in(text).plain)


def simhash_of(words: NDArray[np.uint32]) -> int:
    return votes(shingles_of(words)) if len(words) else 0


def votes(shingles: NDArray[np.uint64]) -> int:
    """Of each hash six bits say which bit it votes for, one says how, and the rest says with how much weight."""
    chance = (shingles & np.uint64((1 << 57) - 1)).view(np.int64) + 1.0
    chance *= chance
    chance *= chance  # a longer tail changes nothing more: 0010
    votes = np.bincount((shingles >> np.uint64(57)).view(np.int64), 1.0 / chance, 128)
    return int.from_bytes(np.packbits(votes[1::2] > votes[::2]).tobytes(), "big")
