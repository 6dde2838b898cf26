from __future__ import annotations

import gzip

import pytest

from gossamer.interfaces import Processor as AnyProcessor
from gossamer.process.processor import Processor, media_type_of
from gossamer.records import Exchange, Fetched, Page

URL = "http://a.test/x"


def fetched(body: bytes, *headers: str) -> Fetched:
    head = "\r\n".join(["HTTP/1.1 200 OK", *headers, "", ""]).encode("latin-1")
    return Fetched(Exchange(b"", head, 200, "192.0.2.1", 0.0, 1.0, 0.5), body)


async def page(body: bytes, *headers: str) -> Page:
    processor: AnyProcessor = Processor()
    return await processor.process(URL, fetched(body, *headers))


@pytest.mark.parametrize(
    ("declared", "body", "media_type"),
    [
        ("text/html; charset=utf-8", b"<p>x", "text/html"),
        ("TEXT/HTML", b"<html>", "text/html"),
        ("application/xhtml+xml", b"<?xml version='1.0'?><html>", "application/xhtml+xml"),
        (None, b"<!DOCTYPE html><p>", "text/html"),
        (None, b"\n <!-- c --> <p>x", "text/html"),
        (None, "<html>".encode("utf-16"), "text/html"),
        ("application/json", b"<!doctype html><h1>404", "text/html"),
        ("text/plain", b"<html><body>", "text/html"),
        ("text/plain", b"<p> is a tag", "text/plain"),
        ("text/xml", b"<?xml version='1.0'?><html>", "text/html"),
        ("text/html", b"<?xml version='1.0'?><!-- c --><urlset>", "application/xml"),
        ("application/rss+xml", b"<rss>", "application/rss+xml"),
        (None, b"\xef\xbb\xbf<sm:urlset>", "application/xml"),
        ("application/gzip", gzip.compress(b"<urlset>", mtime=0), "application/xml"),
        ("application/gzip", gzip.compress(b"http://a.test/\n", mtime=0), "text/uri-list"),
        ("application/gzip", gzip.compress(b"a tar file", mtime=0), "application/gzip"),
        ("text/plain", b"http://a.test/1\nhttp://a.test/2\n", "text/uri-list"),
        ("text/plain", b"http://a.test/1 is a URL\n", "text/plain"),
        (None, b"just words", "text/plain"),
        (None, b"", "text/plain"),
        (None, b"\x00\x01\x02", "application/octet-stream"),
        (None, b"%PDF-1.7", "application/pdf"),
        ("text/html", b"%PDF-1.7", "application/pdf"),
        ("image/png", b"\x89PNG\r\n", "image/png"),
        ("text/css", b"p { color: red }", "text/css"),
    ],
)
def test_the_type_of_a_body_is_what_was_declared_unless_the_bytes_plainly_say_otherwise(
    declared: str | None, body: bytes, media_type: str
) -> None:
    assert media_type_of(declared, body) == media_type


async def test_html_is_read_in_the_encoding_of_its_header() -> None:
    found = await page("<title>é</title>".encode("latin-1"), "Content-Type: text/html; charset=latin1")
    assert (found.media_type, found.title) == ("text/html", "é")


async def test_a_sitemap_is_read_whatever_it_is_called() -> None:
    body = b"<urlset><url><loc>http://a.test/1</loc></url></urlset>"
    found = await page(body, "Content-Type: text/html")
    assert (found.media_type, [link.url for link in found.links]) == ("application/xml", ["http://a.test/1"])


async def test_what_nobody_reads_is_a_page_without_text_and_links() -> None:
    assert await page(b"\x89PNG\r\n", "Content-Type: image/png") == Page(URL, media_type="image/png")
    assert await page(b"", "Content-Type: text/html") == Page(URL, media_type="text/html")


async def test_a_body_that_a_parser_gives_up_on_is_an_empty_page() -> None:
    def gives_up(body: bytes, url: str, content_type: str | None) -> Page:
        body.decode("ascii")
        return Page(url, text="read")

    processor = Processor({"text/html": gives_up})
    found = await processor.process(URL, fetched(b"\xff", "Content-Type: text/html"))
    assert found == Page(URL, media_type="text/html")


async def test_our_own_fault_is_not_hidden() -> None:
    def is_wrong(body: bytes, url: str, content_type: str | None) -> Page:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await Processor({"text/html": is_wrong}).process(URL, fetched(b"x", "Content-Type: text/html"))


@pytest.mark.parametrize(
    ("headers", "noindex", "nofollow"),
    [
        ((), False, False),
        (("X-Robots-Tag: noindex",), True, False),
        (("x-robots-tag: NOFOLLOW",), False, True),
        (("X-Robots-Tag: noindex", "X-Robots-Tag: nofollow"), True, True),
        (("X-Robots-Tag: none",), True, True),
        (("X-Robots-Tag: otherbot: none",), False, False),
        (("X-Robots-Tag: gossamer: noindex",), True, False),
        (("X-Robots-Tag: otherbot: noindex, Gossamer: nofollow",), False, True),
        (("X-Robots-Tag: unavailable_after: 25 Jun 2010 15:00:00 PST, noindex",), True, False),
    ],
)
async def test_robots_headers_count_like_words_in_the_page(
    headers: tuple[str, ...], noindex: bool, nofollow: bool
) -> None:
    found = await page(b"<p>x", "Content-Type: text/html", *headers)
    assert (found.noindex, found.nofollow) == (noindex, nofollow)


async def test_a_header_does_not_take_back_what_the_page_asks() -> None:
    found = await page(b"<meta name=robots content=noindex>", "Content-Type: text/html", "X-Robots-Tag: nofollow")
    assert (found.noindex, found.nofollow) == (True, True)
