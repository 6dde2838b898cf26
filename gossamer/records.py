"""The nouns: everything that travels between the stages of a crawl, on one page.

Records are frozen and hold no behaviour beyond small questions about themselves. The web's faults are values
here (`Failed`, `Refused` with a `Reason`); only our own faults are exceptions.

What is frozen can hold no cycle, so Python need not look for any (`gc=False`): a page in flight is dozens of objects.

A URL in a record is always canonical (`gossamer.url.canonical`), so equal text means equal URL.
Times are seconds since the epoch as `Clock.now()` gives them; names end in their unit.
Longer than 400 lines: the nouns are meant to be read together.
"""

from __future__ import annotations

import mmap
from email.utils import parsedate_to_datetime
from enum import StrEnum
from hashlib import sha256
from sys import getsizeof
from typing import Annotated, ClassVar, NamedTuple

import msgspec
from msgspec import Meta

from gossamer.headers import header_in
from gossamer.reasons import Reason as Reason  # noqa: PLC0414  # one of the nouns
from gossamer.rendered import RenderCost, Rendered
from gossamer.visit_history import Away, ChangeRates, History, Trust

Url = str  # canonical, always
Body = bytes | mmap.mmap  # a large one lies in a file (fetch/spool.py); `body[:]` is bytes either way


class State(StrEnum):
    """Where a URL is. Every accepted URL is in exactly one of these, at any moment and after any crash."""

    QUEUED = "queued"
    IN_FLIGHT = "in_flight"
    WAITING = "waiting"  # for a later try
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    QUARANTINED = "quarantined"


SITEMAP = "sitemap"  # rel of a link to a sitemap


