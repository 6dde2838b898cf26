"""Bodies that are made to hurt whoever reads them: absurd markup, a wrong charset or type, sitemaps with teeth."""

from __future__ import annotations

import gzip
import time
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.fetch.http import Http
from gossamer.process.html import LINKS_MAX, REFRESH
from gossamer.process.processor import Processor
from gossamer.process.sitemap import BYTES_MAX, URLS_MAX
from gossamer.records import Exchange, Fetched, Page
from tests.hostile.server import answer, playing, says

URL = "http://a.test/dir/page"
HTML = "Content-Type: text/html"
XML = "Content-Type: application/xml"
MIB = 1024 * 1024
READ_S_MAX = 10.0  # most take well below one; what must not happen takes minutes


async def read(body: bytes, *headers: str | bytes) -> Page:
    lines = [line if isinstance(line, bytes) else line.encode() for line in headers]
    head = b"\r\n".join([b"HTTP/1.1 200 OK", *lines, b"", b""])
    started = time.monotonic()
    processor = Processor()
    page = await processor.process(URL, Fetched(Exchange(b"", head, 200, "192.0.2.1", 0.0, 1.0, 0.5), body))
    await processor.close()
    assert time.monotonic() - started < READ_S_MAX
    return page


def urls(page: Page) -> list[str]:
    return [link.url for link in page.links]


async def test_a_gzipped_sitemap_that_is_sent_gzipped_is_unwrapped_twice(http: Http) -> None:
    inside = b"<urlset><url><loc>http://a.test/1</loc></url></urlset>"
    body = gzip.compress(gzip.compress(inside))
    async with playing(says(answer(body, "Content-Encoding: gzip", "Content-Type: application/gzip"))) as stage:
        result = await http.fetch(stage.url("/sitemap.xml.gz"))
    assert isinstance(result, Fetched) and gzip.decompress(result.body[:]) == inside  # one layer is the transfer's
    processor = Processor()
    assert urls(await processor.process(URL, result)) == ["http://a.test/1"]  # the other is the file's
    await processor.close()


# ---- refresh ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ('<meta http-equiv="refresh" content="0; url=/next">', ["http://a.test/next"]),
        ("<meta http-equiv=REFRESH content=\"600;URL='/next'\">", ["http://a.test/next"]),
        ('<noscript><meta http-equiv="refresh" content="0;/next"></noscript>', ["http://a.test/next"]),
        ('<!-- <meta http-equiv="refresh" content="0;url=/next"> -->', []),
        ('<script>"<meta http-equiv=refresh content=0;url=/next>"</script>', []),
        ('<meta http-equiv="refresh" content="soon; url=/next">', []),
        ('<meta http-equiv="refresh" content="5">', []),
        ('<meta http-equiv="refresh" content="0;url=javascript:alert(1)">', []),
    ],
)
async def test_a_refresh_is_a_link_wherever_a_browser_would_obey_it(markup: str, found: list[str]) -> None:
    page = await read(f"<html><head>{markup}</head><body>x".encode(), HTML)
    assert urls(page) == found
    assert all(link.rel == REFRESH for link in page.links)


@pytest.mark.parametrize("value", ["0; url=/next", "600;/next", "0;URL='/next'"])
async def test_a_refresh_header_counts_like_the_same_words_in_the_page(value: str) -> None:
    page = await read(b"<p>x", HTML, f"Refresh: {value}")
    assert [(link.url, link.rel) for link in page.links] == [("http://a.test/next", REFRESH)]


# ---- markup ----------------------------------------------------------------------------------------------

LINK = b'<a href="/first">first</a>'


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(LINK + b"<div>" * 100_000, id="nested"),
        pytest.param(LINK + b"<b><i><font>" * 5000 + b"<p>x" * 5000, id="left open"),
        pytest.param(LINK + b"<table><tr><td>" * 20_000, id="tables"),
        pytest.param(LINK + b"<svg><math>" * 20_000, id="foreign"),
        pytest.param(LINK + b"word " * MIB, id="5 MB on one line"),
        pytest.param(LINK + b"<a " + b"x=y " * 500_000 + b">", id="attributes"),
        pytest.param(LINK + b"&amp;" * 500_000, id="entities"),
        pytest.param(LINK + b"<!--" + b"-" * MIB, id="open comment"),
        pytest.param(LINK + b"<" * MIB, id="brackets"),
        pytest.param(LINK + b'<a href="' + b"/a" * MIB + b'">', id="long link"),
    ],
)
async def test_absurd_markup_is_read_in_bounded_time(body: bytes) -> None:
    assert "http://a.test/first" in urls(await read(body, HTML))


async def test_a_page_of_twenty_thousand_links_and_more_is_read_up_to_a_bound() -> None:
    body = b"".join(b'<a href="/%d">x</a>' % number for number in range(LINKS_MAX + 5000))
    assert len((await read(body, HTML)).links) == LINKS_MAX


# ---- charsets --------------------------------------------------------------------------------------------

CYRILLIC = '<title>Привет</title><a href="/next">дальше</a>'


@pytest.mark.parametrize(
    ("declared", "meta", "codec", "title"),
    [
        ("utf-8", "", "cp1251", None),  # a wrong header: nothing to read, and yet the links are there
        ("windows-1251", "", "cp1251", "Привет"),
        ("no-such-charset", "windows-1251", "cp1251", "Привет"),
        ("\x00\xff", "windows-1251", "cp1251", "Привет"),
        ("", "windows-1251", "cp1251", "Привет"),
        ("no-such-charset", "", "utf-8", "Привет"),
        ("no-such-charset", "neither-this", "utf-8", "Привет"),
    ],
)
async def test_links_are_found_whatever_the_charset_says(
    declared: str, meta: str, codec: str, title: str | None
) -> None:
    body = (f"<meta charset={meta}>" if meta else "").encode() + CYRILLIC.encode(codec)
    page = await read(body, f"Content-Type: text/html; charset={declared}".encode("latin-1"))
    assert urls(page) == ["http://a.test/next"]
    assert title is None or page.title == title


