"""What the web is made of: the same pages for the same seed, dealt out evenly, changing when they should."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from urllib.parse import urlsplit

import pytest
from protego import Protego

from gossamer.synthetic_web import RobotsKind, Web, WebOptions
from gossamer.synthetic_web.answer import Answer, Request
from gossamer.synthetic_web.habits.changes import Changes
from gossamer.synthetic_web.options import HOSTS_MAX, SHARES, UNREACHABLE
from gossamer.synthetic_web.web import CARRIED
from tests.synthetic_web.client import carrier, url_of

NOW = 1_700_000_000.0
EVERYTHING = WebOptions.everything(hosts=14, pages_per_host=20, port=8000)


def ask(web: Web, url: str, now: float = NOW, **more: str) -> Answer:
    place = web.locate(url)
    assert place is not None
    return web.answer(Request(*place, now, **more))  # type: ignore[arg-type]


# Determinism.


def test_the_same_url_gives_the_same_answer_in_any_web_of_the_same_options() -> None:
    one, other = Web(EVERYTHING), Web(EVERYTHING)
    urls = [one.url(host, f"/p/{page}") for host in range(14) for page in range(1, 20)]
    forwards = [ask(one, url) for url in urls]
    backwards = [ask(other, url) for url in reversed(urls)]
    assert forwards == backwards[::-1]


def test_another_seed_makes_another_web() -> None:
    one, other = Web(EVERYTHING), Web(replace(EVERYTHING, seed=1))
    assert all(ask(one, one.url(host)).body != ask(other, other.url(host)).body for host in range(14))


def test_a_web_of_millions_of_hosts_costs_no_more_than_a_small_one() -> None:
    web = Web(WebOptions(hosts=HOSTS_MAX, pages_per_host=10**9, port=8000))
    answer = ask(web, web.url(HOSTS_MAX - 1, "/p/999999999"))
    assert answer.status == 200
    assert ask(web, web.url(HOSTS_MAX - 1, "/p/1000000000")).status == 404


# Size and shape.


@pytest.mark.parametrize("page_bytes", [2_000, 4_000, 21_000])
def test_pages_are_about_as_large_as_asked_for(page_bytes: int) -> None:
    web = Web(WebOptions(page_bytes=page_bytes, port=8000))
    sizes = [len(ask(web, web.url(host, "/p/3")).body) for host in range(10)]
    assert 0.8 < sum(sizes) / len(sizes) / page_bytes < 1.2


@pytest.mark.parametrize("links", [5, 20, 50])
def test_pages_have_as_many_links_as_asked_for(links: int) -> None:
    web = Web(WebOptions(hosts=1, pages_per_host=200, links_per_page=links, port=8000))
    body = ask(web, web.url(0, "/p/150")).body
    assert body.count(b"<a href") == links


def test_unrelated_pages_share_few_words() -> None:
    web = Web(WebOptions(port=8000))
    one, other = (set(re.findall(rb"\w+", ask(web, web.url(host, "/p/3")).body)) for host in (1, 2))
    assert len(one & other) < 0.3 * len(one)


def test_links_are_canonical_where_they_are_not_about_that() -> None:
    web = Web(EVERYTHING)
    for host in range(14):
        for page in range(1, 20):
            for anchor in ask(web, web.url(host, f"/p/{page}")).anchors:
                parts = urlsplit(anchor.href)
                assert parts.query.split("&") == sorted(parts.query.split("&"))
                assert parts.path == parts.path.lower() or "shop" in parts.path
                assert not parts.fragment


# Hosts.


def test_every_host_has_a_loopback_address_and_a_name_of_its_own() -> None:
    web = Web(WebOptions(hosts=70_000, port=8000))
    names = web.names()
    assert len(set(names.values())) == 70_000
    assert not any(address.startswith("127.0.0.") or address.endswith((".0", ".255")) for address in names.values())
    for host in (0, 253, 254, 65_023, 65_024, 69_999):
        assert web.atlas.host_of(web.atlas.address(host)) == host
        assert web.atlas.host_of(web.atlas.name(host)) == host
    for stranger in ("127.0.0.1", "127.1.0.01", "h70000.test", "h07.test", "example.org", "127.1.0", ""):
        assert web.atlas.host_of(stranger) is None


def test_links_can_use_names() -> None:
    web = Web(WebOptions(link_by_name=True, port=8000))
    assert web.url(3, "/p/1") == "http://h3.test:8000/p/1"
    assert ask(web, web.url(0)).anchors
    assert all(b"127." not in ask(web, web.url(host)).body for host in range(10))


@pytest.mark.parametrize("kind", sorted(set(RobotsKind) - UNREACHABLE))
@pytest.mark.parametrize("agent", ["gossamer", "otherbot", "somebody"])
def test_robots_files_say_what_they_mean(kind: RobotsKind, agent: str) -> None:
    web = Web(EVERYTHING)
    host = next(host for host in range(1, 14) if web.robots_kind(host) is kind)
    answer = ask(web, web.url(host, "/robots.txt"))
    while location := answer.header("Location"):
        answer = ask(web, location if location.startswith("http") else web.url(host, location))
    robots = Protego.parse(answer.body.decode() if answer.status == 200 else "")
    for path in (
        "/",
        "/p/7",
        "/private/7",
        "/private/open/7",
        "/private/landing/7",
        "/privateer",
        "/tmp/7/draft",
        "/tmp/7",
        "/print/7.cgi",
        "/print/7.cgi?page=2",
        "/files/7/note.txt",
    ):
        url = web.url(host, path)
        assert web.permits(url, agent) == robots.can_fetch(url, agent), path
    assert web.crawl_delay_s(web.atlas.hostname(host)) == (robots.crawl_delay(agent) or 0)


# Behaviours.


@pytest.mark.parametrize("behaviour", sorted(CARRIED))
def test_a_behaviour_that_is_switched_off_leaves_no_trace(behaviour: str) -> None:
    web, without = Web(EVERYTHING), Web(replace(EVERYTHING, **{behaviour: 0.0}))  # type: ignore[arg-type]
    host, page = carrier(web, behaviour)
    links = CARRIED[behaviour](web.atlas, host, page)
    path = f"/p/{page}" if page else "/"
    assert set(links) <= set(ask(web, web.url(host, path)).anchors)
    assert not set(links) & set(ask(without, without.url(host, path)).anchors)
    for anchor in links:
        url = anchor.href if anchor.href.startswith("http") else web.url(host, anchor.href)
        assert ask(without, url).status == 404


def test_a_small_web_has_each_behaviour_as_often_as_its_share_says() -> None:
    web = Web(WebOptions(hosts=3, pages_per_host=10, gone=1 / 10, resets=1 / 30))
    places = [(host, page) for host in range(3) for page in range(10)]
    assert sum(web.atlas.carries("gone", *place) for place in places) == 3
    assert sum(web.atlas.carries("resets", *place) for place in places) == 1


def test_near_duplicates_differ_in_a_few_words() -> None:
    web = Web(EVERYTHING)
    one, other = (
        ask(web, url_of(web, "near_duplicates", f"/near/{{page}}/{which}")).body.split() for which in (1, 2)
    )
    assert one != other
    assert sum(mine != theirs for mine, theirs in zip(one, other, strict=True)) == 2


def test_a_page_with_a_session_id_is_the_same_but_for_fresh_ids() -> None:
    web = Web(EVERYTHING)
    one = ask(web, web.url(1, "/shop/0"))
    target = one.anchors[1].href
    back = next(anchor.href for anchor in ask(web, web.url(1, target)).anchors if "/shop/0" in anchor.href)
    again = ask(web, web.url(1, back))
    blurred = [re.sub(rb"[0-9a-f]{16}", b"", answer.body) for answer in (one, again)]
    assert blurred[0] == blurred[1]
    assert not {anchor.href for anchor in one.anchors} & {anchor.href for anchor in again.anchors} - {"/"}


@pytest.mark.parametrize(
    ("entrance", "kind"),
    [
        ("/calendar/2026/11", "calendar"),
        ("/events?date=2026-11-05", "calendar"),
        ("/repeat/info/more/", "repeat"),
        ("/facets?color=color1", "facets"),
        ("/deep/1", "deep"),
        ("/shop/0?sid=1", "session"),
    ],
)
def test_a_trap_goes_on_for_ever(entrance: str, kind: str) -> None:
    web = Web(EVERYTHING)
    seen, url = set(), web.url(1, entrance)
    for _ in range(30):
        assert web.trap_kind(url) == kind
        answer = ask(web, url)
        assert answer.status == 200
        seen.add(url)
        path = answer.anchors[1].href
        url = web.url(1, path) if path.startswith("/") else url + path
        if url in seen:  # a filter was tried out to its end; take another one
            url = web.url(1, answer.anchors[-1].href)
    assert len(seen) > 20


# Change.


def test_a_page_changes_at_its_rate() -> None:
    day = 86_400.0
    counts = [Changes(f"page {i}", day, NOW).version_at(NOW + 100 * day) for i in range(50)]
    assert 95 < sum(counts) / 50 < 105
    assert min(counts) < 95  # a Poisson process and not a metronome
    assert max(counts) > 105


def test_a_version_lasts_from_its_change_to_the_next() -> None:
    changes = Changes("a page", 3600.0, NOW)
    for version in range(1, 200):
        changed_at = changes.changed_at(version)
        assert changes.version_at(changed_at) == version
        assert changes.version_at(changed_at - 1e-3) == version - 1
    assert changes.version_at(NOW - 1) == 0


def test_only_the_words_of_a_page_change_and_never_its_links() -> None:
    web = Web(EVERYTHING)
    host, page = carrier(web, "changing", 1)
    url = web.url(host, f"/p/{page}")
    interval_s = web.change_interval_s(url)
    assert interval_s is not None
    before, after = ask(web, url, NOW), ask(web, url, NOW + 20 * interval_s)
    assert before.body != after.body
    assert before.anchors == after.anchors


# Options.


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"hosts": 0}, "hosts is 0"), ({"gone": 1.5}, "gone is 1.5"), ({"robots_kinds": ()}, "robots_kinds is empty")],
)
def test_wrong_options_are_named(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        WebOptions(**wrong)  # type: ignore[arg-type]


def test_everything_leaves_nothing_out() -> None:
    options = WebOptions.everything()
    assert all(getattr(options, share) > 0 for share in SHARES)
    assert set(CARRIED) <= SHARES <= {field.name for field in fields(WebOptions)}
