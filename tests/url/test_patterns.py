from __future__ import annotations

import pytest

from gossamer.url.patterns import lies_within, pattern_of, wider


@pytest.mark.parametrize(
    ("rest", "pattern"),
    [
        ("/", "/*"),
        ("/about", "/*"),
        ("/about.html", "/*.html"),
        ("/2019/05/a-title.html", "/0/0/*.html"),
        ("/thread/4711", "/thread/*"),
        ("/blog/a-title/", "/blog/*/"),
        ("/list?page=7", "/list?page"),
        ("/list?page=7&sort=name", "/list?page&sort"),
        ("/?q=x", "/?q"),
        ("/shop/red/large/new/x?a=1", "/shop/red/large/…/x?a"),
        ("/s-9f3ac01b77/item/3", "/*/item/*"),
        ("/(S(k2vq3wbx55))/page.aspx", "/*/*.aspx"),
        ("/v2/api", "/v0/*"),
        ("/deep/1/2/3/4/5", "/deep/0/0/…/*"),
        ("/find?p17=on&p4=on", "/find?p0&p0"),
    ],
)
def test_what_a_program_counts_up_is_taken_out(rest: str, pattern: str) -> None:
    assert pattern_of(f"http://a.test{rest}") == pattern


def test_a_pattern_is_short_whatever_the_url() -> None:
    long = "http://a.test/" + "/".join("x" * 500 for _ in range(20)) + "?" + "&".join("y" * 90 for _ in range(20))
    assert len(pattern_of(long)) < 600


@pytest.mark.parametrize(
    ("rest", "around"),
    [
        ("/about", ["/…"]),
        ("/thread/4711", ["/thread/…", "/…"]),
        ("/find?color=red&size=2", ["/find?", "/…"]),
        ("/shop/find?color=red", ["/shop/find?", "/shop/…", "/…"]),
    ],
)
def test_a_pattern_lies_within_wider_ones_up_to_its_host(rest: str, around: list[str]) -> None:
    pattern = pattern_of(f"http://a.test{rest}")
    assert list(wider(pattern)) == around
    assert all(lies_within(pattern, wide) for wide in around)


def test_a_pattern_lies_within_no_other_than_these() -> None:
    assert not lies_within(pattern_of("http://a.test/thread/1"), "/threads/…")
    assert not lies_within(pattern_of("http://a.test/thread/1"), "/find?")
