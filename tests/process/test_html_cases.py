"""HTML cases that others wrote: Nutch, Heritrix, StormCrawler, web-platform-tests."""

from __future__ import annotations

from gossamer.process.html import process, refresh
from gossamer.process.markup.srcset import candidates
from gossamer.process.processor import header_words
from gossamer.process.text import fold
from gossamer.records import Page
from gossamer.url.canonical import canonicalize
from gossamer.url.link_filter import is_nofollow
from tests.cases import Row, rows

EMBEDDED = "pictures, films and scripts are parts of a page and no pages"
A_FORM = "a form is a question that only a person can answer"


def read(row: Row) -> Page:
    return process(row["html"].encode(), row["url"])


def followed(page: Page) -> list[str]:
    return [] if page.nofollow else [link.url for link in page.links if not is_nofollow(link.rel)]


NUTCH_LEFT_OUT = {
    "http://www.nutch.org/maps/logo.gif": EMBEDDED,
    "http://www.nutch.org/test.gif": EMBEDDED,
    "http://www.nutch.org/movie.mp4": EMBEDDED,
    "http://www.nutch.org/dummy.jsp": A_FORM,
}


def test_links_titles_and_text_are_those_of_nutch() -> None:
    for row in rows("html/nutch_outlinks"):
        page = read(row)
        expected = {
            canonicalize(link["url"]): link["anchor"]
            for link in reversed(row["expected_links"])  # of two links to one URL, the first counts
            if link["url"] not in NUTCH_LEFT_OUT
        }
        found = {link.url: link.anchor for link in page.links if not is_nofollow(link.rel)}
        assert found == expected, row["id"]
        assert page.title == row["expected_title"], row["id"]
        # Nutch ends a word at every tag; we let it run through <b> and the like.
        words = "".join(f"{page.title} {page.text}".split())
        assert words == "".join(row["expected_text_tokens"]), row["id"]


HERITRIX_DIFFERS = {
    EMBEDDED: {10, 13, 18, 19, 20, 23, *range(24, 38)},
    "a frame outside of a frameset is ignored by browsers too": {11},
    A_FORM: {12},
    "style sheets and icons are not pages; of unknown link relations nobody knows": {38},
    "nofollow is obeyed": {39},
}


def test_links_are_those_of_heritrix() -> None:
    differs = {f"heritrix-html-{number}" for numbers in HERITRIX_DIFFERS.values() for number in numbers}
    for row in rows("html/heritrix_extractor_html"):
        if "css" in row:
            continue
        found = set(followed(read(row)))
        expected = {canonicalize(url) for url in row["exact" if "exact" in row else "must_contain"]}
        agrees = found == expected if "exact" in row else found >= expected
        assert agrees == (row["id"] not in differs), row["id"]


def test_the_base_of_a_page_is_that_of_heritrix() -> None:
    for row in rows("html/heritrix_extractor_html"):
        if "BaseHref" in row["group"]:
            links = {**row, "html": row["html"].replace("<img src=", "<a href=")}
            assert {canonicalize(url) for url in row["must_contain"]} <= set(followed(read(links))), row["id"]


def test_navigation_by_link_elements_is_that_of_heritrix() -> None:
    (row,) = (row for row in rows("html/heritrix_extractor_html") if row["group"] == "testLinkRel")
    assert set(followed(read(row))) == set(row["navigational"]) - {"https://www.example.org/unknown"}


def test_robots_are_told_what_nutch_and_stormcrawler_read() -> None:
    for row in rows("html/robots_meta_nutch_stormcrawler"):
        if row["kind"] == "draft-robots-tag":
            continue  # a header that was never agreed on
        agent = row.get("user_agent", "gossamer")
        markup = row["html"].replace(f'name="{agent}"', 'name="gossamer"')
        page = process(markup.encode(), "http://a.test/")
        head = "".join(f"X-Robots-Tag: {value}\r\n" for value in row["headers"].get("X-Robots-Tag", []))
        words = header_words(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode(), agent)
        none = "none" in words
        assert row["expected"]["noindex"] == (page.noindex or none or "noindex" in words), row["id"]
        assert row["expected"]["nofollow"] == (page.nofollow or none or "nofollow" in words), row["id"]


def test_a_refresh_is_parsed_as_the_standard_says() -> None:
    for row in rows("html/wpt_meta_refresh"):
        expected = None if row["expected"] is None else tuple(row["expected"])
        assert refresh(row["content"]) == expected, row["id"]


def test_a_srcset_is_parsed_as_the_standard_says() -> None:
    for row in rows("html/wpt_srcset"):
        found = list(candidates(row["srcset"]))
        if row["none_valid"]:
            assert found == [], row["id"]
        else:
            assert row["expected_selected_raw"] in found, row["id"]


PICTURES_OTHERWISE = {
    "a candidate with a parenthesis that is not closed has no valid descriptor": {24},
    "attributes of one site each, with lists that are no srcset": {36},
    "meta elements and conditional comments are not read for pictures": {13, 23},
}


def test_pictures_are_those_of_heritrix_where_they_are_wanted() -> None:
    differs = {f"heritrix-html-{number}" for numbers in PICTURES_OTHERWISE.values() for number in numbers}
    pictures = {f"heritrix-html-{number}" for number in (10, 13, 18, 19, 20, 23, *range(24, 38))}
    for row in rows("html/heritrix_extractor_html"):
        if row["id"] in pictures:
            found = {link.url for link in process(row["html"].encode(), row["url"], links_from=("images",)).links}
            expected = {canonicalize(url) for url in row["exact" if "exact" in row else "must_contain"]}
            assert (found >= expected) == (row["id"] not in differs), row["id"]


def test_folding_is_what_the_text_of_a_page_has_been_through() -> None:
    for row in rows("html/nutch_outlinks"):
        text = read(row).text
        assert text == fold(text), row["id"]
