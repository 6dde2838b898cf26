"""Hosts and domains. A domain here is a site: all hosts below one registrable domain.

A list is put in order by going through all hosts, which takes some microseconds each. So an answer is kept for ten
times as long as it took (context.py), and no more of the list is ever in memory than what was asked for.
"""

from __future__ import annotations

import heapq
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from gossamer.api import folder_shapes, shapes, status_shapes
from gossamer.api.context import Context
from gossamer.api.names import must_be_host
from gossamer.api.route import NoAnswer, Query
from gossamer.api.routes.policies import policy_shape
from gossamer.api.views import View
from gossamer.fetch.robots import rules_of
from gossamer.frontier.rules.origins import all_away
from gossamer.frontier.rules.policy import NONE, Policies
from gossamer.inspect.view import bracketed
from gossamer.records import Host, Reason, RobotsCopy
from gossamer.text import EXPLAINED, TROUBLES, moment

ROBOTS_BYTES_MAX = 64 << 10
NEXT_URLS = 10
FRESH_S = 1.0
ROBOTS_OF_HOSTS = 3  # of a domain: its largest
URLS_MAX = 50_000  # of a host that are looked at: about half a second
STEPS = 60  # that a host's time is cut into

T = TypeVar("T")

HostField = Literal[
    "host", "pages", "queued", "requests", "errors", "error_rate", "bytes", "delay_s", "ready_in_s", "in_links"
]
DomainField = Literal["domain", "hosts", "pages", "queued", "requests", "errors", "error_rate", "bytes"]
NamePart = Annotated[str, Meta(min_length=1, max_length=255, description="only where the name holds this")]
Cursor = Annotated[str, Meta(pattern="^[0-9a-f]{16}.{1,255}$", description="as an earlier answer gave it")]
Limit = Annotated[int, Meta(ge=1, le=1000)]


class HostsQuery(Query):
    sort: HostField = "host"
    order: Literal["asc", "desc"] = "asc"
    filter: NamePart | None = None
    cursor: Cursor | None = None
    limit: Limit = 100


class DomainsQuery(Query):
    sort: DomainField = "domain"
    order: Literal["asc", "desc"] = "asc"
    filter: NamePart | None = None
    cursor: Cursor | None = None
    limit: Limit = 100


ORDERS: dict[HostField, Callable[[Host], float]] = {
    "host": lambda host: 0.0,
    "pages": lambda host: host.pages,
    "queued": lambda host: host.queued,
    "requests": lambda host: host.requests,
    "errors": lambda host: host.errors,
    "error_rate": lambda host: share(host.errors, host.requests) or 0.0,
    "bytes": lambda host: host.body_bytes,
    "delay_s": lambda host: host.delay_s,
    "ready_in_s": lambda host: host.next_turn_at,
    "in_links": lambda host: host.in_links,
}

# ---- hosts ---------------------------------------------------------------------------------------------------


async def hosts(context: Context, query: HostsQuery) -> shapes.Hosts:
    after = read_place(query.cursor)

    def look(view: View) -> shapes.Hosts:
        now, policies = context.clock.now(), view.folder.policies()
        part, value = (query.filter or "").lower(), ORDERS[query.sort]
        found = (host for host in view.hosts() if part in host.name)
        chosen, cursor = piece(found, lambda host: (value(host), host.name), query, after)
        return shapes.Hosts([host_shape(view, host, policies, now) for host in chosen], cursor)

    return await context.remembered(
        ("hosts", *msgspec.structs.astuple(query)), lambda: context.views.read(look), FRESH_S
    )


async def host(context: Context, host: str) -> shapes.HostDetail:
    name = must_be_host(host)

    def look(view: View) -> shapes.HostDetail:
        found = view.host(f"http://{bracketed(name)}/", name)
        if found is None:
            raise NoAnswer(404, "not_known", f"no URL of {name} is known to this crawl", value=name)
        now = context.clock.now()
        return shapes.HostDetail(
            **msgspec.structs.asdict(host_shape(view, found, view.folder.policies(), now)),
            failures_in_a_row=found.failures,
            back_off_s=round(found.back_off_s, 3),
            crawl_delay_s=found.crawl_delay_s,
            robots=[robots_shape(copy, now) for copy in view.robots_of(name)],
            next_urls=view.queued_of(name, NEXT_URLS),
            origins_away=[
                shapes.OriginAway(away.detail, Reason(away.reason), round(away.until - now, 1))
                for away in all_away(found, now)
            ],
        )

    return await context.views.read(look)


