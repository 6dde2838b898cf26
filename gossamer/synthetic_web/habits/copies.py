"""Duplicates: the same bytes at several URLs, on one host and on two; and near-duplicates.

All links of a copy are absolute, so whichever copy is found first leads to the same places. Page 7 of host 3 carries
/copy/7/1 and /copy/7/2 on its own host and /copy/of/3/7 on another one.
"""

from __future__ import annotations

from gossamer.synthetic_web.answer import Anchor, Answer, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import leaf

NEAR_TEXT_BYTES = 12_000  # long enough for two changed words to move no more than 3 bits of a SimHash, mostly


def copy_anchors(atlas: Atlas, host: int, page: int) -> list[Anchor]:
    return [
        Anchor(f"/copy/{page}/1"),
        Anchor(f"/copy/{page}/2"),
        Anchor(atlas.url(_abroad(atlas, host, page), f"/copy/of/{host}/{page}")),
    ]


def copy(atlas: Atlas, visit: Visit) -> Answer | None:
    match visit.parts:
        case ["copy", number, "1" | "2"]:
            host, page = visit.host, atlas.page_number(number)
        case ["copy", "of", origin, number] if origin.isdecimal() and origin.isascii():
            host, page = int(origin), atlas.page_number(number)
            if origin != str(host) or host >= atlas.options.hosts or page is None:
                return None
            if _abroad(atlas, host, page) != visit.host:
                return None
        case _:
            return None
    if page is None or not atlas.carries("duplicates", host, page):
        return None
    anchors = [Anchor(atlas.url(host, f"/found/copy/{page}"), "continued")]
    return leaf(atlas, "copy", f"copy/{host}/{page}", anchors, home=atlas.url(host))


def near_anchors(_atlas: Atlas, _host: int, page: int) -> list[Anchor]:
    return [Anchor(f"/near/{page}/{which}") for which in (1, 2, 3)]


def near(atlas: Atlas, visit: Visit) -> Answer | None:
    match visit.parts:
        case ["near", number, "1" | "2" | "3" as which]:
            page = atlas.page_number(number)
            if page is not None and atlas.carries("near_duplicates", visit.host, page):
                name = f"near/{visit.host}/{page}"
                footer = f"It is November {which}, and you are reader {int(which) * 37}."
                home = atlas.url(visit.host)
                return leaf(
                    atlas, "near", name, footer=footer, near_group=name, home=home, text_bytes=NEAR_TEXT_BYTES
                )
    return None


def _abroad(atlas: Atlas, host: int, page: int) -> int:
    return atlas.other_host(f"copy/{host}/{page}", host)


CARRIED = {"duplicates": copy_anchors, "near_duplicates": near_anchors}
SECTIONS = {"copy": copy, "near": near}
