"""Steering: seeds, pause and drain, the quarantine. A running crawl is told; otherwise its folder is written to."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Literal

from msgspec import Meta

from gossamer.cluster.wire import Disconnected
from gossamer.control import live, seeding, shapes, steering
from gossamer.control.api.desk import Desk
from gossamer.control.api.line import state_of
from gossamer.control.api.names import canonical
from gossamer.control.api.pages import page_shape
from gossamer.control.api.route import NoAnswer, Query
from gossamer.control.api.views import View
from gossamer.control.words import EXPLAINED
from gossamer.records import Seed


class QuarantineQuery(Query):
    cursor: Annotated[str, Meta(pattern=r"^[0-9]{1,9}$", description="as an earlier answer gave it")] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


async def add_seeds(desk: Desk, body: shapes.Seeds) -> shapes.SeedsAdded:
    """All are looked at before any is added: one that is no URL is answered with 400, and names the entry."""
    urls = [canonical(text, f"urls[{i}]", 400) for i, text in enumerate(body.urls)]
    seeds = [Seed(url, body.priority, body.max_depth) for url in urls]
    try:
        added = await desk.line.call(live.AddSeeds(seeds), live.SeedsAdded)
    except Disconnected:
        async with desk.writing:
            added = await desk.views.aside(lambda: seeding.add_seeds(desk.folder, seeds, desk.clock))
    refused = [shapes.RefusedUrl(one.url, one.reason, EXPLAINED[one.reason]) for one in added.refused]
    return shapes.SeedsAdded(added.added, added.duplicates_skipped, refused)


async def pause(desk: Desk) -> shapes.Steered:
    """Nothing more is asked for until it is resumed; what is in flight is finished."""
    return await steer(desk, "pause")


async def resume(desk: Desk) -> shapes.Steered:
    return await steer(desk, "resume")


async def drain(desk: Desk) -> shapes.Steered:
    """What is in flight is finished, then the crawl ends; the same command goes on with it later."""
    return await steer(desk, "drain")


async def steer(desk: Desk, to: Literal["pause", "resume", "drain"]) -> shapes.Steered:
    try:
        await desk.line.tell(live.Steer(to))
    except Disconnected:
        if to == "drain":
            return shapes.Steered("stopped")  # it has ended, which is what was asked for
        raise NoAnswer(409, "not_running", f"the crawl is not running, so it cannot {to}") from None
    return shapes.Steered(state_of(await desk.line.now()))


# ---- the quarantine ------------------------------------------------------------------------------------------


async def quarantine(desk: Desk, query: QuarantineQuery) -> shapes.Quarantine:
    start = int(query.cursor or 0)

    def look(view: View) -> shapes.Quarantine:
        found = list(islice(view.quarantined(), start, start + query.limit + 1))
        more = len(found) > query.limit
        pages = [page_shape(known, view) for known in found[: query.limit]]
        return shapes.Quarantine(pages, str(start + query.limit) if more else None)

    return await desk.views.read(look)


async def release(desk: Desk, body: shapes.QuarantinedUrl) -> shapes.Pardoned:
    """It is queued again."""
    return await pardon(desk, body, drop=False)


async def drop(desk: Desk, body: shapes.QuarantinedUrl) -> shapes.Pardoned:
    """It is never asked for again."""
    return await pardon(desk, body, drop=True)


async def pardon(desk: Desk, body: shapes.QuarantinedUrl, *, drop: bool) -> shapes.Pardoned:
    url = canonical(body.url)
    try:
        done = (await desk.line.call(live.Pardon(url, drop), live.Pardoned)).done
    except Disconnected:

        def here() -> bool:
            with desk.folder.locked():  # so that no crawl starts meanwhile
                return steering.pardon(desk.folder, desk.tree, desk.clock, url, drop=drop)

        async with desk.writing:
            done = await desk.views.aside(here)
    if not done:
        raise NoAnswer(404, "not_quarantined", f"{url} is not in quarantine", entry="url", value=url)
    return shapes.Pardoned(url, "dropped" if drop else "released")
