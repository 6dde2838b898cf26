"""Sitemaps and feeds: other ways by which a host makes its pages known.

A host of the kind SITEMAP has /sitemap.xml, an index of at least two files, every second one compressed. They
list the ordinary pages and the hidden ones, /hidden/N, which no page links to. A host with feeds has /feed.rss and
/feed.atom, linked from its root page; they list some ordinary pages, and
/news/1 to /news/3, which nothing else mentions.
"""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from email.utils import formatdate
from html import escape

from gossamer.synthetic_web.answer import Anchor, Answer, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import leaf
from gossamer.synthetic_web.options import RobotsKind
from gossamer.synthetic_web.pages import changes_of, path_of
from gossamer.synthetic_web.text import text

SITEMAP_PAGES_MAX = 1_000  # for each file, so that one file stays cheap to make
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PROLOGUE = '<?xml version="1.0" encoding="UTF-8"?>\n'
FEED_PAGES = 5
NEWS = (1, 2, 3)


def has_sitemap(atlas: Atlas, host: int) -> bool:
    return atlas.robots_kind(host) is RobotsKind.SITEMAP


def index(atlas: Atlas, visit: Visit) -> Answer | None:
    if not has_sitemap(atlas, visit.host):
        return None
    anchors = tuple(Anchor(atlas.url(visit.host, _file_path(number))) for number in range(1, _files(atlas) + 1))
    entries = "".join(f"<sitemap><loc>{escape(anchor.href)}</loc></sitemap>\n" for anchor in anchors)
    body = f"{PROLOGUE}<sitemapindex {NAMESPACE}>\n{entries}</sitemapindex>\n"
    return Answer("sitemap", headers=(("Content-Type", "application/xml"),), body=body.encode(), anchors=anchors)


def sitemap(atlas: Atlas, visit: Visit) -> Answer | None:
    """/sitemaps/3.xml or /sitemaps/4.xml.gz"""
    if not has_sitemap(atlas, visit.host) or len(visit.parts) != 2:
        return None
    number = visit.parts[1].split(".")[0]
    if not (number.isdecimal() and number.isascii() and 1 <= int(number) <= _files(atlas)):
        return None
    if _file_path(int(number)) != f"/sitemaps/{visit.parts[1]}":
        return None
    length = _pages_per_file(atlas)
    first = (int(number) - 1) * length
    anchors, entries = [], []
    for page in range(first, min(first + length, atlas.options.pages_per_host)):
        paths = [path_of(page)]
        if atlas.carries("hidden", visit.host, page):
            paths.append(f"/hidden/{page}")
        for path in paths:
            url = atlas.url(visit.host, path)
            anchors.append(Anchor(url))
            moment = datetime.fromtimestamp(_changed_at(atlas, visit, page), UTC)
            entries.append(f"<url><loc>{escape(url)}</loc><lastmod>{moment:%Y-%m-%dT%H:%M:%SZ}</lastmod></url>\n")
    body = f"{PROLOGUE}<urlset {NAMESPACE}>\n{''.join(entries)}</urlset>\n".encode()
    content_type = "application/xml"
    if visit.parts[1].endswith(".gz"):
        body, content_type = gzip.compress(body, mtime=0), "application/gzip"
    return Answer("sitemap", headers=(("Content-Type", content_type),), body=body, anchors=tuple(anchors))


def hidden(atlas: Atlas, visit: Visit) -> Answer | None:
    page = atlas.page_number(visit.parts[1]) if len(visit.parts) == 2 else None
    if page is None or not has_sitemap(atlas, visit.host) or not atlas.carries("hidden", visit.host, page):
        return None
    return leaf(atlas, "hidden", f"hidden/{visit.host}/{page}")


def news(atlas: Atlas, visit: Visit) -> Answer | None:
    known = len(visit.parts) == 2 and visit.parts[1] in map(str, NEWS)
    if not known or not atlas.host_carries("feeds", visit.host):
        return None
    return leaf(atlas, "news", f"news/{visit.host}/{visit.parts[1]}")


def rss(atlas: Atlas, visit: Visit) -> Answer | None:
    if not atlas.host_carries("feeds", visit.host):
        return None
    items = "".join(
        f"<item><title>{title}</title><link>{url}</link><guid>{url}</guid>"
        f"<pubDate>{formatdate(changed_at, usegmt=True)}</pubDate></item>\n"
        for url, title, changed_at in _items(atlas, visit)
    )
    home = atlas.url(visit.host)
    channel = f"<title>{atlas.name(visit.host)}</title><link>{home}</link><description>News</description>\n{items}"
    body = f'{PROLOGUE}<rss version="2.0"><channel>{channel}</channel></rss>\n'
    return _feed(atlas, visit, "application/rss+xml", body)


def atom(atlas: Atlas, visit: Visit) -> Answer | None:
    if not atlas.host_carries("feeds", visit.host):
        return None
    entries = "".join(
        f'<entry><title>{title}</title><link href="{url}"/><id>{url}</id>'
        f"<updated>{datetime.fromtimestamp(changed_at, UTC):%Y-%m-%dT%H:%M:%SZ}</updated></entry>\n"
        for url, title, changed_at in _items(atlas, visit)
    )
    home = atlas.url(visit.host)
    head = f"<title>{atlas.name(visit.host)}</title><id>{home}</id><updated>2020-09-13T12:26:40Z</updated>\n"
    body = f'{PROLOGUE}<feed xmlns="http://www.w3.org/2005/Atom">{head}{entries}</feed>\n'
    return _feed(atlas, visit, "application/atom+xml", body)


def _feed(atlas: Atlas, visit: Visit, content_type: str, body: str) -> Answer:
    anchors = tuple(Anchor(url) for url, _, _ in _items(atlas, visit))
    return Answer("feed", headers=(("Content-Type", content_type),), body=body.encode(), anchors=anchors)


def _items(atlas: Atlas, visit: Visit) -> list[tuple[str, str, float]]:
    """URL, title, time of the last change."""
    words = text(atlas.options.seed)
    chance = atlas.chance(f"feed/{visit.host}")
    pages = range(min(FEED_PAGES, atlas.options.pages_per_host))
    listed = [(path_of(page), _changed_at(atlas, visit, page)) for page in pages]
    listed += [(f"/news/{number}", atlas.options.born_at) for number in NEWS]
    return [(atlas.url(visit.host, path), words.title(chance), changed_at) for path, changed_at in listed]


def _changed_at(atlas: Atlas, visit: Visit, page: int) -> float:
    changes = changes_of(atlas, visit.host, page)
    return changes.changed_at(changes.version_at(visit.now)) if changes else atlas.options.born_at


def _pages_per_file(atlas: Atlas) -> int:
    return max(1, min(SITEMAP_PAGES_MAX, -(-atlas.options.pages_per_host // 2)))


def _files(atlas: Atlas) -> int:
    return -(-atlas.options.pages_per_host // _pages_per_file(atlas))


def _file_path(number: int) -> str:
    return f"/sitemaps/{number}.xml" + (".gz" if number % 2 == 0 else "")


FILES = {"/sitemap.xml": index, "/feed.rss": rss, "/feed.atom": atom}
SECTIONS = {"sitemaps": sitemap, "hidden": hidden, "news": news}
