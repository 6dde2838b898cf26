from __future__ import annotations

import gzip
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.interfaces import Process
from gossamer.interfaces import Processor as AnyProcessor
from gossamer.process import media_types, sniffing
from gossamer.process.media_types import Reader
from gossamer.process.processor import Processor
from gossamer.process.sniffing import media_type_of
from gossamer.records import Page
from gossamer.settings import ProcessSettings
from gossamer.url.canonical import choose
from tests.process.documents import fetched

URL = "http://a.test/x"


async def page(body: bytes, *headers: str) -> Page:
    processor: AnyProcessor = Processor()  # nothing here is read in the sandbox
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
        ("text/xml", b"<?xml version='1.0'?><rss version='2.0'>", "application/rss+xml"),
        ("text/html", b"<feed xmlns='http://www.w3.org/2005/Atom'>", "application/atom+xml"),
        ("application/xml", b"<rdf:RDF>", "application/rdf+xml"),
        ("text/xml", b"<svg>", "image/svg+xml"),
        ("text/xml", b"<!DOCTYPE svg PUBLIC 'a' 'b'>\n<svg>", "image/svg+xml"),
        ("image/png", b"GIF89a", "image/gif"),
        (None, b"RIFF\1\2\3\4WEBPVP8 ", "image/webp"),
        (None, b"BM is a text", "text/plain"),
        ("application/x-own", b"%PDF-1.7", "application/x-own"),
        ("application/x-own", b"<html>", "text/html"),
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
    assert await page(b"PK\x03\x04", "Content-Type: application/zip") == Page(URL, media_type="application/zip")
    assert await page(b"", "Content-Type: text/html") == Page(URL, media_type="text/html")


def reads_html(monkeypatch: pytest.MonkeyPatch, process: Process) -> Processor:
    monkeypatch.setitem(media_types.TYPES, "text/html", Reader(process))
    return Processor()


async def test_a_body_that_a_parser_gives_up_on_is_an_empty_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(body: bytes, url: str, content_type: str | None) -> Page:
        body.decode("ascii")
        return Page(url, text="read")

    processor = reads_html(monkeypatch, gives_up)
    found = await processor.process(URL, fetched(b"\xff", "Content-Type: text/html"))
    assert found.fault.startswith("it cannot be read: 'ascii' codec")
    assert replace(found, fault="") == Page(URL, media_type="text/html")


async def test_a_bug_of_ours_costs_its_page_and_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_wrong(body: bytes, url: str, content_type: str | None) -> Page:
        raise KeyError("a bug")

    found = await reads_html(monkeypatch, is_wrong).process(URL, fetched(b"x", "Content-Type: text/html"))
    assert re.fullmatch(r"a bug in test_processor\.py, line \d+: KeyError: 'a bug'", found.fault)
    monkeypatch.setattr(sniffing, "_head", is_wrong)
    found = await Processor().process(URL, fetched(b"x", "Content-Type: text/html"))
    assert found.url == URL and "a bug in sniffing.py" in found.fault


async def test_a_page_is_watched_while_it_is_read_here_and_not_while_it_is_read_in_the_sandbox() -> None:
    told: list[str] = []

    @contextmanager
    def watched() -> Iterator[None]:
        told.append("reading")
        yield
        told.append("read")

    processor = Processor(process=ProcessSettings(aside_bytes=1024))
    small, large = fetched(b"<p>x", "Content-Type: text/html"), fetched(b"<p>" + b"x" * 4096)
    assert (await processor.process(URL, small, watched)).text == "x"
    assert told == ["reading", "read"]
    assert (await processor.process(URL, large, watched)).text == "x" * 4096
    assert told == ["reading", "read"]
    await processor.close()


@pytest.fixture
def without_b() -> Iterator[None]:
    choose(dropped=("b",))
    yield
    choose()


