"""HTTP and HTTPS: one request, one answer, and what the answer means. A redirect is an answer, not a second request.

transfer.py moves the bytes; here they get their HTTP sense. Content codings are removed when all of the body has come
(unpacking.py), and a bomb of zeros is cut off at `body_bytes_max` of *unpacked* bytes. A body whose declared media
type is not wanted (`crawl.media_types`) is not waited for: the transfer ends with its headers. With `UrlRecord`
validators the request is conditional, and 304 is an answer too: nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pycurl

from gossamer.fetch.coding import ACCEPT_ENCODING
from gossamer.fetch.idle_connections import IdleConnections
from gossamer.fetch.incoming import Incoming
from gossamer.fetch.multi import Multi
from gossamer.fetch.transfer import Received, Transfers
from gossamer.headers import ExtraHeaders, header_in, is_sendable
from gossamer.records import Answer, Exchange, Failed, Fetched, Moved, Reason, Url, Validators
from gossamer.settings import FetchSettings
from gossamer.url.canonical import canonicalize
from gossamer.url.media_types import MediaTypes

REDIRECTS = frozenset({301, 302, 303, 307, 308})
GONE = frozenset({404, 410})
OVERLOADED = frozenset({429, 503})
NOT_MODIFIED = 304
PARTIAL = 206


class Http:
    """The module for `http` and `https` (protocols.py)."""

    def __init__(self, transfers: Transfers, user_agent: str) -> None:
        settings = transfers.settings
        self._transfers = transfers
        lines = [
            f"User-Agent: {user_agent}",
            f"Accept: {settings.accept}",
            f"Accept-Language: {settings.accept_language}",
            f"Accept-Encoding: {ACCEPT_ENCODING}",
        ]
        self._headers = [line.encode("latin-1") for line in lines]

    async def fetch(
        self,
        url: Url,
        validators: Validators | None = None,
        *,
        body_bytes_max: int | None = None,
        wanted: MediaTypes | None = None,
        extra: ExtraHeaders | None = None,
        may_ask: Callable[[], bool] | None = None,
    ) -> Answer:
        """`may_ask`: looked at in the moment in which the request would go out."""
        asked_if = conditions(validators) if validators else []
        headers = [*self._headers, *asked_if] if asked_if else self._headers
        written = headers
        if extra:
            headers, written = with_extra(headers, extra), with_extra(headers, without_values(extra))
        received = await self._transfers.perform(
            url,
            headers,
            body_bytes_max=body_bytes_max,
            incoming_type=partial(HttpIncoming, wanted),
            may_ask=may_ask,
        )
        if isinstance(received, Received) and received.body and b"\ncontent-encoding:" in received.head.lower():
            received = await self._transfers.unpacked(received, codings_in(received.head), body_bytes_max)
        if not isinstance(received, Received):
            return received
        exchange = exchange_of(received, request_text(url, written)) if received.status else None
        if received.reason is not None and not (exchange and exchange.status in REDIRECTS):
            return Failed(received.reason, exchange, received.detail, received.ended_at)
        # A redirect whose body is broken is still a redirect.
        return answer_of(url, exchange, received, is_conditional=bool(asked_if))

    async def post(self, url: Url, form: bytes, extra: ExtraHeaders) -> Answer:
        """Send a form. Of such a request nothing is written down."""
        incoming_type = partial(FormIncoming, form)
        received = await self._transfers.perform(url, with_extra(self._headers, extra), incoming_type=incoming_type)
        if isinstance(received, Received) and received.body and b"\ncontent-encoding:" in received.head.lower():
            received = await self._transfers.unpacked(received, codings_in(received.head), None)
        if not isinstance(received, Received):
            return received
        exchange = exchange_of(received, b"") if received.status else None
        if received.reason is not None and not (exchange and exchange.status in REDIRECTS):
            return Failed(received.reason, exchange, received.detail, received.ended_at)
        return answer_of(url, exchange, received)


class HttpIncoming(Incoming):
    def __init__(
        self,
        wanted: MediaTypes | None,
        limits: FetchSettings,
        body_bytes_max: int,
        folder: Path | None,
        lines: IdleConnections,
    ) -> None:
        super().__init__(limits, body_bytes_max, folder, lines)
        self._wanted = wanted

    def on_header(self, line: bytes) -> int | None:
        # For each line of each answer: what is rare is kept out of its way.
        if line.startswith(b"HTTP/"):
            self._answers()
            self.head.clear()  # what came before was a 1xx
            self.is_unasked = line[8:12] == b" 101"
        self.head.append(line)
        self._head_room -= len(line)
        if self._head_room < 0:
            self.headers_are_too_large = True
        if len(line) <= 2:
            self._on_end_of_head()
        return -1 if self.headers_are_too_large or self.is_unasked or self.unwanted_type else None

    def _on_end_of_head(self) -> None:
        if self._wanted and b" 2" in self.head[0][:12]:  # what is no page is judged by its status
            declared = header_in(b"".join(self.head), "Content-Type") or ""
            self.unwanted_type = "" if self._wanted.wants(declared) else declared[:100]


class FormIncoming(HttpIncoming):
    """The same where a form is sent with the request."""

    def __init__(
        self, form: bytes, limits: FetchSettings, body_bytes_max: int, folder: Path | None, lines: IdleConnections
    ) -> None:
        super().__init__(None, limits, body_bytes_max, folder, lines)
        self._form = form
        self._curl: pycurl.Curl | None = None

    def attach(self, curl: pycurl.Curl, multi: Multi, **how: Any) -> None:
        super().attach(curl, multi, **how)
        curl.setopt(pycurl.POSTFIELDS, self._form)
        self._curl = curl

    def hang_up(self, *, is_kept: bool) -> None:
        super().hang_up(is_kept=is_kept)
        if self._curl is not None:
            self._curl.setopt(pycurl.HTTPGET, 1)  # it is used again
            self._curl = None


def codings_in(head: bytes) -> str:
    """All lines of that name, because each adds a coding."""
    lines = (line.partition(b":") for line in head.split(b"\n"))
    return b",".join(value for name, _, value in lines if name.lower() == b"content-encoding").decode("latin-1")


def answer_of(url: Url, exchange: Exchange | None, received: Received, *, is_conditional: bool = False) -> Answer:
    """What a complete answer means, by its status (DESIGN: policies)."""
    if exchange is None:
        return Failed(Reason.BROKEN_ANSWER, detail="no status line", ended_at=received.ended_at)
    status = exchange.status
    if status == PARTIAL or status < 200:
        return Failed(Reason.BROKEN_ANSWER, exchange, f"status {status}, which was not asked for")
    if status < 300:
        return Fetched(exchange, received.body)
    if status == NOT_MODIFIED and is_conditional:
        return Fetched(exchange, b"")
    if status in REDIRECTS:
        location = _utf8_if_it_is(exchange.header("Location") or "")
        target = canonicalize(location, url) if location else None
        if target is None:
            return Failed(Reason.BAD_REDIRECT, exchange, f"Location: {location[:200]}")
        return Moved(exchange, received.body, target)
    if status in GONE:
        return Failed(Reason.GONE, exchange)
    if status in OVERLOADED:
        return Failed(Reason.OVERLOADED, exchange)
    if status < 500:
        return Failed(Reason.CLIENT_ERROR, exchange)
    if status < 600:
        return Failed(Reason.SERVER_ERROR, exchange)
    return Failed(Reason.BROKEN_ANSWER, exchange, f"status {status}")


def _utf8_if_it_is(value: str) -> str:
    """Headers are read as Latin-1; addresses in them are often UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def exchange_of(received: Received, request: bytes) -> Exchange:
    return Exchange(
        request=request,
        head=received.head,
        status=received.status,
        ip=received.ip,
        started_at=received.started_at,
        ended_at=received.ended_at,
        latency_s=received.latency_s,
        truncated=received.truncated,
        tls_fault=received.tls_fault,
        proxy=received.proxy,
    )


