"""What is handed on, as tables: their columns, and one row for a visit, for a link, for a host.

PAGES has a row for every visit, with the names and meanings of Common Crawl's columnar index, so that queries written
for that run here too; what it does not have is appended under names of our own. LINKS has a row for every link of a
page, HOSTS one for every host. docs/exports.md explains each column.

A visit says what was fetched; the page's record (`UrlRecord`) says what was made of it, and is of the latest visit
only. So the title, the language and the SimHash of an earlier one are empty, and its verdict is the one in the
archive.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gossamer.archive.visits import Visit
from gossamer.export.languages import THREE_LETTERS
from gossamer.export.url_columns import url_columns
from gossamer.records import Host, UrlRecord
from gossamer.rendered import RenderCost
from gossamer.url.canonical import canonicalize, digest_of
from gossamer.url.site import host_of

Row = tuple[Any, ...]


class Column(NamedTuple):
    name: str
    type: str  # text | word (few values) | document (a whole page) | time | bool | int16 | int32 | int64 | double


def columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(*item.split(":")) for item in text.split())


PAGES = columns(
    "url_surtkey:text url:text url_host_name:word url_host_tld:word url_host_2nd_last_part:word "
    "url_host_3rd_last_part:word url_host_4th_last_part:word url_host_5th_last_part:word "
    "url_host_registry_suffix:word url_host_registered_domain:word url_host_private_suffix:word "
    "url_host_private_domain:word url_host_name_reversed:word url_protocol:word url_port:int32 url_path:text "
    "url_query:text fetch_time:time fetch_status:int16 fetch_redirect:text content_digest:text "
    "content_mime_type:word content_mime_detected:word content_charset:word content_languages:word "
    "content_truncated:word warc_filename:word warc_record_offset:int64 warc_record_length:int64 crawl:word "
    "subset:word is_latest:bool verdict:word same_as:text distance:int16 title:text simhash:text depth:int32 "
    "source:text ip_address:word body_bytes:int64 out_links:int32 noindex:bool noarchive:bool pagerank:double "
    "url_hash:text priority_score:double is_duplicate:bool rendered:bool render_requests:int32 render_bytes:int64 "
    "render_seconds:double"
)
# More of PAGES, where they are asked for.
TEXT = Column("text", "document")
MARKDOWN = Column("markdown", "document")
LINKS = columns(
    "source_url:text target_url:text anchor:text rel:word position:word lastmod:text source_host:word "
    "target_host:word fetch_time:time"
)
HOSTS = columns(
    "host:text site:text pages:int64 requests:int64 errors:int64 last_error:text bytes:int64 "
    "queued:int64 in_links:int64 delay_s:double delay_reason:word crawl_delay_s:double pagerank:double "
    "authority_score:double last_crawled_at:time"
)


def page_row(visit: Visit, known: UrlRecord | None, crawl: str, pagerank: float | None = None) -> Row:
    media_type, charset = visit.declared
    is_latest = known is not None and known.place == visit.place
    latest = known if is_latest else None
    status = latest.status if visit.status is None and latest else visit.status
    return (
        *url_columns(visit.url),
        moment(visit.at),
        status,
        redirect_of(visit),
        visit.content_hash or None,
        media_type,
        visit.media_type or None,
        charset,
        latest and THREE_LETTERS.get(latest.language),
        visit.truncated or None,
        visit.place.file,
        visit.place.offset,
        visit.place.length,
        crawl,
        "warc" if status is None or 200 <= status < 300 else "crawldiagnostics",
        is_latest,
        visit.verdict or None,
        visit.refers_to,
        visit.distance,
        latest and (latest.title or None),
        f"{latest.simhash:016x}" if latest and latest.simhash else None,
        known and known.depth,
        known and known.source,
        visit.ip or None,
        latest.body_bytes if visit.body_bytes is None and latest else visit.body_bytes,
        latest.links if latest else len(visit.links),
        known is not None and known.noindex,
        known is not None and known.noarchive,
        pagerank,
        digest_of(visit.url),
        latest.score / 1000 if latest and latest.score is not None else None,
        visit.verdict in ("same", "near") or (latest is not None and latest.is_copy),
        visit.is_rendered,
        *render_columns(latest.rendered if latest else None),
    )


def render_columns(cost: RenderCost | None) -> Row:
    return (cost.requests, cost.bytes, cost.seconds) if cost is not None else (None, None, None)


def redirect_of(visit: Visit) -> str | None:
    target = visit.header("Location") if visit.is_redirect else None
    return target and (canonicalize(target, visit.url) or target)


def link_rows(visit: Visit) -> Iterator[Row]:
    host, at = host_of(visit.url), moment(visit.at)
    for link in visit.links:
        yield (
            visit.url,
            link.url,
            link.anchor or None,
            link.rel or None,
            link.position or None,
            link.lastmod,
            host,
            host_of(link.url),
            at,
        )


def host_row(host: Host, pagerank: float | None = None, authority: float | None = None) -> Row:
    return (
        host.name,
        host.site,
        host.pages,
        host.requests,
        host.errors,
        host.last_error or None,
        host.body_bytes,
        host.queued,
        host.in_links,
        host.delay_s,
        str(host.delay_reason),
        host.crawl_delay_s,
        pagerank,
        authority,
        moment(host.crawled_at) if host.crawled_at else None,
    )


def moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
