"""What a sink is handed: a record for every visit, and one for every host that a batch of visits speaks of.

`PageRecord` is the message of the topic as it stands there (docs/crawled-pages.schema.json), and a row of the table
`pages`. Its `id` follows from the URL and the moment of the visit alone, so a record that is handed on twice has the
same one. Everything is taken from the archive and from the page's record, as rows of an export are (export/rows.py):
of a visit that was followed by another one before it was handed on, title, language and SimHash are not known.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

import msgspec

from gossamer.archive.visits import Visit
from gossamer.export.rows import moment, redirect_of, render_columns
from gossamer.records import Host, Place, RobotsCopy, Url, UrlRecord
from gossamer.url.canonical import digest_of
from gossamer.url.site import host_of


class LinkRecord(msgspec.Struct, frozen=True):
    url: Url
    anchor: str | None
    rel: str | None


class PageRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: str  # of the visit
    crawl: str
    partition: int
    url: Url
    url_hash: str  # SHA-256 of the URL
    host: str
    fetched_at: datetime
    status: int | None
    content_path: str  # the file of the archive that has the content; one gzip member of it, a WARC record, is
    content_offset: int  # ... here,
    content_length: int  # ... and so long
    has_body: bool  # False: that record says so much as that it is the content of `same_as`
    content_hash: str | None  # SHA-256
    body_bytes: int | None
    media_type: str | None
    language: str | None
    title: str | None
    verdict: str | None
    same_as: Url | None
    same_as_fetched_at: datetime | None
    redirect: Url | None
    simhash: str | None
    priority_score: float | None
    depth: int | None
    next_visit_at: datetime | None
    noindex: bool
    noarchive: bool
    out_links: int
    rendered: bool  # its text and links are what a browser showed
    render_requests: int | None  # what that took, whether it gained or not
    render_bytes: int | None
    render_seconds: float | None
    links: list[LinkRecord] | None = None  # where `sinks.links` asks for them

    @property
    def has_links_of_its_own(self) -> bool:
        """False: its links are those that it had before, whatever this visit shows."""
        return self.verdict != "unchanged"

    @property
    def is_duplicate(self) -> bool:
        return self.verdict in ("same", "near")


class HostRecord(NamedTuple):
    host: str
    robots_txt: str | None
    authority_score: float
    last_crawled: datetime | None
    page_count: int


class Batch(NamedTuple):
    pages: list[PageRecord]
    hosts: list[HostRecord]
    positions: dict[int, Place]  # of the partitions in it: all before is handed on with this batch


def page_record(
    visit: Visit, known: UrlRecord | None, crawl: str, partition: int, archive: str, *, with_links: bool
) -> PageRecord:
    """`archive`: the URL that its files' names are put behind."""
    latest = known if known is not None and is_latest(visit, known) else None
    # The archive calls it the same as an earlier one of its own, where the server did not say it itself.
    verdict = "unchanged" if visit.verdict == "same" and visit.refers_to == visit.url else visit.verdict
    place, has_body = visit.place, visit.kind != "revisit"
    if verdict == "unchanged" and latest is not None and latest.place is not None:
        place = latest.place  # where the content is, and not the word that it is still good
        has_body = latest.verdict is None or not latest.is_copy or latest.verdict.is_stored
    requests, bytes_, seconds = render_columns(latest.rendered if latest else None)
    return PageRecord(
        id=visit_id(visit.url, visit.at),
        crawl=crawl,
        partition=partition,
        url=visit.url,
        url_hash=digest_of(visit.url),
        host=host_of(visit.url),
        fetched_at=moment(visit.at),
        status=latest.status if visit.status is None and latest else visit.status,
        content_path=f"{archive}/{place.file}",
        content_offset=place.offset,
        content_length=place.length,
        has_body=has_body,
        # What comes with a redirect is nobody's content.
        content_hash=None if visit.is_redirect else visit.content_hash or (latest and latest.content_hash) or None,
        body_bytes=latest.body_bytes if visit.body_bytes is None and latest else visit.body_bytes,
        media_type=visit.media_type or (latest and latest.media_type) or None,
        language=(latest and latest.language) or None,
        title=(latest and latest.title) or None,
        verdict=verdict or None,
        same_as=visit.refers_to,
        same_as_fetched_at=moment(visit.refers_at) if visit.refers_at is not None else None,
        redirect=redirect_of(visit),
        simhash=f"{latest.simhash:016x}" if latest and latest.simhash else None,
        priority_score=latest.score / 1000 if latest and latest.score is not None else None,
        depth=known.depth if known else None,
        next_visit_at=moment(latest.due_at) if latest and latest.due_at is not None else None,
        noindex=known is not None and known.noindex,
        noarchive=known is not None and known.noarchive,
        out_links=latest.links if latest else len(visit.links),
        rendered=visit.is_rendered,
        render_requests=requests,
        render_bytes=bytes_,
        render_seconds=seconds,
        links=[LinkRecord(link.url, link.anchor or None, link.rel or None) for link in visit.links]
        if with_links
        else None,
    )


def is_latest(visit: Visit, known: UrlRecord) -> bool:
    """Whether a record says what became of this visit. One of an unchanged page has the place of its content; one of
    a page that failed since has another moment."""
    return known.place == visit.place or (known.fetched_at is not None and abs(known.fetched_at - visit.at) < 1e-3)


def visit_id(url: Url, at: float) -> str:
    """The archive keeps the moment to the microsecond, and a URL is asked for once at a time."""
    return sha256(f"{moment(at).isoformat()} {url}".encode()).hexdigest()[:32]


def host_record(host: Host, robots: RobotsCopy | None, authority: float) -> HostRecord:
    text = robots.body.decode("utf-8", "replace") if robots and robots.body else None
    return HostRecord(host.name, text, authority, moment(host.crawled_at) if host.crawled_at else None, host.pages)
