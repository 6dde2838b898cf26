"""What fuzzing starts from: small documents of every kind, and words that mean something in them.

Mutations of documents that are nearly right get further into a parser than noise does. The public cases come on top
where they are (tests/cases.py); what is here is enough without them.
"""

from __future__ import annotations

import gzip
import json
import os
import struct
import zlib
from pathlib import Path

from tests.cases import ROOT
from tests.process.documents import pdf_of

HTML = [
    b"""<!doctype html><html lang=de><head><meta charset=iso-8859-1><title>A &amp; B</title><base href="/x/">
    <meta name=robots content="noindex, nofollow"><meta http-equiv=refresh content="5; url='next.html'">
    <meta name=description content="about"><link rel=canonical href=?a=1><link rel=alternate hreflang=en href=/en>
    <nav><ul><li><a href=/a>Home</a><li><a href="/b?x=1&y=2#z" rel="nofollow ugc">more</a></ul></nav>
    <main><h1>Title</h1><p>H<sub>2</sub>O is &#119;ater.<a href="../c/%7Ed">a <b>bold</b> link</a><img alt=pic>
    <table><tr><td>1<td>2</table><img srcset="a.png 1x, b.png 2x"><iframe src="f.html"></iframe></main>
    <footer><a href="//other.test/">imprint</a><map><area href=area.html alt=area></map></footer>""",
    b"<frameset cols=1,2><frame src=a><frame src=b></frameset><noscript><a href=n>n</a></noscript>",
    b"<template><a href=t>t</a></template><svg><title>s</title><a xlink:href=u>u</a></svg><math><mi>x</math>",
    b"<script>var a = '<a href=s>';</script><style>a{}</style><textarea><a href=x></textarea><select><option>o",
    b"<!-- a -- b --><![CDATA[ x ]]><?php echo 1 ?><a href='java\nscript:1'>j</a><plaintext><a href=p>",
    "<p>Ärger über Öl: 漢字 العربية 🕷</p>".encode("utf-16"),
    "<meta charset=shift_jis><a href='?q=漢字'>漢字</a>".encode("shift_jis"),
    b"<b><i><p></b></i>" * 20 + b"<a><table><a><table>" * 10 + b"<font>" * 30,
]
HTML_WORDS = (
    b"<a href= <p> </p> <table> <tr> <td> <b> </b> <font> <svg> <math> <template> <script> </script> <style> <title> "
    b"<!-- --> <![CDATA[ ]]> <base href= <meta charset=utf-16> <meta http-equiv=refresh content=0;url= <frameset> "
    b"<select> <option> <plaintext> <noscript> <main> <nav> <footer> <article> <aside> <h1> rel=nofollow srcset= "
    b"&amp; &# &#x110000; &#0; &nbsp &nGt; ' \" = < > / \0 \xff \xfe\xff \xef\xbb\xbf \xc3 \xed\xa0\x80 %00 // ../ ?"
).split(b" ")

