"""Traps with the settings that users have: few fetches are lost in them, and no honest page is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.traps import measure
from gossamer.synthetic_web.habits.look_alikes import KINDS as LOOK_ALIKES
from gossamer.synthetic_web.habits.trap_hosts import KINDS
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.truth import Truth, truth
from gossamer.synthetic_web.web import Web
from gossamer.url.canonical import canonicalize
from tests.crawl.command import gossamer, quick_settings
from tests.shared_crawl import once

FREE_PAGES = 50  # of each trap
LOST_SHARE_MAX = 0.02  # of all fetches
PRODUCTS = 80  # of each shop
QUICK = {"politeness__delay_s": 0.01, "politeness__ip_requests_per_s": 1000, "politeness__ip_burst": 100}


@dataclass(frozen=True)
class Trapped:
    truth: Truth
    asked: list[str]
    done: set[str]
    status: dict[str, Any]
    trapped: dict[str, dict[str, Any]]  # what `why` says of a page of each trap
    hosts: dict[str, list[str]]  # what `hosts --traps` shows: patterns of each
    sections: str  # the host with many sections and a calendar


async def crawl_trapped(folder: Path) -> Trapped:
    web = Web(replace(WebOptions.trapped(pages_per_host=10, seed=5), products=PRODUCTS))
    async with serve(web) as server:
        flags = ["--dir", folder, "--allow-private", "--scope", "any", "--contact", "test@example.org"]
        ran = await gossamer("crawl", server.url(0), *flags, *quick_settings(**QUICK), timeout_s=100)
        assert ran.code == 0, ran.err
        asked = [entry.url for entry in server.log.entries if entry.path != "/robots.txt"]
        facts = truth(web, [server.url(0)], canonicalize=canonicalize)
    status = (await gossamer("status", folder, "--json")).lines()[0]
    done = {page["url"] for page in (await gossamer("pages", folder, "--json")).lines() if page["state"] == "done"}
    rows = (await gossamer("hosts", folder, "--traps", "--json")).lines()
    hosts = {row["host"]: [trap["pattern"] for trap in row["traps"]] for row in rows}
    trapped = {}
    for kind, path in (("counter_path", "/page/999999"), ("soft_404", "/no/such/thing")):
        url = web.url(web.options.hosts + list(KINDS).index(kind), path)
        trapped[kind] = (await gossamer("why", folder, url, "--json")).lines()[0]
    first = web.options.hosts + web.options.trap_hosts
    sections = web.atlas.address(first + list(LOOK_ALIKES).index("sections"))
    return Trapped(facts, asked, done, status, trapped, hosts, sections)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Trapped:
    return once(tmp_path_factory, worker_id, "trapped", crawl_trapped)


def test_a_tenth_of_the_hosts_are_traps_of_every_kind(crawled: Trapped) -> None:
    hosts = {url.split("/")[2] for url in crawled.asked}
    traps = {host: kind for host, kind in crawled.truth.trap_hosts.items() if host[0].isdecimal()}
    assert set(traps.values()) == set(KINDS)
    assert 0.095 <= len(traps) / len(hosts) <= 0.11


def test_at_most_two_percent_of_all_fetches_are_lost_in_traps(crawled: Trapped) -> None:
    fetches = Counter(crawled.truth.trap_hosts.get(url.split("/")[2].split(":")[0]) for url in crawled.asked)
    lost = sum(max(0, fetches[kind] - FREE_PAGES) for kind in KINDS)
    assert lost / len(crawled.asked) <= LOST_SHARE_MAX, fetches


def test_a_trap_behind_many_sections_stops_like_any_other(crawled: Trapped) -> None:
    """A host had 64 patterns, and what came after them lived on all that the host had earned."""
    fetched = [url for url in crawled.asked if f"//{crawled.sections}:" in url and "/calendar/" in url]
    assert 2 <= len(fetched) <= 20


def test_every_honest_page_is_fetched_and_stored(crawled: Trapped) -> None:
    assert crawled.truth.reachable - set(crawled.asked) == set()
    assert crawled.truth.reachable - crawled.done == set()


def test_the_traps_are_refused_and_counted(crawled: Trapped) -> None:
    for reason in ("trap_pattern", "trap_host"):
        assert crawled.status["reasons"][reason] > 0
    assert crawled.status["links_turned_away"]["trap_calendar"] > 0
    assert crawled.status["links_turned_away"]["trap_repeated_path"] > 0


def test_the_hosts_with_traps_can_be_listed(crawled: Trapped) -> None:
    assert crawled.hosts[crawled.sections] == ["/calendar/0/*"]
    of_kind = {kind: host for host, kind in crawled.truth.trap_hosts.items() if host[0].isdecimal()}
    assert crawled.hosts[of_kind["counter_path"]] == ["/page/*"]
    assert "/find?" in crawled.hosts[of_kind["facets"]]
    assert "/…" in crawled.hosts[of_kind["soft_404"]]


@pytest.mark.parametrize("kind", ["counter_path", "soft_404"])
def test_why_says_which_pattern_and_how_many_of_its_pages_were_alike(crawled: Trapped, kind: str) -> None:
    facts = crawled.trapped[kind]
    assert (facts["state"], facts["reason"]) == ("refused", "trap_pattern")
    assert "pages with addresses like /" in facts["detail"]
    assert "were like others" in facts["detail"]


async def test_who_trusts_a_host_gets_back_what_was_refused_there(folder: Path) -> None:
    """Trusted while the crawl stands still; the same command resumes it with it. The trap is real and needs a
    bound."""
    web = Web(WebOptions(hosts=1, pages_per_host=1, trap_hosts=1))
    async with serve(web) as server:
        trap = web.atlas.address(1)
        crawl = ["crawl", server.url(0), "--dir", folder / "crawl", "--allow-private", "--scope", "any"]
        crawl += ["--contact", "a@b.test", *quick_settings()]

        def asked() -> list[str]:
            return [entry.path for entry in server.log.entries if entry.host == trap and entry.path != "/robots.txt"]

        async def reasons() -> dict[str, int]:
            reasons: dict[str, int] = (await gossamer("status", folder / "crawl", "--json")).lines()[0]["reasons"]
            return reasons

        assert (await gossamer(*crawl)).code == 0
        before, refused = asked(), (await reasons())["trap_pattern"]
        assert len(before) <= 20 and refused >= 10
        shown = (await gossamer("hosts", folder / "crawl", "--traps")).out
        assert f"{trap} " in shown and "pages with addresses like /calendar/0/0/*," in shown
        assert (await gossamer("policy", folder / "crawl", trap, "--trust")).code == 0
        assert (await gossamer(*crawl, "--max-pages", len(before) + refused)).code == 0
        assert (await reasons()).get("trap_pattern", 0) == 0
        assert len(asked()) == len(set(asked())) >= len(before) + refused - 1


@pytest.mark.long
async def test_of_the_web_that_is_served_two_percent_are_trap_pages_and_all_honest_ones_are_stored(
    folder: Path,
) -> None:
    judged = await measure(Web(WebOptions.world(seed=1)), folder / "world")
    assert judged.trap_share < 0.02, judged
    assert judged.honest_stored >= 0.99 * judged.honest, judged


@pytest.mark.long
async def test_a_shop_of_two_thousand_products_with_common_terms_is_fetched_and_stored_whole(folder: Path) -> None:
    """One link leads to it, and nobody asked for it."""
    shop = WebOptions(hosts=1, pages_per_host=1, look_alike_hosts=1 + list(LOOK_ALIKES).index("shop"), products=2000)
    judged = await measure(Web(shop), folder / "shop")
    assert judged.honest_fetched == judged.honest > 2000, judged.missing
    # Some of those with five words of their own may be called near; by default such pages are stored all the same.
    assert judged.honest_stored >= 0.99 * judged.honest, judged.missing
