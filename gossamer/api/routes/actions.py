"""Steering: seeds, pause and drain, the quarantine. A running crawl is told; otherwise its folder is written to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Annotated, Literal

from msgspec import Meta

from gossamer.api import shapes
from gossamer.api.context import Context
from gossamer.api.crawl_client import state_of
from gossamer.api.names import canonical, must_be_host, priority_of
from gossamer.api.route import NoAnswer, Query
from gossamer.api.routes.pages import page_shape
from gossamer.api.views import View
from gossamer.cluster.wire import Disconnected
from gossamer.frontier.retry import CAN_PASS
from gossamer.maintenance import operator_changes
from gossamer.messages import control_messages
from gossamer.records import Seed
from gossamer.supervisor import seeding
from gossamer.text import EXPLAINED

HOSTS_MAX = 10_000  # of a site that are tried again at once


class QuarantineQuery(Query):
    cursor: Annotated[str, Meta(pattern=r"^[0-9]{1,9}$", description="as an earlier answer gave it")] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


async def add_seeds(context: Context, body: shapes.Seeds) -> shapes.SeedsAdded:
    """All are looked at before any is added: one that is no URL is answered with 400, and names the entry."""
    context.must_be_whole()
    urls = [canonical(text, f"urls[{i}]", 400) for i, text in enumerate(body.urls)]
    seeds = [Seed(url, priority_of(body.priority), body.max_depth) for url in urls]
    try:
        added = await context.crawl.call(control_messages.AddSeeds(seeds), control_messages.SeedsAdded)
    except Disconnected:
        async with context.writing:
            added = await context.views.in_thread(lambda: seeding.add_seeds(context.folder, seeds, context.clock))
    refused = [shapes.RefusedUrl(one.url, one.reason, EXPLAINED[one.reason]) for one in added.refused]
    return shapes.SeedsAdded(added.added, added.duplicates_skipped, refused)


async def pause(context: Context) -> shapes.Steered:
    """Nothing more is asked for until it is resumed; what is in flight is finished."""
    return await steer(context, "pause")


async def resume(context: Context) -> shapes.Steered:
    return await steer(context, "resume")


async def drain(context: Context) -> shapes.Steered:
    """What is in flight is finished, then the crawl ends; the same command resumes it with it later."""
    return await steer(context, "drain")


async def steer(context: Context, to: Literal["pause", "resume", "drain"]) -> shapes.Steered:
    try:
        await context.crawl.tell(control_messages.Steer(to))
    except Disconnected:
        if to == "drain":
            return shapes.Steered("stopped")  # it has ended, which is what was asked for
        raise NoAnswer(409, "not_running", f"the crawl is not running, so it cannot {to}") from None
    return shapes.Steered(state_of(await context.crawl.now()))


async def retry(context: Context, body: shapes.Retry) -> shapes.Retried:
    """Whatever comes back waits for its host's turn, and passes robots.txt, budgets and policies anew."""
    if body.reason is not None and body.reason not in CAN_PASS:
        raise NoAnswer(400, "bad_request", f"what was refused for {body.reason} does not pass", entry="reason")
    context.must_be_whole()
    hosts: list[str | None] = [None]
    if body.domain is not None:
        name = must_be_host(body.domain)
        hosts = [name]
        if operator_changes.is_site(name):
            hosts = [*await context.views.read(lambda view: list(names_of_site(view, name)))]
            if not hosts:
                return shapes.Retried(0)
    others = tuple(host for host in hosts[1:] if host is not None)
    done = await context.crawl.instructed(control_messages.Retry(hosts[0], body.reason, others))
    if done is not None:
        return shapes.Retried(done.urls, done.partitions_left)

    def here() -> int:
        change = partial(operator_changes.retry_anywhere, context.folder, context.tree, context.clock)
        return sum(change(host, body.reason) for host in hosts)

    async with context.writing:
        return shapes.Retried(await asyncio.to_thread(here))


def names_of_site(view: View, site: str) -> Iterator[str]:
    found = (host.name for host in view.hosts_in(view.partition_of_host(site)) if host.site == site)
    return islice(found, HOSTS_MAX)


# ---- the quarantine ------------------------------------------------------------------------------------------


async def quarantine(context: Context, query: QuarantineQuery) -> shapes.Quarantine:
    start = int(query.cursor or 0)

    def look(view: View) -> shapes.Quarantine:
        found = list(islice(view.quarantined(), start, start + query.limit + 1))
        more = len(found) > query.limit
        pages = [page_shape(known, view) for known in found[: query.limit]]
        return shapes.Quarantine(pages, str(start + query.limit) if more else None)

    return await context.views.read(look)


async def release(context: Context, body: shapes.QuarantinedUrl) -> shapes.UrlReleased:
    """It is queued again."""
    return await release_url(context, body, drop=False)


async def drop(context: Context, body: shapes.QuarantinedUrl) -> shapes.UrlReleased:
    """It is never asked for again."""
    return await release_url(context, body, drop=True)


async def release_url(context: Context, body: shapes.QuarantinedUrl, *, drop: bool) -> shapes.UrlReleased:
    context.must_be_whole()
    url = canonical(body.url)
    order = control_messages.ReleaseUrl(url, drop)
    if (carried_out := await context.crawl.instructed(order)) is not None:
        if carried_out.partitions_left:
            return shapes.UrlReleased(url, "on_its_way")
        return released(url, drop=drop, done=bool(carried_out.urls))
    try:
        done = (await context.crawl.call(order, control_messages.UrlReleased)).done
    except Disconnected:

        def here() -> bool:
            with context.folder.locked():  # so that no crawl starts meanwhile
                return operator_changes.release_url(context.folder, context.tree, context.clock, url, drop=drop)

        async with context.writing:
            done = await context.views.in_thread(here)
    return released(url, drop=drop, done=done)


def released(url: str, *, drop: bool, done: bool) -> shapes.UrlReleased:
    if not done:
        raise NoAnswer(404, "not_quarantined", f"{url} is not in quarantine", entry="url", value=url)
    return shapes.UrlReleased(url, "dropped" if drop else "released")
