"""The native reader: the same results as html.py, byte for byte, and Python where it cannot be used."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from gossamer.process import html, native
from gossamer.process.processor import Processor
from gossamer.process.which_reader import FILE, SWITCH, why_python
from gossamer.records import Link, Page
from gossamer.url import canonical
from tests.cases import rows
from tests.fuzz import corpus
from tests.fuzz.debian_pages import body_of, pages_in
from tests.fuzz.run import mutated
from tests.fuzz.targets import Target
from tests.process.comparison import differences
from tests.process.documents import fetched

URL = "http://www.h.test/folder/page.html?x=1"
TYPES = (None, "text/html; charset=utf-8", "text/html; charset=windows-1251", "text/html; charset=utf-16le")
MORE = ("images", "scripts")


@pytest.fixture(scope="module")
def reader() -> native.Reader:
    found, why = native.loaded()
    if found is None:
        pytest.skip(why)
    return found


def test_where_rust_is_there_it_is_built_and_used() -> None:
    if (why := why_python()) and not ("CI" in os.environ and shutil.which("cargo") and SWITCH not in os.environ):
        pytest.skip(why)
    assert native.loaded()[1] == ""


def test_the_probe_is_read_by_the_reference_as_it_says() -> None:
    assert native.digest_of(html.process(native.PROBE.encode(), native.PROBE_URL)) == native.PROBE_DIGEST


def test_the_fuzzers_corpus_is_read_alike_in_every_encoding(reader: native.Reader) -> None:
    for body in corpus.HTML + corpus.public_cases()["html"] + corpus.TEXTS:
        for content_type in TYPES:
            assert differences(reader, body, URL, content_type, MORE) == [], body[:200]


def test_the_public_cases_are_read_alike(reader: native.Reader) -> None:
    for name in ("nutch_outlinks", "heritrix_extractor_html", "robots_meta_nutch_stormcrawler", "wpt_meta_refresh"):
        for row in rows(f"html/{name}"):
            body = str(row.get("html") or row.get("input") or f"<meta http-equiv=refresh content='{row}'>").encode()
            assert differences(reader, body, str(row.get("url") or URL), None, MORE) == [], row
    for row in rows("html/wpt_srcset"):
        assert differences(reader, f"<img srcset='{row}' alt=a>".encode(), URL, None, MORE) == [], row


def test_urls_are_resolved_alike(reader: native.Reader) -> None:
    hrefs = corpus.URLS + corpus.public_cases()["urls"]
    for base in (b"", b"<base href='//Other.test/a/b/../c?d'>", b"<base href='ftp://x.test/'>", b"<base href='?'>"):
        for href in hrefs:
            quoted = href.replace(b"&", b"&amp;").replace(b'"', b"&quot;")
            page = base + b'<link rel=canonical href="%b"><p><a rel="x NOFOLLOW" href="%b">a</a>' % (quoted, quoted)
            assert differences(reader, page, URL) == [], href


@pytest.mark.parametrize("large", [0, 40_000, 100_000])
def test_whatever_comes_is_read_alike(reader: native.Reader, large: int) -> None:
    """By chance: pages that are nearly right; in the larger ones tags are looked at as a tokenizer does."""
    chance = random.Random(large)
    target = Target(lambda body: None, corpus.HTML, corpus.HTML_WORDS)
    for number in range(60 if large else 400):
        body = mutated(chance.choice(corpus.HTML), target, chance)
        while len(body) < large:
            body += mutated(chance.choice(corpus.HTML), target, chance)
        content_type = TYPES[number % len(TYPES)]
        assert differences(reader, body, URL, content_type, MORE if number % 2 else ()) == [], body[:500]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "12:34 at 1,299.00 and 2026-11-16. 1. 2",
        "日本語のテキストです。ひらがなとカタカナ",
        "Ελληνικά ΚΕΙΜΕΝΟ ΤΕΛΟΣ ",
        "это русский текст о языке " * 20,
        "𨀤zё http 𝒜𝒷 ",
        "İstanbul ﬁne ǅ ß ſ K ",
        "word " * 9000,
        "x" * 70_000,
        "ä" * 40_000 + " " + "b " * 140_000,
        "\x1f \x1c\u2003\u3000\u00a0 a\u200bb\u2028c",
    ],
)
def test_texts_have_the_same_words_and_language(reader: native.Reader, text: str) -> None:
    for declared in ("", "en", "nb", "xx"):
        short, line = text[:200], text[:20]
        page = f"<html lang='{declared}'><p>{text}</p><pre>\n {short}\n</pre><p>{short}<br>{line}"
        assert differences(reader, page.encode(), URL) == []


# The first and the last of each length, what lies beside and is none, halves of surrogate pairs, and what is cut.
SEQUENCES = (
    "80 bf c0 c1bf c280 dfbf c2 c2c2 c27f e09fbf e0a080 e0a0 e0 ed9fbf eda080 edbfbf ee8080 efbfbf ef bfbf f08fbfbf "
    "f0908080 f09080 f090 f0 f48fbfbf f4908080 f3bfbfbf f5808080 f8808080 ff fe c380c3 e28080e280"
)


@pytest.mark.parametrize("sequence", SEQUENCES.split())
def test_what_is_utf_8_is_so_for_both(reader: native.Reader, sequence: str) -> None:
    """Wherever it stands among eight bytes that are looked at together, in text, in an attribute, and at the end."""
    odd = bytes.fromhex(sequence)
    for before in range(9):
        text = b"a" * before + odd + b"b" * (8 - before) + "ü und mehr".encode()
        page = b"<title>%b</title><p>%b <a href='/%b' rel='%b'>%b</a><p>%b" % ((text,) * 5 + (b"c" * before + odd,))
        for content_type in (None, "text/html; charset=utf-8"):
            assert differences(reader, page, URL, content_type) == [], page


def test_what_is_crawled_is_heard_of(reader: native.Reader) -> None:
    body = b"<a href='ftp://f.test/a'>a</a><a href='/b?mine=1&x=2&utm_source=z;jsessionid=3'>b</a>"
    canonical.choose(("http", "ftp"), dropped=("mine",), kept=("utm_*",))
    try:
        assert differences(reader, body, URL) == []
        assert [link.url for link in reader.read(body, URL).links] == [
            "ftp://f.test/a",
            "http://www.h.test/b?utm_source=z&x=2",
        ]
    finally:
        canonical.choose()
    assert [link.url for link in reader.read(body, URL).links] == ["http://www.h.test/b?mine=1&x=2"]


def test_what_the_archive_writes_of_links_is_written_alike(reader: native.Reader) -> None:
    signs = "".join(map(chr, (*range(1, 0x30), 0x5C, 0x7F, 0x80, 0x2028, 0x1F600)))
    body = f"<p><a href=/1>{signs}</a> <a href=/2 rel='{signs}x'></a> <a href=/3></a><footer><a href=/4>4".encode()
    assert differences(reader, body, URL, "text/html; charset=utf-8") == []
    page = reader.read(body, URL)
    assert page.written_links.count(b"outlink: ") == 4


def test_a_page_is_read_alike_whatever_was_read_before(reader: native.Reader) -> None:
    pages = (
        b"<p>w<table><tr>y",
        b"<!doctype html><p>w<table><tr>y",
        b"<base href=/x/><a href=a>a</a>",
        b"<a href=a>a</a>",
    )
    for body in (*pages, *reversed(pages)):
        assert differences(reader, body, URL) == [], body


def test_what_must_be_cut_is_cut_by_the_reference_and_read(reader: native.Reader) -> None:
    body = b"<p>before</p>" + b"<div>" * 30_000 + b"deep"
    assert differences(reader, body, URL) == []
    assert isinstance(reader.read(body, URL), native.ReadPage)


def test_queries_in_the_encoding_of_the_page_are_left_to_the_reference(reader: native.Reader) -> None:
    body = "<a href='/?q=жук'>жук</a>".encode("windows-1251")
    page = reader.read(body, URL, "text/html; charset=windows-1251")
    assert type(page) is Page
    assert [link.url for link in page.links] == ["http://www.h.test/?q=%E6%F3%EA"]


@pytest.mark.parametrize(
    ("markup", "has_scripts"),
    [
        ("<p>x<script>1</script>", True),
        ("<head><SCRIPT src=x></script>", True),
        ("<ul><li><a href=x><script type=application/json>1</script>", True),
        ("<svg><script>1</script></svg>", True),
        ("<p>script", False),
        ("<!-- <script> --><p>", False),
    ],
)
def test_scripts_are_noticed_where_there_are_any(reader: native.Reader, markup: str, has_scripts: bool) -> None:
    assert reader.read(markup.encode(), URL).has_scripts is has_scripts
    assert html.process(markup.encode(), URL).has_scripts is None  # it leaves that to others


def test_text_is_made_when_it_is_asked_for(reader: native.Reader) -> None:
    page = reader.read("<title>t</title><p>grün</p>".encode(), URL)
    assert isinstance(page, native.ReadPage)
    assert page.text_utf8 == "grün".encode()
    assert page.text is page.text
    long = "<title>t</title><p>" + "grün und " * 1000
    later = reader.read(long.encode(), URL)
    assert isinstance(later, native.ReadPage) and not later.text_utf8
    assert later.main_text == html.process(long.encode(), URL).main_text
    assert later.text == html.process(long.encode(), URL).text
    expected = html.process("<title>t</title><p>grün</p>".encode(), URL)
    assert page.plain() == replace(expected, simhash=page.simhash, words=page.words, sketch=page.sketch)


def test_pages_of_the_machines_documentation_are_read_alike(reader: native.Reader) -> None:
    pages = pages_in(Path("/usr/share/doc"))
    for path in pages[:: max(1, len(pages) // 100)]:
        assert differences(reader, body_of(path), URL, None, MORE) == [], path


async def test_the_processor_reads_with_it(reader: native.Reader) -> None:
    processor = Processor()
    page = await processor.process(URL, fetched(b"<p>some words that are counted", "Content-Type: text/html"))
    await processor.close()
    assert isinstance(page, native.ReadPage) and page.words == 5


@pytest.mark.parametrize("value", ["off", "0"])
def test_a_switch_turns_it_off(value: str) -> None:
    code = "from gossamer.process import native; print(native.loaded())"
    environment = {SWITCH: value, "PYTHONPATH": ":".join(sys.path)}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == f"(None, '{SWITCH}={value}')\n"


def test_a_library_that_does_not_fit_is_a_reason_and_no_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = folder / FILE.name
    broken.write_bytes(b"not a library")
    monkeypatch.setattr(native, "FILE", broken)
    monkeypatch.setattr(native, "why_python", str)
    native.loaded.cache_clear()
    try:
        found, why = native.loaded()
    finally:
        native.loaded.cache_clear()
    assert found is None and why.startswith("the native reader cannot be used: ")


def test_a_library_that_does_not_tell_links_apart_is_not_used() -> None:
    link = Link("http://www.h.test/1")
    assert not native.has_all_links(native.ReadPage(URL, links=[link]))
    packed = msgspec.Raw(msgspec.msgpack.encode([link]))
    assert native.has_all_links(native.ReadPage(URL, packed_links=packed, link_count=1, other_links=[link]))
