"""From what a fetcher sent to an answer of ours: nothing of it is believed that can be checked at a fair price.

Sizes are held against the limits of the job. The archive takes a packed record as it came only where it begins as the
archive itself would have begun it (`Packed`). What is in it is unpacked and compared for some pages, by chance
(`fetchers.checked_share`): to do it for all would be a sixth of what a page costs the worker. Times are our own: a
host's delay runs from the moment at which we heard of the answer, which is after its end. Links are URLs by their
letters; whether they may enter the crawl is for the link filter to say, as for all links.

What no honest fetcher sends raises `BadMessage`, which ends its stream.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import MemberDescriptorType
from typing import cast

from isal import isal_zlib
from msgspec.structs import replace

from gossamer.cluster.wire import BadMessage
from gossamer.fetch.spool import Spool
from gossamer.fetchers.messages import Answered
from gossamer.records import (
    Answer,
    Body,
    Exchange,
    Failed,
    Fetched,
    Moved,
    Packed,
    Page,
    Postponed,
    Reason,
    Refused,
    Url,
)
from gossamer.settings import FetchSettings
from gossamer.url.canonical import canonicalize

GZIP = 31
RECORD_END = b"\r\n\r\n"
REQUEST_BYTES_MAX = 64 << 10
START_BYTES_MAX = 64 << 10  # of a record of the archive, besides the head of the answer
LINKS_MAX = 100_000
AHEAD_S = 0.5  # that a fetcher's clock may differ by: its moment stands in the packed record
NOT_MODIFIED = 304
DIGEST = re.compile(r"[0-9a-f]{64}")
URLS = re.compile(r"(?:[a-z][a-z0-9+.-]*://[!-~]{1,8192}\n)*")


_BODY = cast(MemberDescriptorType, Fetched.body)


class ReadElsewhere(Fetched, frozen=True, gc=False):
    """A page that its fetcher has read, and packed for the archive. Its body is unpacked when somebody asks."""

    page: Page
    packed: Packed | None = None  # type: ignore[misc]
    length: int = 0
    sha256: str = ""

    @property  # type: ignore[misc]
    def body(self) -> Body:
        body: Body = _BODY.__get__(self)
        if not body and self.packed is not None:
            with suppress(BadMessage):  # it was not looked into when it came: a lie costs its own page
                body = unpacked(self.packed.member, self.length, len(self.packed.start))[0]
            _BODY.__set__(self, body)
        return body

    @property
    def body_bytes(self) -> int:
        return self.length

    @property
    def memory_bytes(self) -> int:
        return len(self.packed.member) if self.packed is not None else self.length

    @property
    def digest(self) -> str:
        return self.sha256


def answer_of(sent: Answered, pieces: Spool | None, url: Url, limits: Limits, sent_at: float, now: float) -> Answer:
    """`pieces`: of the body, that came before. `sent_at`: when the job was given."""
    exchange = None if sent.exchange is None else checked(sent.exchange, limits.settings, sent_at, now)
    reason = sent.reason or Reason.BROKEN_ANSWER
    match sent.kind:
        case "refused":
            return Refused(reason, sent.detail[:1000], sent.wait_s)
        case "postponed":
            return Postponed(sent.wait_s, reason, sent.detail[:1000])
        case "failed":
            return Failed(reason, exchange, sent.detail[:1000], now)
    if exchange is None:
        raise BadMessage("sent an answer without a status")
    packed = body_in(sent.body, pieces)
    if sent.page is not None and sent.kind == "fetched":
        return read_elsewhere(sent, exchange, packed[:], url, limits)
    if len(packed) > limits.body_bytes_max:
        raise BadMessage("sent a body that is too long")
    if sent.kind == "moved":
        if not 300 <= exchange.status < 400 or canonicalize(sent.target) != sent.target:
            raise BadMessage("sent a redirect that is none")
        return Moved(exchange, packed, sent.target)
    if not (200 <= exchange.status < 300 or exchange.status == NOT_MODIFIED):
        raise BadMessage(f"sent a page with status {exchange.status}")
    return Fetched(exchange, packed)


class Limits:
    """Of one job."""

    def __init__(
        self,
        settings: FetchSettings,
        body_bytes_max: int | None,
        folder: Path | None,
        looks_into: Callable[[], bool] = lambda: True,
    ) -> None:
        """`folder`: for large bodies. `looks_into`: whether the next packed page is to be unpacked and compared."""
        self.looks_into = looks_into
        self.settings = settings
        self.body_bytes_max = body_bytes_max or settings.body_bytes_max
        self.folder = folder

    @property
    def sent_bytes_max(self) -> int:
        """Of a body as it is sent; packing may make it a little longer."""
        return self.body_bytes_max + self.body_bytes_max // 100 + self.start_bytes_max

    @property
    def start_bytes_max(self) -> int:
        return self.settings.header_bytes_max + START_BYTES_MAX


def checked(exchange: Exchange, settings: FetchSettings, sent_at: float, now: float) -> Exchange:
    if not (
        100 <= exchange.status < 1000
        and len(exchange.head) <= settings.header_bytes_max
        and len(exchange.request) <= REQUEST_BYTES_MAX
        and len(exchange.ip) <= 45
        and len(exchange.tls_fault) <= 1000
        and len(exchange.proxy) <= 300
        and exchange.truncated in ("", "length", "decoding")
        and 0 <= exchange.latency_s < math.inf
    ):
        raise BadMessage("sent an answer that no server gives")
    started_at = exchange.started_at if sent_at - AHEAD_S <= exchange.started_at <= now + AHEAD_S else sent_at
    return replace(exchange, started_at=started_at, ended_at=max(started_at, now))


def body_in(last: bytes, pieces: Spool | None) -> Body:
    if pieces is None:
        return last
    pieces.write(last)
    return pieces.body()


def read_elsewhere(sent: Answered, exchange: Exchange, member: bytes, url: Url, limits: Limits) -> ReadElsewhere:
    assert sent.page is not None
    length, start = sent.body_bytes, sent.start
    if length > limits.body_bytes_max or len(start) > limits.start_bytes_max or not DIGEST.fullmatch(sent.digest):
        raise BadMessage("sent a body that cannot be")
    page, packed = checked_page(sent.page, url), Packed(start, member)
    if not is_gzip_of(member, len(start) + length + len(RECORD_END)):
        raise BadMessage("sent a record that is none")
    if limits.looks_into():
        body, found = unpacked(member, length, len(start))
        if found != start or sha256(body).hexdigest() != sent.digest:
            raise BadMessage("sent a record that is not what it says")
    return ReadElsewhere(exchange, b"", page, packed, length, sent.digest)


def is_gzip_of(member: bytes, length: int) -> bool:
    """By its two ends (RFC 1952), which is all that can be seen without unpacking it."""
    return member[:3] == b"\x1f\x8b\x08" and int.from_bytes(member[-4:], "little") == length & 0xFFFFFFFF


def unpacked(member: bytes, length: int, start_bytes: int) -> tuple[bytes, bytes]:
    """The body in a record, and what stands before it."""
    unpacking = isal_zlib.decompressobj(wbits=GZIP)
    try:
        record = unpacking.decompress(member, start_bytes + length + len(RECORD_END) + 1)
    except isal_zlib.error as fault:  # type: ignore[misc]  # it has no types
        raise BadMessage(f"sent a record that cannot be unpacked: {fault}") from None
    is_whole = len(record) == start_bytes + length + len(RECORD_END) and record.endswith(RECORD_END)
    if not unpacking.eof or unpacking.unused_data or not is_whole:
        raise BadMessage("sent a record that is none")
    return record[start_bytes : -len(RECORD_END)], record[:start_bytes]


def checked_page(page: Page, url: Url) -> Page:
    links, others = page.links, [page.canonical or "", *(each for _, each in page.alternates)]
    urls = "".join([f"{link.url}\n" for link in links] + [f"{each}\n" for each in others if each])
    if page.url != url or len(links) > LINKS_MAX or not URLS.fullmatch(urls):
        raise BadMessage("sent a page that is not of its job")
    if any(not 0 <= link.context <= 1 for link in links):
        raise BadMessage("sent links that are worth more than any link")
    return page