SITEMAPS = [
    b"""<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
    xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>http://h.test/a?b=1&amp;c=2</loc>
    <lastmod>2026-11-16</lastmod><image:image><image:loc>/i.png</image:loc></image:image></url>
    <url><loc><![CDATA[http://h.test/b]]></loc><xhtml:link rel="alternate" hreflang="de" href="http://h.test/de"/></url>
    </urlset>""",
    b"<sitemapindex><sitemap><loc>http://h.test/1.xml.gz</loc><lastmod>x</lastmod></sitemap></sitemapindex>",
    b"http://h.test/1\nhttp://h.test/2\r\n# no\n  http://h.test/3  ",
    b"""<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>
    <urlset><url><loc>http://h.test/&c;&f;</loc></url></urlset>""",
]
FEEDS = [
    b"""<rss version="2.0"><channel><title>T</title><link>http://h.test/</link><description>D &lt;b&gt;</description>
    <item><title>One</title><link>http://h.test/1</link><pubDate>Mon, 16 Nov 2026 01:00:00 GMT</pubDate>
    <description><![CDATA[<p>text <a href="/x">x</a>]]></description><guid isPermaLink="true">http://h.test/g</guid>
    <enclosure url="http://h.test/a.mp3"/></item></channel></rss>""",
    b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://h.test/b/"><title type="html">T</title>
    <link rel="self" href="f"/><entry><title>E</title><link href="e"/><updated>2026-11-16T01:00:00Z</updated>
    <summary>s</summary><content type="xhtml"><div><a href="y">y</a></div></content></entry></feed>""",
    b'<rdf:RDF xmlns:rdf="x" xmlns="http://purl.org/rss/1.0/"><item><link>http://h.test/r</link></item></rdf:RDF>',
]
XML_WORDS = (
    b"<url> </url> <loc> </loc> <sitemap> <urlset> <item> <entry> <link> <link/> href= <![CDATA[ ]]> <!-- --> <?xml "
    b"<!DOCTYPE <!ENTITY &a; &amp; &lt; &#10; &#x0; < > / = ' \" xmlns:x= \0 \xff \xff\xfe \xef\xbb\xbf \x1f\x8b http://"
).split(b" ")

ROBOTS = [
    b"User-agent: *\nDisallow: /a/*.html$\nAllow: /a/b\nCrawl-delay: 1.5\nSitemap: http://h.test/s.xml\n",
    b"\xef\xbb\xbfuser-agent: gossamer\nuser agent: other # x\ndisallow:/\nallow: /%7Ea/%2F*\xc3\xa4\rCrawl-delay: 9",
    b"<html><title>404</title>\rUser-agent: gossamer\rDisallow: *****************a$\rDisallow: /"
    + b"a*" * 60
    + b"b$",
]
ROBOTS_WORDS = (
    b"User-agent: Disallow: Allow: Crawl-delay: Sitemap: gossamer * $ # / %2F %zz \r \n \0 \xff : 1e308".split(b" ")
)

URLS = [
    b"http://h.test/a/b/../c;jsessionid=1/d.html?b=2&a=1&utm_source=x&sid=0123456789abcdef#f",
    b"https://user:pw@b\xc3\xbccher.example:443/%7e%2e%2e/%zz?q=%c3%a4+b&&=&c",
    b"//[::1]:80/2031/05/calendar?year=2031&month=5&next=http%3A%2F%2Fh.test%2525252525",
    b"../../x/./y/x/y/x/y/x/y?a=1&a=2&a=3&a=4#",
    b"http://0x7f.1/",
    b"mailto:a@b.test",
]
URL_WORDS = (
    b"http:// https:// // / ./ ../ ? & = # ; : @ % %2e %41 %25 %% . .. + ~ [::1] xn-- 1.2.3.4 :80 utm_ sid= "
    b";jsessionid= \\ \t \n \xc3\xa9 \xe3\x80\x82 \xff 2031/05/ calendar month= a/b/a/b/a/b/"
).split(b" ")

HEADS = [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Robots-Tag: gossamer: noindex, nofollow\r\n"
    b'X-Robots-Tag: unavailable_after: Fri, 25 Jun 2010 15:00:00 PST\r\nRefresh: 5; url=/x\r\nETag: W/"1"\r\n\r\n',
    b"HTTP/1.1 503 No\r\nRetry-After: Mon, 16 Nov 2026 01:00:00 GMT\r\nLast-Modified: x\r\n\r\n",
]
HEAD_WORDS = (
    b"Retry-After: Refresh: X-Robots-Tag: Content-Type: charset= none : , ; = ' \" \r\n \n 99999999999999999999 "
    b"GMT -0000 +9999 Mon, 31 Feb 0000 24:61:61 url= \xff \0 text/html image/png multipart/x boundary="
).split(b" ")


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 7, 5, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IEND", b"")


IMAGES = [
    _png(),
    b"GIF89a\x07\x00\x05\x00\x80\x00\x00",
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xc0\x00\x11\x08\x00\x05\x00\x07\x03",
    b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x06\x00\x01\x00",
    b"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x07\x00\x00\x00\x05\x00\x00\x00",
    b"<svg xmlns='http://www.w3.org/2000/svg' width='7px' height='5' viewBox='0 0 7 5'><rect/></svg>",
]
IMAGE_WORDS = [
    b"\xff\xd8",
    b"\xff\xc0",
    b"\xff\xff",
    b"\0\0\0\0",
    b"\x7f\xff\xff\xff",
    b"VP8X",
    b"IHDR",
    b"width='1e999'",
]

TEXTS = ["plain text, Ärger, 漢字\n".encode(name) for name in ("utf-8", "utf-16", "latin-1", "gb18030")[:2]] + [
    "漢字かな交じり文".encode("euc-jp"),
    "Привет, мир".encode("koi8-r"),
    b"\x1b$B4A;z\x1b(B",
]

PDFS = [pdf_of([b"one", b"two"], title=b"T", address=b"http://h.test/a")]
PDF_WORDS = (
    b"obj endobj stream endstream << >> [ ] /Kids /Count /Length /Filter /FlateDecode /URI 0 R 99999999 -1 ( )".split(
        b" "
    )
)


def public_cases() -> dict[str, list[bytes]]:
    """Documents of the public cases, by kind; nothing where they are not there."""
    folder = Path(os.environ.get("GOSSAMER_CASES") or ROOT.parent / "shared" / "cases")
    found: dict[str, list[bytes]] = {"html": [], "sitemaps": [], "robots": [], "urls": []}
    for kind, name, field in (
        ("html", "html/nutch_outlinks", "html"),
        ("html", "html/heritrix_extractor_html", "html"),
        ("robots", "robots/google_spec_test", "robots_txt"),
        ("urls", "urls/wpt_urltestdata", "input"),
    ):
        path = folder / f"{name}.jsonl"
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            values = (json.loads(line).get(field) for line in lines if line)
            found[kind] += [value.encode("utf-8", "replace") for value in values if isinstance(value, str)]
    for path in sorted((folder / "sitemaps" / "files").glob("*")):
        found["sitemaps"].append(path.read_bytes()[:100_000])
    return found


def packed(documents: list[bytes]) -> list[bytes]:
    return [gzip.compress(document, mtime=0) for document in documents]
