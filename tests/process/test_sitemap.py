from __future__ import annotations

import gzip
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.process.sitemap import BYTES_MAX, URLS_MAX, process
from gossamer.records import SITEMAP
from gossamer.url.canonical import canonicalize
from tests.cases import content, rows

URL = "http://a.test/sitemap.xml"


def entries(text: str) -> list[tuple[str, str | None]]:
    return [(link.url, link.lastmod) for link in process(text.encode(), URL).links]


def test_a_urlset_gives_its_urls_and_their_dates() -> None:
    text = """<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc> http://a.test/1 </loc><lastmod>2024-01-02</lastmod><priority>0.5</priority></url>
        <url><loc>http://a.test/2?b=1&amp;a=2</loc></url></urlset>"""
    assert entries(text) == [("http://a.test/1", "2024-01-02"), ("http://a.test/2?a=2&b=1", None)]
    assert process(text.encode(), URL).links[0].source == URL


def test_an_index_gives_links_to_sitemaps() -> None:
    page = process(b"<sitemapindex><sitemap><loc>http://a.test/s1.xml.gz</loc></sitemap></sitemapindex>", URL)
    assert [(link.url, link.rel) for link in page.links] == [("http://a.test/s1.xml.gz", SITEMAP)]


def test_a_sitemap_may_be_gzipped_even_twice_in_one_file() -> None:
    first, second = (
        b"<urlset><url><loc>http://a.test/1</loc></url>",
        b"<url><loc>http://a.test/2</loc></url></urlset>",
    )
    page = process(gzip.compress(first) + gzip.compress(second), URL, "application/x-gzip")
    assert [link.url for link in page.links] == ["http://a.test/1", "http://a.test/2"]


