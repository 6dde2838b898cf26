"""Which part of a page is its main text, and which is frame: navigation, header, footer, notices, lists of links.

The reader of a page (reading.py) cuts its text into blocks, a paragraph or a cell each, and notes for every block the
area that it stands in and how much of it is inside links. An area is told by its element (<nav>, <main>), by its role
(role=navigation) and by the words of its class and id (`site-nav`, `cookieBanner`). From these alone `choose`
decides, without a second look at the tree:

1. Where a page says what its main part is (<main>, role=main, <article>), that counts, else all that is in no area.
2. Three blocks or more in a row that are mostly links, or three links in a block that is mostly links, are a list of
   links and no text, unless such lists are nearly all there is.
3. A page that was judged wrongly, such as one whose outermost element is called `sidebar-page`, is seen by its prose:
   where most of it would be lost, the areas do not count.

Where nothing is left, the caller takes the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

# An area, as small numbers because every block is compared with them.
OPEN = 0  # no area: text of which nothing is known
MAIN = 1
NAVIGATION = 2  # and headers, side bars, notices: whatever is beside the point
FOOTER = 3
SILENT = 4  # nothing in here is text, yet links count: <noscript>

LINK_SHARE = 0.5  # of a block's characters inside links, from which on it is part of a list
LIST_LINKS_MIN = 3  # so many in a row make a list
LEFT_SHARE_MIN = 0.25  # less than this left of the text without its lists: then the lists are what the page is for
MAIN_SHARE_MIN = 0.2  # a <main> with less than this beside text in no area is not where the text is
PROSE_RATIO_MAX = 4  # so much more prose in navigation than chosen: the areas were misread

AREA_OF_ELEMENT = {
    "main": MAIN,
    "article": MAIN,
    "nav": NAVIGATION,
    "header": NAVIGATION,
    "aside": NAVIGATION,
    "menu": NAVIGATION,
    "dialog": NAVIGATION,
    "button": NAVIGATION,
    "select": NAVIGATION,
    "datalist": NAVIGATION,
    "footer": FOOTER,
    "noscript": SILENT,
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


AREA_OF_ROLE = {
    "main": MAIN,
    "article": MAIN,
    "contentinfo": FOOTER,
    **dict.fromkeys(
        _names("alert alertdialog banner complementary dialog menu menubar navigation search status tablist toolbar"),
        NAVIGATION,
    ),
}
# Words of which classes and ids are made: `main-nav`, `navMenu` and `c-nav__item` all hold the word "nav".
NAVIGATION_WORDS = _names(
    "nav navbar navheader navfooter navi navigation navlinks menu menubar submenu topnav sidenav topbar toolbar "
    "masthead sidebar sidebars sphinxsidebar breadcrumb breadcrumbs crumbs pagination pager paginator toc skip "
    "skiplink related share sharing social cookie cookies consent gdpr popup modal overlay newsletter subscribe ad "
    "ads advert advertisement adverts sponsor sponsored promo login"
)
FOOTER_WORDS = _names("footer colophon copyright")
# Names that count only as a whole: a `section-header` has a title in it, and `search-results` are what one came for.
NAVIGATION_NAMES = _names(
    "header site-header page-top search searchbox search-form hidden sr-only visually-hidden screen-reader-text "
    "table-of-contents skip-to-content"
)
# With one of these a name speaks of something around or beside the navigation: `has-sidebar`, `wy-nav-content`.
NOT_THE_AREA = _names("content body has with no without layout open closed enabled")
_WORD = re.compile(r"[A-Z]?[a-z]+")
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)

NAMES_CHARS_REMEMBERED = 200  # longer lists of classes are hardly met twice, and memory is bounded so


def named_area(element: str, attributes: Mapping[str, str | None]) -> int:
    """The area that an element says it is."""
    own = AREA_OF_ELEMENT.get(element, OPEN)
    if not attributes or own in (MAIN, FOOTER, SILENT):
        return own
    role = attributes.get("role")
    if role and (area := AREA_OF_ROLE.get(role.strip().lower(), OPEN)):
        return area  # a role is meant for programs; it goes before what names suggest
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return NAVIGATION
    if (style := attributes.get("style")) and _INVISIBLE.search(style):
        return NAVIGATION
    for key in ("class", "id"):
        if names := attributes.get(key):
            is_usual = len(names) <= NAMES_CHARS_REMEMBERED
            if area := (_remembered_area if is_usual else _area_by_names)(names):
                return area
    return own


def area_of(element: str, attributes: Mapping[str, str | None], around: int) -> int:
    """The area inside an element, which is that around it unless the element says otherwise."""
    named = named_area(element, attributes)
    if named == OPEN or around == SILENT:
        return around
    if element == "header" and around == MAIN:
        return MAIN  # the title of an article
    if element == "article" and around in (NAVIGATION, FOOTER):
        return around  # a teaser; yet a <main> is what it says wherever it is
    return FOOTER if around == FOOTER and named == NAVIGATION else named


def _area_by_names(names: str) -> int:
    for name in names.split():
        if name.lower() in NAVIGATION_NAMES:
            return NAVIGATION
        words = {word.lower() for word in _WORD.findall(name)}
        if not words.isdisjoint(NOT_THE_AREA):
            continue
        if not words.isdisjoint(FOOTER_WORDS):
            return FOOTER
        if not words.isdisjoint(NAVIGATION_WORDS):
            return NAVIGATION
    return OPEN


_remembered_area = lru_cache(8192)(_area_by_names)


def choose(blocks: Sequence[str], areas: Sequence[int], links: Iterable[tuple[str, str, str, int, int]]) -> list[int]:
    """The numbers of the blocks that are main text. Of a link the second is its anchor, and the last its block."""
    chars = list(map(len, blocks))
    link_chars, link_counts = [0] * (len(chars) + 1), [0] * (len(chars) + 1)
    for _, anchor, _, _, block in links:
        link_chars[block] += len(anchor)
        link_counts[block] += 1
    in_area = [0] * (SILENT + 1)
    for area, count in zip(areas, chars, strict=True):
        in_area[area] += count
    says_main = in_area[MAIN] > MAIN_SHARE_MIN * in_area[OPEN]

    def texts(*areas_wanted: int) -> list[int]:
        found = [number for number, area in enumerate(areas) if area in areas_wanted]
        return _without_lists(found, chars, link_chars, link_counts)

    chosen = texts(MAIN) if says_main else texts(OPEN, MAIN)
    left = sum([chars[number] for number in chosen])
    if in_area[NAVIGATION] > PROSE_RATIO_MAX * left:
        prose = texts(OPEN, MAIN, NAVIGATION)
        if sum([chars[number] for number in prose]) > PROSE_RATIO_MAX * left:
            return prose
    return chosen


def _without_lists(
    candidates: list[int], chars: list[int], link_chars: list[int], link_counts: list[int]
) -> list[int]:
    listed: set[int] = set()
    run: list[int] = []
    for number in (*candidates, len(chars)):  # the last one only ends the run
        if link_counts[number] and number < len(chars) and link_chars[number] > LINK_SHARE * chars[number]:
            run.append(number)
        elif run:
            if sum([link_counts[each] for each in run]) >= LIST_LINKS_MIN:
                listed.update(run)
            run = []
    if not listed:
        return candidates
    left = [number for number in candidates if number not in listed]
    if sum([chars[number] for number in left]) < LEFT_SHARE_MIN * sum([chars[number] for number in candidates]):
        return candidates
    return left
