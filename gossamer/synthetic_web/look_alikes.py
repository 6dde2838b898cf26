"""Honest pages whose addresses look like those of traps: whoever takes them for one loses them.

    /2019/05/12                    an archive, one article a day
    /list?page=7                   a list in forty parts
    /product/5f31c4                a catalogue by numbers that are no words, with little text
    /thread/7/3                    a forum; each thread has several parts
    /catalogue?color=2&sort=name   filters, but few, that show the same again

They come behind the trap hosts, one kind each. The root page links to the beginning, and each page to the next ones.
All but the filters have a text of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gossamer.synthetic_web.answer import Anchor, Answer, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.chance import hash64
from gossamer.synthetic_web.html import leaf

PAGES = 40  # of each; more than a crawler would have to see of a trap to know it
ONWARD = 3  # links from each page to the ones behind it
THREAD_PARTS = 4
SORTED_BY = ("name", "price")
SHORT_BYTES = 150  # three sentences


class Kind(NamedTuple):
    path: Callable[[int], str]  # of the page with this number
    said_of: Callable[[int], str] = str  # pages with the same word here say the same
    text_bytes: int = 0  # 0: as much as others
    entrances: int = 1  # on the root page. Filters are all there: a page that says the same may not be followed


def _filtered(page: int) -> str:
    return f"/catalogue?color={page // len(SORTED_BY) % 8}&sort={SORTED_BY[page % len(SORTED_BY)]}"


KINDS = {
    "archive": Kind(lambda page: f"/{2017 + page // 12}/{page % 12 + 1:02}/{page % 28 + 1:02}"),
    "list": Kind(lambda page: f"/list?page={page + 1}"),
    "product": Kind(lambda page: f"/product/{hash64(str(page)) % 2**24:06x}", text_bytes=SHORT_BYTES),
    "thread": Kind(lambda page: f"/thread/{page // THREAD_PARTS}/{page % THREAD_PARTS + 1}"),
    "catalogue": Kind(_filtered, lambda page: str(page // len(SORTED_BY) % 8), entrances=PAGES),
}
PAGE_OF = {name: {kind.path(page): page for page in reversed(range(PAGES))} for name, kind in KINDS.items()}


def look_alike(atlas: Atlas, visit: Visit) -> Answer | None:
    target = "/" + "/".join(visit.parts) + (f"?{visit.query}" if visit.query else "")
    first = atlas.options.hosts + atlas.options.trap_hosts
    name = list(KINDS)[(visit.host - first) % len(KINDS)]
    kind = KINDS[name]
    if target == "/":
        return leaf(atlas, "page", f"home/{visit.host}", [Anchor(kind.path(page)) for page in range(kind.entrances)])
    if target not in PAGE_OF[name]:
        return None
    page = PAGE_OF[name][target]
    behind = range(page * ONWARD + 1, min((page + 1) * ONWARD + 1, PAGES))
    anchors = [Anchor(kind.path(other), "next") for other in behind]
    own = f"{name}/{visit.host}/{kind.said_of(page)}"
    return leaf(atlas, name, own, anchors, text_bytes=kind.text_bytes, footer=f"Number {page} of {PAGES}.")
