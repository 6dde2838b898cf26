"""The settings: every value that a crawl can be told, with its type, bounds, default and meaning in one place.

The tree reads as the documentation, and as nothing else: what the values may be is kinds.py, and how they get into it
from files, environment and flags is config.py. A name has its unit last. Every limit has an upper bound: infinity is
a number too, and nobody means it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import replace

from gossamer.rendered import When
from gossamer.settings.kinds import (
    DAY_S,
    GIB,
    HOUR_S,
    KIB,
    MIB,
    MINUTE_S,
    Address,
    Age,
    ByteRate,
    Bytes,
    CaFile,
    ClientOptions,
    ClusterName,
    Contact,
    Count,
    CrawlTime,
    Depth,
    Header,
    Listen,
    MediaType,
    Pattern,
    PostgresUrl,
    Product,
    Proxy,
    Rate,
    RedisUrl,
    Region,
    Rest,
    Scheme,
    Seconds,
    Server,
    Servers,
    StoreOptions,
    StoreUrl,
    TimeLimit,
    Wait,
    Webhook,
    about,
)

RETRIES_S = (10 * MINUTE_S, 30 * MINUTE_S, 2 * HOUR_S)
RESTS_S = (2 * HOUR_S, 6 * HOUR_S, DAY_S, 3 * DAY_S, 7 * DAY_S)


class CrawlSettings(Struct, frozen=True, kw_only=True):
    """What belongs to this crawl, and when it ends."""

    partitions: Annotated[int, about("parts of its state; fixed once it is created", ge=1, le=4096)] = 8
    scope: Annotated[Literal["host", "site", "any"], about("how far from the seeds links lead")] = "host"
    include: Annotated[tuple[Pattern, ...], about("only URLs where one of these is found; []: all")] = ()
    exclude: Annotated[tuple[Pattern, ...], about("no URLs where one of these is found")] = ()
    prefixes: Annotated[tuple[str, ...], about("only URLs that begin with one of these; []: all")] = ()
    hosts_excluded: Annotated[tuple[str, ...], about("hosts, and all names below them, that are left out")] = ()
    media_types: Annotated[tuple[MediaType, ...], about("only these, such as text/*; []: all")] = ()
    ascend: Annotated[bool, about("of /a/b/c.html also ask for /a/b/, /a/ and /")] = False
    parameters_dropped: Annotated[tuple[str, ...], about("further query parameters that mean nothing; utm_*")] = ()
    parameters_kept: Annotated[tuple[str, ...], about("of those usually dropped: they mean something here")] = ()
    max_pages: Annotated[Count | None, about("stop after this many pages, all runs together")] = None
    max_depth: Annotated[Depth | None, about("most links away from a seed")] = None
    max_time_s: Annotated[CrawlTime | None, about("stop a run after this time; of a run, and not kept")] = None
    wait: Annotated[bool, about("wait for later tries of what failed, instead of ending before them")] = False
    forever: Annotated[bool, about("go on visiting pages again when nothing new is left")] = False
    contact: Annotated[Contact, about("whom to write to about this crawl; sent as User-Agent")] = ""
    user_agent_token: Annotated[Product, about("our name, in User-Agent and robots.txt")] = "gossamer"
    allow_private: Annotated[bool, about("also go to loopback, private and link-local addresses")] = False
    commit_s: Annotated[Seconds, about("pages that finish within this are stored together", ge=0.01, le=10)] = 0.2
    workers: Annotated[int, about("worker processes; 0: one a core", ge=0, le=1024)] = 0
    disk_free_bytes_min: Annotated[Bytes, about("with less room the crawl pauses", ge=0, le=1024 * GIB)] = GIB


class PolitenessSettings(Struct, frozen=True, kw_only=True):
    """How long a host is left alone after an answer ended."""

    delay_s: Annotated[Wait, about("shortest delay")] = 1.0
    delay_s_max: Annotated[Wait, about("longest delay for a host that answers slowly")] = 300.0
    retry_after_s_max: Annotated[Wait, about("a longer Retry-After is taken for this")] = 7 * DAY_S
    latency_factor: Annotated[float, about("delay for each second of response time", ge=0, le=1000)] = 2.0
    back_off_s_max: Annotated[Wait, about("longest delay for a host that is overloaded")] = HOUR_S
    ip_requests_per_s: Annotated[float, about("to one address, all its hosts together", ge=0.001, le=10**6)] = 10.0
    site_requests_per_s: Annotated[Rate | None, about("to one site, all its hosts together; none: no bound")] = 10.0
    requests_per_s: Annotated[Rate | None, about("of the whole crawl")] = None
    bytes_per_s: Annotated[ByteRate | None, about("that the whole crawl receives")] = None
    ip_burst: Annotated[int, about("requests to a rested address before that holds", ge=1, le=10**6)] = 20


class FetchSettings(Struct, frozen=True, kw_only=True):
    """Limits of one transfer, so that no server holds us for ever or fills the disk."""

    connect_timeout_s: Annotated[TimeLimit, about("longest time until the connection stands")] = 10.0
    first_byte_timeout_s: Annotated[TimeLimit, about("longest time from request to answer")] = 30.0
    timeout_s: Annotated[TimeLimit, about("longest time until the answer is complete")] = 60.0
    slow_bytes_per_s: Annotated[int, about("abort a transfer that is slower than this ...", ge=0, le=GIB)] = 100
    slow_s: Annotated[Seconds, about("... for longer than this", ge=1, le=DAY_S)] = 20.0
    body_bytes_max: Annotated[Bytes, about("a larger body, packed or unpacked, is cut", ge=1, le=GIB)] = 10 * MIB
    header_bytes_max: Annotated[Bytes, about("all headers of an answer", ge=KIB, le=16 * MIB)] = 256 * KIB
    in_flight_max: Annotated[int, about("transfers at once in a worker", ge=1, le=65_536)] = 512
    in_flight_bytes_max: Annotated[
        Bytes, about("memory of fetched pages that a worker has not yet stored", ge=KIB, le=1024 * GIB)
    ] = 64 * MIB
    schemes: Annotated[tuple[Scheme, ...], about("the protocols that are crawled")] = ("http", "https")
    tls: Annotated[Literal["verify", "record"], about("record: go on with a bad certificate, and note it")] = "verify"
    ca_file: Annotated[CaFile, about("PEM file of the authorities to trust; empty: the usual ones")] = ""
    accept: Annotated[Header, about("the media types that are asked for")] = (
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    )
    accept_language: Annotated[Header, about("the languages that are asked for")] = "en;q=0.9, *;q=0.5"
    credentials: Annotated[str, about("a TOML file of headers and logins by the beginning of URLs; empty: none")] = ""
    proxy: Annotated[
        tuple[Proxy, ...], about("proxies that requests go through; []: none, not even the environment's")
    ] = ()
    identity_key: Annotated[str, about("a PEM file with the key that signs requests; empty: they are not signed")] = (
        ""
    )
    identity_url: Annotated[str, about("the https origin where the public half of that key is published")] = ""
    cookies: Annotated[Literal["off", "redirects", "host"], about("which are kept and sent back")] = "redirects"


class FrontierSettings(Struct, frozen=True, kw_only=True):
    """The queues of a partition."""

    active_hosts_max: Annotated[int, about("hosts in memory at once", ge=1, le=10**7)] = 10_000
    lease_s: Annotated[Seconds, about("a URL handed out comes back after this", ge=1, le=DAY_S)] = 600.0
    unsure_s: Annotated[
        Wait, about("least delay of a host whose last request has an end that nobody knows; fetchers make it longer")
    ] = 0.0
    retries_s: Annotated[tuple[Wait, ...], about("waits before a failed page's further tries")] = RETRIES_S
    kills_max: Annotated[int, about("workers a URL may kill before quarantine", ge=1, le=100)] = 3
    host_share: Annotated[int, about("fetches before a host gives way to hosts that wait", ge=1, le=10**6)] = 25
    host_failures_max: Annotated[int, about("failures in a row after which a host rests", ge=1, le=10**6)] = 12
    rests_s: Annotated[tuple[Rest, ...], about("rests during an outage, one by one; the last repeats")] = RESTS_S
    host_pages_max: Annotated[Count | None, about("pages a host may have in all")] = None
    site_pages_max: Annotated[Count | None, about("pages a site may have in all")] = None
    host_queue_max: Annotated[
        int, about("URLs queued for a host; the lowest priorities are dropped", ge=1, le=10**12)
    ] = 10_000_000
    queue_max: Annotated[
        int, about("URLs queued in the whole crawl; the lowest priorities are dropped", ge=1, le=10**15)
    ] = 10**9
    authority_start: Annotated[float, about("authority of a host that nobody has linked to", ge=0, le=1)] = 0.5
    seen_urls: Annotated[int, about("URLs that the first filter is made for; it grows", ge=1000, le=10**10)] = (
        1_000_000
    )
    seen_mistakes: Annotated[float, about("share of new URLs that the filter takes for known", ge=1e-6, le=0.1)] = (
        0.01
    )

    def share(self, partitions: int) -> FrontierSettings:
        """What one partition may hold of what the whole crawl may."""
        return replace(self, queue_max=math.ceil(self.queue_max / partitions))


class RobotsSettings(Struct, frozen=True, kw_only=True):
    """Copies of robots.txt. RFC 9309 sets the greatest age (24 hours) and the least size (500 KiB)."""

    age_s_max: Annotated[Seconds, about("an older copy is fetched again", ge=0, le=DAY_S)] = DAY_S
    body_bytes_max: Annotated[Bytes, about("how much is read", ge=500 * KIB, le=64 * MIB)] = 512 * KIB
    crawl_delay_s_max: Annotated[Wait, about("a host whose Crawl-delay is longer is not crawled")] = 300.0
    redirects_max: Annotated[int, about("redirects that are followed", ge=0, le=20)] = 5
    retry_s: Annotated[tuple[Wait, ...], about("waits while it has no answer; then frontier.rests_s")] = RETRIES_S


class ProcessSettings(Struct, frozen=True, kw_only=True):
    """What is made of a body, and what that may cost."""

    links_from: Annotated[tuple[Literal["images", "scripts"], ...], about("follow also these parts of a page")] = ()
    aside_bytes: Annotated[Bytes, about("a larger page is read in a process of its own", ge=KIB, le=GIB)] = 256 * KIB
    time_s_max: Annotated[Seconds, about("longest time to read a page there", ge=0.1, le=HOUR_S)] = 20.0
    memory_bytes_max: Annotated[Bytes, about("most memory to read a page there", ge=64 * MIB, le=64 * GIB)] = (
        512 * MIB
    )
    near_bits: Annotated[
        int, about("SimHashes that differ in no more are compared; 0: only same bytes", ge=0, le=4)
    ] = 3
    near_words_min: Annotated[int, about("in a shorter text any other word counts as a change", ge=1, le=10**6)] = 40


class RenderSettings(Struct, frozen=True, kw_only=True):
    """Pages that a browser shows before they are read (docs/rendering.md)."""

    when: Annotated[When, about("which pages: those that gain by it (auto), all, or none")] = "auto"
    browser: Annotated[str, about("path of Chromium or Chrome; empty: where systems put it")] = ""
    processes: Annotated[int, about("browsers of a worker", ge=1, le=64)] = 1
    pages_at_once: Annotated[int, about("that a browser shows", ge=1, le=64)] = 4
    screenshot: Annotated[bool, about("store a picture of each page that was rendered")] = False
    requests: Annotated[int, about("of a page while it is rendered", ge=0, le=10_000)] = 50
    bytes: Annotated[Bytes, about("that these may bring", ge=0, le=GIB)] = 20 * MIB
    seconds: Annotated[Seconds, about("that a page may take, waits for turns included", ge=0.5, le=HOUR_S)] = 30.0
    memory: Annotated[Bytes, about("of a browser; its largest page ends above", ge=128 * MIB, le=1024 * GIB)] = GIB
    pages: Annotated[int, about("that a browser shows before another takes its place", ge=1, le=10**6)] = 200


class TrapsSettings(Struct, frozen=True, kw_only=True):
    """Where a URL stops looking like one that a person would make."""

    path_depth_max: Annotated[int, about("most parts in a path", ge=1, le=1000)] = 16
    url_bytes_max: Annotated[Bytes, about("longest URL", ge=32, le=64 * KIB)] = 2048
    parameters_max: Annotated[int, about("most parameters in a query", ge=0, le=1000)] = 8
    repeats_max: Annotated[int, about("most times that one part is in a path", ge=1, le=1000)] = 2
    pattern_pages: Annotated[int, about("pages of one pattern of URLs that are free", ge=1, le=10**9)] = 10
    pattern_gain: Annotated[int, about("extra pages for each page that differs from the others", ge=0, le=10**6)] = 10
    host_pages: Annotated[
        int, about("pages with new links that a host may have for each link from elsewhere", ge=1, le=10**9)
    ] = 1000


class ScheduleSettings(Struct, frozen=True, kw_only=True):
    """When pages are visited again, and what that may cost; docs/freshness.md tells how it is decided."""

    capacity_share: Annotated[
        float, about("share of what the crawl can fetch that revisits may take", ge=0.001, le=1)
    ] = 0.5
    visits_a_day: Annotated[Count | None, about("revisits a day; replaces capacity_share")] = None
    revisit_share: Annotated[float, about("of fetches, while there are new pages to fetch", ge=0, le=0.99)] = 0.3
    shortest_s: Annotated[Seconds, about("no page is visited again sooner", ge=0.1, le=365 * DAY_S)] = HOUR_S
    longest_s: Annotated[Seconds, about("every page is visited again by then", ge=1, le=3650 * DAY_S)] = 90 * DAY_S
    interval_share_min: Annotated[
        float, about("no visit before this share of the estimated time between changes", ge=0, le=1)
    ] = 0.1
    host_visits_a_day: Annotated[Count | None, about("visits again that a host may cost")] = None
    first_guess_s: Annotated[Seconds, about("between changes, while no page is known", ge=1, le=3650 * DAY_S)] = (
        30 * DAY_S
    )


class DnsSettings(Struct, frozen=True, kw_only=True):
    """Names to addresses, and how long an answer is kept."""

    ttl_s_min: Annotated[Wait, about("an answer is kept at least so long")] = MINUTE_S
    ttl_s_max: Annotated[Wait, about("an answer is kept at most so long")] = HOUR_S
    names_max: Annotated[int, about("names in memory; the longest unused are forgotten", ge=1, le=10**8)] = 100_000
    query_timeout_s: Annotated[TimeLimit, about("a server's time to answer; longer at further tries")] = 5.0
    tries: Annotated[int, about("times that each server is asked", ge=1, le=10)] = 2
    failure_s: Annotated[Wait, about("rest for a site whose name servers fail; doubled each time")] = 10.0
    servers: Annotated[tuple[Server, ...], about("name servers to ask; []: the system's")] = ()
    overrides: Annotated[Mapping[str, Address], about("addresses of names that are not asked for")] = {}
    blocked: Annotated[tuple[str, ...], about("names that are never visited, with all below them")] = ()


class ArchiveSettings(Struct, frozen=True, kw_only=True):
    """Where pages are stored, and what is kept of them."""

    url: Annotated[StoreUrl, about("s3://bucket/prefix; empty: the folder `archive` of the crawl")] = ""
    options: Annotated[StoreOptions, about("of that store: endpoint, region, ...; no secrets")] = {}
    store_near: Annotated[bool, about("store the bodies of near copies; off: name the original instead")] = True
    keep_versions: Annotated[Count | None, about("versions of a page that compaction keeps")] = None
    keep_s: Annotated[Age | None, about("compaction drops what is older than this")] = None
    file_bytes_max: Annotated[Bytes, about("a file is closed at this size", ge=MIB, le=1024 * GIB)] = GIB


class ServeSettings(Struct, frozen=True, kw_only=True):
    """The control API and the dashboard."""

    host: Annotated[str, about("the address it listens on; others than loopback need a key")] = "127.0.0.1"
    port: Annotated[int, about("its port; 0: any that is free", ge=0, le=65_535)] = 8080
    certificate_file: Annotated[str, about("PEM file: with it, it speaks TLS")] = ""
    key_file: Annotated[str, about("PEM file of the certificate's private key")] = ""
    body_bytes_max: Annotated[Bytes, about("largest request body", ge=KIB, le=GIB)] = 4 * MIB
    failures_a_minute: Annotated[int, about("bad keys from one address before it has to wait", ge=1, le=10**6)] = 10


class RpcSettings(Struct, frozen=True, kw_only=True):
    """The gRPC services, `gossamer frontier` and `gossamer fetcher`."""

    certificate_file: Annotated[str, about("PEM file: with it, they speak TLS")] = ""
    key_file: Annotated[str, about("PEM file of the certificate's private key")] = ""
    client_ca_file: Annotated[CaFile, about("PEM file: with it, clients need a certificate of this authority")] = ""
    message_bytes_max: Annotated[Bytes, about("largest message of a client", ge=64 * KIB, le=GIB)] = 4 * MIB
    failures_a_minute: Annotated[int, about("bad keys from one address before it has to wait", ge=1, le=10**6)] = 10


class LogSettings(Struct, frozen=True, kw_only=True):
    """What the crawl writes about itself beside the terminal."""

    level: Annotated[Literal["off", "warning", "info", "debug"], about("debug: a line for every fetch")] = "info"
    form: Annotated[Literal["console", "json"], about("lines for people, or an object a line")] = "console"
    file: Annotated[str, about("where to; empty: with everything else to standard error")] = ""


class AlertsSettings(Struct, frozen=True, kw_only=True):
    """Who is told when a crawl stalls, ends, goes wrong or runs out of disk (supervisor/alerts.py)."""

    webhook: Annotated[Webhook, about("where to post; a file that holds it, if it is a secret; empty: nowhere")] = ""
    stalled_s: Annotated[Seconds, about("no answer for so long, and there is work", ge=1, le=30 * DAY_S)] = (
        10 * MINUTE_S
    )
    errors_share: Annotated[float, about("so many of the URLs of five minutes went wrong", ge=0.01, le=1)] = 0.5
    disk_free_bytes_min: Annotated[Bytes, about("with less room on the disk", ge=0, le=1024 * GIB)] = 5 * GIB


class ClusterSettings(Struct, frozen=True, kw_only=True):
    """The servers that all nodes of a cluster share (docs/cluster.md); without `kafka` a crawl is on one machine."""

    name: Annotated[ClusterName, about("of the crawl: its topics, its group and its objects begin with it")] = ""
    kafka: Annotated[Servers, about("brokers to begin with: host:port,host:port; empty: no cluster")] = ""
    kafka_options: Annotated[ClientOptions, about("of the client: security.protocol, ssl.ca.location, ...")] = {}
    redis: Annotated[RedisUrl, about("Redis or Valkey for what all nodes share: redis://host:port/0")] = ""
    copies: Annotated[int, about("of each topic; at least one less must have a message", ge=1, le=15)] = 3
    session_s: Annotated[
        Seconds, about("a node that is silent for so long has lost its partitions", ge=2, le=300)
    ] = 45.0
    heartbeat_s: Annotated[Seconds, about("how often a node says that it is there", ge=0.2, le=60)] = 3.0
    margin_s: Annotated[Seconds, about("a node asks nothing so long before its session may end", ge=0.5, le=120)] = (
        10.0
    )
    hand_over_s: Annotated[
        Seconds, about("what is in flight may take so long when a partition moves", ge=0, le=60)
    ] = 5.0
    snapshot_s: Annotated[Seconds, about("between two snapshots of a partition", ge=1, le=DAY_S)] = 900.0
    links_keep_s: Annotated[Age, about("how long links are kept in their topic")] = 7 * DAY_S
    journal_keep_s: Annotated[Age, about("how long the journal is kept that no snapshot made shorter")] = 365 * DAY_S


class SinksSettings(Struct, frozen=True, kw_only=True):
    """Where records of crawled pages go, beside the archive."""

    kafka: Annotated[Servers, about("brokers that get a message for each page: host:port,host:port")] = ""
    kafka_options: Annotated[ClientOptions, about("of the client: security.protocol, ssl.ca.location, ...")] = {}
    topic: Annotated[ClusterName, about("the topic that these messages go to")] = "crawled-pages"
    links: Annotated[bool, about("messages and tables also have the links of each page")] = False
    postgres: Annotated[PostgresUrl, about("a database that gets tables: postgresql://user@host:port/name")] = ""


class FetchersSettings(Struct, frozen=True, kw_only=True):
    """Fetchers: processes anywhere that fetch for this crawl (docs/fetchers.md)."""

    listen: Annotated[Listen, about("where they join; workers use the next free ports; empty: no fetchers")] = ""
    alone: Annotated[bool, about("fetch here while no fetcher is there that may")] = False
    ask_s: Annotated[Seconds, about("a fetcher asks a server within this time, or not at all", ge=1, le=600)] = 10.0
    margin_s: Annotated[Seconds, about("added to all a job may take, before its host is free", ge=0.5, le=120)] = 5.0
    checked_share: Annotated[float, about("of pages that fetchers have read: looked into here", ge=0.01, le=1)] = 0.1
    region: Annotated[Region, about("of hosts that no other rule knows; empty: any")] = ""
    tlds: Annotated[Mapping[str, Region], about("regions by top-level domain: { de = 'eu' }")] = {}
    countries: Annotated[Mapping[str, Region], about("regions by the country of the host's address")] = {}
    country_file: Annotated[str, about("lines of NETWORK,COUNTRY or FIRST,LAST,COUNTRY, for countries")] = ""
    by_latency: Annotated[bool, about("hosts that no rule knows are asked from where they answer soonest")] = False

    def job_s(self, fetch: FetchSettings) -> float:
        """When a job that was sent is over for certain, whatever became of its fetcher; 0: there are none."""
        return self.ask_s + fetch.timeout_s + self.margin_s if self.listen else 0.0


class Tree(Struct, frozen=True, kw_only=True):
    """The whole configuration; `Tree()` is the built-in defaults."""

    crawl: CrawlSettings = CrawlSettings()
    politeness: PolitenessSettings = PolitenessSettings()
    fetch: FetchSettings = FetchSettings()
    frontier: FrontierSettings = FrontierSettings()
    robots: RobotsSettings = RobotsSettings()
    process: ProcessSettings = ProcessSettings()
    render: RenderSettings = RenderSettings()
    traps: TrapsSettings = TrapsSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    dns: DnsSettings = DnsSettings()
    archive: ArchiveSettings = ArchiveSettings()
    serve: ServeSettings = ServeSettings()
    rpc: RpcSettings = RpcSettings()
    log: LogSettings = LogSettings()
    alerts: AlertsSettings = AlertsSettings()
    cluster: ClusterSettings = ClusterSettings()
    sinks: SinksSettings = SinksSettings()
    fetchers: FetchersSettings = FetchersSettings()


# The first may not be above the second. A lease that ends before its fetch would let a host be asked twice
# at once.
ORDERED = (
    ("dns.ttl_s_min", "dns.ttl_s_max"),
    ("schedule.shortest_s", "schedule.longest_s"),
    ("fetch.timeout_s", "frontier.lease_s"),
)