async def host_urls(context: Context, host: str) -> folder_shapes.HostUrls:
    """By state, status, reason, and over time; of a host with very many URLs those that are stored first."""
    name = must_be_host(host)
    return await context.remembered(
        ("host_urls", name), lambda: context.views.read(lambda view: urls_of(view, name)), FRESH_S
    )


def urls_of(view: View, name: str) -> folder_shapes.HostUrls:
    states: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    visits: list[tuple[float, bool, bool]] = []  # when, a page, trouble
    looked_at = 0
    for looked_at, (_, known) in enumerate(view.known_from(None, name), 1):
        states[known.state] += 1
        if known.reason is not None:
            reasons[known.reason] += 1
        if known.fetched_at is not None:
            statuses[str(known.status or "none")] += 1
            is_trouble = known.reason in TROUBLES
            visits.append((known.fetched_at, known.verdict is not None, is_trouble))
        if looked_at >= URLS_MAX:
            break
    first = min((at for at, _, _ in visits), default=0.0)
    step_s = max(1.0, (max((at for at, _, _ in visits), default=0.0) - first) / STEPS)
    steps = [[0, 0] for _ in range(STEPS)] if visits else []
    for at, is_page, is_trouble in visits:
        counts = steps[min(int((at - first) / step_s), STEPS - 1)]
        counts[0] += is_page
        counts[1] += is_trouble
    return folder_shapes.HostUrls(
        looked_at,
        looked_at < URLS_MAX,
        dict(states),
        dict(statuses),
        counted(reasons),
        round(step_s, 3),
        [folder_shapes.HostVisits(moment(first + i * step_s) or "", *counts) for i, counts in enumerate(steps)],
    )


def counted(counts: Mapping[str, int]) -> list[status_shapes.ReasonCount]:
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [status_shapes.ReasonCount(Reason(word), count, EXPLAINED[Reason(word)]) for word, count in rows]


def host_shape(view: View, host: Host, policies: Policies, now: float) -> shapes.Host:
    return shapes.Host(
        host=host.name,
        site=host.site,
        pages=host.pages,
        queued=host.queued,
        requests=host.requests,
        errors=host.errors,
        error_rate=share(host.errors, host.requests),
        last_error=host.last_error or None,
        bytes=host.body_bytes,
        in_links=host.in_links,
        authority_score=view.authority(host, policies),
        last_crawled_at=moment(host.crawled_at or None),
        delay_s=round(host.delay_s, 3),
        delay_reason=host.waits_for,
        delay_explained=EXPLAINED[host.waits_for],
        ready_in_s=round(max(0.0, host.next_turn_at - now), 3),
        policy=policy_shape(policies.of(host)),
    )


def robots_shape(copy: RobotsCopy, now: float) -> shapes.Robots:
    return shapes.Robots(
        origin=copy.origin,
        status=copy.status,
        fetched_at=moment(copy.fetched_at),
        age_s=round(max(0.0, now - copy.fetched_at), 1) if copy.fetched_at else None,
        crawl_delay_s=copy.crawl_delay_s,
        sitemaps=list(rules_of(copy).sitemaps),
        body=copy.body[:ROBOTS_BYTES_MAX].decode(errors="replace"),
        moved_to=copy.moved_to,
    )


# ---- domains -------------------------------------------------------------------------------------------------


async def domains(context: Context, query: DomainsQuery) -> shapes.Domains:
    after = read_place(query.cursor)

    def look(view: View) -> shapes.Domains:
        part = (query.filter or "").lower()
        found = ((domain, hosts) for domain, hosts in sites(view) if part in domain.domain)
        field = "" if query.sort == "domain" else query.sort
        place = lambda one: (getattr(one[0], field, 0.0) or 0.0, one[0].domain)  # noqa: E731
        chosen, cursor = piece(found, place, query, after)
        for domain, hosts in chosen:
            domain.robots_txt = [robots_state(copy) for _, name in hosts for copy in view.robots_of(name)]
        return shapes.Domains([domain for domain, _ in chosen], cursor)

    return await context.remembered(
        ("domains", *msgspec.structs.astuple(query)), lambda: context.views.read(look), FRESH_S
    )


