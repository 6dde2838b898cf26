"""One walk over the tree of a page, in document order: its text in blocks, its headings, and what its links say.

A block is a paragraph, a cell, an item of a list: the text between two places where an element starts or ends that
is no part of a line. Nearly all text stands in elements that have only text and inline elements inside, and lexbor
gives the text of such a leaf at once. So the walk looks at the elements of a leaf for its links alone, and goes into
those that have other blocks inside, child by child, where what stands between them is put together in a run.

Every node costs, so a node is asked for nothing that is not needed: elements are compared by lexbor's numbers for
their names, attributes are read only of what may be an area or a link, and no text inside a leaf is a node of
the walk. Elements that say something about the page as a whole are handed on by the table of the caller.

What stands between a block and the one before it is white space that keeps them apart for readers: a tab between two
cells, a line end before a row, an item or a line, an empty line before a paragraph. The outermost of the elements
that have started in between says it; a <div> says nothing. Code (<pre>) is kept with its lines, besides.

No page costs more than in proportion to its size: an inline element is looked at for the block around it, and once
more where the walk goes into that block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TypeVar

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.process.links import ANCHOR_CHARS_MAX
from gossamer.process.markup.main_text import AREA_OF_ELEMENT, NAVIGATION, OPEN, SILENT, area_of
from gossamer.process.text import fold

TITLE_CHARS_MAX = 1000
HEADING_CHARS_MAX = 200
HEADINGS_MAX = 100
LINKS_READ_MAX = 100_000  # with those that lead to the same place; a page of 10 MB can have a million, 250 bytes each

Attributes = dict[str, str]
Found = tuple[str, str, str, int, int]
"""A link: href, anchor, rel, area, number of its block."""
Said = TypeVar("Said")
Tellers = Mapping[int, Callable[[Said, Attributes], None]]
"""What is told of an element and its attributes, by lexbor's number for it."""


@cache
def tag_id(name: str) -> int:
    """lexbor's number for an element; asking for a number spares a string for every node."""
    return LexborHTMLParser("").create_node(name).tag_id


def tags_of(names: str) -> dict[int, str]:
    return {tag_id(name): name for name in names.split()}


# What an element does to the text before and after it. Whatever is not listed is a block.
_PIECE, _NOTHING, _LINK, WORD, HIDDEN, BLOCK, _AREA, _HEADING, _TOLD, _CONTROL = range(10)
# Nodes that are no elements, so they cannot be asked for by name; an instruction is <?...?>, which is not HTML.
_INSTRUCTION, TEXT, _COMMENT = 0, 2, 4  # LXB_TAG__UNDEF, LXB_TAG__TEXT, LXB_TAG__EM_COMMENT
_INLINE_TAGS = tags_of(
    "abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr"
)
# Text for programs. (lexbor keeps what is inside a <template> out of the tree altogether.)
_HIDDEN_TAGS = tags_of("script style title textarea iframe noembed noframes")
_WORD_TAGS = tags_of("area base br col embed hr img input link meta param source track")
# What people make areas of, by the name of the element or by that of its class.
_AREA_TAGS = tags_of("div dl form ol section table td ul " + " ".join(AREA_OF_ELEMENT))
_TOLD_TAGS = tags_of("html frame video")  # blocks that the caller may want to hear of
KINDS = {
    TEXT: _PIECE,
    **dict.fromkeys((*_INLINE_TAGS, _COMMENT, _INSTRUCTION), _NOTHING),
    **dict.fromkeys(tags_of("a"), _LINK),
    **dict.fromkeys(_WORD_TAGS, WORD),
    **dict.fromkeys(_HIDDEN_TAGS, HIDDEN),
    **dict.fromkeys(_AREA_TAGS, _AREA),
    **dict.fromkeys(tags_of("button select"), _CONTROL),
    **dict.fromkeys(tags_of("h1 h2 h3"), _HEADING),
    **dict.fromkeys(_TOLD_TAGS, _TOLD),
}
_A, _BR, _H1, _IMG, _PRE, _SVG, _TITLE = map(tag_id, ("a", "br", "h1", "img", "pre", "svg", "title"))
_CELLS = frozenset(tags_of("td th"))
_PARAGRAPH, _LINE, _CELL = "\n\n", "\n", "\t"
GAPS = {
    **dict.fromkeys(tags_of("p h1 h2 h3 h4 h5 h6 pre blockquote table hr figure address details"), _PARAGRAPH),
    **dict.fromkeys(tags_of("li dt dd tr caption option figcaption"), _LINE),
    **dict.fromkeys(_CELLS, _CELL),
}
LINE_END = "\v"  # of a <br>, in a block; like all white space it is folded where lines do not count


