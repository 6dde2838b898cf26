"""How the crawl stands, and what the reasons mean.

While it runs the crawl itself is asked; otherwise the counters in its stores have to do, and what only a running
crawl can know is null or nothing.
"""

from __future__ import annotations

import shutil

import msgspec

from gossamer import __version__
from gossamer.api import status_shapes as shapes
from gossamer.api.context import Context
from gossamer.api.crawl_client import state_of
from gossamer.api.fetcher_shapes import Fetcher
from gossamer.api.routes.hosts import counted, share
from gossamer.api.views import View
from gossamer.export import positions
from gossamer.frontier.disk.seen import mistakes
from gossamer.frontier.disk.tables import Totals
from gossamer.frontier.rules.priority import by_tenth
from gossamer.inspect.recrawl_facts import recrawl_facts
from gossamer.inspect.status_facts import bytes_in, is_all_done
from gossamer.messages import control_messages
from gossamer.records import Reason
from gossamer.seeds import SeedList
from gossamer.supervisor import history as past
from gossamer.text import EXPLAINED, TROUBLES, moment

DISK_S = 10.0  # the size of a folder is counted no more often than this


async def status(context: Context) -> shapes.Status:
    now = await context.crawl.now()
    disk = await context.remembered(("disk",), lambda: context.views.in_thread(lambda: disk_of(context)), DISK_S)
    if now is None:
        return await context.views.read(lambda view: stopped(context, view, disk))
    return status_of(context, now.totals, now.in_flight, now.queue_levels, disk, now)


def stopped(context: Context, view: View, disk: shapes.Disk) -> shapes.Status:
    levels = by_tenth(view.levels(), context.clock.now())
    return status_of(context, view.totals(), view.in_flight(), levels, disk, None)


