"""One walk over the tree of a page, in document order: its text in blocks, its headings, and what its links say.

The text is kept in pieces, one for each text node, and the pieces between two ends of blocks are a block: a
paragraph, a cell, an item of a list. The walk says when an element starts and not when it ends, so two things are
told otherwise. Where an element that ends words has just ended, it stands before the text that was met, or before
the first of the inline elements that lead down to that text. And where an area ends (main_text.py) is counted when
it starts.

Elements that say something about the page as a whole are handed on by the table of the caller. Every node costs, so
a node is asked for nothing that is not needed: elements are compared by lexbor's numbers for their names, attributes
are read only of what may be an area or a link, and nothing is stripped before the pieces are joined.
Tried, and slower: reading what lexbor serialises, and finding elements in the text of the whole tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import TypeVar

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.process.links import ANCHOR_CHARS_MAX
from gossamer.process.main_text import AREA_OF_ELEMENT, NAVIGATION, OPEN, SILENT, area_of
from gossamer.process.text import fold

TITLE_CHARS_MAX = 1000
HEADING_CHARS_MAX = 200
HEADINGS_MAX = 100

# How often all nodes may be counted to find the ends of areas: a page of areas inside areas must not cost the square
# of its size. Areas beyond are not seen.
COUNTS_MAX = 20

Attributes = dict[str, str]
Found = tuple[str, str, str, int, int]
"""A link: href, anchor, rel, area, number of its block."""
Said = TypeVar("Said")


@cache
def tag_id(name: str) -> int:
    """lexbor's number for an element; asking for a number spares a string for every node."""
    return LexborHTMLParser("").create_node(name).tag_id


def _tags(names: str) -> dict[int, str]:
    return {tag_id(name): name for name in names.split()}


# What an element does to the text before and after it. Whatever is not listed is a block.
_UNKNOWN, _NOTHING, _LINK, _WORD, _HIDDEN, _BLOCK, _AREA, _HEADING, _TOLD = range(9)
_TEXT, _COMMENT = 2, 4  # LXB_TAG__TEXT and LXB_TAG__EM_COMMENT: not elements, so they cannot be asked for by name
_INLINE_TAGS = _tags(
    "abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr"
)
# Text for programs. (lexbor keeps what is inside a <template> out of the tree altogether.)
_HIDDEN_TAGS = _tags("script style title textarea iframe noembed noframes")
_WORD_TAGS = _tags("area base br col embed hr img input link meta param source track")
# What people make areas of, by the name of the element or by that of its class.
_AREA_TAGS = _tags("div dl form ol section table td ul " + " ".join(AREA_OF_ELEMENT))
_TOLD_TAGS = _tags("html frame video")  # blocks that the caller may want to hear of
_KINDS = {
    **dict.fromkeys((*_INLINE_TAGS, _COMMENT), _NOTHING),
    **dict.fromkeys(_tags("a"), _LINK),
    **dict.fromkeys(_WORD_TAGS, _WORD),
    **dict.fromkeys(_HIDDEN_TAGS, _HIDDEN),
    **dict.fromkeys(_AREA_TAGS, _AREA),
    **dict.fromkeys(_tags("h1 h2 h3"), _HEADING),
    **dict.fromkeys(_TOLD_TAGS, _TOLD),
}
_A, _H1, _IMG, _SVG, _TITLE = map(tag_id, ("a", "h1", "img", "svg", "title"))


