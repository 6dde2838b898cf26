"""Hosts that are nothing but a trap, one kind each: they answer whatever they are asked for, and link to more of it.

They come behind the ordinary hosts: with 100 hosts and 10 trap hosts, host 100 is the first of them. Each is linked
once, from the root page of one ordinary host. Its own root page shows the way to many of its pages at once, as
sitemaps and footers do, so a crawler that merely does not follow copies is still led in.

`KINDS` is the whole of it: for each kind of trap, where a page leads to, and what it says. What pages say is alike
where it is on real traps: calendars and counters have little text with other numbers in it; sessions, relative links
that should have been absolute and filters show the same pages again; and one host makes up a new text for each page.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple
from urllib.parse import parse_qsl

from gossamer.synthetic_web.answer import Anchor, Answer, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import HTML, render
from gossamer.synthetic_web.text import text

FIRST_DAY = date(2026, 11, 5)
ENTRANCES = 80  # that the root page leads to
ONWARD = 6  # links of every other page
ITEMS = 3  # pages that a shop with session ids really has
PARTS = ("north", "east", "south", "west", "hill", "lake", "wood")
FACETS = ("brand", "color", "fit", "material", "price", "rating", "season", "size", "sort", "store", "style", "type")
FACET_VALUES = 6

Lead = Callable[[random.Random, str], str]
"""Where one link of a page leads: chance, and the target (path and query) of the page itself."""


class Kind(NamedTuple):
    lead: Lead
    said: str = ""  # all that a page says, {} being a number; empty: a page of text, the same everywhere
    is_new: bool = False  # a page of text, another one at every target


def _day(target: str) -> date:
    digits = "".join(filter(str.isdecimal, target))[:8]
    try:
        return date(int(digits[:4]), int(digits[4:6] or 1), int(digits[6:8] or 1))
    except ValueError:
        return FIRST_DAY


def _another_day(chance: random.Random, target: str) -> date:
    return _day(target) + timedelta(days=chance.choice((-365, -30, -7, -1, 1, 7, 30, 365)) * chance.randint(1, 3))


def calendar_path(chance: random.Random, target: str) -> str:
    return f"/calendar/{_another_day(chance, target):%Y/%m/%d}"


def calendar_query(chance: random.Random, target: str) -> str:
    return f"/events?date={_another_day(chance, target)}"


def _number(target: str) -> int:
    return int("".join(filter(str.isdecimal, target))[:9] or 0)


def counter_path(chance: random.Random, target: str) -> str:
    return f"/page/{_number(target) + chance.randint(1, 100)}"


def counter_query(chance: random.Random, target: str) -> str:
    return f"/results?n={_number(target) + chance.randint(1, 100)}"


def session_path(chance: random.Random, _target: str) -> str:
    return f"/s-{chance.getrandbits(64):016x}/item/{chance.randrange(ITEMS)}"


def session_query(chance: random.Random, _target: str) -> str:
    return f"/item/{chance.randrange(ITEMS)}?visit={chance.getrandbits(64):016x}"


def repeating_path(chance: random.Random, target: str) -> str:
    return target + "info/more/" * chance.randint(1, 2)


def cycling_path(chance: random.Random, target: str) -> str:
    return f"{target}{chance.choice(PARTS)}/"


def growing_path(chance: random.Random, target: str) -> str:
    return f"{target.rstrip('/')}/{chance.randint(1, 9)}"


def parameter_pile_up(chance: random.Random, target: str) -> str:
    return f"{target}{'&' if '?' in target else 'view?'}{chance.choice(PARTS)}{chance.randint(1, 50)}=on"


def facets(chance: random.Random, target: str) -> str:
    chosen = dict(parse_qsl(target.partition("?")[2]))
    facet = chance.choice(FACETS)
    chosen[facet] = f"{facet}{chance.randrange(FACET_VALUES)}"
    return "/find?" + "&".join(f"{name}={value}" for name, value in sorted(chosen.items()))


def path_facets(chance: random.Random, target: str) -> str:
    left = [facet for facet in FACETS if facet not in target]
    return f"{target}{chance.choice(left)}/" if left else target


def soft_404(chance: random.Random, _target: str) -> str:
    words = text(0).words
    return "/" + "/".join(chance.choices(words, k=chance.randint(1, 3))) + chance.choice(("", "/", ".html"))


def story(chance: random.Random, _target: str) -> str:
    return f"/story/{chance.getrandbits(32)}"


KINDS = {
    "calendar_path": Kind(calendar_path, "There are no events on {:%A, %d %B %Y}."),
    "calendar_query": Kind(calendar_query, "Nothing was found between {} and the day after it."),
    "counter_path": Kind(counter_path, "This is page {}."),
    "counter_query": Kind(counter_query, "No results, beginning with result {}."),
    "session_path": Kind(session_path),
    "session_query": Kind(session_query),
    "repeating_path": Kind(repeating_path),
    "cycling_path": Kind(cycling_path),
    "growing_path": Kind(growing_path, "You are {} steps down."),
    "parameter_pile_up": Kind(parameter_pile_up),
    "facets": Kind(facets),
    "path_facets": Kind(path_facets, "No product fits these {} wishes."),
    "soft_404": Kind(soft_404),
    "random_text": Kind(story, is_new=True),
}


def kind_of(atlas: Atlas, host: int) -> str | None:
    """Which trap a host is; None where it is an ordinary host."""
    place = host - atlas.options.hosts
    return list(KINDS)[place % len(KINDS)] if 0 <= place < atlas.options.trap_hosts else None


def trap_page(atlas: Atlas, visit: Visit) -> Answer | None:
    target = "/" + "/".join(visit.parts) + (f"?{visit.query}" if visit.query else "")
    kind = kind_of(atlas, visit.host)
    if kind is None or target == "/robots.txt":
        return None
    lead, said, is_new = KINDS[kind]
    chance = atlas.chance(f"trap/{visit.host}/{target}")
    anchors = [Anchor(lead(chance, target), "more") for _ in range(ENTRANCES if target == "/" else ONWARD)]
    title, sentences = _text(atlas, visit.host, kind, target if is_new else _item(kind, target))
    if said:
        about = _day(target) if "calendar" in kind else _number(target) or target.count("/")
        title, sentences = kind.replace("_", " ").capitalize(), [said.format(about)]
    page = render(title, sentences, [Anchor("/", "home"), *anchors])
    return Answer(kind, headers=(("Content-Type", HTML),), body=page.encode(), anchors=(Anchor("/"), *anchors))


def _item(kind: str, target: str) -> str:
    return target.partition("item/")[2][:1] if kind.startswith("session") else ""


def _text(atlas: Atlas, host: int, kind: str, name: str) -> tuple[str, list[str]]:
    chance = atlas.chance(f"trap-text/{host}/{kind}/{name}")
    words = text(atlas.options.seed)
    return words.title(chance), words.sentences(chance, atlas.options.page_bytes // 2)