def conditions(validators: Validators) -> list[bytes]:
    """The headers that make a request conditional on what we have, in the very bytes that the server gave."""
    lines = []
    if validators.etag and is_sendable(validators.etag):
        lines.append(f"If-None-Match: {validators.etag}")
    if validators.last_modified and is_sendable(validators.last_modified):
        lines.append(f"If-Modified-Since: {validators.last_modified}")
    return [line.encode("latin-1") for line in lines]


def with_extra(headers: Sequence[bytes], extra: ExtraHeaders) -> list[bytes]:
    """Those of a name that is there already stand in its place."""
    added = [*extra.shown, *extra.hidden]
    names = {line.partition(b":")[0].lower() for line in added}
    return [*(line for line in headers if line.partition(b":")[0].lower() not in names), *added]


def without_values(extra: ExtraHeaders) -> ExtraHeaders:
    """As they are written down."""
    hidden = (line.partition(b":")[0] + b": ..." for line in extra.hidden)
    return ExtraHeaders(extra.shown, tuple(hidden))


def request_text(url: Url, headers: Sequence[bytes]) -> bytes:
    """The request as libcurl sends it; a test compares it with what a server received."""
    _, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    start = f"GET {slash}{path} HTTP/1.1\r\nHost: {authority}".encode("latin-1", "replace")
    return b"\r\n".join((start, *headers, b"", b""))
