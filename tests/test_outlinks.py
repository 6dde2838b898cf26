"""What an outcome gives the frontier."""

from __future__ import annotations

import pytest

from gossamer.outlinks import links_of
from gossamer.records import SITEMAP, Exchange, Fetched, Lease, Link, Moved, Outcome, Page, Verdict

URL, OTHER = "http://a.test/b/c.html", "http://a.test/other"


def exchange(status: int = 200) -> Exchange:
    return Exchange(b"", b"", status, "192.0.2.1", 0.0, 1.0, 0.5)


def outcome(verdict: str = "original", of: str | None = None) -> Outcome:
    page = Page(URL, links=[Link(OTHER, "a word", position="main", context=0.8)])
    lease = Lease(Link(URL, depth=2), "a.test", 60.0)
    return Outcome(lease, Fetched(exchange(), b""), page, Verdict(verdict, of))


@pytest.mark.parametrize("verdict", ["original", "near"])
def test_links_come_with_their_source_their_place_and_their_worth(verdict: str) -> None:
    assert links_of(outcome(verdict)) == [Link(OTHER, "a word", "", URL, 3, position="main", context=0.8)]


@pytest.mark.parametrize("of", [f"{URL}?session=7", f"{URL}?"])
def test_the_links_of_the_same_content_are_not_sent_again_where_they_lead_to_the_same_places(of: str) -> None:
    assert links_of(outcome("same", of)) == []


@pytest.mark.parametrize("of", ["http://b.test/b/c.html", "https://a.test/b/c.html", "http://a.test/b/d.html"])
def test_the_links_of_the_same_content_elsewhere_are_sent(of: str) -> None:
    assert [link.url for link in links_of(outcome("same", of))] == [OTHER]


def test_with_ascend_the_folders_of_a_page_are_offered_too() -> None:
    found = links_of(outcome(), ascend=True)
    assert [link.url for link in found] == [OTHER, "http://a.test/b/", "http://a.test/"]
    assert {(link.source, link.depth) for link in found} == {(URL, 3)}


def test_a_sitemap_that_has_moved_is_still_a_sitemap() -> None:
    lease = Lease(Link(URL, rel=SITEMAP, depth=1, context=0.5), "a.test", 60.0)
    found = links_of(Outcome(lease, Moved(exchange(301), b"", OTHER)))
    assert found == [Link(OTHER, "", SITEMAP, URL, 1, (URL,), context=0.5)]
