"""Pages whose markup explodes in a parser, cut where it becomes absurd.

Two things cost lexbor, like browsers, out of proportion to the size of a page. Every start tag may look through all
open elements: 50,000 nested <div> take 4.5 s. And formatting elements that were left open (<b>, <font>) are made anew
in every paragraph that follows: 2,000 of them and 2,000 paragraphs, 29 KB in all, take 1.4 GB. Browsers stop at a
depth of 512. Here the page is cut where it becomes absurd, and what stands before is read.

Nearly every page closes what it opens soon, and counting tells that in 20 µs. End tags of what is not open hide from
such counts what stays open, so in a large page they are counted by their names. Who knows these lines can get past
them; a page that holds its worker up is ended by the clock (`processor.py`).
"""

from __future__ import annotations

import re
from collections import Counter

OPEN_HARMLESS = 1000  # at worst half a second
BLOCK_BYTES = 16_384
DEPTH_MAX = 1000
COPIES_MAX = 500_000  # about 200 MB
LARGE_BYTES = 65_536  # of a smaller page, what is hidden takes 50 ms

_TAG = re.compile(rb"</?[a-zA-Z]+")
_START_OR_END = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*+)([^<>]*+)|<!--.*?(?:-->|\Z)", re.DOTALL)
_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
_NOT_NESTING = b"""
    area base br col embed frame hr img input link meta param source track wbr
    a p li dt dd td th tr tbody thead tfoot colgroup option optgroup
"""
_CLOSED_AT_ONCE = frozenset(_NOT_NESTING.split())  # void elements, and those that the next of their kind closes


# lexbor makes as much room for a reference as it takes in the source, and these two take less than what they stand
# for. Behind 16 KiB of one text or attribute it writes the rest into somebody else's memory.
_GROWING = {b"&nGt;": "\u226b\u20d2".encode(), b"&nLt;": "\u226a\u20d2".encode()}
_ANY_GROWING = re.compile(b"&n[GL]t;")  # twice as fast as `in`, which is slow with more than one character


def with_growing_references_spelled_out(markup: bytes) -> bytes:
    if b"&" in markup and _ANY_GROWING.search(markup):
        for reference, characters in _GROWING.items():
            markup = markup.replace(reference, characters)
    return markup


def cut_where_nesting_explodes(markup: bytes) -> bytes:
    if not _may_explode(markup):
        return markup
    opened: list[bytes] = []
    counts: Counter[bytes] = Counter()  # of what is in there
    formatting = copies = 0
    for tag in _START_OR_END.finditer(markup):
        name = (tag[2] or b"").lower()
        if tag[1]:
            formatting -= name in _FORMATTING and formatting > 0
            if counts[name]:  # it ends what was opened after it, too
                while True:
                    last = opened.pop()
                    counts[last] -= 1
                    if last == name:
                        break
        elif name:
            # In a drawing every element may hold others, unless its tag says that it ends at once.
            is_drawn = bool(counts[b"svg"] or counts[b"math"])
            if not (tag[3].endswith(b"/") if is_drawn else name in _CLOSED_AT_ONCE):
                opened.append(name)
                counts[name] += 1
                formatting += name in _FORMATTING
        copies += formatting
        if len(opened) > DEPTH_MAX or copies > COPIES_MAX:
            return markup[: tag.start()]
    return markup


def _may_explode(markup: bytes) -> bool:
    """Whether somewhere more tags may be open than are harmless, by counting alone."""
    if len(markup) > LARGE_BYTES and _unmatched(markup) > OPEN_HARMLESS:
        return True
    if markup.count(b"<") < OPEN_HARMLESS:
        return False
    opened = 0
    for at in range(0, len(markup), BLOCK_BYTES):
        tags = markup.count(b"<", at, at + BLOCK_BYTES)
        ends = markup.count(b"</", at, at + BLOCK_BYTES)
        if opened + tags - ends > OPEN_HARMLESS:
            return True
        opened = max(0, opened + tags - 2 * ends)
    return False


def _unmatched(markup: bytes) -> int:
    """Tags without a partner, as far as there should be one."""
    counts = Counter(_TAG.findall(markup.lower()))
    names = {tag.removeprefix(b"</").removeprefix(b"<") for tag in counts}
    if names.isdisjoint((b"svg", b"math")):
        names -= _CLOSED_AT_ONCE
    return sum(abs(counts[b"<" + name] - counts[b"</" + name]) for name in names)
