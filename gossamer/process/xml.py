"""Just enough XML to read sitemaps, feeds and the root of a drawing, however broken, and not a bit more.

Real files are cut off, badly escaped, in the wrong namespace or mislabelled, and a strict parser throws all of that
away. So this is a scanner: it knows tags, text, CDATA and comments, tells a listener what it meets in the order of
the document, and never raises. Document types are skipped, no entity beyond the five of XML is expanded, and nothing
is ever loaded: there is nothing to attack.

Bounded before it starts: what was gzipped is unpacked to 50 MiB at most, the bound that sitemaps.org sets.
"""

from __future__ import annotations

import re
import zlib
from typing import Protocol

from gossamer.process.text import decode

BYTES_MAX = 50 * 1024 * 1024
GZIP = b"\x1f\x8b"
GZIP_MEMBERS_MAX = 100  # gzip files may be joined; each member costs a copy of all that follow

_TOKEN = re.compile(
    r"<(/?)(?:([^\s<>/:!?]++):)?([^\s<>/:!?]++)([^<>]*+)>"  # a tag: end, prefix, name, attributes
    r"|<!--.*?(?:-->|\Z)"
    r"|<!\[CDATA\[(.*?)(?:\]\]>|\Z)"
    r"|<[!?][^>]*(?:>|\Z)"
    r"|<",  # a tag that was cut off
    re.DOTALL,
)
# Nothing here goes back over what it has read: each would be quadratic for a tag that never ends.
_ATTRIBUTE = re.compile(r"""(?<![^\s"'=<>/])([^\s"'=<>/]++)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class Listener(Protocol):
    """What hears a document. Names are in small letters: many files get their case wrong, too."""

    is_done: bool  # it wants to hear no more

    def start(self, name: str, prefix: str, attributes: str) -> None:
        """`attributes` as they stand there; they end in `/` where the element is empty."""

    def end(self, name: str, prefix: str) -> None: ...
    def hear(self, text: str) -> None: ...


def scan(text: str, listener: Listener) -> None:
    text_at = 0
    for token in _TOKEN.finditer(text):
        end, prefix, name, attributes, raw = token.groups()
        token_at = token.start()
        if token_at > text_at:
            listener.hear(unescaped(text[text_at:token_at]))
        if raw:
            listener.hear(raw)
        text_at = token.end()
        if name is None:
            continue
        if end:
            listener.end(name.lower(), (prefix or "").lower())
        else:
            listener.start(name.lower(), (prefix or "").lower(), attributes)
        if listener.is_done:
            break


def root_of(text: str) -> tuple[str, str]:
    """The name of the first element, without its prefix, and its attributes."""
    for token in _TOKEN.finditer(text):
        if token[3] is not None and not token[1]:
            return token[3].lower(), token[4]
    return "", ""


def attributes_of(text: str) -> dict[str, str]:
    """The first of each name counts."""
    found: dict[str, str] = {}
    for name, double, single in _ATTRIBUTE.findall(text):
        found.setdefault(name.lower(), unescaped(double or single))
    return found


def unescaped(text: str) -> str:
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    if entity[3]:
        return _ENTITIES[entity[3]]
    code = int(entity[1]) if entity[1] else int(entity[2], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def text_of(body: bytes, content_type: str | None) -> str:
    """The text of a body, unpacked where it was gzipped; what is said of the encoding is then about the package."""
    if body.startswith(GZIP):
        body, content_type = decompressed(body), None
    return decode(body[:BYTES_MAX], content_type)[0].lstrip("\ufeff \t\r\n")


def decompressed(body: bytes, bytes_max: int = BYTES_MAX) -> bytes:
    """The beginning of what was gzipped, or as much as there is where it was cut off; other bytes as they are."""
    pieces: list[bytes] = []
    room = bytes_max
    while body.startswith(GZIP) and room > 0 and len(pieces) < GZIP_MEMBERS_MAX:
        inflater = zlib.decompressobj(wbits=31)
        try:
            pieces.append(inflater.decompress(body, room))
        except zlib.error:
            break
        room -= len(pieces[-1])
        body = inflater.unused_data
    return b"".join(pieces) if pieces else body
