"""What an outcome means for its URL: done, failed, refused, or another try, and when. Pure functions.

The table of the web's faults: a fault that a later try may cure is tried again after the configured waits; one
that will not change by itself is final at once. A host in strain (429, 503) is slowed as a whole by politeness.py,
so its URL simply takes its place at the end of the host's queue, a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.records import (
    Exchange,
    Failed,
    Fetched,
    Known,
    Moved,
    Outcome,
    Page,
    Place,
    Postponed,
    Reason,
    Refused,
    RobotsRead,
    State,
    Validators,
)

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
# Of what is queued again at once: with a host's delay doubling from 1 s, the tenth comes a quarter of an hour later.
TRIES_MAX = 10


class Step(msgspec.Struct, frozen=True):
    state: State
    reason: Reason | None = None
    detail: str = ""
    due_at: float | None = None
    to_the_end: bool = False  # queued again, behind the host's other URLs


def next_step(known: Known, attempt: int, outcome: Outcome, retries_s: Sequence[float], now: float) -> Step:
    match outcome.result:
        case Fetched(exchange=exchange) | Moved(exchange=exchange):
            return Step(State.DONE, detail=flaws_of(exchange, outcome.page))
        case RobotsRead() | Postponed():
            return Step(State.QUEUED)
        case Refused(reason=reason, detail=detail):
            return Step(State.REFUSED, reason, detail)
        case Failed(reason=Reason.STALE_CONNECTION as reason, detail=detail) if attempt == 1:
            return Step(State.QUEUED, reason, detail, to_the_end=True)
        case Failed(reason=Reason.OVERLOADED as reason, detail=detail):
            if attempt < TRIES_MAX:
                return Step(State.QUEUED, reason, detail, to_the_end=True)
            return Step(State.FAILED, reason, detail)
        case Failed(reason=reason, detail=detail):
            if reason is Reason.STALE_CONNECTION:
                reason = Reason.BROKEN_ANSWER  # by bad luck once; after that it is how this server answers
            if reason in CURED_BY_TIME and attempt <= len(retries_s):
                return Step(State.WAITING, reason, detail, due_at=now + retries_s[attempt - 1])
            return Step(State.FAILED, reason, detail)


def after(known: Known, attempt: int, step: Step, outcome: Outcome, place: Place | None) -> Known:
    """The record of a URL after an outcome; what an earlier visit left and this one does not know is kept."""
    result, page, exchange = outcome.result, outcome.page, outcome.result.exchange
    body_bytes, validators, verdict, place = known.body_bytes, known.validators, known.verdict, place or known.place
    if isinstance(result, Fetched):
        verdict = outcome.verdict
        if verdict.kind == "unchanged":
            place = known.place or place  # where the content is, and not the word that it is still good
        if not result.is_not_modified:
            body_bytes, validators = len(result.body), validators_of(result.exchange)
    return Known(  # by position: naming them all takes a microsecond more, at every page
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
        page.media_type if page else known.media_type,
        page.title if page else known.title,
        body_bytes,
        result.target if isinstance(result, Moved) else None,
        verdict,
        place,
        len(page.links) if page else known.links,
        page.noindex if page else known.noindex,
        validators,
        page.simhash if page else known.simhash,
        page.language if page else known.language,
        page.noarchive if page else known.noarchive,
        known.max_depth,
        known.priority,
        known.history,
        known.earned,
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
    etag = (exchange.header("ETag") or "") if b"\netag:" in head else ""
    last_modified = (exchange.header("Last-Modified") or "") if b"\nlast-modified:" in head else ""
    return Validators(etag, last_modified) if etag or last_modified else None
