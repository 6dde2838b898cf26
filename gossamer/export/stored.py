"""What an export can add to the row of a visit, made of the stored body once more: its text, or that as Markdown.

It is made by what made it the first time (`process/processor.py`), with the same limits: what is large or risky is
read in the sandbox. A copy has no body of its own; its text is that of the page that `same_as` names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Self

from gossamer.archive.visits import Visit
from gossamer.export.rows import Column, Row
from gossamer.records import Exchange, Fetched, Page
from gossamer.settings import Tree


class Addition(NamedTuple):
    """Columns behind those of PAGES, and what a visit has in them; None: nothing."""

    columns: tuple[Column, ...]
    row_of: Callable[[Visit], Row | None]

    def row(self, visit: Visit, *, may_show: bool) -> Row:
        """`may_show`: the page does not forbid copies of itself."""
        return (self.row_of(visit) if may_show else None) or (None,) * len(self.columns)


class StoredPages:
    """Stored bodies as pages."""

    def __init__(self, tree: Tree, *, as_markdown: bool = False) -> None:
        """`as_markdown`: their main text is."""
        from gossamer.process.processor import processor_of  # noqa: PLC0415 - 240 ms that most exports need not

        self._loop = asyncio.new_event_loop()
        self._processor = processor_of(tree, as_markdown=as_markdown)

    def page(self, visit: Visit) -> Page | None:
        """None where the archive has no content of this visit: it is that of `same_as`."""
        if visit.kind == "revisit" or visit.is_redirect:
            return None
        head, body = visit.content
        exchange = Exchange(b"", head, visit.status or 0, visit.ip, visit.at, visit.at, 0.0)
        return self._loop.run_until_complete(self._processor.process(visit.url, Fetched(exchange, body)))

    def text(self, visit: Visit) -> str | None:
        page = self.page(visit)
        return (page.main_text or page.text or None) if page is not None else None

    def addition(self, column: Column) -> Addition:
        """A column with the texts."""
        return Addition((column,), lambda visit: (self.text(visit),))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._processor.close())
        self._loop.close()
