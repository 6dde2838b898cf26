"""The links of one page: resolved, canonical, in document order, and each URL once.

A page often links the same URL several times: a picture, a heading and "read more". The first anchor text that says
something is kept. If one of the occurrences may be followed, the link may be followed: a page that says both
means yes.

The links of a sitemap and of an HTML page are built here alike. Which of them the crawl takes is decided by the
link filter (`gossamer.url.link_filter`), not here; `rel` travels with each for that. What a link is worth by its
place and its words (context.py) is told for pages, where there are such; of two places the better one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote_from_bytes

from gossamer.process.markup.context import POSITIONS, anchor_worth, place_worth
from gossamer.records import Link, Url
from gossamer.url.canonical import canonicalize, normal_query
from gossamer.url.link_filter import is_nofollow
from gossamer.url.site import host_of, origin_of, site_of

ANCHOR_CHARS_MAX = 200  # enough to tell what a link is about; a whole page inside one <a> does occur

# Most links of the web are so plain that joining them to their page needs no parser and no rules (0.5 µs against
# 1.2 µs): parts of unreserved characters, none of them empty or starting with a dot, and a query of such characters.
# A test compares the two ways.
_PLAIN_PATH = re.compile(r"(?:/|(?=[\w~-]))(?:[\w~-][\w~.-]*+/)*+(?:[\w~-][\w~.-]*+)?", re.A)
_PLAIN_QUERY = re.compile(r"[\w~.=&+-]*+", re.A)
_PLAIN_CHARS_MAX = 500

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class Links:
    """Links seen on `page`. References resolve against `base`, which is the page itself unless it says otherwise."""

    def __init__(
        self, page: Url, base: str | None = None, codec: str = "utf-8", *, have_places: bool = False
    ) -> None:
        """`have_places`: they stand somewhere on the page; otherwise all are worth the same."""
        self._page = page
        self._base = (canonicalize(base, page) if base else None) or page
        self._codec = codec
        self._have_places = have_places
        self._places: dict[tuple[str, str, bool], tuple[float, float]] = {}  # what links there are worth
        self._by_url: dict[Url, Link] = {}
        self._home = f"{origin_of(page)}/"
        self._site = site_of(host_of(page))
        # A base may be of another scheme than those that are crawled, or have no folders.
        is_usual = canonicalize(self._base) == self._base and self._base.startswith("http")
        self._origin = origin_of(self._base) if is_usual else ""
        self._folder = self._base.partition("?")[0].rpartition("/")[0] + "/"

    def __len__(self) -> int:
        return len(self._by_url)

    def __iter__(self) -> Iterator[Link]:
        return iter(self._by_url.values())

    def resolve(self, href: str) -> Url | None:
        if self._origin and len(href) <= _PLAIN_CHARS_MAX:
            path, mark, query = href.partition("#")[0].partition("?")
            if _PLAIN_PATH.fullmatch(path) and (not mark or _PLAIN_QUERY.fullmatch(query)):
                if mark and (query := normal_query(query)):
                    path = f"{path}?{query}"
                return self._origin + path if path[0] == "/" else self._folder + path
        if self._codec != "utf-8" and not href.isascii():
            href = _in_page_encoding(href, self._codec)
        return canonicalize(href, self._base)

    def add(self, href: str, anchor: str = "", rel: str = "", lastmod: str | None = None, position: str = "") -> None:
        url = self.resolve(href)
        if url is not None:
            self._add(url, anchor, rel, lastmod, position)

    def add_all(self, found: Iterable[tuple[str, str, str, str]], most: int) -> None:
        """`add` for each href, anchor, rel and position, until there are so many links. Those that most are, new,
        without rel and to the own host, are made on the way: 2.2 µs instead of 2.7."""
        by_url, page, home, origin, folder = self._by_url, self._page, self._home, self._origin, self._folder
        worths: dict[str, tuple[float, float]] = {}  # of such links, by their position
        for href, anchor, rel, position in found:
            if origin and _PLAIN_PATH.fullmatch(href) and len(href) <= _PLAIN_CHARS_MAX:
                url: Url | None = origin + href if href[0] == "/" else folder + href
            else:
                url = self.resolve(href)
            if url is None:
                continue
            if rel or url in by_url or not url.startswith(home):
                self._add(url, anchor, rel, None, position)
            else:
                parts = worths.get(position)
                if parts is None:
                    parts = worths[position] = self._place_worth(position, "", leaves_site=False)
                by_url[url] = Link(
                    url, anchor, "", page, 0, (), None, position, parts[0] + parts[1] * anchor_worth(anchor)
                )
            if len(by_url) >= most:
                break

    def _add(self, url: Url, anchor: str, rel: str, lastmod: str | None, position: str) -> None:
        known = self._by_url.get(url)
        if known is not None:
            is_better = POSITIONS[position] > POSITIONS[known.position]
            is_allowed_now = is_nofollow(known.rel) and not is_nofollow(rel)
            if not (is_better or is_allowed_now or (anchor and not known.anchor)):
                return
            anchor, lastmod = known.anchor or anchor, known.lastmod or lastmod
            rel = rel if is_allowed_now else known.rel
            position = position if is_better else known.position
        leaves_site = not url.startswith(self._home) and site_of(host_of(url)) != self._site
        parts = self._place_worth(position, rel, leaves_site=leaves_site)
        worth = parts[0] + parts[1] * anchor_worth(anchor)
        self._by_url[url] = Link(url, anchor, rel, self._page, 0, (), lastmod, position, worth)

    def _place_worth(self, position: str, rel: str, *, leaves_site: bool) -> tuple[float, float]:
        if not self._have_places:
            return 1.0, 0.0
        parts = self._places.get((position, rel, leaves_site))
        if parts is None:
            parts = place_worth(position, rel, leaves_site)
            self._places[position, rel, leaves_site] = parts
        return parts


def _in_page_encoding(href: str, codec: str) -> str:
    """Escape the query in the encoding of its page, as browsers do: that is what its server expects."""
    path, mark, query = href.partition("?")
    if not mark or codec.startswith("utf-16"):
        return href
    return f"{path}?{_NOT_ASCII.sub(lambda run: _escaped(run[0], codec), query)}"


def _escaped(text: str, codec: str) -> str:
    # A character that the encoding lacks is written as a character reference, the standard's way.
    return quote_from_bytes(text.encode(codec, "xmlcharrefreplace"), safe="")
