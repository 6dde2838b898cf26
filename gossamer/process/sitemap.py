"""Sitemaps to links: urlset and sitemapindex as XML, plain lists, each maybe gzipped, often broken.

The bytes decide what they are, not the media type; a feed that comes as a sitemap is read as a feed (`feed.py`). XML
is heard from a scanner that forgives nearly everything and loads nothing (`xml.py`). An entry counts once its URL has
been read to the end. What the extensions for news, pictures, videos and other languages say is not about the page.

Bounded as sitemaps.org demands: 50,000 URLs and 50 MiB, counted after decompression.
Entries of an index come with rel `sitemap`. Which hosts a sitemap may speak for is a question for the link filter.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from gossamer.process import feed, xml
from gossamer.process.links import Links
from gossamer.records import SITEMAP, Page, Url

URLS_MAX = 50_000
BYTES_MAX = xml.BYTES_MAX

_KINDS = {"url": "", "sitemap": SITEMAP}  # the names of entries and the rel of their links, under any root
_FIELDS = ("loc", "lastmod")

_ADDRESS = re.compile(r"(?:https?:/)?/\S", re.IGNORECASE)
_BARE = re.compile(r"www\.\S", re.IGNORECASE)
_LINE = re.compile(r"^[ \t]*((?:https?://|www\.)\S+)[ \t]*$", re.IGNORECASE | re.MULTILINE)


class Entry(NamedTuple):
    address: str
    rel: str
    lastmod: str | None


def process(body: bytes, url: Url, content_type: str | None = None) -> Page:
    text = xml.text_of(body, content_type)
    is_xml = text.startswith("<")
    if is_xml and feed.is_feed(text):
        return feed.read(text, url)
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


def _entries_of_list(text: str) -> list[Entry]:
    lines = itertools.islice(_LINE.finditer(text.replace("\r", "\n")), URLS_MAX)
    return [Entry(line[1], "", None) for line in lines]


def _entries_of_xml(text: str) -> list[Entry]:
    entries = _Entries()
    xml.scan(text, entries)
    entries.finish()
    return entries.found


class _Entries:
    """Where the scanner is: inside which entry, inside which of its fields, and what they have said so far.

    An element of another namespace than its entry's says nothing about it: <image:loc> is not the <loc>.
    """

    def __init__(self) -> None:
        self.found: list[Entry] = []
        self.is_done = False
        self._entry = ""  # the name of the entry, empty between entries
        self._prefix = ""  # of the entry
        self._field = ""  # its name, empty between fields
        self._nested = 0  # elements open inside the field, or between fields inside the entry
        self._heard: list[str] = []
        self._said: dict[str, str] = {}  # by field; "" is text right inside the entry

    def hear(self, text: str) -> None:
        if self._entry and (self._field or not self._nested):
            self._heard.append(text)

    def start(self, name: str, prefix: str, attributes: str) -> None:
        is_field = bool(self._entry) and name in _FIELDS and prefix == self._prefix
        if self._field and not is_field:
            self._nested += not attributes.endswith("/")
        elif is_field:
            self._end_field()
            self._start_field(name, attributes)
        elif name in _KINDS and not (self._entry and prefix != self._prefix):
            self._complete()
            self._entry, self._prefix = name, prefix
        elif self._entry:
            self._nested += not attributes.endswith("/")

    def end(self, name: str, prefix: str) -> None:
        is_ours = prefix == self._prefix
        if is_ours and name == self._field:
            self._end_field()
        elif is_ours and name == self._entry and not (self._field and self._nested):  # <loc><url>…</url></loc> occurs
            self._end_field()
            self._complete()
        elif self._nested:
            self._nested -= 1

    def finish(self) -> None:
        """The file has ended, maybe in the middle of a tag; an address before that tag is whole."""
        self._end_field()
        self._complete()

    def _start_field(self, name: str, attributes: str) -> None:
        if name == "loc" and "loc" in self._said:
            entry = self._entry  # a second <loc>: somebody forgot to close the first entry
            self._complete()
            self._entry = entry
        if not attributes.endswith("/"):
            self._field = name

    def _end_field(self) -> None:
        heard = "".join(self._heard).strip()
        if heard:
            self._said.setdefault(self._field, heard)
        self._heard.clear()
        self._field, self._nested = "", 0

    def _complete(self) -> None:
        said, self._said = self._said, {}
        address = said.get("loc") or said.get("")  # text right inside an entry, where <loc> was forgotten
        if self._entry and address:
            self.found.append(Entry(address, _KINDS[self._entry], said.get("lastmod")))
            self.is_done = len(self.found) >= URLS_MAX
        self._entry, self._nested = "", 0
