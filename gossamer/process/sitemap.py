"""Sitemaps to links: urlset and sitemapindex, RSS and Atom, plain lists, each maybe gzipped, often broken.

Real sitemaps are cut off, badly escaped, in the wrong namespace or mislabelled, and a strict parser throws all of
that away. So the bytes decide what they are, not the media type, and XML is read by a scanner of our own that
knows tags, text, CDATA and comments and nothing else. It expands no entities beyond the five of XML and loads
nothing, hence there is nothing to attack. An entry counts once its URL has been read to the end.

Bounded as sitemaps.org demands: 50,000 URLs and 50 MiB, counted after decompression.
Entries of an index come with rel `sitemap`. Which hosts a sitemap may speak for is a question for the door.
"""

from __future__ import annotations

import itertools
import re
import zlib
from typing import NamedTuple

from gossamer.process.links import Links
from gossamer.process.text import decode
from gossamer.records import Page, Url

URLS_MAX = 50_000
BYTES_MAX = 50 * 1024 * 1024
SITEMAP = "sitemap"  # rel of a link to another sitemap

GZIP = b"\x1f\x8b"
GZIP_MEMBERS_MAX = 100  # gzip files may be joined; each member costs a copy of all that follow

# The entries of a file by the name of its root, and the rel of their links.
_KINDS = {
    "urlset": {"url": "", "sitemap": SITEMAP},  # also for any other root: many get the name wrong
    "rss": {"item": ""},
    "rdf": {"item": ""},
    "feed": {"entry": ""},
}
# What an entry says about itself, by the names of its elements in all formats. The guid of RSS is often an
# address too, and sometimes the only one.
_PARTS = {
    "loc": "address",
    "link": "address",
    "guid": "fallback",
    "lastmod": "date",
    "pubdate": "date",
    "updated": "date",
}

