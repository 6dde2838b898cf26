"""What `pages` says of a URL: facts first (dicts, for --json), then the same facts as text."""

from __future__ import annotations

from typing import Any

import msgspec

from gossamer.records import UrlRecord
from gossamer.rendered import RenderCost
from gossamer.text import moment, size
from gossamer.url.canonical import digest_of

Facts = dict[str, Any]


def page_facts(known: UrlRecord) -> Facts:
    place = known.place
    return {
        "url": known.url,
        "url_hash": digest_of(known.url),
        "state": known.state,
        "status": known.status,
        "reason": known.reason,
        "content_hash": known.content_hash or None,
        "found_at": moment(known.found_at),
        "fetched_at": moment(known.fetched_at),
        "verdict": known.verdict.kind if known.verdict else None,
        "same_as": known.verdict.of if known.verdict else None,
        "is_duplicate": known.is_copy,
        "priority_score": known.score / 1000 if known.score is not None else None,
        "distance": known.verdict.distance if known.verdict and known.verdict.kind == "near" else None,
        "resemblance": known.verdict.share_in_common if known.verdict else None,
        "media_type": known.media_type or None,
        "title": known.title or None,
        "bytes": known.body_bytes,
        "depth": known.depth,
        "source": known.source,
        "moved_to": known.moved_to,
        "noindex": known.noindex,
        "noarchive": known.noarchive,
        "language": known.language or None,
        "simhash": f"{known.simhash:016x}" if known.simhash else None,
        "next_visit_at": moment(known.due_at),
        "rendered": render_facts(known.rendered),
        "archive": {"file": place.file, "offset": place.offset, "length": place.length} if place else None,
    }


def render_facts(cost: RenderCost | None) -> Facts | None:
    """What a browser was asked for, and what it took; None: it was not asked."""
    return msgspec.structs.asdict(cost) if cost is not None else None


def page_line(known: UrlRecord) -> str:
    mark = str(known.status) if known.status is not None else "-"
    note = known.reason or (known.verdict.kind if known.verdict else "") or ("moved" if known.moved_to else "")
    return f"{mark:>6} {note:<20} {size(known.body_bytes):>9}  {known.url}"


PAGE_HEAD = f"{'status':>6} {'reason or verdict':<20} {'bytes':>9}  url"
