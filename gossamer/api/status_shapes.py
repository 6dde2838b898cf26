"""The shapes of a crawl's status, its history and its exports, as the control API answers them (shapes.py)."""

from __future__ import annotations

from gossamer.api.fetcher_shapes import Fetcher
from gossamer.api.shapes import CrawlState, Moment, Shape, Share
from gossamer.records import Reason


class Cache(Shape):
    """What a cache is worth, in this run."""

    asked: int
    hits: int
    hit_rate: Share | None


class Dns(Cache):
    queries: int  # that servers were asked
    failures: int
    query_s: float | None  # one, on average
    names: int  # in the cache now


class Seen(Shape):
    """The set of URLs that are known."""

    urls: int
    false_positive_rate: Share  # of new URLs that the filter takes for known; each costs a look at the disk


class Duplicates(Shape):
    pages: int  # whose content another URL had shown before
    share: Share | None  # of all pages
    bytes_saved: int | None  # that were not stored again


class Disk(Shape):
    free_bytes: int
    archive_bytes: int
    state_bytes: int  # everything else in the crawl's folder


class ReasonCount(Shape):
    reason: Reason
    count: int
    explained: str


class Level(Shape):
    """Hosts that have something queued, by tenths of the priority of their best URL: 0 is drawn most often."""

    level: int
    hosts: int


class TimeClass(Shape):
    """Answers that took no longer than this, and longer than the class before; null: longer than all."""

    up_to_s: float | None
    count: int


class Worker(Shape):
    number: int
    pid: int
    state: str  # starting | working | idle | paused | not answering
    in_flight: int
    active_hosts: int
    partitions: list[int]
    memory_bytes: int
    cpu_s: float  # since it lives
    node: str | None  # where the whole of a cluster is shown


class Recrawl(Shape):
    """How pages are kept fresh; rates are of the last few seconds."""

    pages: int  # that are to be visited again
    visits: int  # of pages that were fetched before
    due: int  # wait for their moment
    overdue: int
    budget_per_day: int
    wanted_per_day: int
    spent_per_day: int
    multiplier_s: float  # of freshness, that a visit to a page of mean importance has to gain
    freshness: Share  # weighted by importance, as estimated
    is_scarce: bool  # the pages want more visits than the budget has


class OutgoingProxy(Shape):
    proxy: str  # without its password
    trouble: str | None  # why nothing goes through it; null: it does


class Status(Shape):
    """Counters are from the crawl's first start on, unless their name says otherwise; rates are of the last 10 s."""

    at: Moment
    dir: str  # the crawl's folder, or the file of a cluster
    cluster: str | None  # its name; null: a crawl on one machine
    is_whole_cluster: bool  # false: one machine, or one node of a cluster
    look_age_s: float | None  # so old are pages, hosts and the like of a cluster; null: not looked at, or live
    version: str  # of gossamer
    state: CrawlState
    running: bool
    paused_why: str | None  # in words
    started_at: Moment | None  # this run
    elapsed_s: float | None
    max_pages: int | None  # the crawl's limit
    eta_s: float | None  # until that, or until what is queued is fetched, at the rate of the last 10 s

    pages: int
    pages_today: int | None  # since midnight UTC
    pages_crawled_today: int | None  # the same
    pages_this_run: int | None
    pages_per_s: float
    bytes_per_s: float
    errors_per_s: float
    error_rate: Share | None  # of what was asked for in the last 10 s
    current_qps: float  # answers a second, pages and errors
    bytes: int  # of all bodies
    requests: int
    redirects: int

    urls_known: int
    queued: int  # without those in flight
    pages_in_queue: int  # the same
    in_flight: int
    waiting: int  # for another try
    failed: int
    refused: int
    quarantined: int
    hosts: int  # ever met
    active_hosts: int
    domains_active: int  # sites with an active host, as of some seconds ago

    errors: list[ReasonCount]  # failures and refusals of URLs, most first: the two lists that follow
    troubles: list[ReasonCount]  # those of them where something went wrong
    decisions: list[ReasonCount]  # those that robots.txt, a filter, a bound or a person decided
    errors_this_run: list[ReasonCount]
    turned_away: list[ReasonCount]  # links that were rejected at all
    queue: list[Level]
    answer_times: list[TimeClass]  # in this run
    duplicates: Duplicates
    seen: Seen
    dns: Dns | None  # null while the crawl is not running
    robots: Cache | None
    memory_bytes: int | None  # the supervisor and all workers
    disk: Disk
    workers: list[Worker]
    fetchers: list[Fetcher]
    fetch_reports_ignored: dict[str, int]  # what fetchers said that changed nothing, by why
    fetch_jobs_lost: int  # that no fetcher answered in time
    proxies: list[OutgoingProxy]  # that requests go through
    recrawl: Recrawl


class HistoryPoint(Shape):
    """The crawl at a moment; rates are over the time since the point before."""

    at: Moment
    pages: int  # in all
    bytes: int
    errors: int
    pages_per_s: float
    bytes_per_s: float
    errors_per_s: float
    queued: int
    waiting: int
    hosts: int  # ever met
    memory_bytes: int
    is_start: bool  # the first of a run: between it and the point before, the crawl did not run
    duplicates: int
    duplicates_share: float | None  # of the pages since the point before; null: there were none
    disk_free_bytes: int | None
    freshness: Share | None
    answers_per_s: dict[str, float]  # by the class of their status: 2xx; none: no answer
    answer_p50_s: float | None  # half of the answers came in so long
    answer_p95_s: float | None
    eta_s: float | None  # as in the status


class History(Shape):
    """Oldest first. What an earlier version did not write down is null."""

    points: list[HistoryPoint]


class ExportPosition(Shape):
    partition: int
    file: str
    offset: int  # all before it is handed on


class Export(Shape):
    target: str
    format: str
    options: list[str]
    positions: list[ExportPosition]  # none: nothing is handed on yet


class Exports(Shape):
    exports: list[Export]


class ExplainedReason(Shape):
    reason: Reason
    explained: str


class Reasons(Shape):
    reasons: list[ExplainedReason]
