"""Visits: every stored exchange of a crawl, one after another, with the links that its page had.

A visit is what one request brought: a page that was stored (`response`; by FTP `resource`), one whose content was
known already (`revisit`), or a redirect (`response` with a status of 3xx). WARC files keep it as up to three records
that follow each other, request, page and metadata.

`visits` streams: it holds one visit at a time, whatever the size of the archive, and reads nothing before `since`.
Both ends are places that were committed once (`Meta.archive_end`), so they lie between two visits, never within one,
and what a running crawl writes meanwhile lies behind `until`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec

from gossamer.archive import reader
from gossamer.archive.reader import Record
from gossamer.archive.renderings import RENDERED, SAME_AS, SAME_AS_DATE, VIEW
from gossamer.archive.segments import files, name_in
from gossamer.archive.storage import Storage
from gossamer.archive.warc import NEAR
from gossamer.headers import header_in
from gossamer.records import Link, Place, Url

STATUS = re.compile(rb"HTTP/[0-9.]+ ([0-9]{3})")
MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", re.ASCII)
SHOWN_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.ASCII | re.IGNORECASE)


class Visit(msgspec.Struct, frozen=True):
    """One exchange, as it is stored."""

    url: Url
    at: float
    kind: str  # response | revisit | resource
    verdict: str  # original | same | near | unchanged; empty: a redirect
    status: int | None  # None where the record does not say
    head: bytes  # status line and headers, true of the stored body; empty for a resource
    body: Callable[[], bytes]  # read when it is asked for; empty for a revisit
    body_bytes: int | None  # the length of the content, also of one that is stored elsewhere; None: nobody said
    place: Place  # of the page's own record
    content_hash: str = ""  # SHA-256 of the content; empty where a server only said that nothing changed
    media_type: str = ""  # as it was identified
    ip: str = ""
    truncated: str = ""
    refers_to: Url | None = None  # whose content it is, or that of a near copy is near to
    refers_at: float | None = None
    distance: int | None = None  # bits by which the SimHashes differ, of a near copy
    links: list[Link] = []
    shown: bytes = b""  # the document as a browser showed it, where that is stored with it
    is_rendered: bool = False  # its text and links are of such a document

    def header(self, name: str) -> str | None:
        return header_in(self.head, name)

    @property
    def content(self) -> tuple[bytes, bytes]:
        """Head and body of what was read: as a browser showed it, where one did."""
        return (SHOWN_HEAD, self.shown) if self.shown else (self.head, self.body())

    @property
    def is_redirect(self) -> bool:
        return not self.verdict

    @property
    def declared(self) -> tuple[str | None, str | None]:
        """The media type and the charset that the server named."""
        said = self.header("Content-Type") or ""
        media_type, charset = MEDIA_TYPE.match(said), CHARSET.search(said)
        return media_type and media_type[0].lower(), charset and charset[1].upper()


def visits(storage: Storage, partition: int, since: Place | None, until: Place | None) -> Iterator[Visit]:
    """Those between two committed ends; `since` None: from the start; `until` None: nothing was ever committed."""
    if until is None:
        return
    for name in files(storage, partition, until):
        span = span_of(name, since, until)
        if span is not None:
            yield from of_records(reader.records(storage, name, *span))


def span_of(name: str, since: Place | None, until: Place) -> tuple[int, int | None] | None:
    """From where to where in a segment, None: to its end; no span: nothing of it."""
    file, last, first = name_in(Place(name, 0, 0)), name_in(until), name_in(since) if since else None
    if first is not None and file.holds(first):
        return None  # compaction joins only what every export has handed on, so all of it is
    # What has a later epoch than `since` was written by whoever went on where the owner of then was cut off, wherever
    # that one believed the end to be.
    if file.first > last.last or (first is not None and file.first < first.first and file.epoch <= first.epoch):
        return None
    start, end = since.offset if since and file == first else 0, until.offset if file == last else None
    return (start, end) if end is None or start < end else None


def of_records(records: Iterator[Record]) -> Iterator[Visit]:
    page: Record | None = None
    shown: Record | None = None
    for record in records:
        if record.type == "metadata" and page is not None:
            yield of_record(page, reader.links_of(record), shown)
            page = shown = None
        elif record.type == "conversion":
            shown = record
        elif is_page(record):
            if page is not None:
                yield of_record(page, [], shown)
            page, shown = record, None
    if page is not None:
        yield of_record(page, [], shown)


def is_page(record: Record) -> bool:
    """Whether a visit is about it: all else belongs to one."""
    return record.type in ("response", "revisit", "resource") and not (record.url or "").startswith(VIEW)


def of_record(record: Record, links: list[Link], shown: Record | None = None) -> Visit:
    headers, status = record.headers, STATUS.match(record.head)
    code = int(status[1]) if status else None
    near_to, same_as = headers.get("Gossamer-Near-To"), headers.get(SAME_AS)
    refers_to = headers.get("WARC-Refers-To-Target-URI") or same_as or near_to
    refers_at = headers.get("WARC-Refers-To-Date") or headers.get(
        SAME_AS_DATE if same_as else "Gossamer-Near-To-Date"
    )
    distance = headers.get("Gossamer-Distance")
    return Visit(
        headers["WARC-Target-URI"],
        moment(headers["WARC-Date"]),
        record.type,
        verdict_of(record, code),
        code,
        record.head,
        lambda: record.body,
        body_bytes_of(record),
        record.place,
        headers.get("WARC-Payload-Digest", "").removeprefix("sha256:"),
        headers.get("WARC-Identified-Payload-Type", ""),
        headers.get("WARC-IP-Address", ""),
        headers.get("WARC-Truncated", ""),
        refers_to,
        moment(refers_at) if refers_at else None,
        int(distance) if distance else None,
        links,
        shown.body if shown is not None else b"",
        RENDERED in headers,
    )


def verdict_of(record: Record, status: int | None) -> str:
    if record.type == "revisit":
        profile = record.headers.get("WARC-Profile", "")
        if profile == NEAR:
            return "near"
        return "unchanged" if profile.endswith("server-not-modified") else "same"
    if SAME_AS in record.headers:
        return "same"
    if "Gossamer-Near-To" in record.headers:
        return "near"
    return "" if status is not None and 300 <= status < 400 else "original"


def body_bytes_of(record: Record) -> int | None:
    if record.type != "revisit":
        return len(record.body)
    length = header_in(record.head, "Content-Length")
    return int(length) if length and length.isdecimal() else None


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
