"""Pictures: their format and size, from the header alone. No pixel is ever unpacked.

To add a type is one file like this one and one line in the table (`media_types.py`). Formats are told by their
signatures; a drawing (SVG) is told by its root. What a header says is not believed beyond its first `HEAD_BYTES`: in
photographs a preview and a colour profile may stand before the size, and they fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from struct import error as TooShort
from struct import unpack_from

from gossamer.process import xml
from gossamer.records import Page, Url

HEAD_BYTES = 256 * 1024
SIDE_MAX = 1 << 31  # larger is a joke

SIGNATURES = {
    "image/png": re.compile(rb"\x89PNG\r\n"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
    "image/bmp": re.compile(rb"BM....\0\0\0\0", re.DOTALL),
}
SVG = "image/svg+xml"

# Start of frame in a JPEG, of all kinds of compression; C4, C8 and CC are something else (ITU T.81, table B.1).
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD8)))
_LENGTH = re.compile(r"\s*\+?(\d+(?:\.\d+)?)\s*(px|pt|pc|mm|cm|in|q|)\s*", re.IGNORECASE)
_PIXELS = {"": 1, "px": 1, "pt": 96 / 72, "pc": 16, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "q": 96 / 101.6}

Size = tuple[int, int]


def process(body: bytes, url: Url, content_type: str | None = None) -> Page:
    head = body[:HEAD_BYTES]
    media_type = next((name for name, signature in SIGNATURES.items() if signature.match(head)), SVG)
    try:
        width, height = _READERS[media_type](head)
    except (TooShort, IndexError):
        width, height = 0, 0
    if not (0 < width < SIDE_MAX and 0 < height < SIDE_MAX):
        return Page(url, media_type=media_type, fault="the picture does not say how large it is")
    return Page(url, media_type=media_type, width=width, height=height)


def _png(head: bytes) -> Size:
    width, height = unpack_from(">II", head, 16)
    return width, height


def _gif(head: bytes) -> Size:
    width, height = unpack_from("<HH", head, 6)
    return width, height


def _bmp(head: bytes) -> Size:
    is_old = head[14] == 12
    width, height = unpack_from("<HH" if is_old else "<ii", head, 18)
    return width, abs(height)  # below zero: the rows start at the top


def _webp(head: bytes) -> Size:
    match head[12:16]:
        case b"VP8 ":
            width, height = unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = unpack_from("<I", head, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            sides = head[24:30]
            return int.from_bytes(sides[:3], "little") + 1, int.from_bytes(sides[3:], "little") + 1
    return 0, 0


def _jpeg(head: bytes) -> Size:
    at = 2
    while True:
        while head[at] != 0xFF:  # padding, or damage
            at += 1
        while head[at] == 0xFF:
            at += 1
        marker, at = head[at], at + 1
        if marker in _FRAMES:
            height, width = unpack_from(">HH", head, at + 3)
            return width, height
        if marker not in _WITHOUT_LENGTH:
            at += max(2, unpack_from(">H", head, at)[0])


def _svg(head: bytes) -> Size:
    name, attributes = xml.root_of(xml.text_of(head, None))
    said = xml.attributes_of(attributes)
    width, height = _pixels(said.get("width", "")), _pixels(said.get("height", ""))
    box = [_pixels(side) for side in said.get("viewbox", "").replace(",", " ").split()[2:]]
    if name != "svg" or (not (width and height) and len(box) != 2):
        return 0, 0
    return round(width or box[0]), round(height or box[1])


def _pixels(length: str) -> float:
    """CSS lengths; a share of the window is none."""
    found = _LENGTH.fullmatch(length[:40])
    return float(found[1]) * _PIXELS[found[2].lower()] if found else 0.0


_READERS: dict[str, Callable[[bytes], Size]] = {
    "image/png": _png,
    "image/gif": _gif,
    "image/jpeg": _jpeg,
    "image/webp": _webp,
    "image/bmp": _bmp,
    SVG: _svg,
}
