"""Hosts, domains, and what an operator has said about them.

A domain here is a site: all hosts below one registrable domain. A policy may be set for either: the name of a
registrable domain means the whole site, a longer one that host alone. An address is both; its policy is the host's.

A list is put in order by going through all hosts, which takes some microseconds each. So an answer is kept for ten
times as long as it took (desk.py), and no more of the list is ever in memory than what was asked for.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from gossamer.control import shapes, steering
from gossamer.control.api.desk import Desk
from gossamer.control.api.names import must_be_host
from gossamer.control.api.route import NoAnswer, Query
from gossamer.control.api.views import View, bracketed
from gossamer.control.words import EXPLAINED, moment
from gossamer.fetch.robots import rules_of
from gossamer.frontier import policy as own
from gossamer.frontier.policy import NONE, Policies
from gossamer.records import Host, RobotsCopy
from gossamer.url.site import is_address, site_of

ROBOTS_BYTES_MAX = 64 << 10
NEXT_URLS = 10
FRESH_S = 1.0
RATE_MIN, RATE_MAX = 1e-5, 1e4  # requests a second; as in shapes.Policy

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
    "ready_in_s": lambda host: host.ready_at,
    "in_links": lambda host: host.in_links,
}

# ---- hosts ---------------------------------------------------------------------------------------------------


async def hosts(desk: Desk, query: HostsQuery) -> shapes.Hosts:
    after = read_place(query.cursor)

    def look(view: View) -> shapes.Hosts:
        now, policies = desk.clock.now(), view.folder.policies()
        part, value = (query.filter or "").lower(), ORDERS[query.sort]
        found = (host for host in view.hosts() if part in host.name)
        chosen, cursor = piece(found, lambda host: (value(host), host.name), query, after)
        return shapes.Hosts([host_shape(host, policies, now) for host in chosen], cursor)

    return await desk.remembered(("hosts", *msgspec.structs.astuple(query)), lambda: desk.views.read(look), FRESH_S)


async def host(desk: Desk, host: str) -> shapes.HostDetail:
    name = must_be_host(host)

    def look(view: View) -> shapes.HostDetail:
        found = view.host(f"http://{bracketed(name)}/", name)
        if found is None:
            raise NoAnswer(404, "not_known", f"no URL of {name} is known to this crawl", value=name)
        now = desk.clock.now()
        return shapes.HostDetail(
            **msgspec.structs.asdict(host_shape(found, view.folder.policies(), now)),
            failures_in_a_row=found.failures,
            back_off_s=round(found.back_off_s, 3),
            crawl_delay_s=found.crawl_delay_s,
            robots=[robots_shape(copy, now) for copy in view.robots_of(name)],
            next_urls=view.queued_of(name, NEXT_URLS),
        )

    return await desk.views.read(look)


def host_shape(host: Host, policies: Policies, now: float) -> shapes.Host:
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
        delay_s=round(host.delay_s, 3),
        delay_reason=host.delay_reason,
        delay_explained=EXPLAINED[host.delay_reason],
        ready_in_s=round(max(0.0, host.ready_at - now), 3),
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


async def domains(desk: Desk, query: DomainsQuery) -> shapes.Domains:
    after = read_place(query.cursor)

    def look(view: View) -> shapes.Domains:
        part = (query.filter or "").lower()
        found = (domain for domain in sites(view) if part in domain.domain)
        field = "" if query.sort == "domain" else query.sort
        return shapes.Domains(*piece(found, lambda one: (getattr(one, field, 0.0) or 0.0, one.domain), query, after))

    return await desk.remembered(("domains", *msgspec.structs.astuple(query)), lambda: desk.views.read(look), FRESH_S)


def sites(view: View) -> Iterator[shapes.Domain]:
    """A partition at a time, because all hosts of a site are in one."""
    policies = view.folder.policies()
    for number in view.partitions:
        found: dict[str, shapes.Domain] = {}
        for host in view.hosts_in(number):
            domain = found.get(host.site)
            if domain is None:
                policy = policy_shape(policies.sites.get(host.site, NONE))
                domain = found[host.site] = shapes.Domain(host.site, 0, 0, 0, 0, 0, None, 0, policy)
            domain.hosts += 1
            domain.pages += host.pages
            domain.queued += host.queued
            domain.requests += host.requests
            domain.errors += host.errors
            domain.bytes += host.body_bytes
            domain.error_rate = share(domain.errors, domain.requests)
        yield from found.values()


# ---- policies ------------------------------------------------------------------------------------------------


async def get_policy(desk: Desk, domain: str) -> shapes.DomainPolicy:
    name = must_be_host(domain)
    return policy_of(await desk.views.aside(desk.folder.policies), name)


async def put_policy(desk: Desk, domain: str, body: shapes.Policy) -> shapes.DomainPolicy:
    """What was set before is gone; what is left out is as the crawl has it."""
    name = must_be_host(domain)
    wanted = msgspec.structs.asdict(body)
    rate = wanted.pop("crawl_rate")
    wanted["delay_s"] = 1 / rate if rate is not None else None
    async with desk.writing:
        await desk.views.aside(lambda: steering.set_policy(desk.folder, name, wanted, is_site=is_site(name)))
    desk.forget("hosts", "domains")
    return policy_of(await desk.views.aside(desk.folder.policies), name)


def is_site(name: str) -> bool:
    return site_of(name) == name and not is_address(name)


def policy_of(policies: Policies, name: str) -> shapes.DomainPolicy:
    kind: Literal["site", "host"] = "site" if is_site(name) else "host"
    table = policies.sites if kind == "site" else policies.hosts
    in_force = table.get(name, NONE) if kind == "site" else policies.of(Host(name, site_of(name)))
    return shapes.DomainPolicy(
        name, kind, policy_shape(table.get(name, NONE)), policy_shape(in_force), is_set=name in table
    )


def policy_shape(policy: own.Policy) -> shapes.Policy:
    if policy == NONE:
        return shapes.Policy()
    return shapes.Policy(
        crawl_rate=rate_of(policy.delay_s) if policy.delay_s is not None else None,
        max_pages=policy.max_pages,
        priority=policy.priority,
        paused=policy.paused,
        blocked=policy.blocked,
        trusted=policy.trusted,
    )


def rate_of(delay_s: float) -> float:
    rate = 1 / delay_s if delay_s > 0 else RATE_MAX
    return min(RATE_MAX, max(RATE_MIN, float(f"{rate:.6g}")))


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
