"""Pages: their records, their stored content, and why a URL is where it is."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import asdict
from starlette.responses import Response

from gossamer.api import shapes
from gossamer.api.context import Context
from gossamer.api.names import canonical, host_named, moment_named
from gossamer.api.route import NoAnswer, Query
from gossamer.api.routes.hosts import host_shape
from gossamer.api.views import View
from gossamer.archive.content import content as content_in
from gossamer.archive.content import picture as picture_in
from gossamer.archive.visits import MEDIA_TYPE, Visit
from gossamer.inspect import why_facts
from gossamer.records import Reason, State, Url, UrlRecord
from gossamer.rendered import RenderCost
from gossamer.text import EXPLAINED, moment
from gossamer.url.canonical import digest_of
from gossamer.url.site import host_of

LOOKED_AT_MAX = 50_000  # records for one piece of a list: about half a second
UNKNOWN, PICTURE = "application/octet-stream", "image/png"
NOTHING_RUNS = "sandbox; default-src 'none'"

Limit = Annotated[int, Meta(ge=1, le=1000)]
Cursor = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{30}$", description="as an earlier answer gave it")]
WantedUrl = Annotated[str, Meta(min_length=1, max_length=8192, description="any URL; it is made canonical first")]


class PagesQuery(Query):
    url: Annotated[WantedUrl, Meta(description="the record of this one alone; all else is for lists")] | None = None
    state: State | None = None
    status: Annotated[int, Meta(ge=100, le=999, description="of HTTP")] | None = None
    reason: Reason | None = None
    host: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    verdict: Literal["original", "same", "near", "unchanged"] | None = None
    since: (
        Annotated[
            str,
            Meta(
                max_length=40,
                description="fetched at or after: 2026-07-01T12:00:00Z",
                extra_json_schema={"format": "date-time"},
            ),
        ]
        | None
    ) = None
    cursor: Cursor | None = None
    limit: Limit = 100


class UrlQuery(Query):
    url: WantedUrl


async def pages(context: Context, query: PagesQuery) -> shapes.Page | shapes.Pages:
    if query.url is not None:
        url = canonical(query.url)
        return await context.views.read(lambda view: page_shape(must_be_crawled(view, url), view))
    since = moment_named(query.since, "since")
    host = host_named(query.host) if query.host is not None else None
    if host is None and query.host is not None:
        return shapes.Pages([], None)  # no host has such a name

    def look(view: View) -> shapes.Pages:
        found: list[shapes.Page] = []
        for looked_at, (cursor, known) in enumerate(view.known_from(query.cursor, host), 1):
            if is_wanted(known, query, since):
                found.append(page_shape(known, view))
            if len(found) >= query.limit or looked_at >= LOOKED_AT_MAX:
                return shapes.Pages(found, cursor)
        return shapes.Pages(found, None)

    return await context.views.read(look)


def is_wanted(known: UrlRecord, query: PagesQuery, since: float | None) -> bool:
    return (
        (query.state is None or known.state is query.state)
        and (query.status is None or known.status == query.status)
        and (query.reason is None or known.reason is query.reason)
        and (query.verdict is None or (known.verdict is not None and known.verdict.kind == query.verdict))
        and (since is None or (known.fetched_at is not None and known.fetched_at >= since))
    )


async def content(context: Context, query: UrlQuery) -> Response:
    """As it was stored, content codings removed. Strangers wrote it: a browser may keep it, and must not run it."""
    url = canonical(query.url)

    def look(view: View) -> Response:
        visit = content_in(context.storage, must_be_known(view, url), view.state)
        if visit is not None:
            return stored(visit)
        raise NoAnswer(404, "not_stored", f"{url} is known, and no content of it is stored", value=url)

    return await context.views.read(look)


def stored(visit: Visit) -> Response:
    headers = {
        "Content-Disposition": "attachment",
        "Content-Security-Policy": NOTHING_RUNS,
        "Gossamer-Url": visit.url,
        "Gossamer-Fetched-At": moment(visit.at) or "",
    }
    media_type = MEDIA_TYPE.fullmatch(visit.media_type)
    return Response(visit.body(), media_type=media_type[0] if media_type else UNKNOWN, headers=headers)


async def picture(context: Context, query: UrlQuery) -> Response:
    """Drawn by our browser: a picture and nothing else, so it may be shown."""
    url = canonical(query.url)

    def look(view: View) -> Response:
        found = picture_in(context.storage, must_be_known(view, url))
        if found is not None:
            return Response(found, media_type=PICTURE, headers={"Content-Security-Policy": NOTHING_RUNS})
        raise NoAnswer(404, "not_stored", f"no picture of {url} is stored: render.screenshot makes them", value=url)

    return await context.views.read(look)


async def why(context: Context, query: UrlQuery) -> shapes.Why:
    def look(view: View) -> shapes.Why:
        facts = why_facts.why_facts(view, query.url, context.clock)
        url: Url | None = facts["url"]
        known = view.state(url) if url is not None else None
        host = view.host(url, host_of(url)) if url is not None else None
        reason = Reason(facts["reason"]) if facts.get("reason") else None
        return shapes.Why(
            asked=query.url,
            url=url,
            state=str(facts["state"]),  # type: ignore[arg-type]  # one of its words
            reason=reason,
            explained=EXPLAINED[reason] if reason else None,
            detail=facts.get("detail") or None,
            story=[line.strip() for line in why_facts.why_text(facts).splitlines()[1:]],
            next_try_in_s=facts.get("next_try_in_s"),
            priority=shapes.PriorityParts(**facts["priority"]) if "priority" in facts else None,
            found_by=facts.get("found_by", []),
            leads_to=facts.get("leads_to", []),
            page=page_shape(known, view) if known else None,
            host=host_shape(view, host, view.folder.policies(), context.clock.now()) if host else None,
        )

    return await context.views.read(look)


# ---- a record ------------------------------------------------------------------------------------------------


def must_be_known(view: View, url: Url) -> UrlRecord:
    known = view.state(url)
    if known is None:
        raise NoAnswer(404, "not_known", f"{url} is not known to this crawl; /why says why", value=url)
    return known


def must_be_crawled(view: View, url: Url) -> UrlRecord:
    known = must_be_known(view, url)
    if known.fetched_at is None:
        raise NoAnswer(
            404, "not_crawled", f"{url} is {known.state}, and was not asked for yet; /why says why", value=url
        )
    return known


def page_shape(known: UrlRecord, view: View) -> shapes.Page:
    verdict, place = known.verdict, known.place
    store = view.configuration.tree.archive.url.rstrip("/") or "archive"
    return shapes.Page(
        url=known.url,
        url_hash=digest_of(known.url),
        state=known.state,
        status=known.status,
        http_status=known.status,
        reason=known.reason,
        explained=EXPLAINED[known.reason] if known.reason else None,
        detail=known.detail or None,
        content_hash=known.content_hash or None,
        found_at=moment(known.found_at),
        fetched_at=moment(known.fetched_at),
        next_visit_at=moment(known.due_at),
        verdict=verdict.kind if verdict else None,  # type: ignore[arg-type]  # one of its words
        same_as=verdict.of if verdict else None,
        is_duplicate=known.is_copy,
        distance=verdict.distance if verdict and verdict.kind == "near" else None,
        resemblance=verdict.share_in_common if verdict else None,
        media_type=known.media_type or None,
        title=known.title or None,
        language=known.language or None,
        bytes=known.body_bytes,
        depth=known.depth,
        links=known.links,
        attempts=known.attempts,
        priority_score=known.score / 1000 if known.score is not None else None,
        source=known.source,
        moved_to=known.moved_to,
        noindex=known.noindex,
        noarchive=known.noarchive,
        simhash=f"{known.simhash:016x}" if known.simhash else None,
        storage_path=f"{store}/{place.file}" if place else None,
        html_storage_path=f"{store}/{place.file}" if place else None,
        archive=shapes.Stored(place.file, place.offset, place.length) if place else None,
        rendered=rendering_shape(known.rendered),
    )


def rendering_shape(cost: RenderCost | None) -> shapes.Rendering | None:
    return shapes.Rendering(**asdict(cost) | {"fault": cost.fault or None}) if cost is not None else None
