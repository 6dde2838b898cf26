"""Honest pages that look like those of traps, by their addresses or by what they say: whoever takes them for one
loses them.

    /2019/05/12                    an archive, one article a day
    /list?page=7                   a list in forty parts
    /product/5f31c4                a catalogue by numbers that are no words, with little text
    /thread/7/3                    a forum; each thread has several parts
    /catalogue?color=2&sort=name   filters, but few, that show the same again
    /item/1234                     a shop: 130 words of terms on every page, 5 to 40 words and figures of its own
    /station/12                    measurements: the same words on every page, and other figures
    /topic/12                      a forum with short posts, and the same buttons below each
    /programme/2026/05             a calendar with events, most months; it ends
    /vamor/2                       72 sections with two articles each, and a calendar that is a trap (traps.py)

They come behind the trap hosts, one kind each. The root page links to the beginning, and each page to the next ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from gossamer.synthetic_web.answer import Anchor, Answer, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.chance import hash64
from gossamer.synthetic_web.habits.traps import calendar
from gossamer.synthetic_web.html import HTML, leaf, render
from gossamer.synthetic_web.text import text

PAGES = 40  # of each; more than a crawler would have to see of a trap to know it
ONWARD = 3  # links from each page to the ones behind it
THREAD_PARTS = 4
SORTED_BY = ("name", "price")
SHORT_BYTES = 150  # three sentences
TERMS_WORDS = 130  # that all products of a shop share
OWN_WORDS = (5, 10, 20, 40)  # that a product has for itself, in turn
SECTIONS = 72  # more than a crawler may want to tell apart
ENTRANCE = Anchor("/calendar/2026/11")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

Said = Callable[[Atlas, int, int], tuple[str, list[str]]]
"""Atlas, host and number of a page: its title and its sentences."""


class Kind(NamedTuple):
    path: Callable[[int], str]  # of the page with this number
    said_of: Callable[[int], str] = str  # pages with the same word here say the same
    text_bytes: int = 0  # 0: as much as others
    entrances: int = 1  # on the root page. Filters are all there: a page that says the same may not be followed
    said: Said | None = None  # None: a text of its own
    onward: int = ONWARD
    pages: int = PAGES


def _filtered(page: int) -> str:
    return f"/catalogue?color={page // len(SORTED_BY) % 8}&sort={SORTED_BY[page % len(SORTED_BY)]}"


@lru_cache(1)
def _section_names() -> list[str]:
    words = [word for word in text(0).words if word.isascii()]
    return words[:: len(words) // SECTIONS][:SECTIONS]


def _product(atlas: Atlas, host: int, page: int) -> tuple[str, list[str]]:
    words, chance = text(atlas.options.seed).words, atlas.chance(f"product/{host}/{page}")
    own = chance.choices(words, k=OWN_WORDS[page % len(OWN_WORDS)])
    price, stock, weight = chance.randint(100, 99_999) / 100, chance.randint(1, 500), chance.randint(1, 900)
    terms = " ".join(atlas.chance(f"terms/{host}").choices(words, k=TERMS_WORDS))
    return " ".join(own[:2]), [" ".join(own[2:]) + ".", f"{price} each, {stock} in stock, {weight} g.", terms + "."]


def _station(atlas: Atlas, host: int, page: int) -> tuple[str, list[str]]:
    chance = atlas.chance(f"station/{host}/{page}")
    rows = [f"{hour}:00 level {chance.randint(0, 999)}, mean {chance.random():.3f}." for hour in range(24)]
    return f"Station {page}", ["The level of the river hour by hour, in centimetres, and the mean of all.", *rows]


def _topic(atlas: Atlas, host: int, page: int) -> tuple[str, list[str]]:
    words, chance = text(atlas.options.seed).words, atlas.chance(f"topic/{host}/{page}")
    posts = [
        f"{' '.join(chance.choices(words, k=chance.randint(4, 15)))}. Reply. Quote. Report to the moderators."
        for _ in range(chance.randint(1, 4))
    ]
    return " ".join(chance.choices(words, k=2)), posts


def _is_empty(page: int) -> bool:
    """Whether a month has no events: then it says the same as in other years."""
    return page % 4 == 3


def _month(atlas: Atlas, host: int, page: int) -> tuple[str, list[str]]:
    words, chance = text(atlas.options.seed).words, atlas.chance(f"month/{host}/{page}")
    year, month = divmod(page, 12)
    name = MONTHS[month]
    events = [
        f"{day} {name}, {chance.randint(10, 22)}:00: {' '.join(chance.choices(words, k=6))}."
        for day in sorted(chance.sample(range(1, 29), k=chance.randint(1, 4)))
    ]
    if _is_empty(page):
        events = ["There are no events in this month."]
    return f"Programme of {name} {2025 + year}", events


KINDS = {
    "archive": Kind(lambda page: f"/{2017 + page // 12}/{page % 12 + 1:02}/{page % 28 + 1:02}"),
    "list": Kind(lambda page: f"/list?page={page + 1}"),
    "product": Kind(lambda page: f"/product/{hash64(str(page)) % 2**24:06x}", text_bytes=SHORT_BYTES),
    "thread": Kind(lambda page: f"/thread/{page // THREAD_PARTS}/{page % THREAD_PARTS + 1}"),
    "catalogue": Kind(_filtered, lambda page: str(page // len(SORTED_BY) % 8), entrances=PAGES),
    "shop": Kind(lambda page: f"/item/{page}", said=_product, onward=30),
    "figures": Kind(lambda page: f"/station/{page}", said=_station),
    "forum": Kind(lambda page: f"/topic/{page}", said=_topic),
    "programme": Kind(lambda page: f"/programme/{2025 + page // 12}/{page % 12 + 1:02}", said=_month),
    "sections": Kind(
        lambda page: f"/{_section_names()[page % SECTIONS]}/{page // SECTIONS}", onward=10, pages=2 * SECTIONS
    ),
}


@lru_cache
def _pages_of(name: str, pages: int) -> dict[str, int]:
    """The number of the page at each path."""
    return {KINDS[name].path(page): page for page in reversed(range(pages))}


def look_alike(atlas: Atlas, visit: Visit) -> Answer | None:
    target = "/" + "/".join(visit.parts) + (f"?{visit.query}" if visit.query else "")
    first = atlas.options.hosts + atlas.options.trap_hosts
    if not first <= visit.host < atlas.options.first_scripted:
        return None
    name = list(KINDS)[(visit.host - first) % len(KINDS)]
    kind = KINDS[name]
    pages = atlas.options.products if name == "shop" else kind.pages
    if target == "/":
        return leaf(atlas, "page", f"home/{visit.host}", [Anchor(kind.path(page)) for page in range(kind.entrances)])
    if name == "sections" and visit.parts[0] == "calendar":
        return calendar(atlas, visit)
    page = _pages_of(name, pages).get(target)
    if page is None:
        return None
    behind = range(page * kind.onward + 1, min((page + 1) * kind.onward + 1, pages))
    anchors = [Anchor(kind.path(other), "next") for other in behind]
    if name == "sections" and page == pages - 1:
        anchors.append(ENTRANCE)  # met when all sections are known
    footer = f"Number {page} of {pages}."
    if kind.said is None:
        own = f"{name}/{visit.host}/{kind.said_of(page)}"
        group = "" if kind.said_of is str else own
        return leaf(atlas, name, own, anchors, text_bytes=kind.text_bytes, footer=footer, near_group=group)
    linked = (Anchor("/", "home"), *anchors)
    body = render(*kind.said(atlas, visit.host, page), linked, footer=footer).encode()
    group = f"no events/{visit.host}/{page % 12}" if name == "programme" and _is_empty(page) else ""
    return Answer(name, headers=(("Content-Type", HTML),), body=body, anchors=linked, near_group=group)
