"""The archive of one partition: WARC 1.1 files that outside tools read, durable before a page is finished.

The files are segments (segments.py), one gzip member a record, a warcinfo record first.

    page, its content new            request, response, metadata (out-links)     the place is the response's
                                     (by FTP: resource, metadata)
    page, a near copy                the same; the response has the fields Gossamer-Near-To (the URL), -Near-To-Date,
                                     -Distance (bits of the SimHash) and -Resemblance (share of shingles in common)
                                     (not stored: request, revisit, metadata; the place is the revisit's)
    page, its content known          request, revisit (headers, no body)         the place is the revisit's
                                     and metadata where its links may lead elsewhere
    page, rendered                   request, response, conversion (the document as a browser showed it), resource
                                     (its picture, urn:view:URL), metadata; archive/renderings.py
    redirect                         request, response                           the place is the response's
    failed, refused, robots read     nothing                                     no place

Bodies are stored with their content encodings removed; docs/decisions/0003 says why, and what that does to
the stored head. A metadata record is lines of `name: value` in UTF-8, each ended by CR LF:

    via: URL                         the page that led here; missing for a seed
    hopsFromSeed: 3
    fetchTimeMs: 42
    outlink: URL L {"anchor":"Read on","rel":"nofollow"}

An outlink is the URL, which holds no space, Heritrix's letter for a plain link, and what is known about the
link as JSON on the same line: anchor, rel, lastmod, position, each left out where empty. JSON because an anchor may
hold newlines. Where the page says `nofollow`, the rel of all its links does.

Pages that are saved together are written as one group, or as several where they are large, so that memory holds no
more than `GROUP_BYTES_MAX` and one page of them. Either all of them are saved or, after an error, none.

The event loop encodes ordinary pages itself, a few at a time, and leaves large bodies and the disk to threads.
Compressing lets the interpreter lock go, yet a thread that wants it back some ten times a page gets in the way of a
busy loop: with all of it in a thread, 7 % fewer pages a second, and stalls of 50 ms instead of 9 ms.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import types
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

import msgspec

from gossamer import __version__
from gossamer.archive import renderings
from gossamer.archive.opening import open_segments
from gossamer.archive.record import (
    LARGE_BODY_BYTES,
    date_text,
    is_uri_text,
    member,
    one_line,
    record_id,
    start_of,
    uri_text,
)
from gossamer.archive.segments import SegmentArchive
from gossamer.archive.storage import Storage, as_storage
from gossamer.records import Exchange, Fetched, Link, Moved, Outcome, Page, Place
from gossamer.url.link_filter import is_nofollow

GIB = 1 << 30
HEAD_BYTES_MAX = 31 << 10  # fastwarc gives up a file at the first head above 32 KiB
GROUP_BYTES_MAX = 8 << 20  # of compressed records that are written at once
PAGES_AT_ONCE = 8  # about 2 ms of encoding before the event loop may do something else

FORMAT = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
REVISIT = "http://netpreserve.org/warc/1.1/revisit/"
NEAR = "urn:gossamer:revisit:near-duplicate"  # the standard knows identical payloads only

STATUS_LINE = re.compile(rb"HTTP/1\.[01] [0-9]{3}( .{0,200})?")
ORDINARY_HEADERS = rb"\r\n(?:[!-9;-~]+:[^\r\n]*\r\n)+\r\n"  # nothing that a reader could take for their end
ORDINARY_REQUEST = re.compile(rb"[^\r\n]+ HTTP/1\.1" + ORDINARY_HEADERS)
ORDINARY_RESPONSE = re.compile(rb"HTTP/1\.[01] [0-9]{3}(?: [^\r\n]{0,200})?" + ORDINARY_HEADERS)
LENGTHS = re.compile(rb"\ncontent-length:[ \t]*([^\r]*?)[ \t]*\r")
NEWER_HTTP = re.compile(rb" HTTP/[23](\.[0-9])?$")
ORIGINAL = b"X-Archive-Orig-"
UNTRUE_ONCE_DECODED = (b"content-encoding", b"transfer-encoding", b"content-length")


class LinkNote(msgspec.Struct, omit_defaults=True):
    """What an `outlink:` line says about a link beside its URL."""

    anchor: str = ""
    rel: str = ""
    lastmod: str | None = None
    position: str = ""


class Members(NamedTuple):
    """The gzip members of one exchange, in the order of the file; empty where there is no such record."""

    request: bytes
    page: bytes  # the response or the revisit: what a `Place` points at
    shown: bytes = b""  # what a browser made of the page
    metadata: bytes = b""


class WarcArchive(SegmentArchive):
    def __init__(
        self,
        where: Storage | Path,
        partition: int,
        epoch: int = 0,
        *,
        about: Mapping[str, str],
        file_bytes_max: int = GIB,
    ) -> None:
        """`epoch`: of the ownership. `about`: fields for the warcinfo records, such as operator,
        http-header-user-agent, robots, isPartOf."""
        storage = as_storage(where)
        super().__init__(storage, partition, open_segments(storage, partition, epoch, self._opening, file_bytes_max))
        self.about = about

    async def _save(self, outcomes: Sequence[Outcome]) -> list[Place | None]:
        places: list[Place | None] = []
        group: list[bytes] = []
        size, at = 0, 0.0
        spans: list[tuple[int, int] | None] = []  # offset in the group, and length, of each page's record
        for count, outcome in enumerate(outcomes, 1):
            result = outcome.result
            if not isinstance(result, Fetched | Moved):
                spans.append(None)
                continue
            if length_of(result) > LARGE_BODY_BYTES:
                members = await asyncio.to_thread(encode, outcome, result)
            else:
                members = encode(outcome, result)
            spans.append((size + len(members.request), len(members.page)))
            group += members
            size += sum(map(len, members))
            at = result.exchange.ended_at
            if size > GROUP_BYTES_MAX:
                places += await self._write(group, at, spans)
                group, spans, size = [], [], 0
            elif count % PAGES_AT_ONCE == 0:
                await others()
        return places + await self._write(group, at, spans)

    async def _write(self, group: list[bytes], at: float, spans: list[tuple[int, int] | None]) -> list[Place | None]:
        if not group:
            return [None for _ in spans]
        content = b"".join(group)
        group.clear()  # its memory is free before the disk has taken all of it
        start = await self._segments.append(content, at)
        return [span and Place(start.file, start.offset + span[0], span[1]) for span in spans]

    def _opening(self, file: str, at: float) -> bytes:
        return warcinfo(file, at, self.about)


@types.coroutine
def others() -> Generator[None]:
    """Let the event loop's other tasks run; no time passes, real or virtual."""
    yield


