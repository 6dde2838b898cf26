"""A crawl as users start it, where there is a browser: it renders what gains by it, and the servers hardly notice."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from gossamer.synthetic_web.scripted.content import NEEDLESS
from tests.crawl.command import gossamer
from tests.crawl.judge import broken_delays, requests_at_once
from tests.render.scripted_crawl import SHOWN, TIMEOUT_S, Crawled, records

GAIN_NOTHING_SHARE = 0.05  # of the pages that gain nothing, at most, are rendered


def test_every_page_is_found_that_only_scripts_lead_to(crawled: Crawled) -> None:
    done = {url for url, page in crawled.pages.items() if page["state"] == "done" and page["status"] == 200}
    missing = crawled.truth.reachable - done
    assert not missing, Counter(crawled.kind_of(url) for url in missing)


def test_a_page_says_what_its_scripts_wrote(crawled: Crawled) -> None:
    shown = [record for record in records(crawled.folder) if record.type == "conversion"]
    documents = {(record.url or "").removeprefix(SHOWN): record.body.decode() for record in shown}
    unsaid = [url for url, said in crawled.truth.built.items() if said and said not in documents.get(url, "")]
    assert not unsaid, Counter(crawled.kind_of(url) for url in unsaid)


def test_pages_that_are_the_same_bytes_are_not_the_same_pages(crawled: Crawled) -> None:
    """All pages of the kind `router` are one shell; what they show counts."""
    pages = [page for url, page in crawled.pages.items() if crawled.kind_of(url) == "router"]
    assert len(pages) == crawled.options.scripted_pages
    assert [page["verdict"] for page in pages] == ["original"] * len(pages)


def test_pages_that_gain_nothing_are_left_as_they_are(crawled: Crawled) -> None:
    rendered = [url for url in crawled.truth.decorated if crawled.is_rendered(url)]
    assert len(rendered) <= GAIN_NOTHING_SHARE * len(crawled.truth.decorated), rendered
    plain = crawled.truth.reachable - crawled.truth.decorated
    assert not [url for url in plain if crawled.is_rendered(url) and not crawled.kind_of(url)]


def test_rendering_is_polite(crawled: Crawled) -> None:
    assert requests_at_once(crawled.entries, TIMEOUT_S) == []
    assert broken_delays(crawled.entries, crawled.web, TIMEOUT_S) == []
    pages = [entry for entry in crawled.entries if entry.path != "/robots.txt"]
    assert [entry.url for entry in pages if not crawled.web.permits(entry.url)] == []
    assert {entry.user_agent.partition("/")[0] for entry in crawled.entries} == {"gossamer"}


def test_each_host_has_its_robots_txt_read_before_a_script_asks_it_for_something(crawled: Crawled) -> None:
    first: dict[str, str] = {}
    for entry in sorted(crawled.entries):
        first.setdefault(entry.host, entry.path)
    assert set(first.values()) == {"/robots.txt"}


def test_a_page_is_fetched_once_and_a_script_once_for_all_pages_of_its_host(crawled: Crawled) -> None:
    times = Counter(entry.url for entry in crawled.entries)
    again = {url: count for url, count in times.items() if count > 1 and not url.endswith("/robots.txt")}
    assert not again


def test_what_is_no_text_is_not_loaded(crawled: Crawled) -> None:
    assert [entry.url for entry in crawled.entries if entry.path in NEEDLESS] == []


async def facts_of(crawled: Crawled, url: str) -> tuple[dict[str, Any], str]:
    facts, text = await gossamer("why", crawled.folder, url, "--json"), await gossamer("why", crawled.folder, url)
    assert facts.code == text.code == 0, text.err
    return json.loads(facts.out), text.out


async def test_why_tells_the_decision_and_its_evidence(crawled: Crawled) -> None:
    _, text = await facts_of(crawled, crawled.web.url(crawled.host_of_kind("requested"), "/item/1"))
    assert "rendered" in text
    plain = next(url for url in sorted(crawled.truth.decorated) if not crawled.is_rendered(url))
    _, text = await facts_of(crawled, plain)
    assert "render" in text


def test_a_record_has_what_it_cost(crawled: Crawled) -> None:
    url = crawled.web.url(crawled.host_of_kind("requested"), "/item/1")
    cost = crawled.pages[url]["rendered"]
    assert cost["requests"] >= 1 and cost["bytes"] > 0 and cost["seconds"] > 0
    assert sum(page["rendered"]["requests"] for page in crawled.pages.values() if page.get("rendered")) == sum(
        entry.url not in crawled.pages and entry.path != "/robots.txt" for entry in crawled.entries
    )
