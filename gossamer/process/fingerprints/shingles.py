"""Words and shingles: a text as numbers that can be counted and compared.

Words are runs of letters and digits, in small letters. A number is one word, with the signs inside it: 12:34:56,
1,299.00 and 2026-11-16 are a word each. Chinese, Japanese, Thai and others write without spaces; there each character
is a word. What is a letter stands in the tables below rather than in Python's, so that all versions of Python agree.

A shingle is a run of words, three by default, and every word but the last two begins one.

All of it is done in numpy over the code points of the whole text, without a Python call for a word: 2,200 words in
about 70 µs. The hash of a word is a polynomial over its letters. For all words at once it is the difference of two
running sums over the text, each letter times a power of its place, divided by the power of the word's first place.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHINGLE_WORDS = 3
CHARS_MAX = 1 << 18  # 40,000 words; what follows them does not count. It bounds time (10 ms) and memory (10 MB)
# As many at a time as make arrays of less than 128 KiB. Larger ones are taken from the system and given back each
# time, which takes as long as all the rest: 1,400 µs for a text of 100,000 characters, and 530 piece by piece.
PIECE_CHARS = 30_000

# Odd numbers whose powers look like chance.
_BASE = 0x9E3779B1
_STEP = np.uint64(0xD1342543DE82EF95)
_STIR = np.uint64(0xD6E8FEB86659FD93)

# In the table of letters, a gap is 0, a digit is 1 to 10 and a letter its small letter.
_DIGITS_END = 11
_INSIDE = 11  # a sign that belongs to a number if a digit is on either side of it; else it is a gap
_INSIDE_NUMBERS = ".,:/-'"
_SIGN = 1 << 23  # beside what is a word by itself
_PLANES = 0x20000  # the planes behind it hold rare Chinese characters and nothing else; here they are all one

_GAPS = (
    (0x00, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0xA9), (0xAB, 0xB1), (0xB4, 0xB4), (0xB6, 0xB8), (0xBB, 0xBB),
    (0xBF, 0xBF), (0xD7, 0xD7), (0xF7, 0xF7), (0x2C2, 0x2DF), (0x37E, 0x37E), (0x387, 0x387), (0x55A, 0x55F),
    (0x589, 0x58A), (0x5BE, 0x5BE), (0x5C0, 0x5C0), (0x5F3, 0x5F4), (0x600, 0x60F), (0x61B, 0x61F), (0x66A, 0x66D),
    (0x6D4, 0x6D4), (0x700, 0x70F), (0x964, 0x965), (0x970, 0x970), (0xE3F, 0xE3F), (0xE4F, 0xE4F), (0xE5A, 0xE5B),
    (0xF01, 0xF17), (0x104A, 0x104F), (0x1360, 0x1368), (0x17D4, 0x17DB), (0x2000, 0x200B), (0x200E, 0x206F),
    (0x20A0, 0x20CF), (0x2190, 0x245F), (0x2500, 0x2BFF), (0x2E00, 0x2E7F), (0x2FF0, 0x3004), (0x3008, 0x3020),
    (0x3030, 0x3030), (0x303D, 0x303F), (0x30FB, 0x30FB), (0xD800, 0xF8FF), (0xFD3E, 0xFD3F), (0xFE10, 0xFE6F),
    (0xFEFF, 0xFF0F), (0xFF1A, 0xFF20), (0xFF3B, 0xFF40), (0xFF5B, 0xFF65), (0xFFE0, 0xFFFF), (0x1D000, 0x1D3FF),
    (0x1F000, 0x1FFFF),
)  # fmt: skip
_DIGITS = (
    (0x30, 0x39), (0xB2, 0xB3), (0xB9, 0xB9), (0xBC, 0xBE), (0x660, 0x669), (0x6F0, 0x6F9), (0x966, 0x96F),
    (0x9E6, 0x9EF), (0xE50, 0xE59), (0xED0, 0xED9), (0x2070, 0x2089), (0x2150, 0x218B), (0x2460, 0x24FF),
    (0xFF10, 0xFF19),
)  # fmt: skip
# Thai, Lao, Tibetan, Burmese, Khmer; Kana, Bopomofo and Han with their supplements.
_SIGNS = (
    (0xE01, 0xE3A), (0xE40, 0xE4E), (0xE80, 0xECF), (0xEDC, 0xEDF), (0xF00, 0xF00), (0xF18, 0xFFF), (0x1000, 0x103F),
    (0x1050, 0x109F), (0x1780, 0x17D3), (0x17DC, 0x17DD), (0x2E80, 0x2FEF), (0x3005, 0x3007), (0x3021, 0x302F),
    (0x3031, 0x303C), (0x3040, 0x30FA), (0x30FC, 0x312F), (0x31A0, 0x31BF), (0x31F0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1AFF0, 0x1B16F), (_PLANES, _PLANES),
)  # fmt: skip


# Where there are capital letters at all.
_CASED = (
    *range(0x2190),
    *range(0x2C00, 0x2E00),
    *range(0xA640, 0xA800),
    *range(0xFF21, 0xFF3B),
    *range(0x10400, 0x11900),
)


def _letters() -> NDArray[np.uint32]:
    letters = np.arange(_PLANES + 1, dtype=np.uint32)
    for code in _CASED:
        small = chr(code).lower()
        if len(small) == 1:
            letters[code] = ord(small)
    for first, last in _GAPS:
        letters[first : last + 1] = 0
    for first, last in _DIGITS:
        letters[first : last + 1] = np.arange(last + 1 - first) % 10 + 1
    for first, last in _SIGNS:
        letters[first : last + 1] |= _SIGN
    for sign in _INSIDE_NUMBERS:
        letters[ord(sign)] = _INSIDE
    return letters


LETTERS = _letters()
_LATIN_LETTERS = LETTERS[:256].astype(np.uint8).tobytes()


class Words(NamedTuple):
    """The words of a text in their order: a hash of each, and whether there is a digit in it."""

    hashes: NDArray[np.uint32]
    are_numbers: NDArray[np.bool_]

    @property
    def plain(self) -> NDArray[np.uint32]:
        return self.hashes[~self.are_numbers]


def words_in(text: str) -> Words:
    text = text[:CHARS_MAX]
    pieces: list[Words] = []
    start = 0
    while start < len(text) or not pieces:
        end = start + PIECE_CHARS
        if end < len(text):
            end = text.rfind(" ", start, end) + 1 or end  # at a space, which is in no word
        pieces.append(_words_of_piece(text[start:end]))
        start = end
    return pieces[0] if len(pieces) == 1 else Words(*map(np.concatenate, zip(*pieces, strict=True)))


def shingles_of(words: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """A hash of each shingle, in their order. Of too few words all together are one."""
    hashes = words.astype(np.uint64)
    count = max(1, len(words) - SHINGLE_WORDS + 1)
    shingles = hashes[:count].copy()
    for later in range(1, min(SHINGLE_WORDS, len(words))):
        shingles *= _STEP
        shingles += hashes[later : later + count]
    shingles ^= shingles >> np.uint64(32)
    shingles *= _STIR
    return shingles


def _words_of_piece(text: str) -> Words:
    codes = _codes(f" {text} x")  # so that a gap is before each word, and a word after the last
    digits = codes - 1 < _DIGITS_END - 1  # unsigned: a gap is far above
    inside = (codes == _INSIDE).nonzero()[0]
    codes[inside[~(digits[inside - 1] & digits[inside + 1])]] = 0
    letters = codes != 0
    begins = letters[1:] > letters[:-1]
    if codes.dtype != np.uint8:
        signs = codes >= _SIGN
        begins |= signs[1:]
        begins |= signs[:-1] & letters[1:]
    before = begins.nonzero()[0]  # the place before each word
    powers, inverses = _powers(1 << len(codes).bit_length())
    sums = (codes * powers[: len(codes)]).cumsum(dtype=np.uint32).take(before)
    # Of a word and the gap behind it, which adds nothing.
    words: NDArray[np.uint32] = (sums[1:] - sums[:-1]) * inverses[1:].take(before[:-1])
    are_numbers = np.zeros(len(words), bool)
    are_numbers[before.searchsorted(digits.nonzero()[0]) - 1] = True
    return Words(words, are_numbers)


def _codes(text: str) -> NDArray[np.uint8] | NDArray[np.uint32]:
    """What the table has for each character; in a byte each where that does, which takes a quarter less time."""
    try:
        return np.frombuffer(bytearray(text.encode("latin-1")).translate(_LATIN_LETTERS), np.uint8)
    except UnicodeEncodeError:
        written = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        return LETTERS.take(written, mode="clip")


@lru_cache(maxsize=20)
def _powers(count: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Powers of the base modulo 2^32, and what undoes them."""

    def series(base: int) -> NDArray[np.uint32]:
        factors = np.full(count, base, np.uint32)
        factors[0] = 1
        return factors.cumprod(dtype=np.uint32)

    return series(_BASE), series(pow(_BASE, -1, 1 << 32))
