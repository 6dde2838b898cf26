"""A web with every kind of trap on a tenth of its hosts: few fetches are lost in them, and no honest page is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.trap_hosts import KINDS
from gossamer.synthetic_web.truth import Truth, truth
from gossamer.synthetic_web.web import Web
from gossamer.url.canonical import canonicalize
from tests.crawl.command import gossamer, quick_settings
from tests.shared_crawl import once

FREE_PAGES = 50  # of each trap
LOST_SHARE_MAX = 0.02  # of all fetches
# A trap that writes new texts is told by its in-links alone. By default it has a thousand pages, too many for a test.
HOST_PAGES = 60


@dataclass(frozen=True)
class Trapped:
    folder: Path
    truth: Truth
    asked: list[str]
    status: dict[str, Any]
    trapped: dict[str, dict[str, Any]]  # what `why` says of a page of each trap


async def crawl_trapped(folder: Path) -> Trapped:
    web = Web(WebOptions.trapped(pages_per_host=12, seed=5))
    async with serve(web) as server:
        flags = ["--dir", folder, "--allow-private", "--scope", "any", "--contact", "test@example.org"]
        quick = {"politeness__delay_s": 0.01, "politeness__ip_requests_per_s": 1000, "politeness__ip_burst": 100}
        flags += quick_settings(**quick, traps__host_pages=HOST_PAGES)
        ran = await gossamer("crawl", server.url(0), *flags, timeout_s=100)
        assert ran.code == 0, ran.err
        asked = [entry.url for entry in server.log.entries if entry.path != "/robots.txt"]
        facts = truth(web, [server.url(0)], canonicalize=canonicalize)
    status = (await gossamer("status", folder, "--json")).lines()[0]
    trapped = {}
    for kind, path in (("counter_path", "/page/999999"), ("soft_404", "/no/such/thing")):
        url = web.url(web.options.hosts + list(KINDS).index(kind), path)
        trapped[kind] = (await gossamer("why", folder, url, "--json")).lines()[0]
    return Trapped(folder, facts, asked, status, trapped)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Trapped:
    return once(tmp_path_factory, worker_id, "trapped", crawl_trapped)


def test_a_tenth_of_the_hosts_are_traps_of_every_kind(crawled: Trapped) -> None:
    hosts = {url.split("/")[2] for url in crawled.asked}
    traps = {url.split("/")[2]: crawled.truth.is_trap(url) for url in crawled.asked if crawled.truth.is_trap(url)}
    assert set(traps.values()) == set(KINDS)
    assert 0.095 <= len(traps) / len(hosts) <= 0.11


def test_at_most_two_percent_of_all_fetches_are_lost_in_traps(crawled: Trapped) -> None:
    fetches = Counter(crawled.truth.is_trap(url) for url in crawled.asked)  # here each trap is one host
    lost = sum(max(0, fetches[kind] - FREE_PAGES) for kind in KINDS)
    assert lost / len(crawled.asked) <= LOST_SHARE_MAX, fetches


def test_every_honest_page_is_had(crawled: Trapped) -> None:
    assert crawled.truth.reachable - set(crawled.asked) == set()


def test_the_traps_are_refused_and_counted(crawled: Trapped) -> None:
    for reason in ("trap_pattern", "trap_host"):
        assert crawled.status["reasons"][reason] > 0
    assert crawled.status["links_turned_away"]["trap_calendar"] > 0
    assert crawled.status["links_turned_away"]["trap_repeated_path"] > 0


@pytest.mark.parametrize("kind", ["counter_path", "soft_404"])
def test_why_says_which_pattern_and_how_many_of_its_pages_were_alike(crawled: Trapped, kind: str) -> None:
    facts = crawled.trapped[kind]
    assert (facts["state"], facts["reason"]) == ("refused", "trap_pattern")
    assert "pages with addresses like /" in facts["detail"]
    assert "were like others" in facts["detail"]
