"""Pages whose markup explodes in a parser, cut where it becomes absurd.

Two things cost lexbor, like browsers, out of proportion to the size of a page. Every start tag may look through all
open elements: 30,000 nested ones take two seconds. And formatting elements that were left open (<b>, <font>) are
made anew in every paragraph that follows: 2,000 of them and 2,000 paragraphs, 29 KB in all, take 1.4 GB. Browsers
stop at a depth of 512. Here the page is cut where it becomes absurd, and what stands before is read.

Nearly every page closes what it opens soon. One of less than 64 KiB is judged by counting, in 20 µs: what end tags of
nothing can hide in it takes 0.2 s at worst. In a larger one all tags are looked at (`tags.py`), and only what is
certain counts as closed: what is ended while nothing else is open in it. What is ended around something else may stay
open, as <div> does in `<div><table></div></table>`, and goes on counting. So no page that holds too much open gets
past that.

Those that may are judged by the parser itself, a block of tags at a time: it is asked where an element would stand
behind the block, and the next block begins with the elements that are open there. So each tag is read once more, and
no rule about what closes what has to be known here.
"""

from __future__ import annotations

import re
from html import escape
from itertools import count

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.process.markup.tags import Tags, block_end, may_have_many_attributes, with_certain_tags

SMALL_BYTES = 32_768  # its attributes take 80 ms at worst
LARGE_BYTES = 65_536
BLOCK_BYTES = 16_384  # of a small page
OPEN_HARMLESS, OPEN_HARMLESS_SMALL = 500, 1000  # in a page of 1 MiB at worst half a second, in a small one 60 ms
DEPTH_MAX = 500
COPIES_MAX = 500_000  # about 200 MB
ATTRIBUTE_CHARS_MAX = 50

_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
_FORMATTING_ENDS = frozenset(b"/" + name for name in _FORMATTING)
_VOID = frozenset(b"area base br col embed frame hr img input link meta param source track wbr".split())
_DRAWINGS = frozenset((b"svg", b"math"))
# Closed by the next of their kind; those of the second line are not in a drawing.
_CLOSED_BY_NEXT = frozenset(b"p li dt dd".split())
_CLOSED_BY_NEXT_OUTSIDE = _CLOSED_BY_NEXT.union(b"a td th tr tbody thead tfoot option optgroup".split())
_ANY_FORMATTING = ",".join(sorted(name.decode() for name in _FORMATTING))
_TABLE = frozenset(("table",))
_PARTS_OF_TABLE = frozenset(("tbody", "thead", "tfoot", "tr"))
_ALWAYS_OPEN = frozenset(("html", "body"))

# lexbor makes as much room for a reference as it takes in the source, and these two take less than what they stand
# for. Behind 16 KiB of one text or attribute it writes the rest into somebody else's memory.
_GROWING = {b"&nGt;": "\u226b\u20d2".encode(), b"&nLt;": "\u226a\u20d2".encode()}
_ANY_GROWING = re.compile(b"&n[GL]t;")  # twice as fast as `in`, which is slow with more than one character


def with_growing_references_spelled_out(markup: bytes) -> bytes:
    if b"&" in markup and _ANY_GROWING.search(markup):
        for reference, characters in _GROWING.items():
            markup = markup.replace(reference, characters)
    return markup


def harmless(markup: bytes) -> bytes:
    size = len(markup)
    if size < LARGE_BYTES and (size < SMALL_BYTES or not may_have_many_attributes(markup)):
        return _cut(markup) if _may_hold_much_open(markup) else markup
    markup, tags = with_certain_tags(markup)
    return _cut(markup, tags.names) if _holds_much_open(tags) else markup


