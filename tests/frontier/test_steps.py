"""What an outcome makes of a URL's record."""

from __future__ import annotations

from typing import Any

from msgspec.structs import fields, replace

from gossamer.frontier.rules.steps import Step, after, next_step
from gossamer.records import (
    Claim,
    Exchange,
    Failed,
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
    Validators,
    Verdict,
)
from gossamer.rendered import RenderCost
from gossamer.visit_history import History

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


# A record in which no two fields of one type are alike, and none has its default.
VALUES: tuple[Any, ...] = (
    *(URL, State.QUEUED, Reason.DNS, "a detail"),
    *(3, ("http://a.test/from",), "http://b.test/", 11.0, 71, True, 12, 4, 5, 13.0, 207, 14.0, "ab", "text/plain"),
    *("a title", 15, "http://a.test/to", Verdict("near", "http://c.test/"), CONTENT, 16, True, Validators('"tag"')),
    *(17, "fr", True, 18, 0.25, History(visits=1), 19, 20, 21.0, RenderCost("mount", 22)),
)
FULL = UrlRecord(*VALUES)


def test_a_failure_changes_what_it_tells_of_and_nothing_else() -> None:
    assert all(getattr(FULL, each.name) != each.default for each in fields(FULL))
    outcome = Outcome(Lease(Link(URL), "a.test", 99.0), Failed(Reason.TIMEOUT, None, "slow", 30.0))
    later = after(FULL, 6, Step(State.WAITING, Reason.TIMEOUT, "slow", due_at=31.0), outcome, None, 22)
    told = {"state": State.WAITING, "reason": Reason.TIMEOUT, "detail": "slow", "due_at": 31.0, "attempts": 6}
    assert later == replace(FULL, **told, status=None, fetched_at=30.0, moved_to=None, score=22)


def test_a_page_changes_what_it_tells_of_and_nothing_else() -> None:
    head = b'HTTP/1.1 200 OK\r\nLast-Modified: then\r\netag: "new"\r\n\r\n'
    page = Page(URL, "text/html", "new", links=[Link(URL)], simhash=23, language="de")
    claim = Claim("cd", URL, 40.0)
    answer = Fetched(Exchange(b"", head, 200, "", 40.0, 41.0, 0.1), b"body")
    outcome = Outcome(Lease(Link(URL), "a.test", 99.0), answer, page, Verdict("same", "http://d.test/"), claim)
    later = after(FULL, 1, Step(State.DONE), outcome, WORD, 24)
    assert later == replace(
        FULL,
        state=State.DONE,
        reason=None,
        detail="",
        attempts=1,
        due_at=None,
        status=200,
        fetched_at=40.0,
        content_hash="cd",
        body_bytes=4,
        moved_to=None,
        verdict=Verdict("same", "http://d.test/"),
        place=WORD,
        validators=Validators('"new"', "then"),
        score=24,
        media_type="text/html",
        title="new",
        links=1,
        noindex=False,
        simhash=23,
        language="de",
        noarchive=False,
        failing_since=None,
        rendered=None,
    )
