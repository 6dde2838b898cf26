"""The web tells the truth about itself: a crawler that only sees HTTP finds the same."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import replace
from urllib.parse import urljoin

import pytest

from gossamer.synthetic_web import RobotsKind, Web, WebOptions, asked, serve, truth
from tests.synthetic_web.client import url_of
from tests.synthetic_web.naive_crawler import NaiveCrawler

SMALL = replace(WebOptions.everything(hosts=14, pages_per_host=20, seed=3), slow_s=0.05, drip_s=0.1, changing=0.0)


@pytest.mark.parametrize("seed", [3, 4])
async def test_a_naive_crawler_finds_what_the_truth_says(seed: int) -> None:
    web = Web(replace(SMALL, seed=seed))
    async with serve(web) as server:
        found = await NaiveCrawler(lambda url: web.trap_kind(url) is None).crawl(server.url(0))
    said = truth(web, [server.url(0)], follow_sitemaps=True, follow_feeds=True)

    assert found.reachable == said.reachable
    assert found.redirects == said.redirects
    assert found.failing == said.failing.keys()
    assert found.disallowed == said.disallowed
    assert found.withheld == said.withheld
    assert found.sitemaps == said.sitemaps
    assert found.links == said.links
    copies: dict[str, set[str]] = defaultdict(set)
    for url, body in found.bodies.items():
        copies[hashlib.sha256(body).hexdigest()].add(url)
    assert {url for urls in copies.values() if len(urls) > 1 for url in urls} == said.duplicates.keys()
    extra = {url for url in asked(server.log.entries) if url not in said.asked}
    assert all("robots.txt" in url for url in extra)


def test_everything_has_everything() -> None:
    web = Web(replace(SMALL, port=8000))
    said = truth(web, [web.url(0)], follow_sitemaps=True, follow_feeds=True)

    statuses = {404, 410, 500}
    assert set(said.failing.values()) == statuses | {"reset", "hang_up", "truncated", "endless", "silent"}
    assert set(said.late.values()) == {429, 503}
    assert {web.trap_kind(url) for url in said.rejected} == {"calendar", "session", "repeat", "facets", "deep"}
    for part in (said.disallowed, said.withheld, said.nofollow, said.too_far, said.sitemap_only, said.feed_only):
        assert part
    for page in (said.duplicates, said.near_duplicates, said.redirects):
        assert page
    assert {web.robots_kind(host) for host in range(14)} == set(RobotsKind)


def test_every_ordinary_page_of_every_open_host_is_reachable_from_one_seed() -> None:
    web = Web(replace(SMALL, port=8000, hosts=60))
    said = truth(web, [web.url(0)])
    for host in range(60):
        for path in ("/", *(f"/p/{page}" for page in range(1, 20))):
            assert (web.url(host, path) in said.reachable) is not web.atlas.is_barren(host)


def test_copies_lead_to_the_same_places_wherever_they_are() -> None:
    web = Web(replace(SMALL, port=8000))
    said = truth(web, [web.url(0)])
    groups: dict[str, list[str]] = defaultdict(list)
    for url, group in said.duplicates.items():
        groups[group].append(url)
    copies = [urls for urls in groups.values() if "/copy/" in urls[0]]
    assert any(len({url.split("/")[2] for url in urls}) > 1 for urls in copies)  # on two hosts
    for urls in copies:
        assert len({frozenset(said.links[url]) for url in urls}) == 1


def test_a_chain_is_followed_for_five_redirects_and_no_further() -> None:
    web = Web(WebOptions(hosts=1, pages_per_host=4, redirect_chains=1.0, port=8000))
    said = truth(web, [web.url(0)])
    long = next(page for page in range(4) if web.url(0, f"/chain/{page}/8") in said.redirects)
    assert web.url(0, f"/chain/{long}/3") in said.redirects
    assert said.too_far == {web.url(0, f"/chain/{long}/2")}


def test_another_agent_gets_other_answers_from_robots() -> None:
    web = Web(replace(SMALL, port=8000))
    host = next(host for host in range(14) if web.robots_kind(host) is RobotsKind.GROUPS)
    assert web.permits(web.url(host, "/p/1"), "gossamer")
    assert not web.permits(web.url(host, "/p/1"), "otherbot")
    assert web.url(host) in truth(web, [web.url(0)], agent="somebody").disallowed


def test_depth_bounds_a_search_that_accepts_traps() -> None:
    web = Web(replace(SMALL, port=8000))
    said = truth(web, [web.url(0)], accept=lambda _url, depth: depth <= 4)
    assert {said.is_trap(url) for url in said.reachable} > {"calendar", "session", "repeat", "facets", "deep"}


def test_canonicalisation_can_be_plugged_in() -> None:
    web = Web(replace(SMALL, port=8000))

    def without_query(url: str, base: str | None) -> str | None:
        return urljoin(base or url, url).partition("?")[0].partition(";")[0]

    said = truth(web, [web.url(0)], canonicalize=without_query)
    assert url_of(web, "tracking", "/tracked/{page}") in said.reachable
    assert not any("?" in url for url in said.reachable)
    assert any(url.endswith("/shop/0") for url in said.reachable)  # an honest page once its session id is gone
