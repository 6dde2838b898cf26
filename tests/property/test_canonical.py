"""What holds for the canonical form of any text at all."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.process.links import Links
from gossamer.url.canonical import URL_CHARS_MAX, canonicalize

# Text that is likely to mean something in a URL, besides any text.
PIECES = r"""http:// https:// // / ? # & = ; : @ . .. ../ %2e %41 %7E %2f %25 %% %4 %zz + a A ~ - _ é ß 。 xn-- [::1]
    1.2 0x7f :80 utm_source= sid= ;jsessionid= PHPSESSID=1 \ | ' " < > { } ^ ` host.example index.html"""
FRAGMENTS = st.sampled_from([*PIECES.split(), "\t", "\n", " "])
URLISH = st.lists(st.one_of(FRAGMENTS, FRAGMENTS, st.text(max_size=3)), max_size=12).map("".join)
TEXTS = st.one_of(st.text(), URLISH, URLISH.map(lambda rest: f"http://host.example/{rest}"))
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
