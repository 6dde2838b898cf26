from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.process.feed import ENTRIES_MAX, process
from gossamer.records import Page

URL = "http://a.test/feed"


def read(text: str) -> Page:
    return process(text.encode(), URL)


def entries(page: Page) -> list[tuple[str, str, str | None]]:
    return [(link.url, link.anchor, link.lastmod) for link in page.links]


RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:media="http://m.test" xmlns:atom="http://www.w3.org/2005/Atom">
<channel><title>News &amp; views</title><link>http://a.test/</link><atom:link rel="self" href="http://a.test/feed"/>
<description><![CDATA[All the <b>news</b>]]></description>
<image><title>Logo</title><url>http://a.test/logo.png</url><link>http://a.test/logo</link></image>
<item><media:title>a picture</media:title><title>First &lt;i&gt;post&lt;/i&gt;</title><link>http://a.test/1</link>
  <enclosure url="http://a.test/1.mp3" type="audio/mpeg"/><media:content url="http://a.test/1.png"/>
  <source url="http://b.test/feed">Elsewhere</source>
  <description>A tale &lt;a href="http://c.test/"&gt;of&lt;/a&gt; two &amp;amp; more</description>
  <pubDate>Sun, 06 Sep 2009 16:20:00 +0000</pubDate></item>
<item><guid isPermaLink="true">http://a.test/2</guid><dc:date>2024-05-06</dc:date></item>
<item><guid>urn:uuid:1</guid><title>Nowhere</title></item>
<item><link>not an address</link></item>
</channel></rss>"""


def test_rss_gives_the_feed_and_its_entries() -> None:
    page = read(RSS)
    assert (page.media_type, page.title, page.description) == ("application/rss+xml", "News & views", "All the news")
    assert entries(page) == [
        ("http://a.test/1", "First post", "Sun, 06 Sep 2009 16:20:00 +0000"),
        ("http://a.test/2", "", "2024-05-06"),
    ]
    assert page.text == "First post A tale of two & more Nowhere"


ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title type="html">Notes &amp;amp; more</title>
<subtitle>Now and then</subtitle><link rel="self" href="/feed"/><link href="/"/><updated>2024-02-01</updated>
<entry><title type="xhtml"><div>One <title>two</title></div></title><link rel="edit" href="/edit/1"/>
  <link rel="enclosure" href="/1.mp3"/><link rel='alternate' href='http://a.test/1?a=1&amp;b=2'/>
  <published>2024-01-01T00:00:00Z</published><updated>2024-01-02T03:04:05Z</updated>
  <source><title>Another feed</title><link href="http://b.test/"/></source>
  <content type="html">&lt;a href="http://c.test/"&gt;the whole page&lt;/a&gt;</content></entry>
<entry><link href="notes/2"/><published>2024-01-03</published></entry></feed>"""


def test_atom_gives_the_feed_and_its_entries() -> None:
    page = read(ATOM)
    assert (page.media_type, page.title, page.description) == ("application/atom+xml", "Notes & more", "Now and then")
    assert entries(page) == [
        ("http://a.test/1?a=1&b=2", "One two", "2024-01-02T03:04:05Z"),
        ("http://a.test/notes/2", "", "2024-01-03"),
    ]


def test_rss_as_rdf_and_a_feed_with_prefixes_are_read_too() -> None:
    rdf = """<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel><title>R</title></channel>
        <item><title>One</title><link>http://a.test/1</link><dc:date>2024-01-01</dc:date></item></rdf:RDF>"""
    assert (read(rdf).title, entries(read(rdf))) == ("R", [("http://a.test/1", "One", "2024-01-01")])
    prefixed = """<a:feed><a:title>P</a:title><a:entry><a:title>One</a:title><a:link href="/1"/></a:entry></a:feed>"""
    assert (read(prefixed).title, entries(read(prefixed))) == ("P", [("http://a.test/1", "One", None)])


@pytest.mark.parametrize(
    "text",
    [
        "<rss><item><title>x<item><link>http://a.test/1</link></item>",
        "<rss><item><link>http://a.test/1</link><title>cut o",
        "<RSS><ITEM><LINK>http://a.test/1</LINK></ITEM></RSS>",
        "<rss><item><description><b>never closed</description><link>http://a.test/1</link></item></rss>",
        "<feed><entry><link href='http://a.test/1'/></feed>",
    ],
)
def test_broken_feeds_are_read_as_far_as_they_go(text: str) -> None:
    assert [link.url for link in read(text).links] == ["http://a.test/1"]


def test_a_feed_may_be_gzipped_and_in_another_encoding() -> None:
    body = '<?xml version="1.0" encoding="iso-8859-1"?><rss><channel><title>Größe</title></channel></rss>'
    assert process(gzip.compress(body.encode("latin-1")), URL, "application/rss+xml; charset=utf-8").title == "Größe"


def test_no_more_entries_are_taken_than_anybody_needs() -> None:
    page = read("<rss>" + "".join(f"<item><link>/{n}</link></item>" for n in range(ENTRIES_MAX + 10)))
    assert len(page.links) == ENTRIES_MAX


MARKUP = "<rss> <feed> <item> </item> <entry> </entry> <link/> <link> </link> <title> </title> <![CDATA[ & <!-- ]]> é"
FEEDISH = st.lists(st.sampled_from(MARKUP.split())).map(lambda words: "".join(words).encode())


@given(st.one_of(st.binary(), FEEDISH))
def test_any_bytes_make_a_page(body: bytes) -> None:
    assert process(body, URL).url == URL
