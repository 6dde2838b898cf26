"""Tables as lines with pipes, where their cells are simple: text and links, no lists, code or tables in them.

Others are the layout of a page, or more than such a line can hold; their rows become paragraphs (`document.py`).
A table has to have a first line of names. Where it has none, that line is empty: its first row is no row of names.
"""

from __future__ import annotations

from collections.abc import Mapping

from selectolax.lexbor import LexborNode

from gossamer.process.markup.reading import TEXT, tags_of

COLUMNS_MAX = 50
CELL_CHARS_MAX = 1000
SPAN_ROWS_MAX = 1000  # as in the HTML standard it is bounded, only lower

_TR, _TD, _TH = tags_of("tr td th")
_NOT_IN_CELLS = tags_of("table ul ol dl menu pre blockquote h1 h2 h3 h4 h5 h6 figure details article section")


def is_simple(table: LexborNode) -> bool:
    """Found out without looking into a table within it, so that no nesting is looked at more than twice."""
    rows = cells = widest = chars = 0
    nodes = table.traverse(include_text=True)
    next(nodes)  # the table itself
    for node in nodes:
        tag = node.tag_id
        if tag in _NOT_IN_CELLS:
            return False
        if tag == _TR:
            rows, cells = rows + 1, 0
        elif tag in (_TD, _TH):
            cells, chars = cells + 1, 0
            widest = max(widest, cells)
        elif tag == TEXT:
            chars += len((node.text_content or "").strip())
        if cells > COLUMNS_MAX or chars > CELL_CHARS_MAX:
            return False
    return rows > 1 and widest > 1


class Table:
    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        self._first_is_names = True
        self._spans: dict[int, int] = {}  # by column: how many rows a cell above still reaches down

    def begin_row(self) -> None:
        self._spans = {column: rows - 1 for column, rows in self._spans.items() if rows > 1}
        self._rows.append([])

    def add(self, text: str, tag: int, attributes: Mapping[str, str | None]) -> None:
        if not self._rows:
            self.begin_row()  # the parser makes a row around each cell: this one never comes
        row, text = self._rows[-1], text.replace("|", "\\|")
        while len(row) in self._spans:
            row.append("")
        columns = min(_number(attributes.get("colspan")), COLUMNS_MAX - len(row))
        if (rows := min(_number(attributes.get("rowspan")), SPAN_ROWS_MAX)) > 1:
            self._spans |= dict.fromkeys(range(len(row), len(row) + columns), rows)
        if columns > 0:
            row += [text, *[""] * (columns - 1)]
        else:
            row[-1] = f"{row[-1]} {text}".strip()  # cells from above leave no room for it
        if tag != _TH and len(self._rows) == 1:
            self._first_is_names = False

    def lines(self) -> list[str]:
        first = self._rows[0] if self._rows else []
        rows = [row for row in self._rows if any(row)]
        if not rows:
            return []
        width = max(map(len, rows))
        names = rows.pop(0) if self._first_is_names and rows[0] is first else []
        names += [""] * (width - len(names))
        return [_line(names), f"|{' --- |' * width}", *map(_line, rows)]


def _line(cells: list[str]) -> str:
    return "".join([f"| {cell} " if cell else "| " for cell in cells]) + "|"


def _number(said: str | None) -> int:
    return int(said) if said and said.isascii() and said.isdecimal() and 0 < len(said) < 6 and int(said) else 1
