"""The archive as objects: every content once, under its own digest, and a journal of the visits.

    sha256/AB/CDEF...                   a content: these very bytes have this SHA-256, as `sha256sum` will say
    PPP-SSSSS.visits.jsonl.gz           the journal of a partition: a series (series.py), a line of JSON a visit

Contents are stored as they are and not compressed. Their name can be checked with any tool, a store can serve them
with their media type, and pictures and PDF gain nothing anyway; whoever wants the archive small takes WARC, which
is several times smaller for HTML. What has the name already is not written again: equal names are equal bytes.

Every line of the journal is a gzip member, so that a `Place` leads to one visit, and the file as a whole is what
`zcat` and others read. A line holds what the WARC records of a visit would (`Entry`).

A page is saved when its content and then its line are durable. A crash in between leaves a content that no line
speaks of; it is taken when the page is fetched again, or removed by compaction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from isal import isal_zlib

from gossamer.archive.reader import damaged, members, unpacked
from gossamer.archive.series import VISITS, SeriesArchive, series_on
from gossamer.archive.shelf import Shelf
from gossamer.archive.warc import GZIP, LEVEL, PAGES_AT_ONCE, WarcArchive, links_of, others, response_head, uri_text
from gossamer.interfaces import Archive
from gossamer.records import Body, Fetched, Moved, Outcome, Place, Url
from gossamer.settings import ArchiveSettings

OBJECT_NAME = re.compile(r"sha256/([0-9a-f]{2})/([0-9a-f]{62})")
HELD_BYTES_MAX = 32 << 20  # of contents that are written at once


class LinkEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    url: Url
    anchor: str = ""
    rel: str = ""
    lastmod: str | None = None
    position: str = ""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One visit. Heads are Latin-1, which has a character for every byte."""

    url: Url
    at: float
    status: int
    verdict: str = ""  # original | same | near | unchanged; empty: a redirect
    request: str = ""
    head: str = ""  # true of the stored content (docs/decisions/0003); empty where the protocol has none
    content_hash: str = ""  # SHA-256; empty where a server only said that nothing changed
    object: str = ""  # its name, where it was stored with this visit
    bytes: int | None = None
    media_type: str = ""  # as it was identified
    ip: str = ""
    truncated: str = ""
    refers_to: Url | None = None  # whose content it is
    refers_at: float | None = None
    distance: int | None = None  # of a near copy
    via: Url | None = None
    depth: int = 0
    took_ms: int = 0
    links: list[LinkEntry] = []


def object_name(content_hash: str) -> str:
    return f"sha256/{content_hash[:2]}/{content_hash[2:]}"


def digest_in(name: str) -> bytes | None:
    """None: it is no object of ours."""
    found = OBJECT_NAME.fullmatch(name)
    return bytes.fromhex(found[1] + found[2]) if found else None


class ObjectsArchive(SeriesArchive):
    def __init__(self, shelf: Shelf, partition: int, *, file_bytes_max: int) -> None:
        super().__init__(shelf, partition, series_on(shelf, partition, VISITS, lambda file, at: b"", file_bytes_max))

    async def _save(self, outcomes: Sequence[Outcome]) -> list[Place | None]:
        spans: list[tuple[int, int] | None] = []
        group, at = bytearray(), 0.0
        contents: dict[str, tuple[Body, str]] = {}  # name: bytes, media type
        held_bytes = 0
        for count, outcome in enumerate(outcomes, 1):
            result = outcome.result
            if not isinstance(result, Fetched | Moved):
                spans.append(None)
                continue
            entry = entry_of(outcome, result)
            line = packed(entry)
            spans.append((len(group), len(line)))
            group += line
            at = result.exchange.ended_at
            if entry.object and entry.object not in contents:
                contents[entry.object] = (result.body, entry.media_type)
                held_bytes += len(result.body)
                if held_bytes > HELD_BYTES_MAX:
                    await self.shelf.put_contents(contents)
                    contents, held_bytes = {}, 0
            if count % PAGES_AT_ONCE == 0:
                await others()
        if not group:
            return [None for _ in spans]
        # First what the lines speak of, then the lines.
        await self.shelf.put_contents(contents)
        start = await self._series.append(group, at)
        return [span and Place(start.file, start.offset + span[0], span[1]) for span in spans]


def entry_of(outcome: Outcome, result: Fetched | Moved) -> Entry:
    exchange, verdict, page, link = result.exchange, outcome.verdict, outcome.page, outcome.lease.link
    not_modified = isinstance(result, Fetched) and result.is_not_modified
    is_copy = isinstance(result, Fetched) and (not_modified or not verdict.is_original)
    content_hash = "" if not_modified else outcome.content_hash or hashlib.sha256(result.body).hexdigest()
    has_head = uri_text(link.url).startswith("http")
    head = response_head(exchange, None if not_modified else len(result.body)) if has_head else b""
    has_links = isinstance(result, Fetched) and not not_modified and verdict.kind in ("original", "near")
    return Entry(
        uri_text(link.url),
        exchange.started_at,
        exchange.status,
        "" if isinstance(result, Moved) else "unchanged" if not_modified else verdict.kind,
        exchange.request.decode("latin-1"),
        head.decode("latin-1"),
        content_hash,
        "" if is_copy else object_name(content_hash),
        None if not_modified else len(result.body),
        page.media_type if page else "",
        exchange.ip,
        exchange.truncated,
        (verdict.of or link.url) if is_copy else None,
        verdict.at if is_copy else None,
        verdict.distance if verdict.kind == "near" else None,
        link.source,
        link.depth,
        round((exchange.ended_at - exchange.started_at) * 1000),
        [
            LinkEntry(uri_text(out.url), whole(out.anchor), whole(out.rel), out.lastmod, out.position)
            for out in (links_of(page) if has_links else ())
        ],
    )


def whole(text: str) -> str:
    """Without halves of surrogate pairs: UTF-8 has no bytes for them."""
    return text.encode(errors="replace").decode() if not text.isascii() else text


def packed(entry: Entry) -> bytes:
    gzip = isal_zlib.compressobj(LEVEL, wbits=GZIP)
    return gzip.compress(msgspec.json.encode(entry) + b"\n") + gzip.flush()


# ---- reading ---------------------------------------------------------------------------------------------


def read_entry(shelf: Shelf, place: Place) -> Entry:
    return parsed_entry(shelf, place, unpacked(shelf, place, shelf.read(place.file, place.offset, place.length)))


def entries(shelf: Shelf, name: str, start: int = 0, end: int | None = None) -> Iterator[tuple[Place, Entry]]:
    """The visits of a journal file, in the order of their commits."""
    for place, text in members(shelf, name, start, end):
        yield place, parsed_entry(shelf, place, text)


def parsed_entry(shelf: Shelf, place: Place, text: bytes) -> Entry:
    try:
        return msgspec.json.decode(text, type=Entry)
    except msgspec.DecodeError as error:
        raise damaged(shelf, place, str(error)) from error


def content_of(shelf: Shelf, content_hash: str) -> bytes:
    return b"".join(shelf.chunks(object_name(content_hash)))


# ---- which archive ---------------------------------------------------------------------------------------


def open_archive(settings: ArchiveSettings, shelf: Shelf, partition: int, about: Mapping[str, str]) -> Archive:
    """`about`: see `WarcArchive`."""
    if settings.kind == "objects":
        return ObjectsArchive(shelf, partition, file_bytes_max=settings.file_bytes_max)
    return WarcArchive(shelf, partition, about=about, file_bytes_max=settings.file_bytes_max)
