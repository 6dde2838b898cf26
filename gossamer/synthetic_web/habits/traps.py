"""Traps: places where every page has links to more pages of the same sort, for ever.

They are the classical ones: a calendar whose next month can always be asked for, session ids that are new in every
link, a relative link that should have been absolute, filters that can be combined without end, and a path that grows.
A trap has one entrance on each host, linked from the pages that carry it. `trap_kind` tells from a URL
alone whether it is inside, so that a judge can set such URLs apart.
"""

from __future__ import annotations

import datetime
from urllib.parse import parse_qsl, urlsplit

from gossamer.synthetic_web.answer import Anchor, Answer, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.chance import hash64
from gossamer.synthetic_web.html import leaf

SESSION_STYLES = ("?sid={id}", ";jsessionid={id}", "?PHPSESSID={id}")
SHOP_PAGES = 3
FACETS = ("brand", "color", "fit", "material", "price", "rating", "season", "size", "sort", "store", "style", "year")
FACET_VALUES = 6
REPEATED = ["info", "more"]


def trap_kind(url: str) -> str | None:
    """Which trap a URL belongs to; None where it is no trap."""
    parts = urlsplit(url)
    section = parts.path.split("/", 2)[1] if parts.path.startswith("/") else ""
    match section:
        case "calendar" | "events":
            return "calendar"
        case "repeat" | "facets" | "deep":
            return section
        case "shop" if parts.query or ";" in parts.path:
            return "session"  # the shop itself, without an id, is three honest pages
    return None


def calendar(atlas: Atlas, visit: Visit) -> Answer | None:
    match visit.parts:
        case ["calendar", year, month] if year.isdecimal() and month.isdecimal() and len(year) < 5:
            months = int(year) * 12 + int(month) - 1
            if not 1 <= int(month) <= 12 or _month_path(months) != f"/calendar/{year}/{month}":
                return None
            anchors = [Anchor(_month_path(months + 1), "next"), Anchor(_month_path(max(12, months - 1)), "previous")]
            footer = f"Events of {year}-{month}: none."
            return leaf(atlas, "calendar", f"calendar/{visit.host}", anchors, footer=footer)
    return None


def events(atlas: Atlas, visit: Visit) -> Answer | None:
    try:
        day = datetime.date.fromisoformat(visit.query.removeprefix("date="))
        around = [("next", day + datetime.timedelta(1)), ("previous", day - datetime.timedelta(1))]
    except (ValueError, OverflowError):
        return None
    anchors = [Anchor(f"/events?date={other}", word) for word, other in around]
    return leaf(atlas, "calendar", f"events/{visit.host}", anchors, footer=f"Events of {day}: none.")


def shop(atlas: Atlas, visit: Visit) -> Answer | None:
    """Three pages that link to each other; each link carries an id that nobody has seen before."""
    if len(visit.parts) != 2:
        return None
    item = visit.parts[1].split(";")[0]
    if item not in map(str, range(SHOP_PAGES)):
        return None
    asked = f"{visit.parts[1]}?{visit.query}"
    anchors = [_session_anchor(atlas, visit.host, other, asked) for other in range(SHOP_PAGES) if str(other) != item]
    return leaf(atlas, "session", f"shop/{visit.host}/{item}", anchors)


def repeat(atlas: Atlas, visit: Visit) -> Answer | None:
    """Meant for one address, served at any: the link "info/more/" is relative and should not be."""
    *inner, last = visit.parts[1:] or ["no slash"]
    if last or inner != (REPEATED * len(inner))[: len(inner)] or len(inner) % 2:
        return None
    return leaf(atlas, "repeat", f"repeat/{visit.host}", [Anchor("info/more/", "more")])


def facets(atlas: Atlas, visit: Visit) -> Answer | None:
    if len(visit.parts) != 1:
        return None
    chosen = dict(parse_qsl(visit.query))
    anchors = []
    for facet in FACETS:
        if facet not in chosen:
            value = hash64(f"{visit.query}/{facet}") % FACET_VALUES
            anchors.append(Anchor("/facets?" + _query({**chosen, facet: f"{facet}{value}"}), facet))
    for facet, choice in chosen.items():  # also change what was chosen
        other = (int(choice[-1]) + 1) % FACET_VALUES if choice[-1:].isdecimal() else 0
        anchors.append(Anchor("/facets?" + _query({**chosen, facet: f"{facet}{other}"}), f"another {facet}"))
    return leaf(atlas, "facets", f"facets/{visit.host}", anchors, footer=f"Filters: {_query(chosen)}")


def deep(atlas: Atlas, visit: Visit) -> Answer | None:
    depth = len(visit.parts)
    if list(visit.parts[1:]) != [str(step) for step in range(1, depth)]:
        return None
    here = "/".join(visit.parts)
    return leaf(atlas, "deep", f"deep/{visit.host}/{depth}", [Anchor(f"/{here}/{depth}", "deeper")])


def _month_path(months: int) -> str:
    return f"/calendar/{months // 12}/{months % 12 + 1:02}"


def _query(chosen: dict[str, str]) -> str:
    return "&".join(f"{facet}={value}" for facet, value in sorted(chosen.items()))


def _session_anchor(atlas: Atlas, host: int, item: int, asked: str) -> Anchor:
    fresh = atlas.hash(f"session/{host}/{item}/{asked}")
    style = SESSION_STYLES[atlas.hash(f"session-style/{host}") % len(SESSION_STYLES)]
    return Anchor(f"/shop/{item}{style.format(id=f'{fresh:016x}')}", f"item {item}")


CARRIED = {
    "calendars": lambda _atlas, _host, _page: [Anchor("/calendar/2026/11"), Anchor("/events?date=2026-11-05")],
    "sessions": lambda atlas, host, page: [_session_anchor(atlas, host, 0, f"entrance {page}")],
    "repeating": lambda _atlas, _host, _page: [Anchor("/repeat/info/more/")],
    "facets": lambda _atlas, _host, _page: [Anchor("/facets?color=color1"), Anchor("/facets?size=size2")],
    "deep": lambda _atlas, _host, _page: [Anchor("/deep/1")],
}
SECTIONS = {
    "calendar": calendar,
    "events": events,
    "shop": shop,
    "repeat": repeat,
    "facets": facets,
    "deep": deep,
}
BEHAVIOURS = {
    "calendar": "calendars",
    "events": "calendars",
    "shop": "sessions",
    "repeat": "repeating",
    "facets": "facets",
    "deep": "deep",
}
