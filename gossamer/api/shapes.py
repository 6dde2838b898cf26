"""The shapes of the control API: what every answer and every request body looks like, in one place.

The OpenAPI document is made from these, and so is the check of what comes in: a body that does not fit is answered
with 400 before anything is done. Names are those of the rest of the program; `reason` is always a word of
`records.Reason`, and GET /reasons has a sentence for each. A field that is null is not known, or does not apply.

    moments    ISO 8601 in UTC with milliseconds: "2026-07-01T12:00:00.000Z"; names end in `_at`
    spans      seconds, as numbers; names end in `_s`
    sizes      bytes
    shares     between 0 and 1; null while nothing has been counted

**Lists** come in pieces: `next_cursor` is handed back as `?cursor=` to go on, and null at the end. A piece may be
shorter than `limit` and even empty while there is more: a search stops after some tens of thousands of records.

**Who may ask.** With keys: `Authorization: Bearer KEY`. A browser instead posts `{"key": KEY}` to /api/v1/login once,
and gets a cookie (HttpOnly, SameSite=Strict) that all its later requests carry, those of EventSource included; so the
dashboard never keeps a key. POST /api/v1/logout ends that. An answer of 401 means: load `/` again. Without a key it
is a form for one, made by the server (api/front.py) and whole in itself: no other file is given out before, those of
/static included. GET /api/v1/me says whether keys are needed and whether this one may steer (`can_control`).
All that changes something has to come from the server's own pages (`Origin`), which fetch() sees to by itself.

**Events** (GET /api/v1/events, server-sent): each has an id, one of the names in `EventName`, and as data one
object: `Event` for page, redirect, failure, refusal and said; `StateChange` for state; `LeftOut` for left_out; the
last `Status` for ended, where a server ends with its crawl. The
first events after connecting are the last ones that happened (at most 200), or those since `Last-Event-ID`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from gossamer.records import Reason, State
from gossamer.rendered import When
from gossamer.settings.kinds import PolicyProxy, Region

Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Url = Annotated[str, Meta(min_length=1, max_length=8192)]
Share = Annotated[float, Meta(ge=0, le=1)]
Priority = Share | Literal["high", "medium", "low"]

CrawlState = Literal["starting", "running", "paused", "draining", "stopped", "complete"]
EventName = Literal["page", "redirect", "failure", "refusal", "said", "state", "left_out", "ended"]


class Shape(Struct):
    """An answer."""


class Body(Struct, forbid_unknown_fields=True):
    """A request body; what nobody knows is refused, because it was meant to do something."""


# ---- errors --------------------------------------------------------------------------------------------------


class Problem(Shape, omit_defaults=True):
    """Why there is no other answer (RFC 9457), as application/problem+json."""

    title: str
    status: int
    detail: str = ""  # what was wrong, and what to do
    reason: str = ""  # one word, for programs: of `records.Reason` where it is about a URL
    entry: str = ""  # the part of the request that it is about: `urls[3]`, `limit`
    value: str = ""  # what stood there


# ---- who is asking -------------------------------------------------------------------------------------------


class Login(Body):
    key: Annotated[str, Meta(min_length=1, max_length=256)]


class Me(Shape):
    needs_key: bool  # False: nobody has set a key, and whoever is on this machine may do everything
    name: str | None  # of the key
    scope: Literal["read", "control", "fetch"]
    can_control: bool


# ---- pages ---------------------------------------------------------------------------------------------------


class Stored(Shape):
    """Where the content lies in the archive."""

    file: str
    offset: int
    length: int


class Rendering(Shape):
    """What a browser was asked for, whether it gained or not."""

    why: str  # the evidence
    requests: int  # of the page, that went to servers
    bytes: int  # that they sent
    seconds: float
    missing: int  # requests of the page that nobody answered
    text_gained: int  # characters; without a gain the page is as its server sent it
    links_gained: int
    fault: str | None  # why there is no rendered document
    picture_bytes: int  # of GET /pages/picture; 0: there is none


class Page(Shape):
    url: str
    url_hash: str  # SHA-256
    state: State
    status: int | None  # of HTTP; null: no answer
    http_status: int | None  # the same
    reason: Reason | None
    explained: str | None  # the reason, in a sentence
    detail: str | None
    content_hash: str | None
    found_at: Moment | None
    fetched_at: Moment | None
    next_visit_at: Moment | None  # or next try
    verdict: Literal["original", "same", "near", "unchanged"] | None
    same_as: str | None
    is_duplicate: bool  # another URL shows the same content, or nearly
    distance: int | None  # bits in which the SimHashes differ, where it is near
    resemblance: float | None  # share of the shingles in common, where it is near
    media_type: str | None
    title: str | None
    language: str | None
    bytes: int
    depth: int
    links: int
    attempts: int
    priority_score: Share | None  # when it was last asked for
    source: str | None  # the page that led here; null: a seed
    moved_to: str | None
    noindex: bool
    noarchive: bool
    simhash: str | None
    storage_path: str | None  # of the archive file, below the crawl's folder or as a URL
    html_storage_path: str | None  # the same
    archive: Stored | None
    rendered: Rendering | None  # null: no browser was asked


class Pages(Shape):
    pages: list[Page]
    next_cursor: str | None


class PriorityParts(Shape):
    score: float
    authority: float
    freshness: float
    context: float
    waiting: float


# ---- hosts, domains and their policies -----------------------------------------------------------------------


class Policy(Body):
    """What an operator says, over what the crawl would do by itself. What is left out is as the crawl has it."""

    crawl_rate: Annotated[float, Meta(ge=1e-5, le=10_000)] | None = None  # requests a second, at most
    max_pages: Annotated[int, Meta(ge=1, le=10**15)] | None = None
    priority: Priority | None = None  # instead of the host's authority
    paused: bool = False  # nothing is asked, everything stays queued
    blocked: bool = False  # nothing is asked, what is queued is refused
    trusted: bool = False  # what looks like a trap here is none
    region: Region | None = None  # whose fetchers ask; empty: any
    render: When | None = None  # which pages a browser shows, instead of render.when
    proxy: PolicyProxy | None = None  # instead of fetch.proxy, of which it has to be one; direct: none


class Limits(Body):
    """How fast the whole crawl may go. 0: as fast as it can; what is left out is as the settings have it."""

    requests_per_s: Annotated[float, Meta(ge=0, le=10**6)] | None = None
    bytes_per_s: Annotated[float, Meta(ge=0, le=10**15)] | None = None


class DomainPolicy(Shape):
    """`policy` was set for this very name; `in_force` is what holds, its site's policy included."""

    domain: str
    kind: Literal["site", "host"]
    policy: Policy
    in_force: Policy
    is_set: bool


