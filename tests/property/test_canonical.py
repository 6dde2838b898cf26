"""What holds for the canonical form of any text at all."""

from __future__ import annotations

import re

from ada_url import join_url
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.process.links import Links
from gossamer.url.canonical import URL_CHARS_MAX, canonicalize, choose
from gossamer.url.site import ascending, origin_of

# Text that is likely to mean something in a URL, besides any text.
PIECES = r"""http:// https:// // / ? # & = ; : @ . .. ../ %2e %41 %7E %2f %25 %% %4 %zz + a A ~ - _ é ß 。 xn-- [::1]
    1.2 0x7f :80 utm_source= sid= ;jsessionid= PHPSESSID=1 \ | ' " < > { } ^ ` host.example index.html"""
FRAGMENTS = st.sampled_from([*PIECES.split(), "\t", "\n", " "])
URLISH = st.lists(st.one_of(FRAGMENTS, FRAGMENTS, st.text(max_size=3)), max_size=12).map("".join)
TEXTS = st.one_of(st.text(), URLISH, URLISH.map(lambda rest: f"http://host.example/{rest}"))
PLAIN_PIECES = "a b-c D.html / // . .. %41 %2e %2E. 7 , ? & = x=1 b= #f :80 // @"
PLAIN = st.lists(st.sampled_from(PLAIN_PIECES.split()), max_size=8).map("".join)
NAME_PIECES = "a A utm_* * sid jsessionid =1 é PHPSESSID"
NAMES = st.lists(st.one_of(st.sampled_from(NAME_PIECES.split()), st.text(max_size=4)))
BASES = st.one_of(st.none(), TEXTS, st.just("http://host.example/a/b?c=d#e"))


@given(TEXTS, BASES)
@example("http://h.test/%%34%31", None)
@example("http://h.test/%4%31", None)
@example("http://h.test/a/..;jsessionid=1/b", None)
@example("http://h.test/;jsessionid=.;jsessionid=", None)
@example("http://h.test/?a;jsessionid=1&b", None)
@example("http://h.test/?&utm_x&", None)
def test_the_canonical_form_of_a_canonical_url_is_itself(url: str, base: str | None) -> None:
    once = canonicalize(url, base)
    assert once is None or canonicalize(once) == once


@given(TEXTS, NAMES, NAMES)
@example("http://h.test/?%C3%A9=1&e=2", ["É", "é"], [])
def test_so_it_is_whatever_parameters_are_dropped_and_kept(url: str, dropped: list[str], kept: list[str]) -> None:
    choose(dropped=dropped, kept=kept)
    try:
        once = canonicalize(url)
        assert once is None or canonicalize(once) == once
    finally:
        choose()


@given(st.sampled_from(["", "/", "http://", "https://a.test", "http://a.test:81"]), PLAIN, BASES)
@example("https://h.test/a%2e/%2e%2e/b", "", None)
@example("http://h.test-b.test/", "", "http://h.test/")
@example("http://1.2/", "", None)
def test_a_plain_reference_means_what_the_parser_says(begin: str, rest: str, base: str | None) -> None:
    # Most references are joined without the parser; nobody may see a difference.
    reference = begin + rest
    try:
        parsed = join_url(base or "about:blank", reference)
    except ValueError:
        assert canonicalize(reference, base) is None
    else:
        assert canonicalize(reference, base) == canonicalize(parsed)


@given(TEXTS)
def test_what_a_url_lies_in_is_canonical_and_of_the_same_origin(url: str) -> None:
    canonical = canonicalize(url)
    for folder in ascending(canonical) if canonical else ():
        assert canonicalize(folder) == folder
        assert origin_of(folder) == origin_of(canonical or "")
        assert folder.endswith("/") and (canonical or "").startswith(folder)


@given(TEXTS, BASES)
def test_a_canonical_url_is_an_http_url_of_plain_ascii_without_what_does_not_count(
    url: str, base: str | None
) -> None:
    canonical = canonicalize(url, base)
    if canonical is None:
        return
    parts = re.fullmatch(r"https?://[^/?#@\s]+(/[!-~]*)", canonical)
    assert parts is not None
    assert "#" not in canonical
    assert len(canonical) <= URL_CHARS_MAX
    assert {".", ".."}.isdisjoint(parts[1].partition("?")[0].split("/"))


@given(TEXTS)
def test_a_base_does_not_change_a_canonical_url(url: str) -> None:
    canonical = canonicalize(url)
    if canonical is not None:
        assert canonicalize(canonical, "http://other.example/x/y?z") == canonical


@given(URLISH, BASES)
def test_a_link_of_a_page_resolves_as_if_it_stood_alone(href: str, page: str | None) -> None:
    # Plain links are joined without a parser; nobody may see a difference.
    url = canonicalize(page or "http://host.example/folder/page.html")
    if url is not None:
        assert Links(url).resolve(href) == canonicalize(href, url)
