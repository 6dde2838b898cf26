"""Policies: what an operator has said about hosts and sites.

    /domains/{domain}/policy    a registrable domain means the whole site, a longer name that host
    /hosts/{host}/policy        that host alone, also where its name is that of a site
    /limits                     the whole crawl

The command and the dashboard tell them apart in the same way (operator_changes.is_site). An address is both; its
policy is the host's.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gossamer.api import shapes
from gossamer.api.context import Context
from gossamer.api.names import must_be_host, priority_of
from gossamer.api.route import NoAnswer
from gossamer.frontier.rules import policy as own
from gossamer.frontier.rules.policy import NONE, Policies
from gossamer.maintenance import operator_changes
from gossamer.records import Host
from gossamer.url.site import site_of
from gossamer.visitor.proxies import DIRECT

RATE_MIN, RATE_MAX = 1e-5, 1e4  # requests a second; as in shapes.Policy


async def get_policy(context: Context, domain: str) -> shapes.DomainPolicy:
    name = must_be_host(domain)
    return policy_of(
        await context.views.in_thread(context.folder.policies), name, is_site=operator_changes.is_site(name)
    )


async def put_policy(context: Context, domain: str, body: shapes.Policy) -> shapes.DomainPolicy:
    """What was set before is gone; what is left out is as the crawl has it."""
    name = must_be_host(domain)
    return await put(context, name, body, is_site=operator_changes.is_site(name))


async def get_host_policy(context: Context, host: str) -> shapes.DomainPolicy:
    return policy_of(await context.views.in_thread(context.folder.policies), must_be_host(host), is_site=False)


async def put_host_policy(context: Context, host: str, body: shapes.Policy) -> shapes.DomainPolicy:
    return await put(context, must_be_host(host), body, is_site=False)


async def put(context: Context, name: str, body: shapes.Policy, *, is_site: bool) -> shapes.DomainPolicy:
    context.must_be_whole()
    await must_be_known(context, name, body.proxy, is_site=is_site)
    wanted = msgspec.structs.asdict(body)
    wanted["delay_s"] = None  # the rate says it
    wanted["priority"] = priority_of(body.priority)
    async with context.writing:
        await context.views.in_thread(
            lambda: operator_changes.set_policy(context.folder, name, wanted, is_site=is_site)
        )
        await context.crawl.policies_changed()
    context.forget("hosts", "domains")
    return policy_of(await context.views.in_thread(context.folder.policies), name, is_site=is_site)


async def must_be_known(context: Context, name: str, proxy: str | None, *, is_site: bool) -> None:
    """Who operates a crawl from afar cannot make it connect to anybody, or look for files; `gossamer policy` can."""
    policies = await context.views.in_thread(context.folder.policies)
    before = (policies.sites if is_site else policies.hosts).get(name, NONE).proxy
    if proxy not in (None, DIRECT, before, *context.tree.fetch.proxy):
        raise NoAnswer(400, "bad_request", "wanted direct, or one of fetch.proxy", entry="proxy")


async def get_limits(context: Context) -> shapes.Limits:
    """What was set over the settings."""
    limits = (await context.views.in_thread(context.folder.policies)).crawl
    return shapes.Limits(limits.requests_per_s, limits.bytes_per_s)


async def put_limits(context: Context, body: shapes.Limits) -> shapes.Limits:
    context.must_be_whole()
    async with context.writing:
        await context.views.in_thread(
            lambda: operator_changes.set_limits(context.folder, msgspec.structs.asdict(body))
        )
        await context.crawl.policies_changed()
    return body


def policy_of(policies: Policies, name: str, *, is_site: bool) -> shapes.DomainPolicy:
    kind: Literal["site", "host"] = "site" if is_site else "host"
    table = policies.sites if is_site else policies.hosts
    in_force = table.get(name, NONE) if is_site else policies.of(Host(name, site_of(name)))
    return shapes.DomainPolicy(
        name, kind, policy_shape(table.get(name, NONE)), policy_shape(in_force), is_set=name in table
    )


def policy_shape(policy: own.Policy) -> shapes.Policy:
    if policy == NONE:
        return shapes.Policy()
    return shapes.Policy(
        crawl_rate=rate_of(policy.least_delay_s) if policy.least_delay_s is not None else None,
        max_pages=policy.max_pages,
        priority=policy.priority,
        paused=policy.paused,
        blocked=policy.blocked,
        trusted=policy.trusted,
        region=policy.region,
        render=policy.render,
        proxy=policy.proxy,
    )


def rate_of(delay_s: float) -> float:
    rate = 1 / delay_s if delay_s > 0 else RATE_MAX
    return min(RATE_MAX, max(RATE_MIN, float(f"{rate:.6g}")))
