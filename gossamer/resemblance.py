"""Resemblance: how much two texts have in common, told from their sketches.

A text is the set of its shingles, every run of three words in it, numbers included. The resemblance of two texts is
the share of their shingles that both have (the Jaccard index), and texts are *near* from nine tenths on. One more
rule holds for short texts, where a clock alone takes more than a tenth of the shingles: they are near, too, if all
words are the same and in the same order but for one number, or a date with the time beside it.

A sketch is made once for each page (process/fingerprints/sketch.py), and any two of them are compared here, in 2 µs:

    4 bytes        how many shingles the text has
    BITS / 8       for every bit whether an odd number of shingles fell on it: an *odd sketch*. What two texts share
                   cancels out, so the bits that differ count the shingles that only one of them has
    the rest       of a short text: 4 bytes that stand for its words without the numbers, then 2 bytes for each number

Of a text with more than SAMPLE shingles those with the smallest hashes are in the sketch: the same ones in every
text. The odd sketch is that of Mitzenmacher, Pagh and Pham (*Efficient estimation for high similarities using odd
sketches*, WWW 2014). docs/decisions/0019-near-is-nine-tenths.md has the measurement.
"""

from __future__ import annotations

import struct
from functools import reduce
from math import log
from operator import xor

NEAR = 0.9  # of the shingles of two texts are in both
BITS = 1024
SAMPLE = 2048

FAR_BITS = 300  # differ between the longest sketches at a resemblance of 0.8; between those of other texts, most do

_ODD_END = 4 + BITS // 8
_MASK_END = _ODD_END + 4
_NUMBER_BYTES = 2
_WORDS = struct.Struct(f"<{BITS // 64}Q")


def resemblance(one: bytes, other: bytes) -> float:
    """The share of shingles that two texts have in common, give or take a hundredth.

    It is exact enough around NEAR and above. Below it is a rough guess, never near, and far below it is 0."""
    if not one or not other:
        return 0.0  # one of them has no words
    differing = (int.from_bytes(one[4:_ODD_END]) ^ int.from_bytes(other[4:_ODD_END])).bit_count()
    if differing > FAR_BITS:
        return 0.0
    unshared = -BITS / 2 * log(1 - 2 * differing / BITS)  # some fell on the same bit
    size, other_size = int.from_bytes(one[:4]), int.from_bytes(other[:4])
    sampled, other_sampled = min(size, SAMPLE), min(other_size, SAMPLE)
    # Of the larger text the smallest share is in the sample, and the other one's sample is compared with that.
    scale = max(size, other_size) / max(sampled, other_sampled)
    shared = min((sampled + other_sampled - unshared) / 2 * scale, size, other_size)
    return max(0.0, shared / (size + other_size - shared))


def are_near(one: bytes, other: bytes) -> bool:
    return resemblance(one, other) >= NEAR or differ_in_one_number(one, other)


def differ_in_one_number(one: bytes, other: bytes) -> bool:
    """Two short texts whose words are the same, but for one number at most."""
    mask = one[_ODD_END:_MASK_END]
    if not mask or len(one) != len(other) or mask != other[_ODD_END:_MASK_END]:
        return False
    places = range(_MASK_END, len(one), _NUMBER_BYTES)
    return sum(one[at : at + _NUMBER_BYTES] != other[at : at + _NUMBER_BYTES] for at in places) <= 1


def digest_of(sketch: bytes) -> bytes:
    """16 bytes of a sketch: of many candidates, those that differ least in them are compared first.

    Half of them are the whole sketch folded, in which short texts differ, and half are a part of it, in which long
    ones do."""
    words: tuple[int, ...] = _WORDS.unpack_from(sketch, 4)
    return reduce(xor, words).to_bytes(8, "little") + sketch[4:12]