class Reading:
    """What was come across."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.headings: list[str] = []
        self.links: list[Found] = []
        self.area = OPEN  # that of the element in hand
        self.pieces: list[str] = []  # of text, with the spaces that words need between them
        self.starts: list[int] = []  # of blocks, in the pieces
        self.areas: list[int] = []  # of blocks

    def add(self, href: str | None, anchor: str = "", rel: str = "", *, is_somewhere: bool = True) -> None:
        """A link that is no <a>."""
        if href:
            area = self.area if is_somewhere else SILENT
            self.links.append((href, anchor[:ANCHOR_CHARS_MAX], rel, area, len(self.starts)))

    def add_a(self, node: LexborNode, area: int, block: int) -> None:
        attributes = node.attributes
        if href := attributes.get("href"):
            own = node.text_lexbor()
            anchor = own.strip() if own.isprintable() and "  " not in own else fold(own)
            rel = attributes.get("rel")
            self.links.append(
                (href, anchor[:ANCHOR_CHARS_MAX] or _picture_text(node), rel.lower() if rel else "", area, block)
            )

    def add_heading(self, node: LexborNode) -> None:
        heading = fold(node.text_lexbor()).removesuffix("¶").rstrip()  # the sign is a link of the heading to itself
        if heading and len(self.headings) < HEADINGS_MAX:
            self.headings.append(heading[:HEADING_CHARS_MAX])

    def add_title(self, node: LexborNode) -> None:
        parent = node.parent
        is_of_a_drawing = parent is not None and parent.tag_id == _SVG
        if self.title is None and not is_of_a_drawing:
            self.title = fold(node.text_lexbor())[:TITLE_CHARS_MAX]

    def blocks(self) -> list[str]:
        ends = (*self.starts, len(self.pieces))
        return ["".join(self.pieces[start:end]).strip() for start, end in pairwise(ends)]


class _Areas:
    """Which area the walk is in, and until which node."""

    def __init__(self, nodes: int) -> None:
        self.here, self.end = OPEN, nodes
        self._around: list[tuple[int, int]] = []
        self._counts_left = COUNTS_MAX * nodes

    def enter(self, node: LexborNode, element: str, at: int) -> None:
        inside = area_of(element, node.attributes, self.here)
        if inside != self.here and self._counts_left > 0:
            count = len(list(node.traverse(include_text=True, skip_empty=True)))
            self._counts_left -= count
            self._around.append((self.here, self.end))
            self.here, self.end = inside, at + count

    def leave(self, at: int) -> None:
        while at == self.end:
            self.here, self.end = self._around.pop()


def read(
    root: LexborNode, reading: Reading, said: Said, elements: Mapping[int, Callable[[Said, Attributes], None]]
) -> None:
    """`elements`: what is told to `said` of an element and its attributes, by lexbor's number for it."""
    pieces, starts = reading.pieces, reading.starts
    nodes = list(root.traverse(include_text=True, skip_empty=True))
    areas = _Areas(len(nodes))
    gap = _BLOCK  # what has ended since the last text: a block, a word, or nothing
    opened: LexborNode | None = None  # the first inline element since the last text
    kind = _BLOCK  # of the last element
    for at, node in enumerate(nodes):
        tag = node.tag_id
        if at == areas.end:
            areas.leave(at)
        if tag == _TEXT:
            if areas.here == SILENT or (kind == _HIDDEN and _is_hidden(node)):
                continue
            if gap == _UNKNOWN:
                gap = _gap_before(node, opened)
            text = node.text_content or " "
            if gap == _BLOCK:
                starts.append(len(pieces))
                reading.areas.append(areas.here)
            elif text[0] == " " or gap == _WORD:
                text = text.lstrip()
                if not pieces[-1][-1].isspace():
                    pieces.append(" ")
            pieces.append(text or " ")
            gap, opened = _UNKNOWN, None
            continue
        kind = _KINDS.get(tag, _BLOCK)
        if kind == _BLOCK:
            gap = _BLOCK
        elif kind <= _LINK:
            if kind == _LINK:
                if gap == _UNKNOWN:
                    gap = _gap_before(node, opened)
                reading.add_a(node, areas.here, len(starts) - (gap != _BLOCK))
            if opened is None:
                opened = node
        else:
            if kind > _BLOCK:
                gap = _BLOCK
            elif gap <= _NOTHING:
                gap = _WORD
            if kind == _AREA:
                areas.enter(node, _AREA_TAGS[tag], at)
            elif kind == _HEADING and (tag == _H1 or areas.here < NAVIGATION):
                reading.add_heading(node)  # an <h1> is that of the page even in its <header>
            elif tag == _TITLE:
                reading.add_title(node)
            if tag in elements:
                reading.area = areas.here
                elements[tag](said, {name: value or "" for name, value in node.attributes.items()})


def _gap_before(node: LexborNode, opened: LexborNode | None) -> int:
    """What ended between the last text and this node, which is that text's neighbour or `opened` leads down to it."""
    while True:
        before = node.prev
        if before is None:
            parent = node.parent
            if opened is None or parent is None or node.mem_id == opened.mem_id:
                return _NOTHING
            node = parent
            continue
        tag = before.tag_id
        if tag == _TEXT:
            return _WORD if before.is_empty_text_node else _NOTHING
        kind = _KINDS.get(tag, _BLOCK)
        if kind > _LINK:
            return _BLOCK if kind >= _BLOCK else _WORD
        if tag == _A and node.tag_id == _A:
            return _WORD  # link by link, as in menus
        own = before.text_lexbor() if tag != _COMMENT else ""
        if own:
            return _WORD if own[-1].isspace() else _NOTHING  # <span> </span>
        node = before


def _is_hidden(text: LexborNode) -> bool:
    parent = text.parent
    return parent is not None and parent.tag_id in _HIDDEN_TAGS


def _picture_text(anchor: LexborNode) -> str:
    for node in anchor.traverse():
        if node.tag_id == _IMG:
            return fold(node.attributes.get("alt") or "")[:ANCHOR_CHARS_MAX]
    return ""