def status_of(
    context: Context,
    totals: Totals,
    in_flight: int,
    levels: list[int],
    disk: shapes.Disk,
    now: control_messages.Now | None,
) -> shapes.Status:
    crawl, frontier = context.tree.crawl, context.tree.frontier
    at = context.clock.now()
    is_complete = is_all_done(totals, SeedList(context.folder.path))
    recent = now.pages_per_s + now.errors_per_s if now else 0.0
    return shapes.Status(
        at=moment(at) or "",
        dir=str(context.crawl.where),
        cluster=context.tree.cluster.name or None,
        is_whole_cluster=context.crawl.is_whole_cluster,
        look_age_s=round(age_s, 1) if (age_s := context.views.age_s) is not None else None,
        version=__version__,
        state="complete" if now is None and is_complete else state_of(now),
        running=now is not None,
        paused_why=(now.paused or None) if now else None,
        started_at=moment(now.started_at) if now else None,
        elapsed_s=round(now.at - now.started_at, 1) if now else None,
        max_pages=crawl.max_pages,
        eta_s=eta_s(crawl.max_pages, totals.pages, totals.queued, now.pages_per_s) if now else None,
        pages=totals.pages,
        pages_today=now.pages_today if now else pages_today(context, totals, at),
        pages_crawled_today=now.pages_today if now else pages_today(context, totals, at),
        pages_this_run=totals.pages - now.totals_at_start.pages if now else None,
        pages_per_s=round(now.pages_per_s, 2) if now else 0.0,
        bytes_per_s=round(now.bytes_per_s, 1) if now else 0.0,
        errors_per_s=round(now.errors_per_s, 2) if now else 0.0,
        error_rate=share(now.errors_per_s, recent) if now else None,
        current_qps=round(recent, 2),
        bytes=totals.bytes,
        requests=totals.requests,
        redirects=totals.moved,
        urls_known=totals.known,
        queued=max(0, totals.queued - in_flight),
        pages_in_queue=max(0, totals.queued - in_flight),
        in_flight=in_flight,
        waiting=totals.waiting,
        failed=totals.failed,
        refused=totals.refused,
        quarantined=totals.quarantined,
        hosts=totals.hosts,
        active_hosts=now.active_hosts if now else 0,
        domains_active=now.recrawl_plan.active_sites if now else 0,
        errors=counted(totals.reasons),
        troubles=counted({word: count for word, count in totals.reasons.items() if word in TROUBLES}),
        decisions=counted({word: count for word, count in totals.reasons.items() if word not in TROUBLES}),
        errors_this_run=counted(now.errors) if now else [],
        turned_away=counted(totals.turned_away),
        queue=[shapes.Level(level, hosts) for level, hosts in enumerate(levels)],
        answer_times=times(now.fetch_s) if now else [],
        duplicates=shapes.Duplicates(totals.duplicates, share(totals.duplicates, totals.pages), totals.bytes_saved),
        seen=shapes.Seen(totals.known, round(mistakes(totals.known // crawl.partitions, frontier), 6)),
        dns=dns_shape(now) if now else None,
        robots=cache_shape(now.robots.asked, now.robots.hits) if now else None,
        memory_bytes=now.memory_bytes if now else None,
        disk=at_nodes(disk, now),
        workers=[worker_shape(worker) for worker in now.workers] if now else [],
        fetchers=[fetcher_shape(fetcher) for fetcher in now.fetchers] if now else [],
        fetch_reports_ignored=now.fetch_reports_ignored if now else {},
        fetch_jobs_lost=now.fetch_jobs_lost if now else 0,
        proxies=[shapes.OutgoingProxy(each.proxy, each.trouble or None) for each in now.proxies] if now else [],
        recrawl=shapes.Recrawl(**recrawl_facts(now.recrawl_plan if now else context.folder.recrawl_plan(), totals)),
    )


def eta_s(max_pages: int | None, pages: int, queued: int, pages_per_s: float) -> float | None:
    """Until the limit of pages; without one until what is queued is fetched, if nothing new is found."""
    left = queued if max_pages is None else min(queued, max_pages - pages)
    return round(max(0, left) / pages_per_s, 1) if pages_per_s > 0 else None


def pages_today(context: Context, totals: Totals, at: float) -> int | None:
    before = past.pages_at(context.folder.history, at // past.DAY_S * past.DAY_S)
    return max(0, totals.pages - before) if before is not None else None


def disk_of(context: Context) -> shapes.Disk:
    archive = bytes_in(context.folder.archive)
    return shapes.Disk(
        free_bytes=shutil.disk_usage(context.folder.path).free,
        archive_bytes=archive,
        state_bytes=max(0, bytes_in(context.folder.path) - archive),
    )


def at_nodes(disk: shapes.Disk, now: control_messages.Now | None) -> shapes.Disk:
    """Of a cluster the node with the least room counts, and not the machine that looks at it."""
    if now is None or now.cluster is None:
        return disk
    return shapes.Disk(now.disk_free_bytes, disk.archive_bytes, disk.state_bytes)


def times(counts: list[int]) -> list[shapes.TimeClass]:
    return [
        shapes.TimeClass(up_to_s, count)
        for up_to_s, count in zip((*control_messages.FETCH_S, None), counts, strict=False)
    ]


def cache_shape(asked: int, hits: int) -> shapes.Cache:
    return shapes.Cache(asked, hits, share(hits, asked))


def dns_shape(now: control_messages.Now) -> shapes.Dns:
    dns = now.dns
    query_s = round(dns.query_s / dns.queries, 4) if dns.queries else None
    return shapes.Dns(dns.asked, dns.hits, share(dns.hits, dns.asked), dns.queries, dns.failures, query_s, dns.names)


def worker_shape(worker: control_messages.WorkerNow) -> shapes.Worker:
    return shapes.Worker(
        number=worker.number,
        pid=worker.pid,
        state=worker.state,
        in_flight=worker.in_flight,
        active_hosts=worker.active_hosts,
        partitions=worker.partitions,
        memory_bytes=worker.memory_bytes,
        cpu_s=round(worker.cpu_s, 2),
        node=worker.node or None,
    )


def fetcher_shape(fetcher: control_messages.FetcherNow) -> Fetcher:
    facts = msgspec.structs.asdict(fetcher)
    return Fetcher(**facts | {"region": fetcher.region or None, "silent_s": round(fetcher.silent_s, 1)})


async def exports(context: Context) -> shapes.Exports:
    """Each goes on from its positions; `gossamer export` makes them."""
    known = await context.views.in_thread(lambda: positions.read(context.folder.path))
    return shapes.Exports([export_shape(target, export) for target, export in sorted(known.items())])


def export_shape(target: str, export: positions.Export) -> shapes.Export:
    places = [shapes.ExportPosition(number, place.file, place.offset) for number, place in export.positions.items()]
    return shapes.Export(target, export.to, export.options, places)


async def reasons(context: Context) -> shapes.Reasons:
    return shapes.Reasons([shapes.ExplainedReason(reason, EXPLAINED[reason]) for reason in Reason])