class Host(Shape):
    host: str
    site: str
    pages: int
    queued: int
    requests: int
    errors: int
    error_rate: Share | None
    last_error: str | None
    bytes: int
    in_links: int  # from pages of other sites
    authority_score: Share
    last_crawled_at: Moment | None  # a page of it
    delay_s: float
    delay_reason: Reason
    delay_explained: str
    ready_in_s: float
    policy: Policy  # in force


class Hosts(Shape):
    hosts: list[Host]
    next_cursor: str | None


class Robots(Shape):
    """The copy of one origin's robots.txt."""

    origin: str
    status: int | None  # null: no answer
    fetched_at: Moment | None
    age_s: float | None
    crawl_delay_s: float | None
    sitemaps: list[str]
    body: str  # the first 64 KiB
    moved_to: str | None


class OriginAway(Shape):
    """Scheme, host and port at which nobody answers, while others of the host go on."""

    why: str  # the origin, and what failed
    reason: Reason
    next_try_in_s: float


class HostDetail(Host):
    failures_in_a_row: int
    back_off_s: float
    crawl_delay_s: float | None
    robots: list[Robots]
    next_urls: list[str]  # a few of those that are queued, best first
    origins_away: list[OriginAway]


class RobotsState(Shape):
    """How the robots.txt of one origin stands."""

    origin: str
    state: Literal["obeyed", "none", "unreachable"]  # none: there is no such file, so that all is allowed
    status: int | None
    fetched_at: Moment | None


class Domain(Shape):
    """A site: everything below one registrable domain, added up."""

    domain: str
    hosts: int
    pages: int
    page_count: int  # the same
    queued: int
    requests: int
    errors: int
    error_rate: Share | None
    bytes: int
    policy: Policy  # set for the domain
    authority_score: Share  # the greatest of its hosts
    last_crawled_at: Moment | None
    robots_txt: list[RobotsState]  # of its largest hosts


class Domains(Shape):
    domains: list[Domain]
    next_cursor: str | None


# ---- why -----------------------------------------------------------------------------------------------------


class Why(Shape):
    """The state of any URL, known or not, and the reason. `story` says it in sentences, the first the shortest."""

    asked: str
    url: str | None  # canonical; null: it is none
    state: Literal["queued", "in_flight", "waiting", "done", "failed", "refused", "quarantined", "never seen"]
    reason: Reason | None
    explained: str | None
    detail: str | None
    story: list[str]
    next_try_in_s: float | None
    priority: PriorityParts | None  # while it is queued
    found_by: list[str]  # the way back to a seed
    leads_to: list[str]  # by redirects
    page: Page | None  # the record, where it was ever accepted
    host: Host | None


# ---- steering ------------------------------------------------------------------------------------------------


class Seeds(Body):
    """All of them, or none: an entry that is no URL is answered with 400, and names the entry."""

    urls: Annotated[list[Url], Meta(min_length=1, max_length=10_000)]
    priority: Priority | None = None
    max_depth: Annotated[int, Meta(ge=0, le=10**6)] | None = None  # from these seeds; null: as the crawl


class RefusedUrl(Shape):
    url: str
    reason: Reason
    explained: str


class SeedsAdded(Shape):
    added: int
    duplicates_skipped: int
    refused: list[RefusedUrl]


class Retry(Body):
    """What comes back: of a host, of all hosts of a site, or of the whole crawl."""

    domain: Annotated[str, Meta(min_length=1, max_length=255)] | None = None  # a registrable one, or a host's name
    reason: Reason | None = None  # what failed or was refused for it; null: what waits for an outage to end


class Retried(Shape):
    urls: int  # that are queued again
    partitions_left: int = 0  # of a cluster: that have not done it yet; they will, when they have an owner


class Steered(Shape):
    state: CrawlState


class QuarantinedUrl(Body):
    url: Url


class Quarantine(Shape):
    pages: list[Page]
    next_cursor: str | None


class UrlReleased(Shape):
    url: str
    done: Literal["released", "dropped", "on_its_way"]  # the last: its owner in a cluster has not done it yet


# ---- events --------------------------------------------------------------------------------------------------


class Event(Shape):
    at: Moment
    kind: Literal["page", "redirect", "failure", "refusal", "said"]
    url: str
    status: int | None
    reason: Reason | None
    bytes: int
    took_s: float
    note: str


class StateChange(Shape):
    at: Moment
    state: CrawlState
    paused_why: str | None


class LeftOut(Shape):
    """There was more than anybody can read, or this listener was too slow."""

    count: int


# ---- health --------------------------------------------------------------------------------------------------


class Health(Shape):
    status: Literal["ok"]


class Ready(Shape):
    status: Literal["ready", "not ready"]
    running: bool  # the crawl
    detail: str
