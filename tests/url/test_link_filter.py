from __future__ import annotations

import pytest

from gossamer.clock import VirtualClock
from gossamer.interfaces import Filter
from gossamer.records import Link, Reason
from gossamer.settings import TrapsSettings
from gossamer.url.link_filter import LinkFilter
from gossamer.url.media_types import MediaTypes

SEED = "http://www.example.com/start"


def link(url: str, *, source: str | None = SEED, rel: str = "", depth: int = 1, hops: int = 0) -> Link:
    chain = tuple(f"http://www.example.com/{n}" for n in range(hops))
    return Link(url, rel=rel, source=source, depth=depth, chain=chain)


def test_it_is_a_filter() -> None:
    link_filter: Filter = LinkFilter([SEED])
    assert link_filter(link("http://www.example.com/a")) is None


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
    assert LinkFilter([SEED], scope="host")(link(url)) is host
    assert LinkFilter([SEED], scope="site")(link(url)) is site
    assert LinkFilter([SEED], scope="any")(link(url)) is None


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
def test_a_port_that_browsers_refuse_is_refused_whoever_asks(scheme: str) -> None:
    link_filter = LinkFilter([SEED], scope="any")
    for port in (1, 22, 25, 6000, 6667, 10080):
        url = f"{scheme}://www.example.com:{port}/a"
        assert link_filter(link(url)) is Reason.BAD_PORT
        assert link_filter(link(url, hops=1)) is Reason.BAD_PORT
        assert link_filter(link(url, source=None, depth=0)) is Reason.BAD_PORT
    for authority in (
        "www.example.com",
        "www.example.com:8080",
        "[2606:2800:220:1::25]",
        "[2606:2800:220:1::25]:8443",
    ):
        assert link_filter(link(f"{scheme}://{authority}/a")) is None


def test_two_people_on_one_private_suffix_are_two_sites() -> None:
    link_filter = LinkFilter(["http://one.github.io/"], scope="site")
    assert link_filter(link("http://two.github.io/")) is Reason.SCOPE


def test_a_seed_that_moved_to_another_host_is_still_a_seed() -> None:
    link_filter = LinkFilter([SEED], scope="host", include=["/docs/"])
    assert link_filter(link("http://new.example/", depth=0, hops=1)) is None
    assert link_filter(link("http://new.example/", depth=1, hops=1)) is Reason.SCOPE


def test_patterns_are_searched_for_in_the_canonical_url() -> None:
    link_filter = LinkFilter([SEED], include=[r"/docs/", r"\.html$"], exclude=[r"[?&]print="])
    assert link_filter(link("http://www.example.com/docs/a")) is None
    assert link_filter(link("http://www.example.com/a.html")) is None
    assert link_filter(link("http://www.example.com/a.pdf")) is Reason.NOT_INCLUDED
    assert link_filter(link("http://www.example.com/docs/a?print=1")) is Reason.EXCLUDED


def test_a_seed_needs_no_include_pattern_and_is_still_excluded() -> None:
    link_filter = LinkFilter([SEED], include=["/docs/"], exclude=["/secret"])
    assert link_filter(Link(SEED)) is None
    assert link_filter(Link("http://www.example.com/secret")) is Reason.EXCLUDED


def test_a_seed_is_no_trap_for_somebody_asked_for_it() -> None:
    assert LinkFilter([SEED])(Link("http://www.example.com/a/a/a/a")) is None
    assert LinkFilter([SEED])(link("http://www.example.com/a/a/a/a")) is Reason.TRAP_REPEATED_PATH


@pytest.mark.parametrize("kind", ["include", "exclude"])
def test_a_bad_pattern_is_named(kind: str) -> None:
    patterns = {kind: ["good", "(bad"]}
    with pytest.raises(ValueError, match=rf"{kind} pattern '\(bad' is not a regular expression"):
        LinkFilter([SEED], include=patterns.get("include", ()), exclude=patterns.get("exclude", ()))


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
    assert LinkFilter([SEED])(link("http://www.example.com/a", rel=rel)) is reason


def test_depth_is_counted_from_the_seeds() -> None:
    link_filter = LinkFilter([SEED], max_depth=2)
    assert link_filter(link("http://www.example.com/a", depth=2)) is None
    assert link_filter(link("http://www.example.com/a", depth=3)) is Reason.MAX_DEPTH


def test_five_redirects_are_followed_and_a_sixth_is_not() -> None:
    link_filter = LinkFilter([SEED])
    assert link_filter(link("http://www.example.com/a", hops=5)) is None
    assert link_filter(link("http://www.example.com/a", hops=6)) is Reason.TOO_MANY_REDIRECTS


def test_traps_are_refused_with_their_reason_at_the_time_of_the_clock() -> None:
    clock = VirtualClock(start=1_720_000_000.0)
    link_filter = LinkFilter([SEED], traps=TrapsSettings(url_bytes_max=60), clock=clock)
    assert link_filter(link("http://www.example.com/calendar/2027/01")) is Reason.TRAP_CALENDAR
    assert link_filter(link("http://www.example.com/" + "a" * 60)) is Reason.URL_TOO_LONG
    clock.advance(366 * 86_400)
    assert link_filter(link("http://www.example.com/calendar/2027/01")) is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://ads.example.com/a", Reason.EXCLUDED),
        ("http://eu.ads.example.com:81/a", Reason.EXCLUDED),
        ("http://ads.example.com./a", Reason.EXCLUDED),
        ("http://xn--bcher-kva.example.com/", Reason.EXCLUDED),
        ("http://badads.example.com/a", None),
        ("http://www.example.com/ads.example.com", None),
        ("http://ads.example.org/", Reason.SCOPE),
    ],
)
def test_an_excluded_host_is_left_out_with_all_names_below_it(url: str, reason: Reason | None) -> None:
    link_filter = LinkFilter([SEED], scope="site", hosts_excluded=["ADS.example.com", "*.bücher.example.com."])
    assert link_filter(link(url)) is reason


