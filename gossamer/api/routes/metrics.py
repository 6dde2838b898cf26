"""Metrics: figures for Prometheus at /metrics. Each is declared once, below; docs/metrics.md is made from this table.

A figure is worked out when it is asked for, from what the running crawl says about itself (control_messages.Now) or,
while it does not run, from the counters in its stores. What is not known then is left out rather than shown as 0: a
gap in a picture is true. Counters start again only with a new crawl, those marked "of this run" with every start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate

from starlette.responses import Response

from gossamer import __version__
from gossamer.api.context import Context
from gossamer.api.metric import Facts, Labels, Metric, Value, Values, by, counter, gauge, running
from gossamer.api.routes.node_metrics import NODE_METRICS
from gossamer.api.routes.status import DISK_S, at_nodes, disk_of
from gossamer.frontier.disk.seen import mistakes
from gossamer.messages import control_messages

MEDIA_TYPE = "text/plain; version=0.0.4"  # of the format, which is older than its name


def of_workers(value: Callable[[control_messages.WorkerNow], float]) -> Value:
    def name(worker: control_messages.WorkerNow) -> str:
        return f"{worker.node}/{worker.number}" if worker.node else str(worker.number)

    return running(lambda now: by("worker", {name(worker): value(worker) for worker in now.workers}))


def states(facts: Facts) -> Values:
    totals = facts.totals
    done = totals.known - totals.queued - totals.waiting - totals.failed - totals.refused - totals.quarantined
    counts: dict[str, float] = {
        "queued": max(0, totals.queued - facts.in_flight),
        "in_flight": facts.in_flight,
        "waiting": totals.waiting,
        "done": max(0, done),
        "failed": totals.failed,
        "refused": totals.refused,
        "quarantined": totals.quarantined,
    }
    return by("state", counts)


def answer_times(now: control_messages.Now) -> Values:
    bounds = [f"{bound:g}" for bound in control_messages.FETCH_S] + ["+Inf"]
    counts = dict(zip(bounds, accumulate(now.fetch_s), strict=False))
    buckets: dict[Labels, float] = {(("", "_bucket"), ("le", bound)): count for bound, count in counts.items()}
    return {**buckets, (("", "_sum"),): now.fetch_s_sum, (("", "_count"),): sum(now.fetch_s)}


def queue(now: control_messages.Now) -> Values:
    return by("level", {str(level): hosts for level, hosts in enumerate(now.queue_levels)})


def worker_states(now: control_messages.Now) -> Values:
    counts = dict.fromkeys(("starting", "working", "idle", "paused", "not answering"), 0.0)
    for worker in now.workers:
        counts[worker.state] = counts.get(worker.state, 0.0) + 1
    return by("state", counts)


def of_sinks(value: Callable[[control_messages.SinkNow, control_messages.Now], float | None]) -> Value:
    def values(now: control_messages.Now) -> Values:
        found = {sink.to: value(sink, now) for sink in now.sinks}
        return by("sink", {name: known for name, known in found.items() if known is not None})

    return running(values)


def of_fetchers(value: Callable[[control_messages.FetcherNow], float]) -> Value:
    return running(lambda now: by("fetcher", {each.name: value(each) for each in now.fetchers}))


def turned_away(facts: Facts) -> Values:
    return by("reason", facts.totals.turned_away)


def outcomes_ignored(facts: Facts) -> Values:
    return by("reason", facts.totals.outcomes_ignored)


def seen_mistakes(facts: Facts) -> Values:
    return mistakes(facts.totals.known // facts.tree.crawl.partitions, facts.tree.frontier)


def of_totals(field: str) -> Value:
    return lambda facts: float(getattr(facts.totals, field))


def of_dns(field: str) -> Value:
    return running(lambda now: float(getattr(now.dns, field)))


def of_rendering(field: str) -> Value:
    return running(lambda now: float(getattr(now.render, field)))


def of_disk(field: str) -> Value:
    return lambda facts: float(getattr(facts.disk, field))


METRICS = (
    gauge("info", "", "always 1; the version is a label", lambda _: by("version", {__version__: 1}), "version"),
    gauge("up", "", "1 while the crawl runs", lambda facts: float(facts.now is not None)),
    gauge("paused", "", "1 while nothing is asked for", running(lambda now: float(bool(now.paused)))),
    gauge("draining", "", "1 while it finishes what is in flight, to end", running(lambda now: now.is_draining)),
    gauge("start_time_seconds", "seconds", "when this run began, since 1970", running(lambda now: now.started_at)),
    # What was done.
    counter("pages_total", "pages", "pages fetched", of_totals("pages")),
    counter("requests_total", "requests", "requests made, robots.txt included", of_totals("requests")),
    counter("redirects_total", "URLs", "answers that led elsewhere", of_totals("moved")),
    counter("body_bytes_total", "bytes", "bodies received, content codings removed", of_totals("bytes")),
    counter("duplicates_total", "pages", "pages whose content another URL had before", of_totals("duplicates")),
    counter("saved_bytes_total", "bytes", "bodies of duplicates: not stored again", of_totals("bytes_saved")),
    counter(
        "errors_total",
        "URLs",
        "failures and refusals of this run",
        running(lambda now: by("reason", now.errors)),
        "reason",
    ),
    counter("links_turned_away_total", "links", "links that were rejected", turned_away, "reason"),
    counter(
        "outcomes_ignored_total", "outcomes", "reports about leases that were not out", outcomes_ignored, "reason"
    ),
    Metric(
        "gossamer_answer_seconds",
        "histogram",
        "seconds",
        "from request to end of answer, this run",
        running(answer_times),
    ),
    # What is known and waits.
    gauge("urls", "URLs", "URLs accepted, by the state that they are in", states, "state"),
    gauge("hosts", "hosts", "hosts ever met", of_totals("hosts")),
    gauge("active_hosts", "hosts", "hosts being crawled now", running(lambda now: now.active_hosts)),
    gauge("queue_hosts", "hosts", "hosts with something queued; level 0 is best", running(queue), "level"),
    gauge("seen_false_positive_ratio", "ratio", "share of new URLs that the filter takes for known", seen_mistakes),
    # Visits again.
    counter("visits_total", "visits", "of pages that were fetched before", of_totals("visits")),
    gauge("visits_due", "pages", "pages that wait for their next visit", of_totals("again")),
    gauge(
        "visits_overdue", "pages", "... and whose moment has passed", running(lambda now: now.recrawl_plan.overdue)
    ),
    gauge(
        "visits_budget_per_second",
        "visits/s",
        "what may be spent",
        running(lambda now: now.recrawl_plan.budget_per_s),
    ),
    gauge(
        "visits_wanted_per_second",
        "visits/s",
        "what the plan wants",
        running(lambda now: now.recrawl_plan.wanted_per_s),
    ),
    gauge(
        "visit_gain_seconds",
        "seconds",
        "of freshness: the multiplier",
        running(lambda now: now.recrawl_plan.multiplier),
    ),
    gauge("freshness_ratio", "ratio", "by importance, as estimated", running(lambda now: now.recrawl_plan.freshness)),
    # Caches, of this run.
    counter("dns_lookups_total", "names", "names that were wanted", of_dns("asked")),
    counter("dns_hits_total", "names", "... and that were in the cache", of_dns("hits")),
    counter("dns_queries_total", "queries", "names that servers were asked for", of_dns("queries")),
    counter("dns_failures_total", "queries", "... and that nobody could tell about", of_dns("failures")),
    counter("dns_query_seconds_total", "seconds", "time that all queries took together", of_dns("query_s")),
    gauge("dns_names", "names", "names in the cache", of_dns("names")),
    counter("robots_decisions_total", "URLs", "URLs asked of robots.txt", running(lambda now: now.robots.asked)),
    counter("robots_hits_total", "URLs", "... with the rules ready in memory", running(lambda now: now.robots.hits)),
    # Rendering, of this run.
    counter("render_pages_total", "pages", "pages that a browser was asked for", of_rendering("pages")),
    counter("render_gained_total", "pages", "... and that gained by it", of_rendering("gained")),
    counter("render_failed_total", "pages", "... and that it could not show", of_rendering("failed")),
    counter("render_requests_total", "requests", "requests of pages while rendered", of_rendering("requests")),
    counter("render_bytes_total", "bytes", "... and what they brought", of_rendering("bytes")),
    counter("render_seconds_total", "seconds", "time that browsers had pages", of_rendering("seconds")),
    counter("render_browsers_total", "processes", "browsers that were started", of_rendering("browsers")),
    counter("render_killed_total", "pages", "pages ended for their memory", of_rendering("killed")),
    gauge("render_waiting_pages", "pages", "pages that are rendered or wait for a browser", of_rendering("waiting")),
    # Sinks, of this run.
    counter("sink_records_total", "records", "records handed on", of_sinks(lambda sink, now: sink.handed_on), "sink"),
    gauge(
        "sink_behind_records",
        "records",
        "visits that a sink has no record of yet",
        of_sinks(lambda sink, now: sink.behind(now.totals)),
        "sink",
    ),
    gauge("sink_up", "flag", "1: it takes records", of_sinks(lambda sink, now: not sink.trouble), "sink"),
    # Fetchers, as far as they are there.
    gauge("fetcher_jobs", "jobs", "jobs that a fetcher has", of_fetchers(lambda one: one.jobs), "fetcher"),
    gauge("fetcher_room", "jobs", "jobs that it can have at once", of_fetchers(lambda one: one.room), "fetcher"),
    counter("fetcher_jobs_total", "jobs", "jobs it has answered", of_fetchers(lambda one: one.done), "fetcher"),
    counter("fetcher_bytes_total", "bytes", "bodies it has sent", of_fetchers(lambda one: one.bytes), "fetcher"),
    gauge("fetcher_silent_seconds", "seconds", "since heard of", of_fetchers(lambda one: one.silent_s), "fetcher"),
    counter(
        "fetch_jobs_lost_total", "jobs", "jobs that nobody answered in time", running(lambda now: now.fetch_jobs_lost)
    ),
    counter(
        "fetch_reports_ignored_total",
        "reports",
        "what fetchers said that changed nothing: late, forged or bad",
        running(lambda now: by("reason", now.fetch_reports_ignored)),
        "reason",
    ),
    # A cluster.
    *NODE_METRICS,
    # The machine.
    gauge("memory_bytes", "bytes", "resident: supervisor and workers", running(lambda now: now.memory_bytes)),
    gauge("disk_free_bytes", "bytes", "free on the disk of the crawl's folder", of_disk("free_bytes")),
    gauge("archive_bytes", "bytes", "the archive in the crawl's folder", of_disk("archive_bytes")),
    gauge("state_bytes", "bytes", "everything else in the crawl's folder", of_disk("state_bytes")),
    gauge("workers", "workers", "workers by their state", running(worker_states), "state"),
    gauge("worker_in_flight", "URLs", "URLs in flight", of_workers(lambda one: one.in_flight), "worker"),
    gauge(
        "worker_active_hosts", "hosts", "hosts being crawled now", of_workers(lambda one: one.active_hosts), "worker"
    ),
    gauge(
        "worker_partitions", "partitions", "partitions owned", of_workers(lambda one: len(one.partitions)), "worker"
    ),
    gauge("worker_memory_bytes", "bytes", "resident memory", of_workers(lambda one: one.memory_bytes), "worker"),
    counter(
        "worker_cpu_seconds_total",
        "seconds",
        "processor time since it lives",
        of_workers(lambda one: one.cpu_s),
        "worker",
    ),
)


# ---- as text -------------------------------------------------------------------------------------------------


async def metrics(context: Context) -> Response:
    """In Prometheus' text format."""
    now, cluster = await context.crawl.now(), await context.crawl.cluster()
    disk = await context.remembered(("disk",), lambda: context.views.in_thread(lambda: disk_of(context)), DISK_S)
    if now is not None:
        facts = Facts(context.tree, now.totals, now.in_flight, at_nodes(disk, now), now, cluster)
    else:
        facts = await context.views.read(
            lambda view: Facts(context.tree, view.totals(), view.in_flight(), disk, None, cluster)
        )
    return Response(text_of(facts), media_type=MEDIA_TYPE)


def text_of(facts: Facts) -> str:
    return "".join(f"{line}\n" for metric in METRICS for line in lines_of(metric, facts))


def lines_of(metric: Metric, facts: Facts) -> Iterable[str]:
    values = metric.value(facts)
    if values is not None:
        yield from written(metric.name, metric.kind, metric.meaning, values)


def written(metric: str, kind: str, meaning: str, values: Mapping[Labels, float] | float) -> Iterable[str]:
    yield f"# HELP {metric} {meaning}"
    yield f"# TYPE {metric} {kind}"
    for labels, value in values.items() if isinstance(values, Mapping) else [((), values)]:
        end = "".join(text for name, text in labels if not name)  # _bucket, _sum and _count of a histogram
        inner = ",".join(f'{name}="{escaped(text)}"' for name, text in labels if name)
        yield f"{metric}{end}{'{' + inner + '}' if inner else ''} {number(value)}"


def number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def table() -> str:
    """The table in docs/metrics.md."""
    rows = ["| metric | kind | unit | labels | meaning |", "|---|---|---|---|---|"]
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        rows.append(f"| `{metric.name}` | {metric.kind} | {metric.unit} | {labels} | {metric.meaning} |")
    return "\n".join(rows)
