"""The visits in a file of the archive, as far as a compaction has to know them: whose, when, from where to where.

Times are whole microseconds, which is what WARC dates have room for, so that a reference and what it refers to are
equal numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from gossamer.archive import reader
from gossamer.archive.renderings import SAME_AS, SAME_AS_DATE
from gossamer.archive.segments import FileName
from gossamer.archive.storage import Storage
from gossamer.archive.visits import is_page
from gossamer.records import Place, Url


class Visited(NamedTuple):
    """One visit, as far as it matters here."""

    url: Url
    at: int
    is_version: bool
    refers_to: Url | None
    refers_at: int | None
    start: int
    end: int
    place: Place


def visits_in(storage: Storage, name: FileName, end: int | None) -> Iterator[Visited]:
    """A visit is a page's record, with the request before it, and behind it what a browser showed and metadata."""
    page: reader.Record | None = None
    start = page_end = request_at = -1

    def visit(page: reader.Record) -> Visited:
        field = page.headers.get
        refers_at = field("WARC-Refers-To-Date") or field(SAME_AS_DATE)
        return Visited(
            page.headers["WARC-Target-URI"],
            microseconds_in(page.headers["WARC-Date"]),
            not field("WARC-Profile", "").endswith("server-not-modified"),
            field("WARC-Refers-To-Target-URI") or field(SAME_AS),
            microseconds_in(refers_at) if refers_at else None,
            start,
            page_end,
            page.place,
        )

    for record in reader.records(storage, str(name), end=end):
        if page is not None and record.type != "request" and not is_page(record):  # it belongs to the page
            page_end = record.place.offset + record.place.length
            continue
        if page is not None:
            yield visit(page)
            page = None
        if record.type == "request":
            request_at = record.place.offset
        elif is_page(record):
            page = record
            start = request_at if request_at >= 0 else record.place.offset
            page_end, request_at = record.place.offset + record.place.length, -1
    if page is not None:
        yield visit(page)


def microseconds(at: float) -> int:
    return round(at * 1_000_000)


def microseconds_in(text: str) -> int:
    return microseconds(datetime.fromisoformat(text).timestamp())
