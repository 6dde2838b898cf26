"""The links of one page: resolved, canonical, in document order, and each URL once.

A page often links the same URL several times: a picture, a heading and "read more". The first anchor text that says
something is kept. If one of the occurrences may be followed, the link may be followed: a page that says both
means yes.

The links of a sitemap and of an HTML page are built here alike. Which of them the crawl takes is decided at the
door (`gossamer.url.filters`), not here; `rel` travels with each for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote_from_bytes

from gossamer.records import Link, Url
from gossamer.url.canonical import URL_CHARS_MAX, canonicalize
from gossamer.url.filters import is_nofollow

ANCHOR_CHARS_MAX = 200  # enough to tell what a link is about; a whole page inside one <a> does occur

# Half the links of the web are so plain that joining them to their page needs no parser (0.5 µs against 3 µs):
# parts of unreserved characters, none of them empty or starting with a dot. A test compares the two ways.
_PLAIN = re.compile(r"/?(?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*/)*(?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)?")

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class Links:
    """Links seen on `page`. References resolve against `base`, which is the page itself unless it says otherwise."""

    def __init__(self, page: Url, base: str | None = None, codec: str = "utf-8") -> None:
        self._page = page
        self._base = (canonicalize(base, page) if base else None) or page
        self._codec = codec
        self._by_url: dict[Url, Link] = {}
        self._origin, self._folder = _parts(self._base)

    def __len__(self) -> int:
        return len(self._by_url)

    def __iter__(self) -> Iterator[Link]:
        return iter(self._by_url.values())

    def resolve(self, href: str) -> Url | None:
        if self._folder and (plain := self._joined_if_plain(href)) is not None:
            return plain
        if self._codec != "utf-8" and not href.isascii():
            href = _in_page_encoding(href, self._codec)
        return canonicalize(href, self._base)

    def _joined_if_plain(self, href: str) -> Url | None:
        is_here = href.startswith(self._origin)
        path = href[len(self._origin) :] if is_here else href
        if not path or _PLAIN.fullmatch(path) is None:
            return None
        if path[0] == "/":
            url = self._origin + path
        elif not is_here:
            url = self._folder + path
        else:
            return None  # http://a.test-b.test/ only begins like http://a.test
        return url if len(url) <= URL_CHARS_MAX else None

    def add(self, href: str, anchor: str = "", rel: str = "", lastmod: str | None = None) -> None:
        url = self.resolve(href)
        if url is None:
            return
        known = self._by_url.get(url)
        if known is None:
            self._by_url[url] = Link(url, anchor, rel, self._page, 0, (), lastmod)
        elif (anchor and not known.anchor) or (is_nofollow(known.rel) and not is_nofollow(rel)):
            allowed = rel if is_nofollow(known.rel) else known.rel
            self._by_url[url] = Link(
                url, known.anchor or anchor, allowed, self._page, lastmod=known.lastmod or lastmod
            )


def _parts(base: str) -> tuple[str, str]:
    """The origin and the folder of a base, `http://a.test` and `http://a.test/b/`; empty where it is no http URL."""
    url = canonicalize(base)
    if url is None:
        return "", ""
    path_at = url.index("/", len("https://"))
    folder = url.partition("?")[0].rpartition("/")[0]
    return url[:path_at], f"{folder}/"


def _in_page_encoding(href: str, codec: str) -> str:
    """Escape the query in the encoding of its page, as browsers do: that is what its server expects."""
    path, mark, query = href.partition("?")
    if not mark or codec.startswith("utf-16"):
        return href
    return f"{path}?{_NOT_ASCII.sub(lambda run: _escaped(run[0], codec), query)}"


def _escaped(text: str, codec: str) -> str:
    # A character that the encoding lacks is written as a character reference, the standard's way.
    return quote_from_bytes(text.encode(codec, "xmlcharrefreplace"), safe="")
