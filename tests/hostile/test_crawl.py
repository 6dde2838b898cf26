"""A crawl of a web of hostile sites by the command: each stops where it should, and the friendly host is served."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import pytest

from gossamer.process.html import LINKS_MAX
from gossamer.url.link_filter import REDIRECTS_MAX
from tests.hostile.web import (
    FRIENDLY_PAGES,
    HOST_PAGES_MAX,
    LATENCY_FACTOR,
    RETRY_AFTER_S,
    RETRY_AFTER_S_MAX,
    SITE_PAGES_MAX,
    SITES,
    SLOWER_PAGES,
    Crawled,
    crawl_hostile_web,
)
from tests.shared_crawl import once

CRAWL_S_MAX = 45.0  # it takes about eight
FRIENDLY_GAP_S_MAX = 5.0  # its delay is 0.05 s; the rest is for a machine that is not ours alone
FRIENDLY_OTHERS_MAX = 2 * len(SITES)  # asked between two requests to it, as a rule; all have the same delay


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Crawled:
    return once(tmp_path_factory, worker_id, "hostile", crawl_hostile_web)


def test_the_crawl_ends_by_itself_and_soon(crawled: Crawled) -> None:
    assert "Complete" in crawled.summary
    assert crawled.took_s < CRAWL_S_MAX


def test_a_friendly_host_is_crawled_completely_among_hostile_ones(crawled: Crawled) -> None:
    assert len(set(crawled.paths["friendly"])) == len(crawled.paths["friendly"]) == FRIENDLY_PAGES
    assert all(crawled.page("friendly", path)["status"] == 200 for path in crawled.paths["friendly"])
    places = [place for place, each in enumerate(crawled.asked) if each.host == "friendly"]
    asked = [crawled.asked[place] for place in places]
    assert max(later.started_at - earlier.ended_at for earlier, later in pairwise(asked)) < FRIENDLY_GAP_S_MAX
    assert median(later - earlier for earlier, later in pairwise(places)) <= FRIENDLY_OTHERS_MAX


# ---- redirects -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "path", "reason"),
    [
        ("loop", "/b", "redirect_loop"),
        ("chain", f"/{REDIRECTS_MAX}", None),
        ("ever-new", f"/?n={REDIRECTS_MAX}", None),
    ],
)
def test_redirects_end_and_every_hop_is_recorded(crawled: Crawled, host: str, path: str, reason: str | None) -> None:
    asked = crawled.paths[host]
    assert len(asked) == len(set(asked)) <= REDIRECTS_MAX + 1
    assert asked[-1] == path
    assert all(crawled.page(host, hop)["status"] == 302 for hop in asked)
    assert crawled.page(host, path)["reason"] == reason


def test_a_page_that_sets_a_cookie_and_moves_to_itself_for_ever_is_asked_once_more(crawled: Crawled) -> None:
    assert crawled.paths["cookie"] == ["/", "/"]
    assert (crawled.page("cookie", "/")["status"], crawled.page("cookie", "/")["reason"]) == (302, "redirect_loop")


def test_a_redirect_is_subject_to_the_robots_txt_of_its_target(crawled: Crawled) -> None:
    assert crawled.paths["mover"] == ["/"]
    assert "/robots.txt" in [each.path for each in crawled.asked if each.host == "shut"]
    assert crawled.paths["shut"] == []


# ---- hosts that want time --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "wait_s_min"),
    [
        ("seconds", RETRY_AFTER_S),
        ("date", RETRY_AFTER_S),
        ("garbage", 0.1),  # backed off all the same: it said 503
        ("decade", RETRY_AFTER_S_MAX),  # asked for ten years, and that is capped
    ],
)
def test_a_host_that_asks_for_time_gets_it(crawled: Crawled, host: str, wait_s_min: float) -> None:
    first, second = [each for each in crawled.asked if each.host == host and each.path == "/"]
    assert second.started_at - first.ended_at >= wait_s_min
    assert crawled.page(host)["status"] == 200


def test_a_host_that_slows_down_is_asked_less_often(crawled: Crawled) -> None:
    asked = [each for each in crawled.asked if each.host == "slower" and each.path != "/robots.txt"]
    assert len(asked) == SLOWER_PAGES + 1
    waits_s = [later.started_at - earlier.ended_at for earlier, later in pairwise(asked)]
    for each, wait_s in zip(asked, waits_s, strict=False):
        assert wait_s >= LATENCY_FACTOR * (each.ended_at - each.started_at) - 0.02
    assert crawled.hosts["slower.test"]["delay_reason"] == "latency"


def test_a_wall_is_not_run_against_again_and_again(crawled: Crawled) -> None:
    asked = crawled.paths["wall"]
    assert len(asked) == len(set(asked)) <= 10
    assert crawled.page("wall", "/forbidden")["reason"] == "client_error"
    verdicts = [crawled.page("wall", path)["verdict"] for path in asked if path != "/forbidden"]
    assert verdicts.count("original") == 1  # the same riddle everywhere: its links lead nowhere new


# ---- places without end ----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["tree", "frames", "always200", "many"])
def test_a_host_without_end_stops_at_its_budget(crawled: Crawled, host: str) -> None:
    assert len(crawled.paths[host]) == HOST_PAGES_MAX


def test_a_site_of_endless_hosts_stops_at_its_budget(crawled: Crawled) -> None:
    asked = [
        path for host, paths in crawled.paths.items() if host == "wild" or host.endswith(".wild") for path in paths
    ]
    assert len(asked) == SITE_PAGES_MAX


def test_a_page_of_too_many_links_is_read_up_to_a_bound(crawled: Crawled) -> None:
    assert crawled.page("many")["status"] == 200
    assert all(int(path.strip("/") or 0) < LINKS_MAX for path in crawled.paths["many"])


@pytest.mark.parametrize(("host", "refused"), [("growing", "again/again/again"), ("calendar", "-01-01")])
def test_urls_that_no_person_would_make_are_refused(crawled: Crawled, host: str, refused: str) -> None:
    asked = crawled.paths[host]
    assert 1 < len(asked) <= HOST_PAGES_MAX
    assert not any(refused in path or len(path) > 2048 or path.count("/") > 17 for path in asked)


def test_session_ids_do_not_make_new_pages(crawled: Crawled) -> None:
    assert crawled.paths["sessions"] == ["/", "/page"]


def test_a_sitemap_that_lists_itself_is_read_once(crawled: Crawled) -> None:
    assert sorted(crawled.paths["sitemap"]) == ["/", "/other.xml", "/page"]
