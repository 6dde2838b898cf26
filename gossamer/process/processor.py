"""Which processor reads this body: the table of media types, and what to do when a server names the wrong one.

A declared type is believed unless the first bytes plainly say otherwise: error pages are sent as JSON or pictures,
sitemaps as text/html, and many answers declare nothing at all. What no processor reads is a page without text and
links, and is archived like any other.

What the server says about robots in its headers (X-Robots-Tag) counts like the same words inside the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from msgspec.structs import replace
from selectolax.lexbor import SelectolaxError

from gossamer.interfaces import Process
from gossamer.process import html, sitemap, text
from gossamer.records import Fetched, Page, Url

HTML, XML, TEXT, UNKNOWN = "text/html", "application/xml", "text/plain", "application/octet-stream"
URI_LIST = "text/uri-list"  # RFC 2483; seldom declared, and the right name for a sitemap in plain text

TYPES: dict[str, Process] = {
    HTML: html.process,
    "application/xhtml+xml": html.process,
    XML: sitemap.process,
    "text/xml": sitemap.process,
    "application/rss+xml": sitemap.process,
    "application/atom+xml": sitemap.process,
    "application/rdf+xml": sitemap.process,
    URI_LIST: sitemap.process,
    TEXT: text.process,
}

# What the parsers raise for a body that they cannot read, and nothing else: any other exception is our own fault,
# and to stop there is safer than to crawl on with it.
UNREADABLE = (SelectolaxError, UnicodeError)

SNIFFED_BYTES = 1024

_PROLOGUE = re.compile(rb"(?:\xef\xbb\xbf|\s|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)  # may stand before the root
_HTML_ROOT = re.compile(rb"(?:<!doctype\s+html|<html)\b", re.IGNORECASE)
_SITEMAP_ROOT = re.compile(
    rb"(?:<!doctype\b[^\[>]*(?:\[.*?\]\s*)?>\s*)?<(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed|rdf)\b",
    re.IGNORECASE | re.DOTALL,
)
# Enough to call it HTML where nobody says what it is (WHATWG MIME Sniffing, 7.1).
_MAY_BE_HTML = re.compile(
    rb"<(?:head|body|title|meta|link|script|style|iframe|table|div|font|h1|p|a|b|br|!--)[\s/>]", re.IGNORECASE
)
_LIST_OF_URLS = re.compile(rb"(?:https?://\S+[ \t]*[\r\n]+)*https?://\S+\s*", re.IGNORECASE)
_NOT_IN_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SIGNATURES = {
    b"%PDF-": "application/pdf",
    b"\x89PNG": "image/png",
    b"GIF8": "image/gif",
    b"\xff\xd8\xff": "image/jpeg",
    b"PK\x03\x04": "application/zip",
    sitemap.GZIP: "application/gzip",
}
_SAYS_NOTHING = frozenset(("", UNKNOWN, "unknown/unknown", "application/unknown", "*/*"))

# Directives of X-Robots-Tag with a value of their own; any other word before a colon names a robot.
_WITH_VALUE = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))


class Processor:
    def __init__(self, types: Mapping[str, Process] = TYPES, agent: str = html.AGENT) -> None:
        self._types = types
        self._agent = agent.lower()

    async def process(self, url: Url, fetched: Fetched) -> Page:
        declared = fetched.exchange.header("Content-Type")
        body = fetched.body[:]
        media_type = media_type_of(declared, body)
        page = Page(url, media_type=media_type)
        read = self._types.get(media_type)
        if read is not None and body:
            with suppress(*UNREADABLE):  # the web's fault is a value: a page of which nothing could be read
                page = replace(read(body, url, declared), media_type=media_type)
        if (said := fetched.exchange.header("Refresh")) and (found := html.refresh(said)) and found[1]:
            page = replace(page, links=[*page.links, *html.refresh_link(found[1], url)])
        words = header_words(fetched.exchange.head, self._agent)
        if words:
            noindex = page.noindex or html.forbids(words, "noindex")
            nofollow = page.nofollow or html.forbids(words, "nofollow")
            page = replace(page, noindex=noindex, nofollow=nofollow)
        return page


def media_type_of(declared: str | None, body: bytes) -> str:
    """The media type of a body, by what was declared and by its first bytes."""
    media_type = (declared or "").partition(";")[0].strip().lower()
    head = _head(body)
    prologue = _PROLOGUE.match(head)
    root = head[prologue.end() :] if prologue else head
    if _SITEMAP_ROOT.match(root):
        return media_type if TYPES.get(media_type) is sitemap.process else XML
    if _HTML_ROOT.match(root):
        return media_type if TYPES.get(media_type) is html.process else HTML
    if media_type in _SAYS_NOTHING and _MAY_BE_HTML.match(root):
        return HTML
    is_text = media_type in _SAYS_NOTHING or media_type == TEXT or body.startswith(sitemap.GZIP)
    if is_text and _LIST_OF_URLS.fullmatch(root):
        return URI_LIST
    if media_type in _SAYS_NOTHING or media_type in TYPES:
        for signature, signed in _SIGNATURES.items():
            if body.startswith(signature):
                return signed
    if media_type in _SAYS_NOTHING:
        return UNKNOWN if _NOT_IN_TEXT.search(head) else TEXT
    return media_type


def _head(body: bytes) -> bytes:
    head = body[:SNIFFED_BYTES]
    if head.startswith(sitemap.GZIP):
        return sitemap.decompressed(head)[:SNIFFED_BYTES]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", "ignore").encode()
    return head


def header_words(head: bytes, agent: str) -> set[str]:
    """All that X-Robots-Tag asks of this agent: `noindex`, `otherbot: none`, `gossamer: nofollow, noindex`."""
    words: set[str] = set()
    for line in head.lower().split(b"\n"):
        if not line.startswith(b"x-robots-tag:"):
            continue
        is_for_us = True
        for item in line.decode("latin-1").partition(":")[2].split(","):
            name, colon, rest = item.partition(":")
            if colon and name.strip() in _WITH_VALUE:
                continue
            if colon:
                is_for_us = name.strip() == agent
            if is_for_us:
                words |= html.robots_words(rest if colon else item)
    return words
