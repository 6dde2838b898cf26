"""How the crawl stands: status, history, and what the reasons mean.

While it runs the crawl itself is asked; otherwise the counters in its stores have to do, and what only a running
crawl can know is null or nothing.
"""

from __future__ import annotations

import shutil
from typing import Annotated

from msgspec import Meta

from gossamer import __version__
from gossamer.archive import positions
from gossamer.cluster.wire import Disconnected
from gossamer.control import history as past
from gossamer.control import live, shapes
from gossamer.control.api.desk import Desk
from gossamer.control.api.hosts import share
from gossamer.control.api.line import state_of
from gossamer.control.api.route import Query
from gossamer.control.api.views import View
from gossamer.control.recrawl import recrawl_facts
from gossamer.control.report import bytes_in
from gossamer.control.words import EXPLAINED, moment
from gossamer.frontier.priority import by_tenth
from gossamer.frontier.seen import mistakes
from gossamer.frontier.tables import Totals
from gossamer.records import Reason

DISK_S = 10.0  # the size of a folder is counted no more often than this
POINTS_MAX = 600


class HistoryQuery(Query):
    span_s: (
        Annotated[float, Meta(ge=1, le=10**10, description="only so far back; left out: all of the crawl")] | None
    ) = None


async def status(desk: Desk) -> shapes.Status:
    now = await desk.line.now()
    disk = await desk.remembered(("disk",), lambda: desk.views.aside(lambda: disk_of(desk)), DISK_S)
    if now is None:
        return await desk.views.read(lambda view: stopped(desk, view, disk))
    return status_of(desk, now.totals, now.in_flight, now.queue_levels, disk, now)


def stopped(desk: Desk, view: View, disk: shapes.Disk) -> shapes.Status:
    levels = by_tenth(view.levels(), desk.clock.now(), desk.tree.frontier)
    return status_of(desk, view.totals(), view.in_flight(), levels, disk, None)