@pytest.mark.usefixtures("without_b")
async def test_what_is_read_in_the_sandbox_is_read_as_here() -> None:
    body = b"""<html><head><title>T</title><meta name="otherbot" content="noindex"><link rel=canonical href=/c></head>
        <body><nav><a href="/n?b=2">N</a></nav><p><a href=/p>A page about links</a><img src=/i.png>"""
    body += b"<p>Some words that make it long enough. " * 150
    headers = ("Content-Type: text/html", "X-Robots-Tag: otherbot: nofollow", "Refresh: 0; url=/r")
    pages = []
    for aside_bytes in (1024, 10_000):
        settings = ProcessSettings(aside_bytes=aside_bytes, links_from=("images",))
        processor = Processor("otherbot", settings, parameters_dropped=("b",))
        pages.append(await processor.process(URL, fetched(body, *headers)))
        await processor.close()
    assert pages[0] == pages[1].plain()
    assert pages[0].noindex and pages[0].nofollow
    assert {link.url: link.rel for link in pages[0].links} == {
        "http://a.test/c": "canonical",
        "http://a.test/n": "",
        "http://a.test/p": "",
        "http://a.test/i.png": "image",
        "http://a.test/r": "refresh",
    }


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
        (("X-Robots-Tag: unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, nofollow",), False, True),
        (("X-Robots-Tag: otherbot: unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, none",), False, False),
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


@pytest.mark.parametrize(
    ("header", "noarchive"),
    [("noarchive", True), ("none", False), ("gossamer: noarchive", True), ("otherbot: noarchive", False)],
)
async def test_a_header_may_ask_for_no_copies(header: str, noarchive: bool) -> None:
    assert (await page(b"x", "Content-Type: text/plain", f"X-Robots-Tag: {header}")).noarchive == noarchive


# ---- nothing is loaded -----------------------------------------------------------------------------------

LAUGHS = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(11))


@pytest.mark.parametrize(
    ("media_type", "markup"),
    [
        ("application/xml", "<urlset><url><loc>http://a.test/{text}</loc></url>{rest}</urlset>"),
        ("application/rss+xml", "<rss><channel><title>{text}</title>{rest}</channel></rss>"),
        ("application/atom+xml", "<feed><title>{text}</title><entry><link href='{text}'/>{rest}</entry></feed>"),
        ("image/svg+xml", "<svg width='{text}' height='1'><title>{text}</title>{rest}</svg>"),
        ("application/xhtml+xml", "<html><head><title>{text}</title></head><body>{text}{rest}</body></html>"),
    ],
)
async def test_nothing_is_expanded_or_loaded_whatever_a_document_says(
    media_type: str, markup: str, folder: Path
) -> None:
    (folder / "secret").write_text("secret")
    server = socket.create_server(("127.0.0.1", 0))
    here = f"http://127.0.0.1:{server.getsockname()[1]}"
    outside = f"""<!ENTITY file SYSTEM "file://{folder}/secret"><!ENTITY net SYSTEM "{here}/entity">
        <!ENTITY % dtd SYSTEM "{here}/parameter"> %dtd;"""
    rest = f"""<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{here}/include" parse="text"/>
        <script src="{here}/script"/><img src="{here}/image"/><image href="{here}/svg"/>
        <style>@import "{here}/css"</style>"""
    text = (
        f'<?xml version="1.0"?><?xml-stylesheet href="{here}/style"?>'
        f'<!DOCTYPE x SYSTEM "{here}/dtd" [{LAUGHS}{outside}]>' + markup.format(text="&a11;&file;&net;", rest=rest)
    )
    for settings in (ProcessSettings(), ProcessSettings(aside_bytes=1024)):
        processor = Processor(process=settings)
        page = await processor.process(URL, fetched(text.encode(), f"Content-Type: {media_type}"))
        await processor.close()
        assert page.media_type == media_type
        assert "secret" not in repr(page) and "haha" not in repr(page)
    server.setblocking(False)
    with server, pytest.raises(BlockingIOError):  # nobody has come
        server.accept()


ENDLESS = """
import asyncio, re
import gossamer.process.processor as p
from gossamer.process.media_types import processes
from tests.process.documents import fetched

@processes("text/x-endless")
def endless(body, url, content_type):
    re.match(r"(a*)*b", "a" * 100)  # in C, and Python is not asked before its end

p.TIME_HERE_S_MAX = 0.2
asyncio.run(p.Processor(may_die=True).process("http://a.test/", fetched(b"x", "Content-Type: text/x-endless")))
"""


def test_a_page_that_is_read_here_and_never_ends_ends_its_worker_by_the_clock() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDLESS], timeout=60, check=False)
    assert ended.returncode == -signal.SIGVTALRM