def _may_hold_much_open(markup: bytes) -> bool:
    """Of a small page, by counting alone."""
    if markup.count(b"<") < OPEN_HARMLESS_SMALL:
        return False
    opened = 0
    for at in range(0, len(markup), BLOCK_BYTES):
        tags = markup.count(b"<", at, at + BLOCK_BYTES)
        ends = markup.count(b"</", at, at + BLOCK_BYTES)
        if opened + tags - ends > OPEN_HARMLESS_SMALL:
            return True
        opened = max(0, opened + tags - 2 * ends)
    return False


def _holds_much_open(tags: Tags) -> bool:
    """Whether more may be open, or made anew, than is harmless: never too few are counted."""
    if len(tags.all) < OPEN_HARMLESS:
        return False
    has_drawing = not tags.names.isdisjoint(_DRAWINGS)
    closed_by_next = _CLOSED_BY_NEXT if has_drawing else _CLOSED_BY_NEXT_OUTSIDE
    ends = {name: b"/" + name for name in tags.names if not name.startswith(b"/") and name not in _VOID}
    watched = tags.names & (closed_by_next | _FORMATTING)
    formatting_max = COPIES_MAX // len(tags.all)
    opened, last = [b""], b""  # the end tags that are awaited; of the innermost
    may_be_open = 0
    for tag in tags.all:
        if tag == last:
            last = opened.pop()
        elif tag in ends:
            if tag in watched:
                if last == ends[tag] and tag in closed_by_next:
                    continue
                if len(opened) + may_be_open > formatting_max:
                    formatting = sum([end in _FORMATTING_ENDS for end in opened])
                    if formatting + may_be_open > formatting_max:
                        return True
            opened.append(last)
            last = ends[tag]
            if len(opened) + may_be_open > OPEN_HARMLESS:
                return True
        elif tag in opened:
            while last != tag:
                last = opened.pop()
                may_be_open += 1
            last = opened.pop()
        elif has_drawing and (b"/svg" in opened or b"/math" in opened or last in (b"/svg", b"/math")):
            may_be_open += 1  # there nothing is void; and some void elements, and end tags of nothing, end a drawing
    return False


def _cut(markup: bytes, names: frozenset[bytes] = frozenset()) -> bytes:
    probe = next(name for number in count() if (name := f"x-{number}").encode() not in names)
    opened: list[str] = []
    at = copies = 0
    blocks = 1
    while (end := block_end(markup, at, blocks)) < len(markup):
        tree = LexborHTMLParser("".join(opened).encode() + markup[at:end] + f"<{probe}>".encode())
        node = tree.css_first(probe)
        if node is None and end - at < SMALL_BYTES:
            blocks *= 2  # it ends in a script or the like
            continue
        written = len(opened) + markup.count(b"<", at, end)
        copies += max(0, len(tree.css(_ANY_FORMATTING)) - written)
        if node is None or len(opened := _around(node)) > DEPTH_MAX or copies > COPIES_MAX:
            return markup[:at]
        at, blocks = end, 1
    return markup


def _around(node: LexborNode) -> list[str]:
    """The start tags of the elements that are open where this one was put, the outermost first."""
    tags: list[str] = []
    parent = node.parent
    while parent is not None and parent.tag:
        if parent.tag not in _ALWAYS_OPEN:
            tags.append(_start_tag(parent))
        parent = parent.parent
    tags.reverse()
    inner, parts = node.next, _TABLE  # what does not belong into a table is put before it
    while inner is not None and inner.tag in parts:
        tags.append(_start_tag(inner))
        inner, parts = inner.last_child, _PARTS_OF_TABLE
    return tags


def _start_tag(node: LexborNode) -> str:
    """With its attributes where they count: of formatting elements that are the same, only three are made anew."""
    if str(node.tag).encode() not in _FORMATTING:
        return f"<{node.tag}>"
    attributes = {name: escape(value or "")[:ATTRIBUTE_CHARS_MAX] for name, value in node.attributes.items()}
    return f"<{node.tag}" + "".join([f' {name}="{value}"' for name, value in attributes.items()]) + ">"