class Reading:
    """What was come across."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.headings: list[str] = []
        self.links: list[Found] = []
        self.room = LINKS_READ_MAX  # for more of them
        self.area = OPEN  # that of the element that the walk is in
        self.run: list[str] = []  # text since the last start or end of a block, as far as it is in no leaf
        self.blocks: list[str] = []  # stripped, with the spaces inside as they are in the page
        self.areas: list[int] = []  # of blocks
        self.gaps: list[str] = []  # before blocks
        self.gap = ""  # before the next block, as far as an element has said it
        self.code: dict[int, str] = {}  # blocks inside of <pre>, as they are in the page
        self.is_code = False

    def add(self, href: str | None, anchor: str = "", rel: str = "", *, is_somewhere: bool = True) -> None:
        """A link that is no <a>."""
        if href and self.room:
            self.room -= 1
            area = self.area if is_somewhere else SILENT
            self.links.append((href, anchor[:ANCHOR_CHARS_MAX], rel, area, len(self.blocks)))

    def add_a(self, node: LexborNode, area: int) -> None:
        attributes = node.attributes
        if (href := attributes.get("href")) and self.room:
            self.room -= 1
            own = node.text_lexbor()
            anchor = own.strip() if own.isprintable() and "  " not in own else fold(own)
            anchor = anchor[:ANCHOR_CHARS_MAX] or _picture_text(node)
            rel = attributes.get("rel")
            self.links.append((href, anchor, rel.lower() if rel else "", area, len(self.blocks)))

    def add_to_run(self, node: LexborNode, kind: int, tag: int) -> None:
        """Text that is in no leaf, or an element that is part of a line."""
        run = self.run
        if run and _is_apart(node):
            run.append(" ")
        if kind == _PIECE:
            run.append(node.text_content or "")
        elif kind == _LINK:
            self.add_a(node, self.area)
        elif tag == _BR and run:
            run.append(LINE_END)
        elif kind >= WORD:
            self.end(kind)

    def end(self, kind: int) -> None:
        """An element of this kind has started or ended."""
        if self.run and kind >= BLOCK:
            text = "".join(self.run)
            self.run.clear()
            self.add_block(text, self.area, is_code=self.is_code)
        elif self.run and kind >= WORD:
            self.run.append(" ")

    def add_block(self, text: str, area: int, *, is_code: bool) -> None:
        stripped = text.strip()
        if stripped and area != SILENT:
            if is_code:
                self.code[len(self.blocks)] = text.replace(LINE_END, "\n").strip("\n").rstrip()
            self.blocks.append(stripped)
            self.areas.append(area)
            self.gaps.append(self.gap or _LINE)
            self.gap = ""

    def add_heading(self, node: LexborNode) -> None:
        heading = fold(node.text_lexbor()).removesuffix("¶").rstrip()  # the sign is a link of the heading to itself
        if heading and len(self.headings) < HEADINGS_MAX:
            self.headings.append(heading[:HEADING_CHARS_MAX])

    def add_title(self, node: LexborNode) -> None:
        parent = node.parent
        is_of_a_drawing = parent is not None and parent.tag_id == _SVG
        if self.title is None and not is_of_a_drawing:
            self.title = fold(node.text_lexbor())[:TITLE_CHARS_MAX]


def read(root: LexborNode, reading: Reading, said: Said, elements: Tellers[Said]) -> None:  # noqa: PLR0915
    # Names for what every node is asked for, and no calls on the way of a leaf: with them a page takes 17 µs more.
    kind_of, gap_of, add_a, run = KINDS.get, GAPS.get, reading.add_a, reading.run
    blocks, areas, gaps = reading.blocks, reading.areas, reading.gaps
    children: Iterator[LexborNode] = iter((root,))
    around: list[tuple[Iterator[LexborNode], int, int, bool]] = []  # what is left of the elements that the walk is in
    while True:
        for node in children:
            tag = node.tag_id
            kind = kind_of(tag, BLOCK)
            inside = reading.area
            if kind < BLOCK:
                reading.add_to_run(node, kind, tag)
                if tag == _TITLE:
                    reading.add_title(node)
                elif kind >= WORD and tag in elements:
                    elements[tag](said, _attributes(node))
                if kind == _PIECE or node.first_child is None:
                    continue
                around.append((children, kind, inside, reading.is_code))
                children = node.iter(include_text=kind != HIDDEN)
                break
            if run:
                reading.end(BLOCK)
            if (gap := gap_of(tag)) and (gap == _CELL or not reading.gap):
                reading.gap = _gap_of_cell(node, reading.gap) if gap == _CELL else gap
            is_code = tag == _PRE or reading.is_code
            if kind in (_AREA, _CONTROL):
                inside = area_of(_AREA_TAGS[tag], node.attributes, inside)
            elif kind != BLOCK:
                _hear(node, tag, reading, said, elements)
            links: list[LexborNode] = []
            descendants = node.traverse()
            next(descendants)  # the node itself
            for each in descendants:
                tag = each.tag_id
                if tag == _A:
                    if links and _follows_a_link(each):
                        break  # there a space is missing
                    links.append(each)
                elif kind_of(tag, BLOCK) > _LINK:
                    break
            else:  # a leaf
                for link in links:
                    add_a(link, inside)
                if is_code:
                    reading.add_block(node.text_lexbor(), inside, is_code=True)
                    continue
                text = node.text_lexbor().strip()
                if text and inside != SILENT:
                    blocks.append(text)
                    areas.append(inside)
                    gaps.append(reading.gap or _LINE)
                    reading.gap = ""
                if kind == _CONTROL:
                    reading.gap = " "
                continue
            around.append((children, kind, reading.area, reading.is_code))
            reading.area, reading.is_code = inside, is_code
            children = node.iter(include_text=True, skip_empty=True)
            break
        else:
            if not around:
                return
            children, kind, outer, is_code = around.pop()
            reading.end(kind)
            if kind == _CONTROL:
                reading.gap = " "  # it stands in a line
            reading.area, reading.is_code = outer, is_code


def _gap_of_cell(node: LexborNode, gap: str) -> str:
    """A line end before the first cell of a row, a tab before the others, also behind those that are empty."""
    before = node.prev
    while before is not None and before.tag_id not in _CELLS:
        before = before.prev
    return gap or _LINE if before is None else gap + _CELL


def _hear(node: LexborNode, tag: int, reading: Reading, said: Said, elements: Tellers[Said]) -> None:
    """A block that says something about the page."""
    if tag in elements:
        elements[tag](said, _attributes(node))
    elif tag == _H1 or (KINDS[tag] == _HEADING and reading.area < NAVIGATION):
        reading.add_heading(node)  # an <h1> is that of the page even in its <header>


def _attributes(node: LexborNode) -> Attributes:
    return {name: value or "" for name, value in node.attributes.items()}


def _is_apart(node: LexborNode) -> bool:
    """Whether a word ends before this node that the walk has not seen to end: by white space, or link by link."""
    before = node.prev
    return before is not None and (before.is_empty_text_node or _follows_a_link(node))


def _follows_a_link(node: LexborNode) -> bool:
    """Link by link, as in menus, where a style sheet keeps them apart."""
    before = node.prev
    return node.tag_id == _A and before is not None and before.tag_id == _A


def _picture_text(anchor: LexborNode) -> str:
    for node in anchor.traverse():
        if node.tag_id == _IMG:
            return fold(node.attributes.get("alt") or "")[:ANCHOR_CHARS_MAX]
    return ""