def status_of(
    desk: Desk, totals: Totals, in_flight: int, levels: list[int], disk: shapes.Disk, now: live.Now | None
) -> shapes.Status:
    crawl, frontier = desk.tree.crawl, desk.tree.frontier
    at = desk.clock.now()
    is_complete = totals.queued == totals.revisits and totals.waiting == 0
    lately = now.pages_per_s + now.errors_per_s if now else 0.0
    return shapes.Status(
        at=moment(at) or "",
        dir=str(desk.folder.path),
        version=__version__,
        state="complete" if now is None and is_complete else state_of(now),
        running=now is not None,
        paused_why=(now.paused or None) if now else None,
        started_at=moment(now.started_at) if now else None,
        elapsed_s=round(now.at - now.started_at, 1) if now else None,
        max_pages=crawl.max_pages,
        pages=totals.pages,
        pages_today=now.pages_today if now else pages_today(desk, totals, at),
        pages_this_run=totals.pages - now.totals_at_start.pages if now else None,
        pages_per_s=round(now.pages_per_s, 2) if now else 0.0,
        bytes_per_s=round(now.bytes_per_s, 1) if now else 0.0,
        errors_per_s=round(now.errors_per_s, 2) if now else 0.0,
        error_rate=share(now.errors_per_s, lately) if now else None,
        bytes=totals.bytes,
        requests=totals.requests,
        redirects=totals.moved,
        urls_known=totals.known,
        queued=max(0, totals.queued - in_flight),
        in_flight=in_flight,
        waiting=totals.waiting,
        failed=totals.failed,
        refused=totals.refused,
        quarantined=totals.quarantined,
        hosts=totals.hosts,
        active_hosts=now.active_hosts if now else 0,
        errors=counted(totals.reasons),
        errors_this_run=counted(now.errors) if now else [],
        turned_away=counted(totals.turned_away),
        queue=[shapes.Level(level, hosts) for level, hosts in enumerate(levels)],
        answer_times=times(now.fetch_s) if now else [],
        duplicates=shapes.Duplicates(totals.duplicates, share(totals.duplicates, totals.pages), totals.bytes_saved),
        seen=shapes.Seen(totals.known, round(mistakes(totals.known // crawl.partitions, frontier), 6)),
        dns=dns_shape(now) if now else None,
        robots=cache_shape(now.robots.asked, now.robots.hits) if now else None,
        memory_bytes=now.memory_bytes if now else None,
        disk=disk,
        workers=[worker_shape(worker) for worker in now.workers] if now else [],
        recrawl=shapes.Recrawl(**recrawl_facts(now.course if now else desk.folder.course(), totals)),
    )


def pages_today(desk: Desk, totals: Totals, at: float) -> int | None:
    before = past.pages_at(desk.folder.history, at // past.DAY_S * past.DAY_S)
    return max(0, totals.pages - before) if before is not None else None


def disk_of(desk: Desk) -> shapes.Disk:
    archive = bytes_in(desk.folder.archive)
    return shapes.Disk(
        free_bytes=shutil.disk_usage(desk.folder.path).free,
        archive_bytes=archive,
        state_bytes=max(0, bytes_in(desk.folder.path) - archive),
    )


def counted(counts: dict[str, int]) -> list[shapes.ReasonCount]:
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [shapes.ReasonCount(Reason(word), count, EXPLAINED[Reason(word)]) for word, count in rows]


def times(counts: list[int]) -> list[shapes.TimeClass]:
    return [shapes.TimeClass(up_to_s, count) for up_to_s, count in zip((*live.FETCH_S, None), counts, strict=False)]


def cache_shape(asked: int, hits: int) -> shapes.Cache:
    return shapes.Cache(asked, hits, share(hits, asked))


def dns_shape(now: live.Now) -> shapes.Dns:
    dns = now.dns
    query_s = round(dns.query_s / dns.queries, 4) if dns.queries else None
    return shapes.Dns(dns.asked, dns.hits, share(dns.hits, dns.asked), dns.queries, dns.failures, query_s, dns.names)


def worker_shape(worker: live.WorkerNow) -> shapes.Worker:
    return shapes.Worker(
        number=worker.number,
        pid=worker.pid,
        state=worker.state,
        in_flight=worker.in_flight,
        active_hosts=worker.active_hosts,
        partitions=worker.partitions,
        memory_bytes=worker.memory_bytes,
        cpu_s=round(worker.cpu_s, 2),
    )


# ---- history -------------------------------------------------------------------------------------------------


async def history(desk: Desk, query: HistoryQuery) -> shapes.History:
    """Of the last ten minutes a point a second while the crawl runs, else a point a minute; never more than 600."""
    since = desk.clock.now() - query.span_s if query.span_s is not None else 0.0
    points: list[live.Point] = []
    if query.span_s is not None and query.span_s <= past.LATELY_S:
        try:
            lately = await desk.line.call(live.AskLately(), live.Lately)
            points = [point for point in lately.points if point.at >= since]
        except Disconnected:
            pass  # then there is only what was written
    if not points:
        points = await desk.views.aside(lambda: past.points(desk.folder, since, POINTS_MAX))
    return shapes.History([point_shape(points[max(0, i - 1)], point) for i, point in enumerate(points)])


def point_shape(before: live.Point, point: live.Point) -> shapes.HistoryPoint:
    span_s = point.at - before.at

    def rate(now: int, then: int) -> float:
        return round(max(0.0, (now - then) / span_s), 3) if span_s > 0 else 0.0

    return shapes.HistoryPoint(
        at=moment(point.at) or "",
        pages=point.pages,
        bytes=point.bytes,
        errors=point.errors,
        pages_per_s=rate(point.pages, before.pages),
        bytes_per_s=rate(point.bytes, before.bytes),
        errors_per_s=rate(point.errors, before.errors),
        queued=point.queued,
        waiting=point.waiting,
        hosts=point.hosts,
        memory_bytes=point.memory_bytes,
    )


async def exports(desk: Desk) -> shapes.Exports:
    """Each goes on from its positions; `gossamer export` makes them."""
    known = await desk.views.aside(lambda: positions.read(desk.folder.path))
    return shapes.Exports([export_shape(target, export) for target, export in sorted(known.items())])


def export_shape(target: str, export: positions.Export) -> shapes.Export:
    places = [shapes.ExportPosition(number, place.file, place.offset) for number, place in export.positions.items()]
    return shapes.Export(target, export.to, export.options, places)


async def reasons(desk: Desk) -> shapes.Reasons:
    return shapes.Reasons([shapes.ExplainedReason(reason, EXPLAINED[reason]) for reason in Reason])