def test_a_seed_on_an_excluded_host_is_left_out() -> None:
    assert LinkFilter([SEED], hosts_excluded=["example.com"])(Link(SEED)) is Reason.EXCLUDED


def test_an_address_can_be_excluded() -> None:
    link_filter = LinkFilter([SEED], scope="any", hosts_excluded=["127.0.0.1", "[::1]"])
    assert link_filter(link("http://127.0.0.1:81/")) is Reason.EXCLUDED
    assert link_filter(link("http://[::1]/")) is Reason.EXCLUDED
    assert link_filter(link("http://10.0.0.1/")) is None


@pytest.mark.parametrize(
    ("prefix", "inside", "outside"),
    [
        ("http://www.example.com/docs/", ["/docs/", "/docs/a?b"], ["/docs", "/docs-old/", "/", "/a/docs/"]),
        ("http://WWW.example.com/docs", ["/docs", "/docs/", "/docs/a", "/docs?a"], ["/docs-old", "/docsa/b"]),
        ("https://www.example.com/docs/", ["/docs/a"], ["/a"]),
        ("http://www.example.com", ["/", "/a"], []),
        ("http://www.example.com/p?id=", ["/p?id=7"], ["/p", "/p?a=1&id=7"]),
        ("http://www.example.com/%7Eann", ["/~ann/", "/~ann"], ["/~anna"]),
        ("/docs/", ["/docs/a"], ["/docs", "/a/docs/"]),
        ("/docs", ["/docs", "/docs/a"], ["/docs-old"]),
        ("http://other.example/", [], ["/", "/docs/"]),
    ],
)
def test_a_prefix_ends_where_a_part_of_a_path_does(prefix: str, inside: list[str], outside: list[str]) -> None:
    link_filter = LinkFilter([SEED], prefixes=[prefix, "/never/"])
    for path in inside:
        assert link_filter(link(f"http://www.example.com{path}")) is None, path
    for path in outside:
        assert link_filter(link(f"http://www.example.com{path}")) is Reason.NOT_INCLUDED, path


def test_a_seed_needs_no_prefix() -> None:
    assert LinkFilter([SEED], prefixes=["/docs/"])(Link(SEED)) is None


@pytest.mark.parametrize(
    ("path", "html", "pictures"),
    [
        ("/a.jpg", Reason.MEDIA_TYPE, None),
        ("/a.JPEG?size=2", Reason.MEDIA_TYPE, None),
        ("/a.mp4", Reason.MEDIA_TYPE, Reason.MEDIA_TYPE),
        ("/a.tar.zip", Reason.MEDIA_TYPE, Reason.MEDIA_TYPE),
        ("/a.html", None, None),  # can be anything: the answer tells
        ("/a.php", None, None),
        ("/a", None, None),
        ("/a.jpg/", None, None),
        ("/show?file=a.jpg", None, None),
        ("/wiki/File:Garden.jpg", None, None),
        ("/feed.xml", None, None),
    ],
)
def test_an_ending_that_tells_the_media_type_is_enough_to_refuse(
    path: str, html: Reason | None, pictures: Reason | None
) -> None:
    url = f"http://www.example.com{path}"
    assert LinkFilter([SEED])(link(url)) is None
    assert LinkFilter([SEED], media_types=["text/html"])(link(url)) is html
    assert LinkFilter([SEED], media_types=["image/*"])(link(url)) is pictures


def test_a_seed_and_a_sitemap_are_asked_for_whatever_their_ending() -> None:
    link_filter = LinkFilter([SEED], media_types=["text/html"])
    assert link_filter(Link("http://www.example.com/a.zip")) is None
    assert link_filter(link("http://www.example.com/sitemap.zip", rel="sitemap")) is None


@pytest.mark.parametrize(
    ("declared", "is_wanted"),
    [
        ("text/html", True),
        ("Text/HTML; charset=utf-8", True),
        ("application/pdf", True),
        ("", True),  # says nothing, so it may be
        ("text", False),
        ("image/png", False),
        ("application/pdf-x", False),
    ],
)
def test_a_declared_type_is_wanted_by_itself_or_by_its_kind(declared: str, is_wanted: bool) -> None:
    assert MediaTypes(["text/*", "application/pdf"]).wants(declared) is is_wanted
    assert MediaTypes([]).wants(declared)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"prefixes": ["docs/"]}, "prefix 'docs/' is neither a URL nor a path"),
        ({"hosts_excluded": ["a b"]}, "excluded host 'a b' is not the name of a host"),
    ],
)
def test_what_means_nothing_is_named(bad: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinkFilter([SEED], prefixes=bad.get("prefixes", ()), hosts_excluded=bad.get("hosts_excluded", ()))
