"""The shapes of fetchers and their reports, as the control API knows them (shapes.py)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gossamer.api.shapes import Body, Shape


class Fetcher(Shape):
    """A process elsewhere that fetches for this crawl; counters are since it came."""

    name: str
    region: str | None
    address: str
    processes: bool  # it reads what it fetches
    is_leaving: bool  # it gets no more jobs
    jobs: int  # that it has
    room: int  # for jobs
    done: int
    bytes: int
    silent_s: float  # since it was last heard of


Untaken = Literal["unknown", "epoch", "crawl", "bad"]
"""Why a report changes nothing: no such lease is out, it is of another ownership or crawl, or it cannot be true."""


BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


class FetchReport(Body):
    """What came of a job. The body of a page is in base64, and has to be what the report says of it. With links the
    page is not read again."""

    crawl: str  # its name, as the stream of jobs gave it
    lease: Annotated[str, Meta(pattern="^[0-9a-f]{2,128}$")]
    epoch: Annotated[int, Meta(ge=0)]
    url: str
    status: Annotated[int, Meta(ge=0, le=999)]  # of HTTP; 0: there was no answer
    content_hash: str = ""  # SHA-256 of the body, in hexadecimal digits
    body_bytes: Annotated[int, Meta(ge=0)] = 0
    links: tuple[str, ...] = ()
    body: Annotated[bytes, Meta(extra_json_schema={"pattern": BASE64})] = b""
    content_type: str = ""
    location: str = ""  # of a redirect
    error: str = ""  # why there was no answer: dns, connect, tls, timeout, or in words


class ReportTaken(Shape):
    """Whether the report changed anything. A late or a forged one does not, and is counted."""

    taken: bool
    reason: Untaken | None


class Drained(Shape):
    fetcher: str