def test_a_gzipped_sitemap_that_was_cut_off_gives_what_can_be_had() -> None:
    many = "".join(f"<url><loc>http://a.test/{n * n}</loc></url>" for n in range(1000))
    whole = gzip.compress(f"<urlset>{many}</urlset>".encode())
    found = process(whole[: len(whole) // 2], URL).links
    assert 100 < len(found) < 1000


def test_a_bomb_is_unpacked_no_further_than_the_limit() -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * BYTES_MAX + b"<url><loc>http://a.test/</loc></url>", 1)
    assert process(bomb, URL).links == []


def test_a_plain_list_has_a_url_a_line() -> None:
    text = "\ufeffhttp://a.test/1\r\nhttp://a.test/2\n\nwww.a.test/3\nsome words\nhttp://a.test/4 and more"
    assert [url for url, _ in entries(text)] == ["http://a.test/1", "http://a.test/2", "http://www.a.test/3"]


def test_what_extensions_say_of_pictures_videos_news_and_languages_is_not_a_page() -> None:
    text = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i">
        <url><loc>http://a.test/1</loc>
          <image:image><image:loc>http://a.test/1.png</image:loc>
            <image:license>http://a.test/l</image:license></image:image>
          <video:video><video:content_loc>http://a.test/1.mp4</video:content_loc><video:player_loc>http://a.test/p
            </video:player_loc><video:publication_date>2020-01-01</video:publication_date></video:video>
          <news:news><news:publication><news:name>N</news:name></news:publication>
            <news:publication_date>2021-01-01</news:publication_date><news:title>T</news:title></news:news>
          <xhtml:link rel="alternate" hreflang="de" href="http://a.test/de/1"/>
          <lastmod>2024-01-02</lastmod></url>
        <url><image:image><image:loc>http://a.test/2.png</image:loc></image:image><loc>http://a.test/2</loc></url>
        <url><image:image><image:loc>http://a.test/3.png</image:loc></image:image><x:url>http://a.test/4</x:url></url>
        </urlset>"""
    assert entries(text) == [("http://a.test/1", "2024-01-02"), ("http://a.test/2", None)]


def test_a_feed_is_a_sitemap_too() -> None:
    rss = """<rss><channel><link>http://a.test/</link><image><url>http://a.test/logo.png</url></image>
        <item><link>http://a.test/1</link><pubDate>Sun, 06 Sep 2009 16:20:00 +0000</pubDate></item>
        <item><guid>http://a.test/2</guid></item></channel></rss>"""
    assert entries(rss) == [("http://a.test/1", "Sun, 06 Sep 2009 16:20:00 +0000"), ("http://a.test/2", None)]
    atom = """<feed><link href="http://a.test/"/><entry><link rel="edit" href="/edit"/>
        <link rel='alternate' href='http://a.test/1?a=1&amp;b=2'/><updated>2024-01-02T03:04:05Z</updated></entry></feed>"""
    assert entries(atom) == [("http://a.test/1?a=1&b=2", "2024-01-02T03:04:05Z")]


def test_elements_of_other_namespaces_say_nothing_about_an_entry() -> None:
    text = """<urlset><url><image:image><image:loc>http://a.test/cat.png</image:loc></image:image>
        <loc>http://a.test/1</loc><video:date>1999</video:date></url></urlset>"""
    assert entries(text) == [("http://a.test/1", None)]


@pytest.mark.parametrize(
    "text",
    [
        "<urlset><url><loc>http://a.test/1</loc><loc>http://a.test/2</loc></url></urlset>",
        "<urlset><url><loc>http://a.test/1</url><url><loc>http://a.test/2</url>",
        "<urlset><url><loc>http://a.test/1<loc>http://a.test/2</lo",
        "<urlset><url>http://a.test/1</url><url>\nhttp://a.test/2\n</url></urlset>",
        "<URLSET><URL><LOC>http://a.test/1</LOC></URL><URL><LOC>/2</LOC></URL></URLSET>",
        "\n\n <?xml version='1.0'?><!-- c --><x:urlset><x:url><x:loc><![CDATA[http://a.test/1]]></x:loc></x:url>"
        "<x:url><x:loc><b>http://a.test/2</b></x:loc></x:url></x:urlset>",
        "<url><loc>http://a.test/1</loc></url></url><url><loc>http://a.test/2</loc><lastmod>broken < here",
    ],
)
def test_broken_sitemaps_are_read_as_they_were_meant(text: str) -> None:
    assert [url for url, _ in entries(text)] == ["http://a.test/1", "http://a.test/2"]


def test_an_address_that_was_cut_off_is_not_guessed() -> None:
    assert entries("<urlset><url><loc>http://a.test/1</loc></url><url><loc>http://a.test/pag") == [
        ("http://a.test/1", None)
    ]


def test_entities_are_neither_expanded_nor_loaded() -> None:
    text = """<!DOCTYPE urlset [<!ENTITY a "http://a.test/1"><!ENTITY b SYSTEM "file:///etc/passwd">]>
        <urlset><url><loc>&a;</loc></url><url><loc>&b;</loc></url><url><loc>http://a.test/&#50;</loc></url></urlset>"""
    assert entries(text) == [("http://a.test/2", None)]


def test_no_more_urls_are_taken_than_a_sitemap_may_hold() -> None:
    text = "".join(f"<url><loc>http://a.test/{n}</loc></url>" for n in range(URLS_MAX + 10))
    assert len(entries(f"<urlset>{text}</urlset>")) == URLS_MAX


MARKUP = "<url> <loc> </loc> </url> <link/> http://a.test/ <![CDATA[ & < > <!-- ]]> é"
SITEMAPISH = st.lists(st.sampled_from(MARKUP.split())).map(lambda words: "".join(words).encode())


@given(st.one_of(st.binary(), SITEMAPISH))
def test_any_bytes_make_a_page(body: bytes) -> None:
    assert process(body, URL).url == URL


# --- Cases that others wrote ---

DIFFERS = {
    "cc-sm-008": "which hosts a sitemap may speak for is decided by the link filter",
    "cc-sm-035": "which folder a sitemap may speak for is decided by the link filter",
    "cc-sm-019": "broken XML is read as it was meant",
    "cc-sm-043": "a document with entities is read without them, not refused",
    "cc-sm-047": "a wrong namespace is forgiven",
}


def test_sitemaps_of_every_kind_are_read_as_in_crawler_commons() -> None:
    for row in rows("sitemaps/crawler_commons_sitemaps"):
        found = process(content(f"sitemaps/{row['file']}"), row["url"], row["content_type"]).links
        if row["id"] in DIFFERS:
            assert found, row["id"]
            continue
        expected = row["expected_entries"] or []
        assert [link.url for link in found] == [canonicalize(entry["loc"]) for entry in expected], row["id"]
        assert all((link.rel == SITEMAP) == row["expected_is_index"] for link in found), row["id"]
        for link, entry in zip(found, expected, strict=True):
            if entry["lastmod"] is not None:
                assert link.lastmod is not None, row["id"]
                assert moment(link.lastmod) == moment(entry["lastmod"]), row["id"]


def moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = parsedate_to_datetime(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
