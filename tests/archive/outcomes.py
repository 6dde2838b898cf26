"""Outcomes as a crawl hands them to the archive, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from random import Random

from gossamer.archive.warc import WarcArchive
from gossamer.records import (
    ORIGINAL,
    Claim,
    Exchange,
    Fetched,
    Lease,
    Link,
    Moved,
    Outcome,
    Page,
    Result,
    Url,
    Verdict,
)

REQUEST = b"GET /1 HTTP/1.1\r\nHost: a.test\r\nUser-Agent: gossamer/0 (+mailto:me@a.test)\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\n\r\n"
STARTED_AT = 1_700_000_000.25
PAGE_URL = "http://a.test/1"


def folder_of(archive: WarcArchive) -> Path:
    """Where a local archive lies."""
    return Path(archive.storage.where)


def exchange(head: bytes = HEAD, status: int = 200, request: bytes = REQUEST) -> Exchange:
    return Exchange(request, head, status, "127.0.0.1", STARTED_AT, STARTED_AT + 0.5, 0.25)


def fetched(head: bytes = HEAD, body: bytes = b"<p>Hello", status: int = 200) -> Fetched:
    return Fetched(exchange(head, status), body)


def moved(target: Url = "http://a.test/2") -> Moved:
    head = b"HTTP/1.1 301 Moved Permanently\r\nLocation: " + target.encode() + b"\r\n\r\n"
    return Moved(exchange(head, 301), b"moved", target)


def outcome(
    result: Result,
    url: Url = PAGE_URL,
    *,
    links: list[Link] | None = None,
    verdict: Verdict = ORIGINAL,
    content_hash: str = "",
    media_type: str = "text/html",
) -> Outcome:
    lease = Lease(Link(url, source="http://a.test/", depth=2), host="a.test", expires_at=STARTED_AT + 600)
    claim = Claim(content_hash, url, 0.0) if content_hash else None
    return Outcome(lease, result, Page(url, media_type, links=links or []), verdict, claim)


def pages(count: int, start: int = 1) -> list[Outcome]:
    """Originals at http://a.test/1 and so on, each with 2,000 bytes that do not compress."""
    numbers = range(start, start + count)
    return [outcome(fetched(body=Random(n).randbytes(2_000)), f"http://a.test/{n}") for n in numbers]