_TOKEN = re.compile(
    r"<(/?)(?:([^\s<>/:!?]+):)?([^\s<>/:!?]+)([^<>]*)>"  # a tag: end, prefix, name, attributes
    r"|<!--.*?(?:-->|\Z)"
    r"|<!\[CDATA\[(.*?)(?:\]\]>|\Z)"
    r"|<[!?][^>]*(?:>|\Z)"
    r"|<",  # a tag that was cut off
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""\b(href|rel)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ADDRESS = re.compile(r"(?:https?:/)?/\S", re.IGNORECASE)
_BARE = re.compile(r"www\.\S", re.IGNORECASE)
_LINE = re.compile(r"^[ \t]*((?:https?://|www\.)\S+)[ \t]*$", re.IGNORECASE | re.MULTILINE)


class Entry(NamedTuple):
    address: str
    rel: str
    lastmod: str | None


def process(body: bytes, url: Url, content_type: str | None = None) -> Page:
    is_gzip = body.startswith(GZIP)
    text, _ = decode(decompressed(body)[:BYTES_MAX], None if is_gzip else content_type)
    text = text.lstrip("\ufeff \t\r\n")
    is_xml = text.startswith("<")
    links = Links(url)
    for entry in _entries_of_xml(text) if is_xml else _entries_of_list(text):
        # An address without its scheme is not a relative one. Relative ones are not allowed, yet /page does occur.
        if _BARE.match(entry.address):
            links.add(f"http://{entry.address}", "", entry.rel, entry.lastmod)
        elif _ADDRESS.match(entry.address):
            links.add(entry.address, "", entry.rel, entry.lastmod)
        if len(links) >= URLS_MAX:
            break
    return Page(url, media_type="application/xml" if is_xml else "text/plain", links=list(links))


def decompressed(body: bytes) -> bytes:
    """The first 50 MiB of what was gzipped, or as much as there is where it was cut off; other bytes as they are."""
    pieces: list[bytes] = []
    room = BYTES_MAX
    while body.startswith(GZIP) and room > 0 and len(pieces) < GZIP_MEMBERS_MAX:
        inflater = zlib.decompressobj(wbits=31)
        try:
            pieces.append(inflater.decompress(body, room))
        except zlib.error:
            break
        room -= len(pieces[-1])
        body = inflater.unused_data
    return b"".join(pieces) if pieces else body


def _entries_of_list(text: str) -> list[Entry]:
    lines = itertools.islice(_LINE.finditer(text.replace("\r", "\n")), URLS_MAX)
    return [Entry(line[1], "", None) for line in lines]


def _entries_of_xml(text: str) -> list[Entry]:
    scan = _Scan()
    text_at = 0
    for token in _TOKEN.finditer(text):
        end, prefix, name, attributes, raw = token.groups()
        token_at = token.start()
        if scan.entry and token_at > text_at:
            scan.hear(_unescaped(text[text_at:token_at]))
        if scan.entry and raw:
            scan.hear(raw)
        text_at = token.end()
        if name is None:
            continue
        if end:
            scan.end(name.lower())
        else:
            scan.start(name.lower(), prefix or "", attributes)
        if len(scan.entries) >= URLS_MAX:
            break
    scan.finish()
    return scan.entries


class _Scan:
    """Where the scanner is: inside which entry, inside which of its fields, and what they have said so far.

    An element of another namespace than its entry's says nothing about it: <image:loc> is not the <loc>.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.entry = ""  # the name of the entry, empty between entries
        self._kinds: dict[str, str] | None = None  # of entries, by their names; None before the root
        self._prefix = ""  # of the entry
        self._field = ""  # its name, empty between fields
        self._nested = 0  # elements open inside the field
        self._heard: list[str] = []
        self._said: dict[str, str] = {}  # what each part of the entry said: address, fallback, date, bare

    def hear(self, text: str) -> None:
        self._heard.append(text)

    def start(self, name: str, prefix: str, attributes: str) -> None:
        if self._kinds is None:
            self._kinds = _KINDS.get(name, _KINDS["urlset"])
        is_field = bool(self.entry) and name in _PARTS and prefix == self._prefix
        if self._field and not is_field:
            self._nested += not attributes.endswith("/")
        elif is_field:
            self._end_field()
            self._start_field(name, attributes)
        elif name in self._kinds:
            self._complete()
            self.entry, self._prefix = name, prefix

    def end(self, name: str) -> None:
        if self._nested and name != self._field:
            self._nested -= 1
        elif name in (self._field, self.entry):
            self._end_field()
            if name == self.entry:
                self._complete()

    def finish(self) -> None:
        """The file has ended, maybe in the middle of a tag; an address before that tag is whole."""
        self._end_field()
        self._complete()

    def _start_field(self, name: str, attributes: str) -> None:
        if name == "link" and (href := _href(attributes)) is not None:
            self._said.setdefault("address", href)  # Atom: the first is the page
            return
        if name == "loc" and "address" in self._said:
            entry = self.entry  # a second <loc>: somebody forgot to close the first entry
            self._complete()
            self.entry = entry
        if not attributes.endswith("/"):
            self._field = name

    def _end_field(self) -> None:
        heard = "".join(self._heard).strip()
        if heard:
            # Text right inside an entry is its address where a <loc> was forgotten.
            self._said.setdefault(_PARTS.get(self._field, "bare"), heard)
        self._heard.clear()
        self._field, self._nested = "", 0

    def _complete(self) -> None:
        said, self._said = self._said, {}
        address = said.get("address") or said.get("fallback") or said.get("bare")
        if self._kinds and self.entry and address:
            self.entries.append(Entry(address, self._kinds[self.entry], said.get("date")))
        self.entry = ""


def _href(attributes: str) -> str | None:
    """Where an Atom link leads, if it leads to the page itself."""
    found = {name.lower(): double or single for name, double, single in _ATTRIBUTE.findall(attributes)}
    if found.get("rel", "alternate") != "alternate" or "href" not in found:
        return None
    return _unescaped(found["href"])


def _unescaped(text: str) -> str:
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    if entity[3]:
        return _ENTITIES[entity[3]]
    code = int(entity[1]) if entity[1] else int(entity[2], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
