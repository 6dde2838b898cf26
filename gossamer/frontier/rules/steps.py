"""What an outcome means for its URL: done, failed, refused, or another try, and when. Pure functions.

The table of the web's faults: a fault that a later try may cure is tried again after the configured waits; one
that will not change by itself is final at once. A host in strain (429, 503) is slowed as a whole by politeness.py,
so its URL simply takes its place at the end of the host's queue, a bounded number of times.

A URL is given up when the failure is its own. It rests instead, longer each time, where the server is away: no
connection at all, no page ever from this host, several URLs in a row that failed at their first try (`is_away`),
nobody at its scheme and port while others of its host go on (origins.py), or nothing that went well since this URL
failed first, unless the server itself says that it cannot make the page. That may also be because there was nothing
else to ask for: where no other URL failed, it has as many rests as there are in `frontier.rests_s`, and is given up
then.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from gossamer.frontier.rules.origins import is_failing, is_its_own, is_silent_since
from gossamer.frontier.rules.politeness import GAVE, ended_at
from gossamer.headers import is_sendable
from gossamer.records import (
    Exchange,
    Failed,
    Fetched,
    Host,
    Moved,
    Outcome,
    Page,
    Place,
    Postponed,
    Reason,
    Refused,
    RobotsRead,
    State,
    UrlRecord,
    Validators,
)
from gossamer.url.site import origin_of

CURED_BY_TIME = frozenset(
    {
        Reason.DNS,
        Reason.CONNECT,
        Reason.TLS,
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
        Reason.BROKEN_ANSWER,
        Reason.SERVER_ERROR,
    }
)
PASSING = CURED_BY_TIME | {Reason.OVERLOADED}
NOBODY_THERE = frozenset({Reason.DNS, Reason.CONNECT, Reason.TLS})  # whatever the URL is
ANSWERED_BADLY = frozenset({Reason.BROKEN_ANSWER, Reason.STALE_CONNECTION, Reason.TOO_SLOW})
FAILED_URLS = 5  # at their first try, in a row: by then it is not their own fault
# Of what is queued again at once: with a host's delay doubling from 1 s, the tenth comes a quarter of an hour later.
TRIES_MAX = 10


class Step(msgspec.Struct, frozen=True):
    state: State
    reason: Reason | None = None
    detail: str = ""
    due_at: float | None = None
    to_the_end: bool = False  # queued again, behind the host's other URLs
    rests: bool = False  # it waits for the end of an outage


DONE = Step(State.DONE)  # without flaws, as nearly all


def next_step(
    host: Host,
    known: UrlRecord,
    attempt: int,
    outcome: Outcome,
    retries_s: Sequence[float],
    rests_s: Sequence[float],
    now: float,
) -> Step:
    """`known`: the URL before this outcome."""
    if isinstance(outcome.result, GAVE):
        return done(outcome.result.exchange, outcome.page)
    match outcome.result:
        case RobotsRead() | Postponed():
            return Step(State.QUEUED)
        case Refused(reason=reason, detail=detail, wait_s=wait_s) if wait_s > 0:
            return Step(State.WAITING, reason, detail, due_at=now + wait_s, rests=True)
        case Refused(reason=reason, detail=detail):
            return Step(State.REFUSED, reason, detail)
        case Failed(reason=Reason.STALE_CONNECTION as reason, detail=detail) if attempt == 1:
            return Step(State.QUEUED, reason, detail, to_the_end=True)
        case Failed(reason=Reason.OVERLOADED as reason, detail=detail):
            if attempt < TRIES_MAX:
                return Step(State.QUEUED, reason, detail, to_the_end=True)
            tries = attempt - TRIES_MAX + 1
        case Failed(reason=reason, detail=detail):
            if reason is Reason.STALE_CONNECTION:
                reason = Reason.BROKEN_ANSWER  # by bad luck once; after that it is how this server answers
            if reason in CURED_BY_TIME and attempt <= len(retries_s):
                return Step(State.WAITING, reason, detail, due_at=now + retries_s[attempt - 1])
            tries = attempt - len(retries_s)
    is_patient = (host.failed_urls > 1 or tries <= len(rests_s)) and not is_of_the_page(outcome)
    since, origin = failing_since(known, attempt, outcome), origin_of(known.url)
    was_well = was_well_since(host, since) and not is_silent_since(host, origin, since)
    may_be_away = is_away(host) or is_failing(host, origin) or (is_patient and not was_well)
    is_outage = reason in NOBODY_THERE or (reason in PASSING and may_be_away)
    if not rests_s or not is_outage:
        return Step(State.FAILED, reason, detail)
    wait_s = rests_s[min(tries, len(rests_s)) - 1]
    return Step(State.WAITING, reason, detail, due_at=now + wait_s, rests=True)


def done(exchange: Exchange, page: Page | None) -> Step:
    is_read = page is None or not page.fault
    if is_read and not (exchange.truncated or exchange.tls_fault):
        return DONE
    flaws = flaws_of(exchange, page)
    return Step(State.DONE, None if is_read else Reason.UNREADABLE, flaws)


def is_away(host: Host) -> bool:
    """Whether failures speak against the host. One page that fails at every try says nothing about the others."""
    return host.pages == 0 or host.failed_urls >= FAILED_URLS


def is_of_the_page(outcome: Outcome) -> bool:
    """The server is there, and cannot make or send this page. 502 and its kin say that somebody is away, and so does
    no answer at all."""
    result = outcome.result
    if isinstance(result, Failed) and result.reason in ANSWERED_BADLY:
        return True
    status = result.exchange.status if result.exchange is not None else None
    return status in (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.NOT_IMPLEMENTED)


def was_well_since(host: Host, moment: float | None) -> bool:
    return moment is not None and host.well_at > moment


def failing_since(known: UrlRecord, attempt: int, outcome: Outcome) -> float | None:
    """When the first of a URL's tries failed; None: the last one did not."""
    if isinstance(outcome.result, GAVE):
        return None
    return ended_at(outcome.result) if attempt == 1 else known.failing_since


