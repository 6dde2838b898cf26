"""Reports beside a stream: what came of a lease, told by `POST /api/v1/crawler/report` or its twin in gRPC.

For fetchers that are not ours: they take jobs from a stream and may report each as one document, with the body of a
page in it. The body has to be what the report says it is (its length and its SHA-256). With links, the page is not
read here; without, it is read as any other.
"""

from __future__ import annotations

import re
from hashlib import sha256

from gossamer.cluster.wire import BadMessage
from gossamer.fetch.http import answer_of as meaning_of
from gossamer.fetch.transfer import Received
from gossamer.fetchers.answers import Limits, ReadElsewhere, checked, checked_page
from gossamer.messages.control_messages import FetchReport
from gossamer.records import Answer, Exchange, Failed, Fetched, Link, Page, Reason, Url

HEADER = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,2000}")
NO_ANSWER = {Reason.DNS, Reason.CONNECT, Reason.TLS, Reason.TIMEOUT, Reason.TOO_SLOW, Reason.BROKEN_ANSWER}


def lease_in(report: FetchReport) -> tuple[bytes, int, Url]:
    """Its lease, epoch and URL."""
    try:
        return bytes.fromhex(report.lease), report.epoch, report.url
    except ValueError:
        return b"", report.epoch, report.url


def answer_from(report: FetchReport, limits: Limits, sent_at: float, now: float) -> Answer:
    if not report.status:
        reason = Reason(report.error) if report.error in NO_ANSWER else Reason.BROKEN_ANSWER
        return Failed(reason, None, "" if report.error in NO_ANSWER else report.error[:1000], now)
    body = report.body
    if len(body) > limits.body_bytes_max or report.body_bytes != len(body):
        raise BadMessage("reports a body of another length")
    if body and sha256(body).hexdigest() != report.content_hash:
        raise BadMessage("reports a body that is not what it says")
    headers = {"Content-Type": report.content_type, "Location": report.location}
    lines = [f"{name}: {value}" for name, value in headers.items() if HEADER.fullmatch(value)]
    head = "\r\n".join([f"HTTP/1.1 {report.status:03d} ", *lines, "", ""]).encode("latin-1")
    exchange = checked(Exchange(b"", head, report.status, "", sent_at, now, 0.0), limits.settings, sent_at, now)
    received = Received(report.status, head, body, "", sent_at, now, 0.0, "", "", None, "")
    answer = meaning_of(report.url, exchange, received)
    if isinstance(answer, Fetched) and not body:
        raise BadMessage("reports a page without its body")
    if isinstance(answer, Fetched) and report.links:
        media_type = report.content_type.partition(";")[0].strip().lower()
        page = Page(report.url, media_type, links=[Link(url) for url in report.links])
        return ReadElsewhere(exchange, body, checked_page(page, report.url), None, len(body), report.content_hash)
    return answer