def encode(outcome: Outcome, result: Fetched | Moved) -> Members:
    """The records of one exchange. Pure: it may run in any thread."""
    exchange, verdict = result.exchange, outcome.verdict
    is_shown = outcome.is_shown
    not_modified = exchange.status == HTTPStatus.NOT_MODIFIED
    uri, date = uri_text(outcome.lease.url), date_text(exchange.started_at)
    request_id, page_id = record_id("request", uri, date), record_id("page", uri, date)

    target = [f"WARC-Target-URI: {uri}", f"WARC-Date: {date}"]
    media_type = one_line(outcome.page.media_type) if outcome.page else ""
    is_http = uri.startswith("http")
    content_type = "application/http;msgtype=response" if is_http else media_type or "application/octet-stream"
    of_page = [f"WARC-Record-ID: {page_id}", *target, f"Content-Type: {content_type}"]
    if exchange.ip:
        of_page.append(f"WARC-IP-Address: {one_line(exchange.ip)}")
    if not not_modified:  # the payload that a 304 speaks of is not its empty body
        known = outcome.content_hash if not is_shown else ""  # of what a browser showed it is
        digest = known or hashlib.sha256(result.body).hexdigest()
        of_page.append(f"WARC-Payload-Digest: sha256:{digest}")
    if exchange.truncated:
        of_page.append(f"WARC-Truncated: {'length' if exchange.truncated == 'length' else 'unspecified'}")
    if media_type:
        of_page.append(f"WARC-Identified-Payload-Type: {media_type}")

    request, tied = b"", [f"WARC-Concurrent-To: {page_id}", *target]
    if exchange.request:
        of_page.append(f"WARC-Concurrent-To: {request_id}")
        of_request = [f"WARC-Record-ID: {request_id}", *tied, "Content-Type: application/http;msgtype=request"]
        request = member("request", of_request, request_head(exchange.request))

    if verdict.kind == "near" and verdict.is_stored and verdict.of and verdict.at is not None:
        of_page += [f"Gossamer-Near-To: {uri_text(verdict.of)}", f"Gossamer-Near-To-Date: {date_text(verdict.at)}"]
        of_page += [f"Gossamer-Distance: {verdict.distance}", f"Gossamer-Resemblance: {verdict.resemblance:.3f}"]
    if is_shown:
        of_page += renderings.fields(verdict)
    if isinstance(result, Fetched) and (not_modified or (verdict.is_reference and not is_shown)):
        if verdict.kind == "near":
            of_page += [f"WARC-Profile: {NEAR}", f"Gossamer-Distance: {verdict.distance}"]
        else:
            profile = "server-not-modified" if not_modified else "identical-payload-digest"
            of_page.append(f"WARC-Profile: {REVISIT}{profile}")
        of_page.append(f"WARC-Refers-To-Target-URI: {uri_text(verdict.of or outcome.lease.url)}")
        if verdict.at is not None:
            of_page.append(f"WARC-Refers-To-Date: {date_text(verdict.at)}")
        # How long the payload behind a 304 is, nobody said.
        head = response_head(exchange, None if not_modified else length_of(result))
        page = member("revisit", of_page, head)
    elif is_http:
        page = response(of_page, response_head(exchange, length_of(result)), result)
    else:
        page = member("resource", of_page, b"", result.body)  # other protocols have no head
    # Whose links are sent (loop.py) has them here as well, so that the link graph is whole. Of a page that is as it
    # was at the visit before they are here already.
    if isinstance(result, Moved) or not_modified or verdict.kind == "unchanged" or not outcome.has_own_links:
        return Members(request, page, renderings.members(outcome, page_id, target))
    of_metadata = [f"WARC-Record-ID: {record_id('metadata', uri, date)}", *tied]
    of_metadata.append("Content-Type: application/warc-fields")
    shown = renderings.members(outcome, page_id, target)
    return Members(request, page, shown, member("metadata", of_metadata, metadata(outcome)))


