"""Where in the text of a page a walk over its tree is, and whether that is main text.

The walk that chose the blocks has no time for notes on where they stand. But every character that is no white space
is in exactly one block, and comes in the same order in any walk over the tree. So it is enough to count characters.
"""

from __future__ import annotations

from itertools import accumulate

from gossamer.process.html import Parsed


class Lost(Exception):
    """The second walk has met other characters than the first."""


class Place:
    """Where in its text a walk is."""

    def __init__(self, document: Parsed) -> None:
        chosen = frozenset(document.chosen or range(len(document.blocks)))
        self._is_chosen = [number in chosen for number in range(len(document.blocks))]
        self._ends = list(accumulate([_length(block) for block in document.blocks]))
        self._block = 0
        self._at = 0

    def pass_by(self, text: str) -> bool:
        """Whether this text, which comes next, is main text."""
        length = _length(text)
        if not length:
            return True
        while self._block < len(self._ends) and self._at == self._ends[self._block]:
            self._block += 1
        self._at += length
        if self._block == len(self._ends) or self._at > self._ends[self._block]:
            raise Lost
        return self._is_chosen[self._block]

    def is_amid(self) -> bool:
        """Whether what stands between the last character and the next stands amid main text."""
        block, chosen = self._block, self._is_chosen
        is_end = block < len(chosen) and self._at == self._ends[block]
        return all(chosen[block : block + 1 + is_end])


def _length(text: str) -> int:
    return len("".join(text.split()))
