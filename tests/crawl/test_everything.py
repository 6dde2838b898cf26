"""A crawl of a web with every bad habit, judged by that web: by its truth, and by its access log."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from gossamer.synthetic_web.access_log import Entry
from gossamer.synthetic_web.habits.traps import trap_kind
from tests.crawl.everything import TIMEOUT_S, Crawled
from tests.crawl.judge import broken_delays, requests_at_once


def honest(urls: set[str]) -> set[str]:
    """Without traps: how far a crawl gets into them depends on the order in which it finds their entrances."""
    return {url for url in urls if trap_kind(url) is None}


def asked_pages(crawled: Crawled) -> list[Entry]:
    return [entry for entry in crawled.entries if "robots" not in entry.path]


def test_the_web_is_as_large_and_as_bad_as_it_should_be(crawled: Crawled) -> None:
    facts = crawled.truth
    assert len({entry.host for entry in crawled.entries}) >= 50
    assert len(facts.reachable) >= 2000
    for trouble in (facts.redirects, facts.failing, facts.late, facts.disallowed, facts.withheld, facts.rejected):
        assert trouble
    assert facts.duplicates and facts.too_far and facts.nofollow


def test_exactly_the_reachable_and_allowed_pages_are_found(crawled: Crawled) -> None:
    found = {url for url, page in crawled.pages.items() if page["status"] == 200 and page["state"] == "done"}
    assert found - crawled.truth.reachable == crawled.truth.sitemaps
    assert honest(crawled.truth.reachable) - found == set()


def test_exactly_what_a_correct_crawler_asks_for_was_asked_for(crawled: Crawled) -> None:
    asked = {entry.url for entry in asked_pages(crawled)}
    assert asked - crawled.truth.asked == set()
    assert honest(crawled.truth.asked) - asked == set()
    assert set(crawled.pages) == asked


def test_redirects_and_failures_are_recorded_as_what_they_are(crawled: Crawled) -> None:
    pages = crawled.pages
    loops = {url for url in crawled.truth.redirects if url.endswith(("/b", "/self")) and "/loop/" in url}
    moved = {url: target for url, target in crawled.truth.redirects.items() if url not in loops}
    assert {url: pages[url]["moved_to"] for url in moved} == moved
    assert {pages[url]["reason"] for url in loops} == {"redirect_loop"}
    for url, kind in crawled.truth.failing.items():
        # One that never ends may be an outage, if nothing else of its host was left to ask after it.
        is_perhaps_away = pages[url]["reason"] == "timeout" and pages[url]["state"] == "waiting"
        assert pages[url]["state"] == "failed" or is_perhaps_away, pages[url]
        assert pages[url]["reason"] is not None
        if isinstance(kind, int):
            assert pages[url]["status"] == kind


def test_no_honest_page_was_taken_for_a_trap(crawled: Crawled) -> None:
    assert {url for url in crawled.truth.rejected if not crawled.truth.is_trap(url)} == set()


def test_nothing_that_robots_txt_forbids_was_asked_for(crawled: Crawled) -> None:
    assert [entry.url for entry in asked_pages(crawled) if not crawled.web.permits(entry.url)] == []


def test_never_two_requests_at_once_to_a_host(crawled: Crawled) -> None:
    assert requests_at_once(crawled.entries, TIMEOUT_S) == []


def test_never_a_gap_below_a_hosts_delay(crawled: Crawled) -> None:
    assert broken_delays(crawled.entries, crawled.web, TIMEOUT_S) == []


def test_retry_after_was_obeyed(crawled: Crawled) -> None:
    by_host: dict[str, list[Entry]] = {}
    for entry in sorted(crawled.entries):
        by_host.setdefault(entry.host, []).append(entry)
    waits = [
        later.time_in - earlier.time_out
        for entries in by_host.values()
        for earlier, later in pairwise(entries)
        if earlier.status == 429
    ]
    assert waits and min(waits) >= crawled.web.options.retry_after_s


def test_copies_are_recognised_and_stored_once(crawled: Crawled) -> None:
    groups: dict[str, list[str]] = {}
    for url, group in crawled.truth.duplicates.items():
        groups.setdefault(group, []).append(url)
    for urls in groups.values():
        verdicts = Counter(crawled.pages[url]["verdict"] for url in urls)
        assert verdicts == Counter(original=1, same=len(urls) - 1), urls


def test_near_copies_are_told_from_one_original(crawled: Crawled) -> None:
    groups: dict[str, set[str]] = {}
    for url, group in crawled.truth.near_duplicates.items():
        groups.setdefault(group, set()).add(url)
    assert groups
    for urls in groups.values():
        originals = {url for url in urls if crawled.pages[url]["verdict"] == "original"}
        assert len(originals) == 1, urls
        assert {crawled.pages[url]["same_as"] for url in urls - originals} <= originals
        assert all(crawled.pages[url]["distance"] <= 3 for url in urls - originals)


def test_what_is_no_copy_is_not_taken_for_one(crawled: Crawled) -> None:
    copies = crawled.truth.near_duplicates.keys() | crawled.truth.duplicates.keys()
    # The two feeds of a host say the same, in two formats.
    near = {url for url, page in crawled.pages.items() if page["verdict"] == "near" and "/feed." not in url}
    assert [url for url in near - copies if crawled.truth.is_trap(url) is None] == []  # the pages of a trap are alike


def test_every_request_says_who_asks(crawled: Crawled) -> None:
    assert {entry.user_agent for entry in crawled.entries} == {"gossamer/0.1.0 (+test@example.org)"}


def test_the_summary_says_what_was_done_and_why_not(crawled: Crawled) -> None:
    assert "Done for now" in crawled.summary and "Complete" not in crawled.summary  # some hosts do not answer
    assert "Hosts that do not answer, with" in crawled.summary and "./run retry" in crawled.summary
    for word in ("robots", "gone", "trap_parameters", "timeout", str(crawled.folder)):
        assert word in crawled.summary