def warcinfo(file: str, at: float, about: Mapping[str, str]) -> bytes:
    date = date_text(at)
    fields = [f"WARC-Record-ID: {record_id('warcinfo', file, date)}", f"WARC-Date: {date}"]
    fields += [f"WARC-Filename: {file}", "Content-Type: application/warc-fields"]
    lines = {"software": f"gossamer/{__version__}", "format": "WARC File Format 1.1", "conformsTo": FORMAT, **about}
    text = "".join(f"{one_line(name)}: {one_line(value)}\r\n" for name, value in lines.items())
    return member("warcinfo", fields, text.encode())


def metadata(outcome: Outcome) -> bytes:
    link = outcome.lease.link
    lines = [f"via: {uri_text(link.source)}\r\n".encode()] if link.source is not None else []
    lines.append(b"hopsFromSeed: %d\r\n" % link.depth)
    exchange = outcome.result.exchange
    if exchange is not None:
        lines.append(b"fetchTimeMs: %d\r\n" % round((exchange.ended_at - exchange.started_at) * 1000))
    page = outcome.page
    if page is not None and page.rendered is not None:
        lines.append(renderings.notes(page.rendered))
    lines.append((page and not page.nofollow and page.written_links) or outlinks(links_of(page)))
    return b"".join(lines)


def outlinks(links: Sequence[Link]) -> bytes:
    """A line for each link. What can be done for all of them at once is: a page has dozens."""
    urls = [link.url for link in links]
    if not is_uri_text("".join(urls)):
        urls = list(map(uri_text, urls))
    notes = [LinkNote(link.anchor, link.rel, link.lastmod, link.position) for link in links]
    try:
        texts = json_lines(notes)
    except UnicodeEncodeError:  # half a surrogate pair in an anchor: UTF-8 has no bytes for it
        texts = list(map(note_text, notes))
    return "".join([f"outlink: {url} L {text}\r\n" for url, text in zip(urls, texts, strict=True)]).encode()


def json_lines(notes: Sequence[LinkNote]) -> list[str]:
    return msgspec.json.Encoder().encode_lines(notes).decode().split("\n")[:-1]