class Seed(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """Where a person wants the crawl to start, and what they say about it."""

    url: Url
    priority: Annotated[float, Meta(ge=0, le=1)] | None = None  # instead of what it would be worth
    max_depth: Annotated[int, Meta(ge=0, le=10**6)] | None = None  # of links from here; the crawl's own holds, too

    @property
    def link(self) -> Link:
        return Link(self.url, max_depth=self.max_depth, priority=self.priority)


class Link(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A reason to visit a URL: a seed, a link on a page, a redirect, an entry of a sitemap."""

    url: Url
    anchor: str = ""
    rel: str = ""
    source: Url | None = None  # None: a seed
    depth: int = 0  # links away from a seed
    chain: tuple[Url, ...] = ()  # the redirects that led here since the last page
    lastmod: str | None = None  # as a sitemap gave it
    position: str = ""  # on its page: main, navigation or footer; empty: not known
    context: float = 1.0  # in [0, 1]: what all of this makes it worth (process/markup/context.py)
    max_depth: int | None = None  # as its seed wants it; None: as the crawl
    priority: float | None = None  # of a seed that has one of its own
    worth: int = 0  # credit that its page gives it


class Validators(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a server gave us to ask later whether a page has changed; false where it gave nothing."""

    etag: str = ""
    last_modified: str = ""

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


class Exchange(msgspec.Struct, frozen=True, gc=False):
    """One request and its answer, as they went over the wire; kept for the archive."""

    request: bytes  # request line and headers
    head: bytes  # status line and headers, as received
    status: int
    ip: str
    started_at: float
    ended_at: float
    latency_s: float  # until the first byte of the answer
    truncated: str = ""  # length: cut at our limit; decoding: the content coding broke off
    tls_fault: str = ""  # why the certificate was not good, where we went on all the same
    proxy: str = ""  # that it went through, without its password; empty: none

    def header(self, name: str) -> str | None:
        """The last value of a header, as browsers take it; None where it is missing."""
        return header_in(self.head, name)

    @property
    def retry_after_s(self) -> float | None:
        """What the server asks for, from the end of its answer on: RFC 9110 10.2.3, a number or a date. A date is by
        the server's own clock, which its answer tells: ours may be wrong by seconds, and theirs by hours."""
        value = self.header("Retry-After") if self.status >= 300 else None  # it means nothing with a page
        if value is None:
            return None
        if value.isdecimal():
            return float(value)
        try:
            until = parsedate_to_datetime(value).timestamp()
        except (ValueError, OverflowError):
            return None  # neither: as good as nothing
        try:
            now = parsedate_to_datetime(self.header("Date") or "").timestamp()
        except (ValueError, OverflowError):
            now = self.ended_at
        return max(0.0, until - now)


class Packed(msgspec.Struct, frozen=True, gc=False):
    """An answer as a record of the archive, packed where it was fetched."""

    start: bytes  # of the record, before the body
    member: bytes


class Fetched(msgspec.Struct, frozen=True, gc=False):
    """An answer with a body worth processing (2xx), or 304: nothing new."""

    exchange: Exchange
    body: Body  # content encodings removed

    packed: ClassVar[Packed | None] = None  # where a fetcher has done that (fetchers/answers.py)

    @property
    def body_bytes(self) -> int:
        return len(self.body)

    @property
    def memory_bytes(self) -> int:
        """Of the body; one in a file (fetch/spool.py) takes none that the system cannot have back."""
        return len(self.body) if isinstance(self.body, bytes) else 0

    @property
    def digest(self) -> str:
        """Of the body."""
        return sha256(self.body).hexdigest()

    @property
    def is_not_modified(self) -> bool:
        """The copy that we have is still good."""
        return self.exchange.status == 304

    @property
    def ended_at(self) -> float:
        return self.exchange.ended_at


class Moved(msgspec.Struct, frozen=True, gc=False):
    """A redirect. The target re-enters through the link filter as a link, it is not followed here."""

    exchange: Exchange
    body: Body
    target: Url

    @property
    def ended_at(self) -> float:
        return self.exchange.ended_at


class Refused(msgspec.Struct, frozen=True, gc=False):
    """Not asked for, with the reason."""

    exchange: ClassVar[None] = None
    ended_at: ClassVar[None] = None
    reason: Reason
    detail: str = ""
    wait_s: float = 0.0  # the reason may pass: to be tried again after this; 0: refused for good


class Failed(msgspec.Struct, frozen=True, gc=False):
    """Asked for and not fetched. `exchange` is None where there was no answer at all."""

    reason: Reason
    exchange: Exchange | None = None
    detail: str = ""
    ended_at: float = 0.0


class Postponed(msgspec.Struct, frozen=True, gc=False):
    """Not asked for yet: something other than the host itself has to wait, such as its address."""

    exchange: ClassVar[None] = None
    ended_at: ClassVar[None] = None
    wait_s: float
    reason: Reason
    detail: str = ""


class RobotsRead(msgspec.Struct, frozen=True, gc=False):
    """The turn was spent on the host's robots.txt; the URL goes back to the head of its queue."""

    robots: RobotsCopy
    exchange: Exchange | None = None
    ended_at: float = 0.0
    wait_s: float = 0.0  # unreachable: nothing else is asked of the host meanwhile
    sitemaps: tuple[Url, ...] = ()  # that it names


class RobotsCopy(msgspec.Struct, frozen=True, gc=False):
    """What is known of one origin's robots.txt, as stored with its host."""

    origin: str  # scheme://host[:port]
    fetched_at: float
    status: int | None  # None: no answer
    body: bytes = b""
    moved_to: Url | None = None  # a redirect still to be followed, at the host's next turn
    hops: int = 0
    tries: int = 0  # failures in a row
    tried_at: float = 0.0
    crawl_delay_s: float | None = None
    reason: Reason | None = None  # why the last try failed
    detail: str = ""
    rest_s: float = 0.0  # its waits are used up: it is not tried again before that, from `tried_at` on

    @property
    def fault(self) -> str:
        """What is behind it where it could not be fetched, in a few words."""
        what = self.reason or (f"status {self.status}" if self.status is not None else "no answer")
        tries = f" (tried {self.tries} times)" if self.tries > 1 else ""
        return f"robots.txt: {what}{': ' + self.detail if self.detail else ''}{tries}"


Answer = Fetched | Moved | Refused | Failed | Postponed
Result = Answer | RobotsRead


class LinksApart(NamedTuple):
    """Links of a page: to its own origin, with what the frontier wants to know of them, and all others."""

    urls: list[Url]
    rels: list[str]
    contexts: list[float]
    others: list[Link]


class Page(msgspec.Struct, frozen=True, gc=False):
    """What processing made of a body."""

    url: Url
    media_type: str = ""
    title: str = ""
    text: str = ""
    links: list[Link] = []
    canonical: Url | None = None
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    main_text: str = ""  # without navigation, footers and the like
    language: str = ""  # ISO 639-1; empty: too little text to tell
    description: str = ""
    headings: list[str] = []
    alternates: list[tuple[str, Url]] = []  # the same in other languages: hreflang and URL
    width: int = 0  # of a picture
    height: int = 0
    simhash: int = 0  # of the main text
    words: int = 0  # that the SimHash was made of; of a few words it tells nothing
    fault: str = ""  # why nothing could be read
    sketch: bytes = b""  # of the main text, to be compared with others (gossamer/resemblance.py)
    rendered: Rendered | None = None  # what a browser made of it, where one was asked

    written_links: ClassVar[bytes] = b""  # what the archive writes of its links, where its reader has made that
    links_apart: ClassVar[LinksApart | None] = None  # where its reader has told them apart
    has_scripts: ClassVar[bool | None] = None  # None: its reader has not looked

    def plain(self) -> Page:
        """With all its fields, also those that its reader has not made before somebody asks."""
        return self if type(self) is Page else Page(**{name: getattr(self, name) for name in Page.__struct_fields__})

    @property
    def document(self) -> bytes:
        """As a browser showed it; empty: it is as its server sent it."""
        return self.rendered.document if self.rendered is not None else b""

    @property
    def link_count(self) -> int:
        return len(self.links)

    @property
    def text_bytes(self) -> int:
        """The memory that its texts take."""
        return getsizeof(self.text) + (getsizeof(self.main_text) if self.main_text is not self.text else 0)


class Verdict(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Is this content new? Judged against the pages of *other* URLs only."""

    kind: str = "original"  # original | same | near | unchanged
    of: Url | None = None  # the URL whose content this is
    at: float | None = None  # when that was fetched
    distance: int = 0  # bits by which the SimHashes differ, where it is near
    resemblance: float = 0.0  # the share of shingles in common, where it is near; 0: not known
    is_stored: bool = False  # a near copy that is in the archive with a body of its own

    @property
    def is_original(self) -> bool:
        return self.kind == "original"

    @property
    def is_copy(self) -> bool:
        """Another URL shows this content, or nearly."""
        return self.kind in ("same", "near")

    @property
    def share_in_common(self) -> float | None:
        """Of the shingles with the original's, in thousandths; None where it is not near, or nobody has counted."""
        return round(self.resemblance, 3) if self.kind == "near" and self.resemblance else None

    @property
    def is_reference(self) -> bool:
        """The archive names the page whose content this is, and has no body here."""
        return not self.is_original and not self.is_stored


ORIGINAL = Verdict()


class Claim(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """This content is that URL's: what others with the same content are compared with."""

    content_hash: str
    url: Url
    fetched_at: float
    simhash: int | None = None  # None: there is no text to be compared
    sketch: bytes = b""  # of the text (resemblance.py)
    partition: int = 0  # of its page, and the epoch in which somebody claims it
    epoch: int = 0


class Place(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where a record lies in the archive."""

    file: str
    offset: int
    length: int


class Host(msgspec.Struct, array_like=True, gc=False):
    """One host's life: its clocks, its counters, why it waits. Mutable: its partition owns it."""

    name: str
    site: str
    ready_at: float = 0.0  # not to be asked before
    delay_s: float = 0.0  # after the last answer ended
    delay_reason: Reason = Reason.CONFIGURED
    back_off_s: float = 0.0  # grows while the host is overloaded, eases when it is not
    crawl_delay_s: float | None = None
    queued: int = 0
    pages: int = 0
    requests: int = 0
    errors: int = 0
    body_bytes: int = 0
    last_error: str = ""
    is_counted: bool = False  # among the hosts of its partition
    in_links: int = 0  # links to it from pages of other sites
    failures: int = 0  # in a row: no connection, no answer, or the server failed
    front_order: int = 0  # of its best URL when it got its place
    front_key: bytes = b""  # its place among the hosts with work; empty: it has none
    earned: int = 0  # credit that links from other sites were worth (schedule/importance.py)
    trust: Trust = Trust()
    change_rate: ChangeRates = ChangeRates()
    led: int = 0  # pages of it that led to another one of it that was new
    trapped: int = 0  # URLs refused when they were found, because their pattern was used up
    revisits: int = 0  # of those queued, pages that were fetched before
    failed_urls: int = 0  # different ones among `failures`
    rests: int = 0  # in a row, because it failed too often; none since it answered last
    rest_until: float = 0.0  # nothing is asked before; 0: it does not rest
    resting: int = 0  # its URLs that were never fetched and wait for an outage to end
    rest_cause: str = ""  # the failure behind that, while there are some
    crawled_at: float = 0.0  # its last page
    kills: int = 0  # workers that ended while they read one of its pages
    well_at: float = 0.0  # the end of its last answer that was no failure
    origins: dict[str, Away | None] = {}  # that it is known to have, and those among them that fail

    @property
    def is_resting(self) -> bool:
        return self.rest_until > 0

    @property
    def next_turn_at(self) -> float:
        return max(self.ready_at, self.rest_until)

    @property
    def waits_for(self) -> Reason:
        """Why it is not asked before that."""
        return Reason.HOST_DOWN if self.rest_until > self.ready_at else self.delay_reason


class Lease(msgspec.Struct, frozen=True, gc=False):
    """A URL handed out to be fetched, until a moment. While it lasts its host is asked nothing else."""

    link: Link
    host: str
    expires_at: float
    attempt: int = 1
    id: bytes = b""  # names this very lease: of a URL that is handed out again the next one has another
    validators: Validators | None = None  # of the copy that we have
    content_hash: str = ""  # of the copy that we have; empty: it is the first visit
    credit: int = 0  # what it may give to the pages it links to (schedule/importance.py)
    is_suspect: bool = False  # a worker ended while it read this page, or another of its host

    @property
    def url(self) -> Url:
        return self.link.url


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """All that one lease led to: what `save`, `send` and `finish` need."""

    lease: Lease
    result: Result
    page: Page | None = None
    verdict: Verdict = ORIGINAL
    claim: Claim | None = None  # to its content

    @property
    def content_hash(self) -> str:
        return self.claim.content_hash if self.claim else ""

    @property
    def is_shown(self) -> bool:
        """Its content is what a browser showed."""
        return self.page is not None and bool(self.page.document)

    @property
    def has_own_links(self) -> bool:
        """Whether a page's links may lead elsewhere than those of any page before it.

        The same bytes do where relative ones resolve differently: not by the query (RFC 3986, 5.2.2)."""
        if self.page is None or self.verdict.kind != "same":
            return self.page is not None
        return (
            self.page.link_count > 0 and self.lease.url.partition("?")[0] != (self.verdict.of or "").partition("?")[0]
        )


class UrlRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """All that is known of one accepted URL: its state, its story, and where its content lies."""

    url: Url
    state: State
    reason: Reason | None = None
    detail: str = ""
    depth: int = 0
    chain: tuple[Url, ...] = ()  # of redirects that led here
    source: Url | None = None
    found_at: float | None = None
    context: int = 100  # of the link that led here, in hundredths
    is_sitemap: bool = False  # found as one, in robots.txt or in another
    credit: int = 0  # that links gave it, and it has not given away (schedule/importance.py)
    attempts: int = 0  # what follows is empty before the first of them, nearly always (tables.queued)
    kills: int = 0  # times that its worker died while it was in flight
    due_at: float | None = None  # the next try while waiting, or the next visit of a page that is done
    status: int | None = None
    fetched_at: float | None = None
    content_hash: str = ""
    media_type: str = ""
    title: str = ""
    body_bytes: int = 0
    moved_to: Url | None = None
    verdict: Verdict | None = None
    place: Place | None = None
    links: int = 0
    noindex: bool = False
    validators: Validators | None = None
    simhash: int = 0  # of the text, 0 where there was none
    language: str = ""
    noarchive: bool = False
    max_depth: int | None = None  # of its seed, where that has one of its own
    priority: float | None = None  # of a seed that has one of its own
    history: History | None = None  # of its visits; None: it was not there yet
    earned: int = 0  # credit that it has given away so far
    score: int | None = None  # its priority when it was last asked for, in thousandths
    failing_since: float | None = None  # the first of the failures that `attempts` counts; None: it did not fail
    rendered: RenderCost | None = None  # None: no browser was asked

    @property
    def is_copy(self) -> bool:
        return self.verdict is not None and self.verdict.is_copy
