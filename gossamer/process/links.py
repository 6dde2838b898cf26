"""The links of one page: resolved, canonical, in document order, and each URL once.

A page often links the same URL several times: a picture, a heading and "read more". The first anchor text that says
something is kept. If one of the occurrences may be followed, the link may be followed: a page that says both
means yes.

The links of a sitemap and of an HTML page are built here alike. Which of them the crawl takes is decided at the
door (`gossamer.url.filters`), not here; `rel` travels with each for that. What a link is worth by its place and
its words (context.py) is told for pages, where there are such; of two places the better one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote_from_bytes

from gossamer.process.context import POSITIONS, anchor_worth, place_worth
from gossamer.records import Link, Url
from gossamer.settings import ContextSettings
from gossamer.url.canonical import canonicalize, normal_query
from gossamer.url.filters import is_nofollow
from gossamer.url.site import host_of, origin_of, site_of

ANCHOR_CHARS_MAX = 200  # enough to tell what a link is about; a whole page inside one <a> does occur

# Half the links of the web are so plain that joining them to their page needs no parser and no rules (0.5 µs against
# 1.2 µs): parts of unreserved characters, none of them empty or starting with a dot, and a query of such characters.
# A test compares the two ways.
_PLAIN = re.compile(
    r"/?(?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*+/)*+(?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*+)?(\?[\w~.=&+-]*+)?", re.A
)
_PLAIN_CHARS_MAX = 500

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class Links:
    """Links seen on `page`. References resolve against `base`, which is the page itself unless it says otherwise."""

    def __init__(
        self, page: Url, base: str | None = None, codec: str = "utf-8", weights: ContextSettings | None = None
    ) -> None:
        """`weights`: of their context; None: all are worth the same."""
        self._page = page
        self._base = (canonicalize(base, page) if base else None) or page
        self._codec = codec
        self._weights = weights
        self._places: dict[tuple[str, str, bool], tuple[float, float]] = {}  # what links there are worth
        self._by_url: dict[Url, Link] = {}
        self._home = f"{origin_of(page)}/"
        # A base may be of another scheme than those that are crawled, or have no folders.
        is_usual = canonicalize(self._base) == self._base and self._base.startswith("http")
        self._origin = origin_of(self._base) if is_usual else ""
        self._folder = self._base.partition("?")[0].rpartition("/")[0] + "/"

    def __len__(self) -> int:
        return len(self._by_url)

    def __iter__(self) -> Iterator[Link]:
        return iter(self._by_url.values())

    def resolve(self, href: str) -> Url | None:
        if self._origin and 0 < len(href) <= _PLAIN_CHARS_MAX and (plain := _PLAIN.fullmatch(href)) is not None:
            if plain[1] is not None:
                path, _, query = href.partition("?")
                if not path:
                    return canonicalize(href, self._base)
                query = normal_query(query)
                href = f"{path}?{query}" if query else path
            return self._origin + href if href[0] == "/" else self._folder + href
        if self._codec != "utf-8" and not href.isascii():
            href = _in_page_encoding(href, self._codec)
        return canonicalize(href, self._base)

    def add(self, href: str, anchor: str = "", rel: str = "", lastmod: str | None = None, position: str = "") -> None:
        url = self.resolve(href)
        if url is None:
            return
        known = self._by_url.get(url)
        if known is not None:
            is_better = POSITIONS[position] > POSITIONS[known.position]
            is_allowed_now = is_nofollow(known.rel) and not is_nofollow(rel)
            if not (is_better or is_allowed_now or (anchor and not known.anchor)):
                return
            anchor, lastmod = known.anchor or anchor, known.lastmod or lastmod
            rel = rel if is_allowed_now else known.rel
            position = position if is_better else known.position
        worth = 1.0
        if self._weights is not None:
            place = (position, rel, not url.startswith(self._home) and self._leaves_site(url))
            parts = self._places.get(place)
            if parts is None:
                parts = self._places[place] = place_worth(*place, self._weights)
            worth = parts[0] + parts[1] * anchor_worth(anchor)
        self._by_url[url] = Link(url, anchor, rel, self._page, 0, (), lastmod, position, worth)

    def _leaves_site(self, url: Url) -> bool:
        return site_of(host_of(url)) != site_of(host_of(self._page))


def _in_page_encoding(href: str, codec: str) -> str:
    """Escape the query in the encoding of its page, as browsers do: that is what its server expects."""
    path, mark, query = href.partition("?")
    if not mark or codec.startswith("utf-16"):
        return href
    return f"{path}?{_NOT_ASCII.sub(lambda run: _escaped(run[0], codec), query)}"


def _escaped(text: str, codec: str) -> str:
    # A character that the encoding lacks is written as a character reference, the standard's way.
    return quote_from_bytes(text.encode(codec, "xmlcharrefreplace"), safe="")