def note_text(note: LinkNote) -> str:
    try:
        return json_lines([note])[0]
    except UnicodeEncodeError:
        return "{}"


def links_of(page: Page | None) -> list[Link]:
    """What a page says of all its links is stored with each: who makes a graph of them has to know."""
    if page is None or not page.nofollow:
        return page.links if page else []
    return [
        link if is_nofollow(link.rel) else msgspec.structs.replace(link, rel=f"{link.rel} nofollow".lstrip())
        for link in page.links
    ]


def request_head(raw: bytes) -> bytes:
    if ORDINARY_REQUEST.fullmatch(raw) and len(raw) <= HEAD_BYTES_MAX:
        return raw
    lines = head_lines(raw)
    if lines and NEWER_HTTP.search(lines[0]):
        lines[:1] = [NEWER_HTTP.sub(b" HTTP/1.1", lines[0]), ORIGINAL + b"Request-Line: " + lines[0]]
    return joined(lines)


def response_head(exchange: Exchange, body_bytes: int | None) -> bytes:
    """The head as received, but true of the stored body; `body_bytes` is None where its length is not known."""
    if body_bytes is not None and is_true_of(exchange.head, body_bytes):
        return exchange.head
    return corrected(exchange, body_bytes)


def corrected(exchange: Exchange, body_bytes: int | None) -> bytes:
    received = head_lines(exchange.head) or [b""]
    lines = received[:1]
    if not STATUS_LINE.fullmatch(received[0]):
        # HTTP/2 has no status line, and strict readers know those of HTTP/1 only.
        lines = [b"HTTP/1.1 %03d %b" % (exchange.status, phrase(exchange.status))]
        if received[0]:
            lines.append(ORIGINAL + b"Status-Line: " + received[0])
    length = None if body_bytes is None else b"%d" % body_bytes
    for line in received[1:]:
        name, _, value = line.partition(b":")
        name = name.rstrip().lower()
        if name not in UNTRUE_ONCE_DECODED:
            lines.append(line)
        elif name == b"content-length" and value.strip() == length:
            length = None  # true, and needed once
            lines.append(line)
        else:
            lines.append(ORIGINAL + line)
    return joined(lines, [b"Content-Length: " + length] if length is not None else [])


def is_true_of(head: bytes, body_bytes: int) -> bool:
    """Whether `corrected` would change nothing about a head, as is the case with most."""
    if not ORDINARY_RESPONSE.fullmatch(head) or len(head) > HEAD_BYTES_MAX:
        return False
    lower = head.lower()
    lengths = LENGTHS.findall(lower)
    return lengths == [b"%d" % body_bytes] and b"\ncontent-encoding:" not in lower and b"\ntransfer-" not in lower


def phrase(status: int) -> bytes:
    with suppress(ValueError):
        return HTTPStatus(status).phrase.encode()
    return b""


def head_lines(raw: bytes) -> list[bytes]:
    """The lines of a head. Blank ones go: a reader would take what follows them for the body."""
    lines = raw.replace(b"\r\n", b"\n").split(b"\n")
    return [line for line in lines if b":" in line or (line and not is_blank(line))]


def joined(lines: list[bytes], ours: Sequence[bytes] = ()) -> bytes:
    head = b"\r\n".join(lines)
    if len(head) > HEAD_BYTES_MAX:
        ours = [ORIGINAL + b"Head-Bytes: %d" % len(head), *ours]
        head = head[: head.rfind(b"\r\n", 0, HEAD_BYTES_MAX)]
    return b"\r\n".join([head, *ours, b"", b""])


def is_blank(line: bytes) -> bool:
    """Also to a reader that decodes a line before it looks: Unicode has more spaces than ASCII."""
    try:
        return not line.decode().strip()
    except UnicodeDecodeError:
        return not line.decode("latin-1").strip()


def length_of(result: Fetched | Moved) -> int:
    return result.body_bytes if isinstance(result, Fetched) else len(result.body)


def response(fields: list[str], head: bytes, result: Fetched | Moved) -> bytes:
    """Taken as it is where a fetcher has packed the very same record."""
    packed = result.packed if isinstance(result, Fetched) else None
    if packed is not None and packed.start == start_of("response", fields, head, length_of(result)) + head:
        return packed.member
    return member("response", fields, head, result.body)