async def domain(context: Context, domain: str) -> shapes.Domain:
    name = must_be_host(domain)

    def look(view: View) -> shapes.Domain:
        for found, hosts in sites(view, [view.partition_of_host(name)]):
            if found.domain == name:
                found.robots_txt = [robots_state(copy) for _, host in hosts for copy in view.robots_of(host)]
                return found
        raise NoAnswer(404, "not_known", f"no URL of {name} is known to this crawl", value=name)

    return await context.views.read(look)


Sized = tuple[int, str]  # how many pages a host has, and its name


def sites(view: View, partitions: Iterable[int] | None = None) -> Iterator[tuple[shapes.Domain, list[Sized]]]:
    """With their largest hosts. A partition at a time, because all hosts of a site are in one."""
    policies = view.folder.policies()
    for number in view.partitions if partitions is None else partitions:
        found: dict[str, shapes.Domain] = {}
        crawled_at: dict[str, float] = {}
        largest: dict[str, list[Sized]] = {}
        for host in view.hosts_in(number):
            domain = found.get(host.site)
            if domain is None:
                policy = policy_shape(policies.sites.get(host.site, NONE))
                domain = found[host.site] = shapes.Domain(host.site, 0, 0, 0, 0, 0, 0, None, 0, policy, 0.0, None, [])
            domain.hosts += 1
            domain.pages += host.pages
            domain.page_count = domain.pages
            domain.queued += host.queued
            domain.requests += host.requests
            domain.errors += host.errors
            domain.bytes += host.body_bytes
            domain.error_rate = share(domain.errors, domain.requests)
            domain.authority_score = max(domain.authority_score, view.authority(host, policies))
            crawled_at[host.site] = max(crawled_at.get(host.site, 0.0), host.crawled_at)
            hosts = [*largest.get(host.site, ()), (host.pages, host.name)]
            largest[host.site] = sorted(hosts, reverse=True)[:ROBOTS_OF_HOSTS]
        for site, domain in found.items():
            domain.last_crawled_at = moment(crawled_at[site] or None)
            yield domain, largest[site]


def robots_state(copy: RobotsCopy) -> shapes.RobotsState:
    state: Literal["obeyed", "none", "unreachable"] = "obeyed"
    if copy.status is None or copy.status >= 500 or copy.status == 429:
        state = "unreachable"
    elif copy.status >= 400:
        state = "none"
    return shapes.RobotsState(copy.origin, state, copy.status, moment(copy.fetched_at or None))


# ---- lists in order ------------------------------------------------------------------------------------------

Place = tuple[float, str]  # what a list is sorted by, and the name, so that no two are the same


def piece(
    found: Iterable[T], place: Callable[[T], Place], query: HostsQuery | DomainsQuery, after: Place | None
) -> tuple[list[T], str | None]:
    """The next few in order, and the cursor that goes on behind them."""
    if query.order == "asc":
        rest = found if after is None else (one for one in found if place(one) > after)
        chosen = heapq.nsmallest(query.limit + 1, rest, key=place)
    else:
        rest = found if after is None else (one for one in found if place(one) < after)
        chosen = heapq.nlargest(query.limit + 1, rest, key=place)
    if len(chosen) <= query.limit:
        return chosen, None
    del chosen[query.limit :]
    return chosen, write_place(place(chosen[-1]))


def read_place(cursor: str | None) -> Place | None:
    if cursor is None:
        return None
    return struct.unpack(">d", bytes.fromhex(cursor[:16]))[0], cursor[16:]


def write_place(place: Place) -> str:
    """The number bit by bit: the next piece has to begin at exactly this one."""
    return struct.pack(">d", place[0]).hex() + place[1]


def share(part: float, whole: float) -> float | None:
    return round(min(1.0, part / whole), 6) if whole else None
