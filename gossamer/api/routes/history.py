"""The crawl over time: what `history.jsonl` and a running crawl's last ten minutes say, made ready for pictures.

Points hold what was done so far, so that any two of them give what happened in between: a rate, or the times that
half and nineteen of twenty answers kept. Where nothing ran there is a gap: the first point of a run says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from msgspec import Meta

from gossamer.api import status_shapes as shapes
from gossamer.api.context import Context
from gossamer.api.route import Query
from gossamer.api.routes.status import eta_s
from gossamer.cluster.wire import Disconnected
from gossamer.messages import control_messages
from gossamer.messages.control_messages import FETCH_S, STATUS_CLASSES, Point
from gossamer.supervisor import history as past
from gossamer.text import moment

POINTS_MAX = 600
RECENT_STEP = 5  # of points a second: a second alone says little about a rate
ETA_S = 30.0  # an estimate goes by the pages of at least so long
OLD_GAP = 3  # times the usual distance: lines of earlier versions do not say which run they belong to


class HistoryQuery(Query):
    span_s: (
        Annotated[float, Meta(ge=1, le=10**10, description="only so far back; left out: all of the crawl")] | None
    ) = None


async def history(context: Context, query: HistoryQuery) -> shapes.History:
    """Of the last ten minutes a point every five seconds while the crawl runs, else one a minute; 600 at most."""
    since = context.clock.now() - query.span_s if query.span_s is not None else 0.0
    points: list[Point] = []
    if query.span_s is not None and query.span_s <= past.RECENT_S:
        try:
            recent = await context.crawl.call(control_messages.AskRecent(), control_messages.RecentPoints)
            lately = [point for point in recent.points if point.at >= since]
            points = [*lately[:-1:RECENT_STEP], *lately[-1:]]
        except Disconnected:
            pass  # then there is only what was written
    if not points:
        points = await context.views.in_thread(lambda: past.points(context.folder, since, POINTS_MAX))
    return shapes.History(over_time(points, context.tree.crawl.max_pages))


def over_time(points: Sequence[Point], max_pages: int | None) -> list[shapes.HistoryPoint]:
    if not points:
        return []
    gap_s = max(2.5 * past.EVERY_S, OLD_GAP * (points[-1].at - points[0].at) / len(points))
    shown, earlier = [point_shape(points[0], points[0], None, True)], 0  # earlier: where the estimate looks from
    for number, (before, point) in enumerate(pairwise(points), 1):
        is_start = before.started_at != point.started_at or (not point.started_at and point.at - before.at > gap_s)
        if is_start:
            earlier = number
        while earlier < number - 1 and point.at - points[earlier + 1].at >= ETA_S:
            earlier += 1
        then = points[earlier]
        speed = rate(point.pages, then.pages, point.at - then.at)
        eta = eta_s(max_pages, point.pages, point.queued, speed)
        shown.append(point_shape(point if is_start else before, point, eta, is_start))
    return shown


def point_shape(before: Point, point: Point, eta: float | None, is_start: bool) -> shapes.HistoryPoint:
    span_s = point.at - before.at
    statuses = [rate(now, then, span_s) for now, then in zip(point.statuses, before.statuses, strict=False)]
    answers = [now - then for now, then in zip(point.fetch_s, before.fetch_s, strict=False)]
    pages, duplicates = point.pages - before.pages, point.duplicates - before.duplicates
    return shapes.HistoryPoint(
        at=moment(point.at) or "",
        pages=point.pages,
        bytes=point.bytes,
        errors=point.errors,
        pages_per_s=rate(point.pages, before.pages, span_s),
        bytes_per_s=rate(point.bytes, before.bytes, span_s),
        errors_per_s=rate(point.errors, before.errors, span_s),
        queued=point.queued,
        waiting=point.waiting,
        hosts=point.hosts,
        memory_bytes=point.memory_bytes,
        is_start=is_start,
        duplicates=point.duplicates,
        duplicates_share=round(max(0, duplicates) / pages, 4) if pages > 0 else None,
        disk_free_bytes=point.disk_free_bytes or None,
        freshness=point.freshness if point.started_at else None,
        answers_per_s=dict(zip(STATUS_CLASSES, statuses, strict=False)),
        answer_p50_s=quantile(answers, 0.5),
        answer_p95_s=quantile(answers, 0.95),
        eta_s=eta,
    )


def rate(now: int, then: int, span_s: float) -> float:
    return round(max(0.0, (now - then) / span_s), 3) if span_s > 0 else 0.0


def quantile(counts: Sequence[int], share: float) -> float | None:
    """The time that this share of the answers kept, as well as classes can tell; the last one has no end."""
    total = sum(counts)
    if total <= 0:
        return None
    wanted, low = share * total, 0.0
    for high, count in zip((*FETCH_S, FETCH_S[-1]), counts, strict=False):
        if count >= wanted and count > 0:
            return round(low + (high - low) * wanted / count, 4)
        wanted, low = wanted - count, high
    return FETCH_S[-1]
