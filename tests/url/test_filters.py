from __future__ import annotations

import pytest

from gossamer.clock import VirtualClock
from gossamer.interfaces import Filter
from gossamer.records import Link, Reason
from gossamer.settings import TrapsSettings
from gossamer.url.filters import Filters

SEED = "http://www.example.com/start"


def link(url: str, *, source: str | None = SEED, rel: str = "", depth: int = 1, hops: int = 0) -> Link:
    chain = tuple(f"http://www.example.com/{n}" for n in range(hops))
    return Link(url, rel=rel, source=source, depth=depth, chain=chain)


def test_the_door_is_a_filter() -> None:
    door: Filter = Filters([SEED])
    assert door(link("http://www.example.com/a")) is None


@pytest.mark.parametrize(
    ("url", "host", "site"),
    [
        ("http://www.example.com/a", None, None),
        ("https://www.example.com:8443/a", None, None),
        ("http://example.com/a", None, None),  # with and without www. is one host here
        ("http://shop.example.com/a", Reason.SCOPE, None),
        ("http://www.example.org/a", Reason.SCOPE, Reason.SCOPE),
        ("http://notexample.com/a", Reason.SCOPE, Reason.SCOPE),
    ],
)
def test_scope_is_the_hosts_or_the_sites_of_the_seeds_or_everything(
    url: str, host: Reason | None, site: Reason | None
) -> None:
    assert Filters([SEED], scope="host")(link(url)) is host
    assert Filters([SEED], scope="site")(link(url)) is site
    assert Filters([SEED], scope="any")(link(url)) is None


def test_two_people_on_one_private_suffix_are_two_sites() -> None:
    door = Filters(["http://one.github.io/"], scope="site")
    assert door(link("http://two.github.io/")) is Reason.SCOPE


def test_a_seed_that_moved_to_another_host_is_still_a_seed() -> None:
    door = Filters([SEED], scope="host", include=["/docs/"])
    assert door(link("http://new.example/", depth=0, hops=1)) is None
    assert door(link("http://new.example/", depth=1, hops=1)) is Reason.SCOPE


def test_patterns_are_searched_for_in_the_canonical_url() -> None:
    door = Filters([SEED], include=[r"/docs/", r"\.html$"], exclude=[r"[?&]print="])
    assert door(link("http://www.example.com/docs/a")) is None
    assert door(link("http://www.example.com/a.html")) is None
    assert door(link("http://www.example.com/a.pdf")) is Reason.NOT_INCLUDED
    assert door(link("http://www.example.com/docs/a?print=1")) is Reason.EXCLUDED


def test_a_seed_needs_no_include_pattern_and_is_still_excluded() -> None:
    door = Filters([SEED], include=["/docs/"], exclude=["/secret"])
    assert door(Link(SEED)) is None
    assert door(Link("http://www.example.com/secret")) is Reason.EXCLUDED


def test_a_seed_is_no_trap_for_somebody_asked_for_it() -> None:
    assert Filters([SEED])(Link("http://www.example.com/a/a/a/a")) is None
    assert Filters([SEED])(link("http://www.example.com/a/a/a/a")) is Reason.TRAP_REPEATED_PATH


@pytest.mark.parametrize("kind", ["include", "exclude"])
def test_a_bad_pattern_is_named(kind: str) -> None:
    patterns = {kind: ["good", "(bad"]}
    with pytest.raises(ValueError, match=rf"{kind} pattern '\(bad' is not a regular expression"):
        Filters([SEED], include=patterns.get("include", ()), exclude=patterns.get("exclude", ()))


@pytest.mark.parametrize(
    ("rel", "reason"),
    [
        ("", None),
        ("nofollow", Reason.NOFOLLOW),
        ("noopener nofollow", Reason.NOFOLLOW),
        ("ugc sponsored", None),
        ("nofollowing", None),
    ],
)
def test_nofollow_is_obeyed(rel: str, reason: Reason | None) -> None:
    assert Filters([SEED])(link("http://www.example.com/a", rel=rel)) is reason


def test_depth_is_counted_from_the_seeds() -> None:
    door = Filters([SEED], max_depth=2)
    assert door(link("http://www.example.com/a", depth=2)) is None
    assert door(link("http://www.example.com/a", depth=3)) is Reason.MAX_DEPTH


def test_five_redirects_are_followed_and_a_sixth_is_not() -> None:
    door = Filters([SEED])
    assert door(link("http://www.example.com/a", hops=5)) is None
    assert door(link("http://www.example.com/a", hops=6)) is Reason.TOO_MANY_REDIRECTS


def test_traps_are_refused_with_their_reason_at_the_time_of_the_clock() -> None:
    clock = VirtualClock(start=1_720_000_000.0)
    door = Filters([SEED], traps=TrapsSettings(url_bytes_max=60), clock=clock)
    assert door(link("http://www.example.com/calendar/2027/01")) is Reason.TRAP_CALENDAR
    assert door(link("http://www.example.com/" + "a" * 60)) is Reason.URL_TOO_LONG
    clock.advance(366 * 86_400)
    assert door(link("http://www.example.com/calendar/2027/01")) is None
