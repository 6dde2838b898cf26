"""Bytes to text: which encoding a body is in, and what becomes of plain text.

The order is that of the HTML standard: a byte-order mark, then the charset of the Content-Type header, then what
the document says of itself in its first 1,024 bytes, then UTF-8 if it is, then what it looks like
(encoding.py). Labels mean what browsers take them to mean (the Encoding standard): a page that says iso-8859-1 is
windows-1252, one that says gb2312 is gb18030. Labels are looked up in our own table and never handed to Python as
they are, since Python also knows codecs such as utf-7 and unicode_escape that no page may choose.

Any bytes give a text: what cannot be decoded becomes U+FFFD.
"""

from __future__ import annotations

import re

from gossamer.process.encoding import CODEC_OF_LABEL, JAPANESE_IN_ASCII, detect, is_japanese_in_ascii
from gossamer.records import Page, Url

PRESCAN_BYTES = 1024  # where the HTML standard stops looking for a declaration

_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_DECLARATION = re.compile(
    rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([^\s\"';/>]+)|<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([^\"'>]+)",
    re.IGNORECASE,
)


def process(body: bytes, url: Url, content_type: str | None = None) -> Page:
    """Plain text holds no links: a URL that somebody wrote down is not an invitation to go there."""
    text, _ = decode(body, content_type)
    return Page(url, media_type="text/plain", text=fold(text))


def fold(text: str) -> str:
    """Every run of white space, line ends and no-break spaces among it, becomes one space."""
    return " ".join(text.split())


def decode(body: bytes, content_type: str | None = None) -> tuple[str, str]:
    """The text of a body and the codec it was in."""
    return _read(*declared(body, content_type))


def as_utf8(body: bytes, content_type: str | None = None) -> tuple[bytes, str]:
    """A body in UTF-8, and the codec it was in. What says that it is UTF-8 already is believed: to look through it
    would take a quarter of the time of parsing, and what is wrong in there becomes U+FFFD when it is read."""
    body, codec = declared(body, content_type)
    if codec == "utf-8":
        return body, codec
    text, codec = _read(body, codec)
    return body if codec == "utf-8" else text.encode(), codec


def declared(body: bytes, content_type: str | None) -> tuple[bytes, str | None]:
    """A body without its byte-order mark, and the codec that it is said to be in."""
    for mark, codec in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body[len(mark) :], codec
    return body, _codec_in_header(content_type) or _codec_in_document(body)


def _read(body: bytes, codec: str | None) -> tuple[str, str]:
    if codec is not None:
        return body.decode(codec, "replace"), codec
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        codec = detect(body)
        return body.decode(codec, "replace"), codec
    if "\x1b" in text and is_japanese_in_ascii(body):
        return body.decode(JAPANESE_IN_ASCII, "replace"), JAPANESE_IN_ASCII
    return text, "utf-8"


def _codec_in_header(content_type: str | None) -> str | None:
    charset = _CHARSET.search(content_type or "")
    return CODEC_OF_LABEL.get(charset[1].lower()) if charset else None


def _codec_in_document(body: bytes) -> str | None:
    head = body[:PRESCAN_BYTES]
    if b"<!--" in head:
        head = _COMMENT.sub(b"", head)
    declaration = _DECLARATION.search(head)
    if declaration is None:
        return None
    label = (declaration[1] or declaration[2]).decode("latin-1").strip().lower()
    codec = CODEC_OF_LABEL.get(label)
    # The declaration was just read as ASCII, so it cannot be in the UTF-16 that it claims.
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec
