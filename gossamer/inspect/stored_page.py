"""What is stored of one URL: its visits in the archive, and the content that each of them showed.

The latest is found by the page's record, with one read. Earlier versions stand in no index: they are found by a walk
through the files of the URL's partition, which takes the longer the larger they are. The record of a copy, and of
"not modified", has no body and says whose content it is. It is followed to the record with the body, be that in the
file of another partition or an earlier version of a page that has changed since.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gossamer.archive.content import REFERS_MAX, is_of, visit_at
from gossamer.archive.listing import Visited, microseconds, visits_in
from gossamer.archive.opening import open_storage
from gossamer.archive.record import uri_text
from gossamer.archive.segments import files, name_in
from gossamer.archive.visits import Visit, span_of
from gossamer.folder import FolderError
from gossamer.inspect.view import CrawlView
from gossamer.process.processor import processor_of
from gossamer.records import Exchange, Fetched, Page, Place, Url
from gossamer.text import COMMAND, EXPLAINED, counted, moment, size

Facts = dict[str, Any]


class StoredPage:
    """One URL of a crawl, running or not."""

    def __init__(self, view: CrawlView, url: Url) -> None:
        self.url = url
        self._view = view
        self._storage = open_storage(view.configuration.tree.archive, view.folder.archive)

    def latest(self) -> Visit:
        known = self._view.state(self.url)
        if known is None:
            raise FolderError(f"{self.url} is not known to this crawl: `{COMMAND} why` says what would become of it")
        if known.place is None:
            why = f": {EXPLAINED[known.reason]} [{known.reason}]" if known.reason else f", it is {known.state}"
            raise FolderError(f"nothing is stored of {self.url}{why}")
        return visit_at(self._storage, known.place)

    def version(self, number: int) -> Visit:
        """By its number, the oldest that is still stored is 1."""
        found = self.versions()
        if not 1 <= number <= len(found):
            raise FolderError(f"{self.url} has {counted(len(found), 'stored version')}: there is no number {number}")
        return visit_at(self._storage, found[number - 1].place)

    def versions(self) -> list[Visited]:
        """Each visit that showed a content, or a redirect; the oldest first."""
        return [visited for visited in self._walk(self.url) if visited.refers_to != visited.url]

    def content(self, visit: Visit) -> Visit | None:
        """The visit that has the body; None: it was dropped."""
        found: Visit | None = visit
        for _ in range(REFERS_MAX):
            if found is None or found.kind != "revisit":
                return found
            found = self._referred(found)
        return None

    def _referred(self, copy: Visit) -> Visit | None:
        url = copy.refers_to or copy.url
        known = self._view.state(url)
        if known is not None and known.place is not None and copy.verdict != "unchanged":
            visit = visit_at(self._storage, known.place)
            if visit.place != copy.place and is_of(visit, copy):
                return visit
        # That page has changed since, or it is this one itself: its last version until then.
        until = microseconds(copy.refers_at if copy.refers_at is not None else copy.at)
        earlier = [each for each in self._walk(url) if each.refers_to != url and each.at <= until]
        return visit_at(self._storage, earlier[-1].place) if earlier else None

    def _walk(self, url: Url) -> Iterator[Visited]:
        wanted, (partition, end) = uri_text(url), self._view.archive_of(url)
        if end is None:
            return
        for name in files(self._storage, partition, end):
            if (span := span_of(name, None, end)) is not None:
                found = visits_in(self._storage, name_in(Place(name, 0, 0)), span[1])
                yield from (visited for visited in found if visited.url == wanted)

    async def read(self, content: Visit, *, as_markdown: bool = False) -> Page:
        """What processing makes of a stored body today: as a browser showed it, where one did."""
        tree = self._view.configuration.tree
        head, body = content.content
        exchange = Exchange(b"", head, content.status or 200, content.ip, content.at, content.at, 0.0)
        processor = processor_of(tree, as_markdown=as_markdown)
        try:
            return (await processor.process(self.url, Fetched(exchange, body))).plain()
        finally:
            await processor.close()


def visit_facts(visit: Visit, content: Visit | None, page: Page | None) -> Facts:
    place = visit.place
    return {
        "url": visit.url,
        "fetched_at": moment(visit.at),
        "status": visit.status,
        "verdict": visit.verdict or None,
        "refers_to": visit.refers_to,
        "moved_to": visit.header("Location") if visit.is_redirect else None,
        "media_type": visit.media_type or (content and content.media_type) or None,
        "bytes": len(content.body()) if content else visit.body_bytes,
        "content_hash": visit.content_hash or (content and content.content_hash) or None,
        "content_of": {"url": content.url, "fetched_at": moment(content.at)} if content else None,
        "ip": visit.ip or None,
        "headers": visit.head.decode("latin-1"),
        "archive": {"file": place.file, "offset": place.offset, "length": place.length},
        "title": (page and page.title) or None,
        "language": (page and page.language) or None,
        "text": text_of(page) if page else None,
    }


def text_of(page: Page) -> str:
    return page.main_text or page.text


def visit_text(facts: Facts) -> str:
    lines = [facts["url"], f"  fetched {facts['fetched_at']}, status {facts['status'] or '-'}"]
    if facts["moved_to"]:
        lines.append(f"  moved to {facts['moved_to']}")
    lines.append(f"  content: {size(facts['bytes'] or 0)} {facts['media_type'] or ''}".rstrip())
    of = facts["content_of"]
    if of is None:
        lines.append("  its content is not stored any more")
    elif of["url"] != facts["url"] or of["fetched_at"] != facts["fetched_at"]:
        lines.append(f"  it is stored with {of['url']}, fetched {of['fetched_at']}")
    place = facts["archive"]
    lines.append(f"  stored in {place['file']} at {place['offset']}, {place['length']} bytes")
    lines += [f"  {name}: {facts[name]}" for name in ("title", "language") if facts[name]]
    return "\n".join([*lines, "", facts["text"]] if facts["text"] else lines)


def version_facts(number: int, visited: Visited) -> Facts:
    place = visited.place
    return {
        "version": number,
        "url": visited.url,
        "fetched_at": moment(visited.at / 1e6),
        "refers_to": visited.refers_to,
        "archive": {"file": place.file, "offset": place.offset, "length": place.length},
    }
