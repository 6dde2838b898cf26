"""Feeds to links: RSS in all its versions, RSS 1.0 as RDF, and Atom. The newest pages of a site, with their dates.

An entry is a link: its title is the anchor, the day it was changed (or else published) its lastmod. What is attached
to an entry (enclosures, media) and the feed's own addresses (self, hub, edit) are not pages. The feed itself has a
title and a description; its text is what the entries say of themselves. HTML in titles and summaries, escaped or in
CDATA, becomes plain text, and its links are the page's business: the entry leads there.

Heard from the forgiving scanner of `xml.py`, so that broken feeds count as far as they go, and nothing is loaded.
"""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

from gossamer.process import xml
from gossamer.process.links import ANCHOR_CHARS_MAX, Links
from gossamer.process.text import fold
from gossamer.records import Page, Url

ENTRIES_MAX = 50_000
TITLE_CHARS_MAX = 1000
DESCRIPTION_CHARS_MAX = 5000

MEDIA_TYPES = {"rss": "application/rss+xml", "feed": "application/atom+xml", "rdf": "application/rdf+xml"}

_ENTRIES = ("item", "entry")
# What a feed or an entry says about itself, by the names of the elements in all formats. The guid of RSS is often
# an address too, and sometimes the only one.
_FIELDS = {
    "title": "title",
    "link": "address",
    "guid": "guid",
    "pubdate": "published",
    "published": "published",
    "issued": "published",
    "dc:date": "published",
    "updated": "updated",
    "modified": "updated",
    "lastmod": "updated",
    "description": "summary",
    "subtitle": "summary",
    "tagline": "summary",
    "summary": "summary",
}
# They have titles and links of their own, which are about something else. A copy of the whole page is not read.
_FIELDS |= dict.fromkeys(("image", "textinput", "source", "author", "content"), "")

_ADDRESS = re.compile(r"(?:https?:/)?/\S", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z!][^<>]*>")
# No character has a number of so many digits, and Python refuses to make an integer of more than 4,300.
_LONG_REFERENCE = re.compile(r"&#(?:[0-9]{9,}|[xX][0-9a-fA-F]{9,});?")


class Entry(NamedTuple):
    address: str
    title: str
    summary: str
    lastmod: str | None


def process(body: bytes, url: Url, content_type: str | None = None) -> Page:
    return read(xml.text_of(body, content_type), url)


def is_feed(text: str) -> bool:
    return xml.root_of(text)[0] in MEDIA_TYPES


def read(text: str, url: Url) -> Page:
    feed = _Feed()
    xml.scan(text, feed)
    feed.finish()
    links = Links(url)
    for entry in feed.entries:
        if entry.address:
            links.add(entry.address, entry.title[:ANCHOR_CHARS_MAX], "", entry.lastmod)
    return Page(
        url,
        media_type=MEDIA_TYPES.get(xml.root_of(text)[0], "application/xml"),
        title=_plain(feed.about.get("title", ""))[:TITLE_CHARS_MAX],
        description=_plain(feed.about.get("summary", ""))[:DESCRIPTION_CHARS_MAX],
        text=" ".join(piece for entry in feed.entries for piece in (entry.title, entry.summary) if piece),
        links=list(links),
    )


def _plain(text: str) -> str:
    """Without the HTML that many feeds have in their titles and summaries."""
    if "<" in text:
        text = _TAG.sub(" ", text)
    return fold(unescape(_LONG_REFERENCE.sub("\ufffd", text)) if "&" in text else text)


class _Feed:
    """Where the scanner is: in which entry or still before the first, in which field, and what was said so far.

    Elements of other namespaces than the feed's say nothing about an entry: <media:title> is a picture's.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.about: dict[str, str] = {}  # what the feed says of itself
        self.is_done = False
        self._prefixes: tuple[str, ...] | None = None  # of elements that count; None before the root
        self._is_in_entry = False
        self._field: tuple[str, str] | None = None  # the prefix and the name of the element that is being heard
        self._nested = 0  # elements of the same name inside it
        self._heard: list[str] = []
        self._said: dict[str, str] = {}

    def hear(self, text: str) -> None:
        if self._field:
            self._heard.append(text)

    def start(self, name: str, prefix: str, attributes: str) -> None:
        if self._prefixes is None:
            self._prefixes = ("", prefix)
        is_empty = attributes.endswith("/")
        counts = prefix in self._prefixes
        if counts and name in _ENTRIES:
            self._complete()
            self._is_in_entry = True
        elif self._field:
            self._nested += not is_empty and (prefix, name) == self._field
        elif counts and name == "link" and "href" in (given := xml.attributes_of(attributes)):
            if given.get("rel", "alternate").lower() == "alternate":
                self._say("address", given["href"])  # Atom: the first is the page
        elif not is_empty and ((counts and name in _FIELDS) or f"{prefix}:{name}" in _FIELDS):
            self._field = (prefix, name)

    def end(self, name: str, prefix: str) -> None:
        if (prefix, name) == self._field:
            if self._nested:
                self._nested -= 1
            else:
                self._end_field()
        elif name in _ENTRIES and self._prefixes and prefix in self._prefixes:
            self._complete()

    def finish(self) -> None:
        self._complete()

    def _end_field(self) -> None:
        if self._field:
            prefix, name = self._field
            meaning = _FIELDS.get(f"{prefix}:{name}") or _FIELDS.get(name)
            heard = "".join(self._heard).strip()
            # The address of RSS is text, and what is not one at all must not be taken for a relative one.
            if meaning and heard and (name not in ("link", "guid") or _ADDRESS.match(heard)):
                self._say(meaning, heard)
        self._heard.clear()
        self._field, self._nested = None, 0

    def _say(self, meaning: str, text: str) -> None:
        (self._said if self._is_in_entry else self.about).setdefault(meaning, text)

    def _complete(self) -> None:
        self._end_field()
        said, self._said = self._said, {}
        if self._is_in_entry and said:
            address = said.get("address") or said.get("guid") or ""
            title, summary = _plain(said.get("title", "")), _plain(said.get("summary", ""))
            self.entries.append(Entry(address, title, summary, said.get("updated") or said.get("published")))
            self.is_done = len(self.entries) >= ENTRIES_MAX
        self._is_in_entry = False
