"""What a synthetic web is made of: its size, and how much of every behaviour it has.

A behaviour that belongs to pages is given as a share: 0.05 means that one page in twenty *carries* it, which is
to say that the page is ordinary and links to the odd thing. A share of 0 switches the behaviour off; others are
rounded to one page in n. A web with at least n pages has the behaviour at least once (see `Atlas.carries`).

Everything is off by default; the presets `plain`, `demo`, `everything`, `world`, `trapped` and `scripted` are usual
starting points, and `dataclasses.replace` makes variations of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

HOSTS_MAX = 254 * 256 * 254  # addresses 127.1.0.1 to 127.254.255.254, without last numbers 0 and 255
HOUR_S = 3600.0
DAY_S = 24 * HOUR_S

TRAPS = ("calendars", "sessions", "repeating", "facets", "deep")
TRAP_SHARE = 1 / 1000  # of the pages: with 40 pages a host, one host in 25 has a trap of each kind
ORDINARY_SITES = 10  # one of each kind, look_alikes.py
SCRIPTED_KINDS, DECORATED_KINDS, HOSTILE_KINDS = 12, 8, 17  # that there are but for `enhanced`, scripted/


class RobotsKind(StrEnum):
    """How a host answers for /robots.txt. What each one forbids is said in robots.py."""

    MISSING = "missing"  # 404: everything is allowed
    OPEN = "open"  # a file that forbids nothing
    GROUPS = "groups"  # several user agents with rules of their own
    WILDCARDS = "wildcards"  # rules with * and $
    OVERRIDE = "override"  # an Allow inside a Disallow
    DELAY = "delay"  # with Crawl-delay
    SITEMAP = "sitemap"  # with Sitemap lines
    MOVED = "moved"  # redirected to another path of the same host
    BORROWED = "borrowed"  # redirected to a path of host 0
    HUGE = "huge"  # more than 500 KiB, its rule at the start
    UNAVAILABLE = "unavailable"  # 503: nothing may be fetched
    SILENT = "silent"  # never answered: nothing may be fetched


UNREACHABLE = frozenset({RobotsKind.UNAVAILABLE, RobotsKind.SILENT})


@dataclass(frozen=True, slots=True)
class WebOptions:
    # Size and shape.
    seed: int = 0
    hosts: int = 10
    pages_per_host: int = 20  # ordinary pages; what they carry comes on top
    port: int = 0  # 0: the server finds a free one and the web learns it
    page_bytes: int = 4_000  # about
    links_per_page: int = 12  # about; links to carried things come on top
    link_by_name: bool = False  # http://h12.test/ instead of http://127.1.0.13/
    born_at: float = 1_600_000_000.0  # nothing changed before this moment (September 2020)

    # Hosts. The kinds are dealt out evenly; a kind named twice is dealt twice as often. Host 0 is always open.
    robots_kinds: tuple[RobotsKind, ...] = (RobotsKind.MISSING,)
    crawl_delay_s: float = 0.3
    robots_huge_bytes: int = 600 * 1024
    feeds: float = 0.0  # share of hosts with an RSS and an Atom feed

    # Things that pages link to.
    forbidden: float = 0.0  # paths that robots.txt forbids on some hosts
    hidden: float = 0.0  # pages that only a sitemap mentions, on hosts of the kind SITEMAP
    redirects: float = 0.0  # 301, 302, 307, 308, on the host and to other hosts
    redirect_chains: float = 0.0  # of 2, 3, 4 and 8 hops
    redirect_loops: float = 0.0  # a to b to a, and to itself
    not_found: float = 0.0
    gone: float = 0.0
    too_many_requests: float = 0.0  # 429 with Retry-After, then 200
    unavailable: float = 0.0  # 503, then 200
    server_errors: float = 0.0  # always 500
    resets: float = 0.0  # TCP reset instead of an answer
    hang_ups: float = 0.0  # closed without an answer
    truncated: float = 0.0  # Content-Length larger than what comes
    slow: float = 0.0  # the answer starts after slow_s
    dripping: float = 0.0  # the body takes drip_s to come
    endless: float = 0.0  # a body that never ends
    silent: float = 0.0  # never answered
    charsets: float = 0.0  # one page for each way of naming, or not naming, a charset
    content_types: float = 0.0  # missing and wrong ones
    files: float = 0.0  # text, PNG, PDF
    duplicates: float = 0.0  # the same bytes, three times, once on another host
    near_duplicates: float = 0.0  # three pages that differ in a date and a counter
    nofollow: float = 0.0
    noindex: float = 0.0
    canonical: float = 0.0  # rel=canonical
    bases: float = 0.0  # <base href>
    tracking: float = 0.0  # utm_source and its like on links to one page

    # Traps: places that never end.
    calendars: float = 0.0  # /calendar/2026/11 and /events?date=2026-11-05
    sessions: float = 0.0  # sid=, PHPSESSID=, ;jsessionid=, a fresh one in every link
    repeating: float = 0.0  # /repeat/info/more/info/more/
    facets: float = 0.0  # /facets?brand=..&color=..&size=..
    deep: float = 0.0  # /deep/1/2/3/4

    # Hosts on top of the others, each linked from one of them.
    trap_hosts: int = 0  # nothing but a trap, every kind in turn
    look_alike_hosts: int = 0  # archives, lists, shops, forums and the like: honest, and easily taken for traps
    products: int = 40  # of a shop among them
    scripted_hosts: int = 0  # a browser makes the text or the links of their pages, scripted/
    scripted_kinds: tuple[str, ...] = ()  # in turn; empty: every kind that there is
    scripted_pages: int = 12  # of each
    decorated_hosts: int = 0  # whose scripts add nothing
    decorated_pages: int = 60
    hostile_hosts: int = 0  # whose scripts attack the browser
    hostile_kinds: tuple[str, ...] = ()  # as above
    targets: tuple[str, ...] = ()  # URLs outside of the web which those scripts try to reach

    # How ordinary pages are sent.
    gzip: float = 0.0  # where the client accepts it
    brotli: float = 0.0  # where the client accepts it
    chunked: float = 0.0
    validators: bool = False  # a page has ETag, Last-Modified, both or neither, in turn
    changing: float = 0.0  # pages that change, each as a Poisson process of its own rate
    change_interval_s: tuple[float, float] = (HOUR_S, 30 * DAY_S)  # shortest and longest mean, log-uniform between

    # Amounts for the above.
    refusals: int = 1  # so many requests for a URL get 429 or 503 before one gets 200
    retry_after_s: int = 1
    slow_s: float = 0.5
    drip_s: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= HOSTS_MAX:
            raise ValueError(f"hosts is {self.hosts}; it has to be from 1 to {HOSTS_MAX}")
        behind = (
            self.trap_hosts,
            self.look_alike_hosts,
            self.scripted_hosts,
            self.decorated_hosts,
            self.hostile_hosts,
        )
        if min(behind) < 0 or self.hosts_in_all > HOSTS_MAX:
            raise ValueError(f"hosts in all: {self.hosts_in_all}; there can be {HOSTS_MAX}, and none fewer than 0")
        if self.pages_per_host < 1:
            raise ValueError(f"pages_per_host is {self.pages_per_host}; a host has at least its root page")
        if not self.robots_kinds:
            raise ValueError("robots_kinds is empty; name at least one kind")
        for field in fields(self):
            if field.type == "float" and field.name in SHARES and not 0 <= getattr(self, field.name) <= 1:
                raise ValueError(f"{field.name} is {getattr(self, field.name)}; a share is from 0 to 1")

    @property
    def hosts_in_all(self) -> int:
        return self.first_hostile + self.hostile_hosts

    @property
    def first_scripted(self) -> int:
        return self.hosts + self.trap_hosts + self.look_alike_hosts

    @property
    def first_decorated(self) -> int:
        return self.first_scripted + self.scripted_hosts

    @property
    def first_hostile(self) -> int:
        return self.first_decorated + self.decorated_hosts

    @classmethod
    def plain(
        cls,
        *,
        hosts: int = 100,
        pages_per_host: int = 50,
        page_bytes: int = 21_000,
        links_per_page: int = 20,
        seed: int = 0,
        port: int = 0,
    ) -> WebOptions:
        """Only ordinary pages, of the size that web pages have on average: for benchmarks."""
        return cls(
            seed=seed,
            hosts=hosts,
            pages_per_host=pages_per_host,
            port=port,
            page_bytes=page_bytes,
            links_per_page=links_per_page,
        )

    @classmethod
    def everything(
        cls, *, hosts: int = 26, pages_per_host: int = 40, seed: int = 0, port: int = 0, share: float = 1 / 20
    ) -> WebOptions:
        """Every behaviour that there is, each carried by the same share of the pages; what takes time, by fewer."""
        shares: dict[str, Any] = dict.fromkeys(SHARES - {"gzip", "brotli", "chunked", "changing", "feeds"}, share)
        web = cls(
            seed=seed,
            hosts=hosts,
            pages_per_host=pages_per_host,
            port=port,
            page_bytes=2_000,
            robots_kinds=tuple(RobotsKind),
            feeds=0.5,
            gzip=0.2,
            brotli=0.2,
            chunked=0.2,
            changing=0.3,
            validators=True,
        )
        shares |= dict.fromkeys(("slow", "dripping", "endless", "silent"), share / 4)
        return replace(web, **shares)

    @classmethod
    def world(
        cls, *, hosts: int = 50, pages_per_host: int = 40, seed: int = 0, port: int = 0, products: int = 500
    ) -> WebOptions:
        """Every behaviour, with traps on few hosts, and ordinary sites that are easily taken for traps."""
        web = cls.everything(hosts=hosts, pages_per_host=pages_per_host, seed=seed, port=port)
        few: dict[str, Any] = dict.fromkeys(TRAPS, TRAP_SHARE)
        return replace(web, look_alike_hosts=ORDINARY_SITES, products=products, **few)

    @classmethod
    def trapped(cls, *, hosts: int = 96, pages_per_host: int = 20, seed: int = 0, port: int = 0) -> WebOptions:
        """A tenth of all hosts are traps, of every kind that there is; a fifth only look like it."""
        return cls(
            seed=seed,
            hosts=hosts,
            trap_hosts=max(1, round(hosts / 7)),
            look_alike_hosts=round(hosts * 2 / 7),
            pages_per_host=pages_per_host,
            port=port,
            page_bytes=2_000,
        )

    @classmethod
    def scripted(cls, *, hosts: int = 10, pages_per_host: int = 20, seed: int = 0, port: int = 0) -> WebOptions:
        """Ordinary hosts, and one host of every kind that is scripted or decorated; none is hostile."""
        return cls(
            seed=seed,
            hosts=hosts,
            pages_per_host=pages_per_host,
            port=port,
            page_bytes=2_000,
            scripted_hosts=SCRIPTED_KINDS,
            decorated_hosts=DECORATED_KINDS,
        )

    @classmethod
    def demo(cls, *, seed: int = 0, port: int = 0) -> WebOptions:
        """Forty hosts with something of everything that a crawler meets, and nothing that makes it wait long."""
        calm = tuple(kind for kind in RobotsKind if kind not in UNREACHABLE and kind is not RobotsKind.HUGE)
        return cls(
            seed=seed,
            hosts=40,
            pages_per_host=9,
            port=port,
            robots_kinds=(RobotsKind.MISSING, RobotsKind.OPEN, *calm, RobotsKind.UNAVAILABLE),
            crawl_delay_s=0.5,
            feeds=0.2,
            forbidden=0.05,
            hidden=0.1,
            redirects=0.05,
            redirect_chains=0.01,
            redirect_loops=0.005,
            not_found=0.03,
            gone=0.01,
            too_many_requests=0.005,
            unavailable=0.005,
            server_errors=0.01,
            truncated=0.005,
            charsets=0.01,
            content_types=0.01,
            files=0.02,
            duplicates=0.04,
            near_duplicates=0.03,
            nofollow=0.01,
            noindex=0.01,
            canonical=0.01,
            bases=0.01,
            tracking=0.02,
            calendars=0.01,
            sessions=0.01,
            repeating=0.01,
            facets=0.01,
            deep=0.01,
            gzip=0.3,
            brotli=0.3,
            chunked=0.1,
            validators=True,
            changing=0.2,
            change_interval_s=(60.0, HOUR_S),
        )


NOT_SHARES = {"born_at", "crawl_delay_s", "slow_s", "drip_s"}
SHARES = frozenset(
    field.name for field in fields(WebOptions) if field.type == "float" and field.name not in NOT_SHARES
)
