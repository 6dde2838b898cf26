"""What the start and the end of each element do to the Markdown that is being written.

Text gathers in runs until a block ends, and is then written: as a paragraph, a heading, a cell. <pre> gathers text as
it is. Links lead where the crawl's links lead: to canonical URLs. What leads nowhere that can be crawled, or only
elsewhere on the page, is text. Pictures are their alternative text, where they stand amid main text.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from gossamer.process.links import Links
from gossamer.process.markdown.blocks import Blocks, Container, List
from gossamer.process.markdown.inline import PLAIN, Run, Style, one_line, paragraph
from gossamer.process.markdown.place import Place
from gossamer.process.markdown.table import Table, is_simple
from gossamer.process.markup.reading import BLOCK, KINDS, LINE_END, TEXT, WORD, tag_id, tags_of
from gossamer.process.text import fold

URL_CHARS_MAX = 4 << 20  # in all links together; 20,000 links of 200 characters
ALT_CHARS_MAX = 1000

_A, _BR, _IMG, _LI, _DD, _TABLE, _TR, _PRE, _QUOTE, _OL = tags_of("a br img li dd table tr pre blockquote ol")
_CELLS = tags_of("td th")
_LISTS = tags_of("ul ol menu dir dl")
_HEADINGS = {tag_id(f"h{level}"): level for level in range(1, 7)}
_IN_LINE = tags_of("math svg button select")  # all in it is part of a line
_STRONG, _EMPHASIS, _CODE = tags_of("b strong"), tags_of("i em"), tags_of("code kbd samp tt")
_STYLED = frozenset((*_STRONG, *_EMPHASIS, *_CODE))
_SIGNS = frozenset("¶#§🔗")  # by which a heading links to itself
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight)-([\w+#]{1,20})(?=\s|$)")
_NO_LANGUAGES = frozenset(("default", "none", "text", "plaintext", "nohighlight"))
_TICKS = re.compile("`{3,}")


class Writer:
    """What each start and end of an element does to the Markdown."""

    def __init__(self, place: Place, links: Links) -> None:
        self.blocks = Blocks()
        self._place = place
        self._links = links
        self._room = URL_CHARS_MAX
        self._runs: list[Run] = []  # of the paragraph, or cell, that is being written
        self._style = PLAIN
        self._outer: list[object] = []  # what ends of elements bring back, the innermost last
        self._lists: list[List] = []
        self._level = 0  # of the heading that the walk is in
        self._code: list[str] | None = None  # inside of <pre>
        self._table: Table | None = None
        self._is_cell = False  # of that table
        self._in_line = 0  # elements around the walk in which nothing ends a line
        self._muted = 0

    def add(self, text: str) -> None:
        if not self._place.pass_by(text) or self._muted:
            return
        if self._code is not None:
            self._code.append(text)
        elif self._runs or not text.isspace():
            self._runs.append((text.replace(LINE_END, " "), self._style))

    def begin(self, node: LexborNode, tag: int) -> None:
        kind = KINDS.get(tag, BLOCK)
        if tag in _IN_LINE:
            self._in_line += 1
        if kind < BLOCK or self._in_line:
            self._begin_inline(node, tag, kind)
            return
        if tag in _CELLS:
            self._begin_cell()
            return
        self._end_block()
        if tag in _LISTS:
            is_ordered = tag == _OL
            self._lists.append(List(is_ordered, _start(node) if is_ordered else 1))
        elif tag in (_LI, _DD):
            self._outer.append(self.blocks.enter(self._item()))
        elif tag == _QUOTE:
            self._outer.append(self.blocks.enter(Container()))
        elif tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag == _PRE:
            self._outer.append(self._code is None)
            if self._code is None and not self._is_cell:
                self._code = []
        elif tag == _TABLE:
            self._outer.append(self._table)
            self._table = Table() if self._table is None and self._code is None and is_simple(node) else None
        elif tag == _TR and self._table is not None:
            self._table.begin_row()

    def end(self, node: LexborNode, tag: int) -> None:
        kind = KINDS.get(tag, BLOCK)
        if kind < BLOCK or self._in_line:
            self._end_inline(tag)
            self._in_line -= tag in _IN_LINE
            return
        if tag in _CELLS:
            self._end_cell(node, tag)
            return
        self._end_block()
        if tag in _LISTS:
            self._lists.pop()
        elif tag in (_LI, _DD, _QUOTE):
            if self._outer.pop():
                self.blocks.leave()
        elif tag in _HEADINGS:
            self._level = 0
        elif tag == _PRE:
            if self._outer.pop() and self._code is not None:
                self.blocks.write(_fenced("".join(self._code), node))
                self._code = None
        elif tag == _TABLE:
            if self._table is not None:
                self.blocks.write(self._table.lines())
            outer = self._outer.pop()
            self._table = outer if isinstance(outer, Table) else None

    def _begin_inline(self, node: LexborNode, tag: int, kind: int) -> None:
        if tag == _BR:
            self._break()
        elif tag == _IMG:
            self._add_picture(node)
        elif tag == _A:
            self._begin_link(node)
        elif tag in _STYLED:
            self._outer.append(self._style)
            link, is_strong, is_emphasis, is_code = self._style
            self._style = Style(
                link, is_strong or tag in _STRONG, is_emphasis or tag in _EMPHASIS, is_code or tag in _CODE
            )
        elif kind >= WORD:
            self._add_space()

    def _end_inline(self, tag: int) -> None:
        if tag == _A:
            self._muted = self._outer.pop()  # type: ignore[assignment]
        if tag == _A or tag in _STYLED:
            self._style = self._outer.pop()  # type: ignore[assignment]
        elif KINDS.get(tag, BLOCK) >= WORD:
            self._add_space()

    def _begin_link(self, node: LexborNode) -> None:
        before = node.prev
        if before is not None and before.tag_id == _A:
            self._add_space()
        self._outer += (self._style, self._muted)
        href = node.attributes.get("href") or ""
        if href.startswith("#"):
            self._muted += node.text_lexbor().strip() in _SIGNS
            return
        url = self._links.resolve(href) if href and self._room > 0 else None
        if url is not None and self._code is None:
            self._room -= len(url)
            self._style = self._style._replace(link=url)

    def _add_picture(self, node: LexborNode) -> None:
        alt = fold((node.attributes.get("alt") or "")[:ALT_CHARS_MAX])
        if alt and self._code is None and not self._muted and self._place.is_amid():
            self._runs.append((f" {alt} ", self._style))

    def _add_space(self) -> None:
        if self._runs and self._code is None:
            self._runs.append((" ", self._style))

    def _break(self) -> None:
        if self._code is not None:
            self._code.append("\n")
        elif self._runs:
            self._runs.append((LINE_END, self._style))

    def _begin_cell(self) -> None:
        if self._table is not None:
            self._runs, self._is_cell = [], True
        else:
            self._add_space()

    def _end_cell(self, node: LexborNode, tag: int) -> None:
        if self._table is not None:
            self._table.add(one_line(self._runs), tag, node.attributes)
            self._runs, self._is_cell = [], False

    def _item(self) -> Container:
        if not self._lists:
            self._lists.append(List())  # an item in no list; its list goes on until the end
        items = self._lists[-1]
        items.number += 1
        return Container(items, min(items.number - 1, 999_999_999))

    def _end_block(self) -> None:
        """An element starts or ends here that is no part of a line."""
        if self._code is not None:
            if self._code and not self._code[-1].endswith("\n"):
                self._code.append("\n")
        elif self._is_cell:
            self._add_space()
        elif self._runs:
            if not self._level:
                self.blocks.write(paragraph(self._runs))
            elif heading := one_line(self._runs):
                self.blocks.write([f"{'#' * self._level} {heading}"])
            self._runs = []


def _start(node: LexborNode) -> int:
    said = node.attributes.get("start") or ""
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else 1


def _fenced(text: str, node: LexborNode) -> list[str]:
    text = text.strip("\n").rstrip()
    if not text:
        return []
    fence = "`" * (1 + max([len(run) for run in _TICKS.findall(text)], default=2))
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [f"{fence}{_language(node)}", *lines, fence]


def _language(node: LexborNode) -> str:
    """Of the code in a <pre>, as its class, that of the <code> in it, or that of what is around it says."""
    inner, outer = node.css_first("code"), node.parent
    for each in (inner, node, outer, outer.parent if outer is not None else None):
        if each is not None and each.tag_id > TEXT:
            found = _LANGUAGE.search(each.attributes.get("class") or "")
            if found and found[1].lower() not in _NO_LANGUAGES:
                return found[1].lower()
    return ""
