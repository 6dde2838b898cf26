"""Ordinary pages: / and /p/1, /p/2, ... of every host.

The pages of a host form a tree with the root page at its top, so every page can be reached; root pages lead to the
root pages of other hosts in the same way, so every host can be reached from host 0. Both trees are numbered like
a heap: the children of page n are n * fanout + 1 and the next ones. The other links are drawn at random.

An ordinary page is always 200, always HTML, and its links never change. Its words may change with time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate

from gossamer.synthetic_web.answer import Anchor, Answer, Delivery, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.habits.changes import Changes
from gossamer.synthetic_web.html import FRAME_BYTES, HTML, LINK_BYTES, render
from gossamer.synthetic_web.text import text

Carried = Callable[[Atlas, int, int], Sequence[Anchor]]
"""What a page that carries a behaviour links to: atlas, host, page number."""

AWAY = 0.2  # share of the random links that go to other hosts
CHANGED_SHARE = 0.25  # of the sentences of a page are new in each version
FEED_LINKS = (
    '<link rel="alternate" type="application/rss+xml" href="/feed.rss">\n'
    '<link rel="alternate" type="application/atom+xml" href="/feed.atom">\n'
)


def path_of(page: int) -> str:
    return f"/p/{page}" if page else "/"


def changes_of(atlas: Atlas, host: int, page: int) -> Changes | None:
    """The history of a page that changes; None where it never does."""
    if not atlas.carries("changing", host, page):
        return None
    name = f"{atlas.options.seed}/changes/{host}/{page}"
    shortest, longest = atlas.options.change_interval_s
    position = atlas.hash(f"rate/{host}/{page}") / 2**64
    return Changes(name, shortest * (longest / shortest) ** position, atlas.options.born_at)


def ordinary_page(atlas: Atlas, visit: Visit, page: int, carried: Mapping[str, Carried]) -> Answer:
    host, options = visit.host, atlas.options
    changes = changes_of(atlas, host, page) if options.changing else None
    version = changes.version_at(visit.now) if changes else 0
    chance = atlas.chance(f"page/{host}/{page}")
    words = text(options.seed)

    title = words.title(chance)
    anchors = _anchors(atlas, host, page, chance, carried)
    sentences = words.sentences(chance, options.page_bytes - FRAME_BYTES - LINK_BYTES * len(anchors))
    if version:
        fresh = round(len(sentences) * CHANGED_SHARE) or 1
        sentences[:fresh] = atlas.chance(f"page/{host}/{page}/{version}").choices(words.pool, k=fresh)

    head = FEED_LINKS if page == 0 and options.feeds and atlas.host_carries("feeds", host) else ""
    coding = ""
    if options.gzip and atlas.carries("gzip", host, page):
        coding = "gzip"
    if options.brotli and atlas.carries("brotli", host, page):
        coding = "br"
    chunked = options.chunked and atlas.carries("chunked", host, page)
    return Answer(
        "page",
        headers=(("Content-Type", HTML), *_validators(atlas, host, page, version, changes)),
        body=render(
            title, sentences, anchors, head, f"Page {page} of {atlas.name(host)}, edition {version}."
        ).encode(),
        delivery=Delivery.CHUNKED if chunked else Delivery.WHOLE,
        coding=coding,
        anchors=tuple(anchors),
    )


def _anchors(
    atlas: Atlas, host: int, page: int, chance: random.Random, carried: Mapping[str, Carried]
) -> list[Anchor]:
    options, words = atlas.options, text(atlas.options.seed).words
    pages, fanout = options.pages_per_host, max(2, options.links_per_page // 2)
    paths = [path_of(child) for child in range(page * fanout + 1, min((page + 1) * fanout + 1, pages))]
    paths.append("/")
    if page == 0:
        paths += [atlas.url(child) for child in atlas.host_children(host)]
        if options.feeds and atlas.host_carries("feeds", host):
            paths += ["/feed.rss", "/feed.atom"]
    while len(paths) < options.links_per_page:
        target = int(chance.random() * pages)
        if chance.random() < AWAY:
            paths.append(atlas.url(int(chance.random() * options.hosts), path_of(target)))
        elif page and target and target % 2:
            paths.append(str(target))  # relative to /p/
        else:
            paths.append(path_of(target))
    anchors = [Anchor(path, word) for path, word in zip(paths, chance.choices(words, k=len(paths)), strict=True)]
    for behaviour, links in carried.items():
        if atlas.carries(behaviour, host, page):
            anchors += links(atlas, host, page)
    return anchors


def _validators(
    atlas: Atlas, host: int, page: int, version: int, changes: Changes | None
) -> tuple[tuple[str, str], ...]:
    if not atlas.options.validators:
        return ()
    kind = atlas.hash(f"validators/{host}/{page}") % 4  # neither, ETag, Last-Modified, both
    headers: list[tuple[str, str]] = []
    if kind in (1, 3):
        headers.append(("ETag", f'"{host:x}-{page:x}-{version:x}"'))
    if kind in (2, 3):
        changed_at = changes.changed_at(version) if changes else atlas.options.born_at
        headers.append(("Last-Modified", formatdate(changed_at, usegmt=True)))
    return tuple(headers)