async def test_one_bad_byte_costs_one_character() -> None:
    page = await read("<p>größe ".encode() * 200_000 + b"\xfe<p>end", f"{HTML}; charset=utf-8")
    assert page.text.startswith("größe größe") and page.text.endswith("\ufffd end")


@pytest.mark.parametrize("charset", ["utf-7", "utf-32", "replacement", "unicode_escape", "rot13", "idna", "hex"])
@pytest.mark.parametrize("where", ["header", "meta"])
async def test_dangerous_charsets_are_not_obeyed(charset: str, where: str) -> None:
    body = b'+ADw-a href=+ACI-/evil+ACI-+AD4- \\x3ca href=/evil\\x3e <a href="/next">x</a>'
    if where == "meta":
        page = await read(b"<meta charset=%b>" % charset.encode() + body, HTML)
    else:
        page = await read(body, f"{HTML}; charset={charset}")
    assert urls(page) == ["http://a.test/next"]


# ---- types -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", [(), ("Content-Type:",), (HTML,), ("Content-Type: text/plain",)])
@pytest.mark.parametrize(
    "body",
    [b'%PDF-1.7 <a href="/evil">', b'PK\x03\x04 <a href="/evil">', b'\x89PNG\r\n\x1a\n <a href="/evil">'],
    ids=["pdf", "zip", "png"],
)
async def test_what_is_no_html_is_not_read_as_html(header: tuple[str, ...], body: bytes) -> None:
    page = await read(body, *header)
    assert page.media_type not in ("text/html", "text/plain") and page.links == []


@pytest.mark.parametrize("header", [(), ("Content-Type:",), ("Content-Type: application/octet-stream",)])
async def test_html_is_recognised_where_nobody_says_so(header: tuple[str, ...]) -> None:
    assert urls(await read(b'<!DOCTYPE html><a href="/next">x</a>', *header)) == ["http://a.test/next"]


@pytest.mark.parametrize(
    "declared",
    [
        "text/html;",
        "text/html ; charset=utf-8",
        "TEXT/HTML;CHARSET=UTF-8",
        'text/html; charset="utf-8"',
        "text/html; x=y; charset=utf-8; charset=cp1251",
        'text/html; x="a;b"; charset=utf-8',
        " text/html\t;charset=utf-8",
        "text/html;;;;",
        "text/html; charset",
    ],
)
async def test_odd_parameters_do_not_hide_the_media_type(declared: str) -> None:
    page = await read("<title>größe</title>".encode(), f"Content-Type: {declared}")
    assert (page.media_type, page.title) == ("text/html", "größe")


# ---- sitemaps --------------------------------------------------------------------------------------------


def urlset(*entries: str, before: str = "") -> bytes:
    locations = "".join(f"<url><loc>{entry}</loc></url>" for entry in entries)
    return f'<?xml version="1.0"?>{before}<urlset>{locations}</urlset>'.encode()


async def test_a_sitemap_expands_and_fetches_nothing(folder: Path) -> None:
    (folder / "secret").write_text("http://a.test/secret")
    names = [f"e{number}" for number in range(12)]
    laughs = '<!ENTITY e0 "ha">' + "".join(
        f'<!ENTITY {later} "{f"&{earlier};" * 10}">' for earlier, later in pairwise(names)
    )
    outside = f'<!ENTITY file SYSTEM "file://{folder}/secret"><!ENTITY net SYSTEM "http://127.0.0.1:4/">'
    include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file://{folder}/secret" parse="text"/>'
    body = urlset(
        "http://a.test/&e11;",
        "&file;",
        "&net;",
        include,
        "http://a.test/1",
        before=f"<!DOCTYPE u [{laughs}{outside}]>",
    )
    page = await read(body, XML)
    assert "http://a.test/1" in urls(page)
    assert not any("secret" in url or "ha" in url.rpartition("/")[2] for url in urls(page))
    assert len(page.links) <= 2


async def test_a_sitemap_is_read_up_to_its_limits() -> None:
    many = await read(urlset(*(f"http://a.test/{number}" for number in range(URLS_MAX + 1000))), XML)
    assert len(many.links) == URLS_MAX
    long = b"<urlset>" + b" " * BYTES_MAX + urlset("http://a.test/too-late")
    assert (await read(gzip.compress(long, 1), "Content-Type: application/gzip")).links == []


@pytest.mark.parametrize(
    "body",
    [
        b"<urlset><url><loc>http://a.test/1</loc></url><url><loc>http://a.te",
        b"\n\n  \xef\xbb\xbf<?xml version='1.0'?><urlset><url><loc>http://a.test/1</loc></url></urlset>",
        b"\xef\xbb\xbf<urlset><url><loc>http://a.test/1</loc></url></urlset>",
        b"<urlset xmlns='http://wrong.test/'><url><loc>http://a.test/1</loc></url></urlset>",
        b"<urlset><url><loc>http://a.test/1</loc></url><<<>>&&&</url></wrong>",
        b"<urlset><url><loc>http://a.test/1</loc></url>\x00\xff\xfe",
    ],
    ids=["cut", "blanks", "mark", "namespace", "garbage", "binary"],
)
async def test_urls_before_a_fault_in_a_sitemap_count(body: bytes) -> None:
    assert urls(await read(body, XML)) == ["http://a.test/1"]
