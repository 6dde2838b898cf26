"""What a program is given of each URL, as one record."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gossamer.headers import header_in
from gossamer.process.text import decode
from gossamer.records import (
    Body,
    Failed,
    Fetched,
    Link,
    Moved,
    Outcome,
    Page,
    Reason,
    Refused,
    Url,
    Verdict,
)


class Crawled(msgspec.Struct, frozen=True):
    """What became of one URL. Without an answer `status` is None, and `reason` says why."""

    url: Url
    page: Page  # what processing made of it: title, text, links, language, ...; empty where there was no page
    status: int | None = None
    reason: Reason | None = None
    detail: str = ""
    body: Body = b""
    head: bytes = b""  # status line and headers, as received
    fetched_at: float | None = None  # None: it was not asked for
    content_hash: str = ""
    verdict: Verdict | None = None
    moved_to: Url | None = None
    depth: int = 0
    source: Url | None = None  # the page that led here; None: a seed

    @property
    def title(self) -> str:
        return self.page.title

    @property
    def html(self) -> str:
        """The document as a browser showed it; where none did, the body as text."""
        if self.page.document:
            return self.page.document.decode()
        return decode(self.body[:], self.header("Content-Type"))[0]

    @property
    def text(self) -> str:
        """All text, as one line."""
        return self.page.text

    @property
    def main_text(self) -> str:
        """The text without menus, footers and the like: paragraphs, items, rows and lines of code apart."""
        return self.page.main_text

    @property
    def markdown(self) -> str:
        """The main text as Markdown: headings, lists, tables, links and code. Made anew each time it is asked for."""
        from gossamer.process.markdown.document import markdown_of_page  # noqa: PLC0415 - 20 ms that most need not

        body, content_type = self.page.document, "text/html; charset=utf-8"
        if not body:
            body, content_type = self.body[:], self.header("Content-Type") or ""
        return markdown_of_page(self.page, body, content_type)

    @property
    def language(self) -> str:
        return self.page.language

    @property
    def links(self) -> list[Link]:
        return self.page.links

    def header(self, name: str) -> str | None:
        return header_in(self.head, name)


def crawled_of(outcome: Outcome) -> Crawled | None:
    """None: nothing became of it yet, because the turn went to robots.txt or is still to come."""
    link, result, exchange = outcome.lease.link, outcome.result, outcome.result.exchange
    if not isinstance(result, Fetched | Moved | Failed | Refused):
        return None
    common = Crawled(
        link.url,
        outcome.page or Page(link.url),
        status=exchange.status if exchange else None,
        head=exchange.head if exchange else b"",
        fetched_at=exchange.started_at if exchange else result.ended_at,
        depth=link.depth,
        source=link.source,
    )
    match result:
        case Fetched(body=body):
            return replace(common, body=body, content_hash=outcome.content_hash, verdict=outcome.verdict)
        case Moved(body=body, target=target):
            return replace(common, body=body, moved_to=target)
        case _:
            return replace(common, reason=result.reason, detail=result.detail)