def is_down(host: Host, outcome: Outcome, failures_max: int, now: float) -> bool:
    """Whether the host is to rest from now on."""
    has_failed = isinstance(outcome.result, Failed) and host.failures >= failures_max
    if not has_failed or is_its_own(host, origin_of(outcome.lease.url), outcome.result, now):
        return False
    return not host.is_resting and (is_away(host) or host.rests > 0)


def after(
    known: UrlRecord, attempt: int, step: Step, outcome: Outcome, place: Place | None, score: int = 0
) -> UrlRecord:
    """The record of a URL after an outcome; what an earlier visit left and this one does not know is kept."""
    result, page, exchange = outcome.result, outcome.page, outcome.result.exchange
    body_bytes, validators, verdict, place = known.body_bytes, known.validators, known.verdict, place or known.place
    if step.rests and result.ended_at is None:
        attempt = known.attempts  # nothing was asked
    if isinstance(result, Fetched):
        verdict = outcome.verdict
        if verdict.kind == "unchanged":
            place = known.place or place  # where the content is, and not the word that it is still good
            verdict = known.verdict if known.is_copy else verdict  # of the same page as before
        if not result.is_not_modified:
            # A server says of what it sends that it has not changed, not of what scripts load.
            is_rendered = page is not None and page.document
            body_bytes, validators = result.body_bytes, None if is_rendered else validators_of(result.exchange)
    described = known if page is None else page
    return (
        UrlRecord(  # by position, in the order of its fields: by name, or by `replace`, it takes four times as long
            known.url,
            step.state,
            step.reason,
            step.detail,
            known.depth,
            known.chain,
            known.source,
            known.found_at,
            known.context,
            known.is_sitemap,
            known.credit,
            attempt,
            known.kills,
            step.due_at,
            exchange.status if exchange else None,
            exchange.started_at if exchange else result.ended_at,
            outcome.content_hash or known.content_hash,
            described.media_type,
            described.title,
            body_bytes,
            result.target if isinstance(result, Moved) else None,
            verdict,
            place,
            known.links if page is None else page.link_count,
            described.noindex,
            validators,
            described.simhash,
            described.language,
            described.noarchive,
            known.max_depth,
            known.priority,
            known.history,
            known.earned,
            score,
            None if isinstance(result, GAVE) else failing_since(known, attempt, outcome),
            known.rendered if page is None else page.rendered.cost if page.rendered is not None else None,
        )
    )


def flaws_of(exchange: Exchange, page: Page | None) -> str:
    """What a person should know of an answer that was taken all the same."""
    flaws = [f"certificate: {exchange.tls_fault}"] if exchange.tls_fault else []
    if page is not None and page.fault:
        flaws.append(page.fault)
    if exchange.truncated:
        flaws.append("cut at the limit" if exchange.truncated == "length" else "its content coding broke off")
    return "; ".join(flaws)


def validators_of(exchange: Exchange) -> Validators | None:
    if exchange.truncated:
        return None  # of a part we cannot ask whether it changed
    head = exchange.head.lower()
    has_etag, has_date = b"\netag:" in head, b"\nlast-modified:" in head
    if not (has_etag or has_date):
        return None
    etag = exchange.header("ETag") if has_etag else None
    last_modified = exchange.header("Last-Modified") if has_date else None
    kept = Validators(
        etag if etag and is_sendable(etag) else "",
        last_modified if last_modified and is_sendable(last_modified) else "",
    )
    return kept or None
