"""From what a fetcher sent to an answer of ours: nothing of it is believed that can be checked.

Sizes are held against the limits of the job. A packed record is unpacked, and the body is what was in it; the archive
takes the record as it came only where it begins as the archive itself would have begun it (`Packed`). Times are our
own: a host's delay runs from the moment at which we heard of the answer, which is after its end. Links are URLs by
their letters; whether they may enter the crawl is for the link filter to say, as for all links.

What no honest fetcher sends raises `BadMessage`, which ends its stream.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from isal import isal_zlib
from msgspec.structs import replace

from gossamer.cluster.wire import BadMessage
from gossamer.fetch.spool import IN_MEMORY_BYTES_MAX, Spool
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
URLS = re.compile(r"(?:[a-z][a-z0-9+.-]*://[!-~]{1,8192}\n)*")


class ReadElsewhere(Fetched, frozen=True, gc=False):
    """A page that its fetcher has read, and packed for the archive."""

    page: Page
    packed: Packed | None = None  # type: ignore[misc]


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
    packed = body_in(sent.body, pieces, limits.folder)
    if sent.page is not None and sent.kind == "fetched":
        body, start = unpacked(packed, sent.body_bytes, limits)
        return ReadElsewhere(exchange, body, checked_page(sent.page, url), Packed(start, bytes(packed)))
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

    def __init__(self, settings: FetchSettings, body_bytes_max: int | None, folder: Path | None) -> None:
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
        and exchange.truncated in ("", "length", "decoding")
        and 0 <= exchange.latency_s < math.inf
    ):
        raise BadMessage("sent an answer that no server gives")
    started_at = exchange.started_at if sent_at - AHEAD_S <= exchange.started_at <= now + AHEAD_S else sent_at
    return replace(exchange, started_at=started_at, ended_at=max(started_at, now))


def body_in(last: bytes, pieces: Spool | None, folder: Path | None) -> Body:
    if pieces is None:
        return last
    pieces.write(last)
    return pieces.body()


def unpacked(packed: Body, body_bytes: int, limits: Limits) -> tuple[Body, bytes]:
    """The body in a record, and what stands before it."""
    if body_bytes > limits.body_bytes_max:
        raise BadMessage("sent a body that is too long")
    unpacking = isal_zlib.decompressobj(wbits=GZIP)
    try:
        record = unpacking.decompress(packed[:], body_bytes + limits.start_bytes_max)
    except isal_zlib.error as fault:  # type: ignore[misc]  # it has no types
        raise BadMessage(f"sent a record that cannot be unpacked: {fault}") from None
    start_bytes = len(record) - body_bytes - len(RECORD_END)
    if not unpacking.eof or unpacking.unused_data or start_bytes < 0 or not record.endswith(RECORD_END):
        raise BadMessage("sent a record that is none")
    body = memoryview(record)[start_bytes : -len(RECORD_END)]
    if len(body) <= IN_MEMORY_BYTES_MAX:
        return bytes(body), record[:start_bytes]
    spool = Spool(limits.folder)
    spool.write(body)
    return spool.body(), record[:start_bytes]


def checked_page(page: Page, url: Url) -> Page:
    links, others = page.links, [page.canonical or "", *(each for _, each in page.alternates)]
    urls = "".join([f"{link.url}\n" for link in links] + [f"{each}\n" for each in others if each])
    if page.url != url or len(links) > LINKS_MAX or not URLS.fullmatch(urls):
        raise BadMessage("sent a page that is not of its job")
    if any(not 0 <= link.context <= 1 for link in links):
        raise BadMessage("sent links that are worth more than any link")
    return page
