"""Sketches: a text in a few bytes, so that two texts can be compared without either (gossamer/resemblance.py).

Numbers count here, unlike in a SimHash: two pages of measurements have all their words in common. Sorting brings
equal shingles together and the smallest first, which is all that has to be known of them: 45 µs for 2,300 words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gossamer.process.fingerprints.shingles import SHINGLE_WORDS, Words, shingles_of
from gossamer.resemblance import BITS, SAMPLE

# From so many times a shingle (and one word more) on, a date with its time is less than a tenth of all shingles.
_SHORT_SHINGLES = 20
_NUMBERS_MAX = 40  # whose number is kept, of a short text; with more it is a table
_STIR = np.uint32(0x85EBCA6B)


def sketch_of(words: Words) -> bytes:
    """Empty where there is not a word."""
    if not len(words.hashes):
        return b""
    # Half of each hash: it is sorted in half the time, and two shingles of a page rarely have the same.
    shingles = (shingles_of(words.hashes) >> np.uint64(32)).astype(np.uint32)
    shingles.sort()
    distinct = shingles[np.append(True, shingles[1:] != shingles[:-1])]
    falls_on = distinct[:SAMPLE] & np.uint32(BITS - 1)  # in a sample the higher bits are small
    odd = np.packbits((np.bincount(falls_on, minlength=BITS) & 1).astype(bool))
    return len(distinct).to_bytes(4) + odd.tobytes() + _of_short(words)


def _of_short(words: Words) -> bytes:
    if len(words.hashes) >= _SHORT_SHINGLES * (SHINGLE_WORDS + 1):
        return b""
    numbers = _numbers(words)
    if len(numbers) > _NUMBERS_MAX:
        return b""
    masked = np.where(words.are_numbers, np.uint32(1), words.hashes)
    mask = int(shingles_of(masked).sum()) >> 32
    return mask.to_bytes(4) + (numbers * _STIR >> np.uint32(16)).astype(">u2").tobytes()


def _numbers(words: Words) -> NDArray[np.uint32]:
    """A hash of each number. Two next to each other are one, as a date and a time are; a row of a table is more."""
    numbers: list[int] = []
    pair = -1  # the place of a number that the next one may belong to
    for place in words.are_numbers.nonzero()[0].tolist():
        if place == pair + 1 and pair >= 0:
            numbers[-1] = numbers[-1] * 31 + int(words.hashes[place])
            pair = -1
        else:
            numbers.append(int(words.hashes[place]))
            pair = place
    return np.array(numbers, np.uint64).astype(np.uint32)
