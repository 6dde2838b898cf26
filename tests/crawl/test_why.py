"""`gossamer why` has an answer for any URL."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.crawl.command import gossamer
from tests.crawl.everything import Crawled


async def why(crawled: Crawled, url: str) -> tuple[dict[str, Any], str]:
    facts = await gossamer("why", crawled.folder, url, "--json")
    text = await gossamer("why", crawled.folder, url)
    assert facts.code == text.code == 0, text.err
    return json.loads(facts.out), text.out


async def test_a_page_that_was_fetched(crawled: Crawled) -> None:
    url = next(url for url, page in crawled.pages.items() if page["verdict"] == "original" and page["depth"] == 3)
    facts, text = await why(crawled, url)
    assert facts["state"] == "done" and facts["status"] == 200
    assert len(facts["found_by"]) == 3 and facts["found_by"][-1] == crawled.web.url(0)
    assert "not seen before" in text and "stored in archive/" in text and "(the seed)" in text


async def test_a_page_is_compared_with_the_mean_of_all_pages_that_there_are(crawled: Crawled) -> None:
    """Pages far from the seed are not worth a hundred times the mean, be the crawl as small as it may."""
    urls = [url for url, page in crawled.pages.items() if page["verdict"] == "original" and page["depth"] >= 3][:3]
    for url in urls:
        facts, text = await why(crawled, url)
        weight = facts["next_visit"]["weight"]
        assert 0 < weight < 5, facts
        assert f"is worth {weight:g} times as much as the mean page" in text


async def test_the_seed(crawled: Crawled) -> None:
    _, text = await why(crawled, crawled.web.url(0))
    assert "a seed" in text


async def test_a_duplicate(crawled: Crawled) -> None:
    url = next(url for url, page in crawled.pages.items() if page["verdict"] == "same")
    facts, text = await why(crawled, url)
    assert facts["same_as"] in crawled.pages
    assert f"the same as {facts['same_as']}" in text


async def test_a_redirect_and_where_it_leads(crawled: Crawled) -> None:
    redirects = crawled.truth.redirects
    url = next(url for url, target in redirects.items() if target in redirects and redirects[target] != url)
    facts, text = await why(crawled, url)
    assert facts["leads_to"][:2] == [redirects[url], redirects[redirects[url]]]
    assert f"moved to {redirects[url]}" in text


async def test_a_failure(crawled: Crawled) -> None:
    url = next(url for url, kind in crawled.truth.failing.items() if kind == 404)
    facts, text = await why(crawled, url)
    assert (facts["state"], facts["reason"], facts["status"]) == ("failed", "gone", 404)
    assert "not there" in text


async def test_refused_by_robots(crawled: Crawled) -> None:
    facts, text = await why(crawled, min(crawled.truth.disallowed))
    assert (facts["state"], facts["reason"]) == ("refused", "robots")
    assert "robots.txt disallows it" in text


async def test_withheld_because_robots_txt_cannot_be_had(crawled: Crawled) -> None:
    facts, text = await why(crawled, min(crawled.truth.withheld))
    assert (facts["state"], facts["reason"]) == ("waiting", "robots_unreachable")
    assert "robots.txt: " in text and "next try in" in text


async def test_refused_as_a_trap(crawled: Crawled) -> None:
    url = next(url for url in sorted(crawled.truth.rejected) if "facets" in url)
    facts, text = await why(crawled, url)
    assert (facts["state"], facts["reason"]) == ("refused", "trap_parameters")
    assert "a trap" in text


async def test_refused_as_too_deep(crawled: Crawled) -> None:
    url = next(url for url in sorted(crawled.truth.rejected) if "calendar" in url)
    facts, _ = await why(crawled, url)
    assert facts["state"] == "refused"
    assert facts["reason"] in ("max_depth", "trap_calendar", "trap_pattern")


@pytest.mark.parametrize("url", ["mailto:someone@example.org", "javascript:void(0)", "http://", "nonsense"])
async def test_not_a_url(crawled: Crawled, url: str) -> None:
    facts, text = await why(crawled, url)
    assert (facts["state"], facts["reason"]) == ("refused", "not_a_url")
    assert url in text


async def test_never_seen(crawled: Crawled) -> None:
    facts, text = await why(crawled, crawled.web.url(0, "/no/page/links/here"))
    assert (facts["state"], facts["reason"]) == ("never seen", None)
    assert "would be accepted" in text


async def test_another_spelling_of_a_known_url(crawled: Crawled) -> None:
    canonical = crawled.web.url(0)
    _, text = await why(crawled, canonical.replace("http://", "HTTP://") + "?utm_source=x#top")
    assert text.startswith(f"{canonical}\n  (the canonical form of HTTP://")
    assert "done" in text
