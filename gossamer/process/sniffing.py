"""What a body is: by what the server declares, and by the first bytes where these plainly say otherwise.

Error pages are sent as JSON or pictures, sitemaps as text/html, and many answers declare nothing at all. So a
declared type is believed unless the beginning of the body has the signature or the root of something else. 1,024
bytes are looked at, about as many as browsers do; of a gzipped body, the first 1,024 that come out.
"""

from __future__ import annotations

import re
from collections.abc import Container

from gossamer.process import feed, image, xml

HTML, XHTML, XML, TEXT = "text/html", "application/xhtml+xml", "application/xml", "text/plain"
PDF, UNKNOWN = "application/pdf", "application/octet-stream"
URI_LIST = "text/uri-list"  # RFC 2483; seldom declared, and the right name for a sitemap in plain text

SNIFFED_BYTES = 1024

# The media type of a root, first, and others that may be declared for it.
_ROOTS = {
    "html": (HTML, XHTML),
    "urlset": (XML, "text/xml"),
    "sitemapindex": (XML, "text/xml"),
    "svg": (image.SVG,),
    **{root: (media_type,) for root, media_type in feed.MEDIA_TYPES.items()},
}
_SIGNATURES = {
    PDF: re.compile(rb"%PDF-"),
    **image.SIGNATURES,
    "application/zip": re.compile(rb"PK\x03\x04"),
    "application/gzip": re.compile(xml.GZIP),
}
# Declared types that a signature overrules; others, such as application/x-something, know better what they are.
_DOUBTED = frozenset(("", UNKNOWN, TEXT, URI_LIST, PDF, image.SVG, *image.SIGNATURES)).union(*_ROOTS.values())
_SAYS_NOTHING = frozenset(("", UNKNOWN, "unknown/unknown", "application/unknown", "*/*"))

_PROLOGUE = re.compile(rb"(?:\xef\xbb\xbf|\s|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)  # may stand before the root
_ROOT = re.compile(
    rb"(?:<!doctype\s+(html)\b|(?:<!doctype\b[^\[>]*(?:\[.*?\]\s*)?>\s*)?<(?:[\w.-]+:)?(%b)\b)"
    % "|".join(_ROOTS).encode(),
    re.IGNORECASE | re.DOTALL,
)
# Enough to call it HTML where nobody says what it is (WHATWG MIME Sniffing, 7.1).
_MAY_BE_HTML = re.compile(
    rb"<(?:head|body|title|meta|link|script|style|iframe|table|div|font|h1|p|a|b|br|!--)[\s/>]", re.IGNORECASE
)
_LIST_OF_URLS = re.compile(rb"(?:https?://\S+[ \t]*[\r\n]+)*https?://\S+\s*", re.IGNORECASE)
_NOT_IN_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def media_type_of(declared: str | None, body: bytes, believed: Container[str] = ()) -> str:
    """The media type of a body, of which the beginning is enough. `believed`: types not doubted where declared."""
    media_type = (declared or "").partition(";")[0].strip().lower()
    if media_type in believed:
        return media_type
    head = _head(body)
    prologue = _PROLOGUE.match(head)
    start = head[prologue.end() :] if prologue else head
    if found := _ROOT.match(start):
        named = _ROOTS[(found[1] or found[2]).decode().lower()]
        return media_type if media_type in named else named[0]
    if media_type in _SAYS_NOTHING and _MAY_BE_HTML.match(start):
        return HTML
    is_text = media_type in _SAYS_NOTHING or media_type == TEXT or body.startswith(xml.GZIP)
    if is_text and _LIST_OF_URLS.fullmatch(start):
        return URI_LIST
    if media_type in _SAYS_NOTHING or media_type in _DOUBTED:
        for signed, signature in _SIGNATURES.items():
            if signature.match(body):
                return signed
    if media_type in _SAYS_NOTHING:
        return UNKNOWN if _NOT_IN_TEXT.search(head) else TEXT
    return media_type


def _head(body: bytes) -> bytes:
    head = body[:SNIFFED_BYTES]
    if head.startswith(xml.GZIP):
        return xml.decompressed(head, SNIFFED_BYTES)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", "ignore").encode()
    return head
