"""What is fuzzed, and what has to hold for whatever comes in: each target reads one input and checks its result.

Nothing raises; what comes out is bounded by what went in; every link is canonical, has a place and a worth in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from gossamer.clock import VirtualClock
from gossamer.fetch.coding import Unpacker
from gossamer.fetch.robots import Robots
from gossamer.process import feed, html, image, native, sitemap
from gossamer.process.links import ANCHOR_CHARS_MAX, Links
from gossamer.process.markdown.document import written
from gossamer.process.markup.context import POSITIONS
from gossamer.process.markup.srcset import candidates
from gossamer.process.media_types import UNREADABLE, Readers
from gossamer.process.processor import header_words
from gossamer.process.simhash import simhash
from gossamer.process.sniffing import media_type_of
from gossamer.process.text import decode
from gossamer.records import Exchange, Link, Page
from gossamer.settings import ProcessSettings
from gossamer.url.canonical import canonicalize
from gossamer.url.link_filter import LinkFilter
from gossamer.url.patterns import pattern_of, wider
from gossamer.url.site import ascending, host_of, origin_of, site_of
from tests.fuzz import corpus
from tests.process.comparison import differences

URL = "http://h.test/folder/page.html?x=1"
LINKS_MAX = 50_000
UNPACKED_BYTES_MAX = 1 << 20
READERS = Readers("gossamer", ProcessSettings(links_from=("images", "scripts")))
DOOR = LinkFilter(
    [URL], scope="any", prefixes=["/"], media_types=["text/*"], hosts_excluded=["bad.test"], clock=VirtualClock()
)


class Target(NamedTuple):
    read: Callable[[bytes], None]
    seeds: list[bytes]
    words: list[bytes]


def check(page: Page, body: bytes) -> None:
    assert page.url == URL
    assert len(page.links) <= LINKS_MAX
    if body[:2] != b"\x1f\x8b":
        # A tag takes three bytes and separates two words by one space.
        assert len(page.text) <= 2 * len(body) + 16
        assert len(page.main_text) <= 2 * len(body) + 16
        assert len(page.links) <= len(body)
    assert len(page.title) <= 1000
    for link in page.links:
        assert canonicalize(link.url) == link.url, link
        assert link.position in POSITIONS, link
        assert 0 <= link.context <= 1, link
        assert len(link.anchor) <= max(ANCHOR_CHARS_MAX, 1000), link
    assert page.canonical is None or canonicalize(page.canonical) == page.canonical
    assert 0 <= page.simhash < 1 << 64


def read_html(body: bytes) -> None:
    with suppress(*UNREADABLE):  # faults of a page; media_types.py makes a value of them
        check(html.process(body, URL, "text/html"), body)
    list(candidates(body.decode("latin-1")))


def read_as_markdown(body: bytes) -> None:
    """Both walks over the tree meet the same characters, and what is written is bounded."""
    with suppress(*UNREADABLE):
        document = html.parsed(body.decode("utf-8", "replace").encode())
        text = written(document, Links(URL))
        most = 4 * sum(map(len, document.blocks)) + 30 * len(body) + 100
        assert len(text) <= most, (len(text), most)


def read_natively(body: bytes) -> None:
    """As the reference reads it, to the byte."""
    reader, _ = native.loaded()
    if reader is None:
        return
    content_type = (None, "text/html; charset=utf-8", "text/html; charset=gbk")[len(body) % 3]
    with suppress(*UNREADABLE):
        assert differences(reader, body, URL, content_type, ("images", "scripts") if len(body) % 2 else ()) == []


def read_sitemap(body: bytes) -> None:
    check(sitemap.process(body, URL), body)


def read_feed(body: bytes) -> None:
    check(feed.process(body, URL), body)


def read_image(body: bytes) -> None:
    page = image.process(body, URL)
    assert page.width >= 0 and page.height >= 0 and not page.links


def read_anything(body: bytes) -> None:
    """Declared as something else than it is, as servers do."""
    declared = ("text/html", "application/xml", "text/plain", "image/png", None, "\xff/;")[len(body) % 6]
    media_type = media_type_of(declared, body[:4096])
    reader = READERS.get(media_type)
    if reader is not None and not reader.is_risky:
        check(READERS.read(media_type, body, URL, declared), body)


def read_text(body: bytes) -> None:
    charset = ("utf-8", "utf-16", "shift_jis", "x-user-defined", "utf-7", "none", "hz-gb-2312")[len(body) % 7]
    text, _ = decode(body, f"text/plain; charset={charset}")
    assert len(text) <= len(body) + 1
    text.encode("utf-8")  # no half of a pair is left
    assert 0 <= simhash(text) < 1 << 64


def read_robots(body: bytes) -> None:
    robots = Robots.parse(body)
    for url in (URL, "http://h.test/a/" + "a" * 200, "http://h.test/"):
        assert robots.allowed(url, "gossamer") == robots.explain(url, "gossamer").is_allowed
    delay_s = robots.crawl_delay("gossamer")
    assert delay_s is None or delay_s >= 0
    assert len(robots.sitemaps) <= len(body)


def read_url(body: bytes) -> None:
    text = body.decode("utf-8", "surrogateescape" if len(body) % 2 else "replace")
    for url in (canonicalize(text), canonicalize(text, URL)):
        if url is None:
            continue
        assert canonicalize(url) == url
        assert url.isascii() and origin_of(url).startswith("http") and site_of(host_of(url))
        for folder in ascending(url):
            assert canonicalize(folder) == folder
        DOOR(Link(url, source=URL, depth=1))
        assert all(isinstance(each, str) for each in (pattern_of(url), *wider(pattern_of(url))))


def read_head(head: bytes) -> None:
    exchange = Exchange(b"", head, 503, "192.0.2.1", 0.0, 1.0, 0.5)
    retry_after_s = exchange.retry_after_s
    assert retry_after_s is None or retry_after_s >= 0
    header_words(head, "gossamer")
    content = exchange.header("Refresh") or head.decode("latin-1")
    found = html.refresh(content)
    if found is not None and found[1] is not None:
        assert len(html.refresh_link(found[1], URL)) <= 1
    media_type_of(exchange.header("Content-Type"), head)


def read_coding(body: bytes) -> None:
    for name in ("gzip", "deflate", "br", "gzip, gzip", "unknown"):
        unpacked = b"".join(Unpacker(name, UNPACKED_BYTES_MAX).unpack([body[:50], body[50:]]))
        assert len(unpacked) <= max(UNPACKED_BYTES_MAX, len(body))


def targets() -> dict[str, Target]:
    more = corpus.public_cases()
    sitemaps, feeds = corpus.SITEMAPS + more["sitemaps"], corpus.FEEDS
    packed = corpus.packed(sitemaps[:4] + feeds)
    mixed = corpus.HTML + sitemaps + feeds + corpus.TEXTS + corpus.IMAGES
    return {
        "html": Target(read_html, corpus.HTML + more["html"], corpus.HTML_WORDS),
        "markdown": Target(read_as_markdown, corpus.HTML + more["html"], corpus.HTML_WORDS),
        "native": Target(
            read_natively, corpus.HTML + more["html"] + more["urls"], corpus.HTML_WORDS + corpus.URL_WORDS
        ),
        "sitemap": Target(read_sitemap, sitemaps + packed, corpus.XML_WORDS),
        "feed": Target(read_feed, feeds + packed[4:], corpus.XML_WORDS),
        "image": Target(read_image, corpus.IMAGES, corpus.IMAGE_WORDS),
        "anything": Target(read_anything, mixed, corpus.HTML_WORDS + corpus.XML_WORDS),
        "text": Target(read_text, corpus.TEXTS + corpus.HTML, corpus.HTML_WORDS),
        "robots": Target(read_robots, corpus.ROBOTS + more["robots"], corpus.ROBOTS_WORDS),
        "url": Target(read_url, corpus.URLS + more["urls"], corpus.URL_WORDS),
        "head": Target(read_head, corpus.HEADS, corpus.HEAD_WORDS),
        "coding": Target(read_coding, packed, [b"\x1f\x8b", b"\0\0\0", b"\xff"]),
    }
