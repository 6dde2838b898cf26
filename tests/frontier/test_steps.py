"""What an outcome makes of a URL's record."""

from __future__ import annotations

from gossamer.frontier.rules.steps import Step, after, next_step
from gossamer.records import (
    Exchange,
    Fetched,
    Host,
    Lease,
    Link,
    Outcome,
    Page,
    Place,
    Reason,
    State,
    UrlRecord,
    Verdict,
)

URL = "http://a.test/"
CONTENT, WORD = Place("000-00000.warc.gz", 100, 50), Place("000-00000.warc.gz", 900, 20)


def test_a_page_that_could_not_be_read_is_done_with_its_reason() -> None:
    exchange = Exchange(b"", b"HTTP/1.1 200 OK\r\n\r\n", 200, "", 0.0, 1.0, 0.5)
    outcome = Outcome(Lease(Link(URL), "a.test", 99.0), Fetched(exchange, b"x"), Page(URL, fault="a bug"))
    step = next_step(Host("a.test", "a.test"), UrlRecord(URL, State.QUEUED), 1, outcome, (), (), 0.0)
    assert (step.state, step.reason, step.detail) == (State.DONE, Reason.UNREADABLE, "a bug")


def test_a_page_that_has_not_changed_still_has_its_content_where_it_was() -> None:
    known = UrlRecord(URL, State.QUEUED, attempts=1, content_hash="ab", body_bytes=7, place=CONTENT)
    answer = Fetched(Exchange(b"", b"HTTP/1.1 304 Not Modified\r\n", 304, "", 5.0, 5.1, 0.1), b"")
    outcome = Outcome(Lease(Link(URL), "a.test", 99.0), answer, verdict=Verdict("unchanged", URL))
    later = after(known, 2, Step(State.DONE), outcome, WORD)
    assert (later.place, later.content_hash, later.body_bytes) == (CONTENT, "ab", 7)
    assert (later.status, later.fetched_at) == (304, 5.0)
