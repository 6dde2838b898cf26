"""Traps that a URL gives away: places that go on for ever, told by the shape of the address alone.

Each rule catches what programs make and people do not, and each is drawn so that no honest URL is refused: a page
that is wrongly kept out is lost, while a trap that gets in is noticed by its content after a few dozen pages
(frontier/patterns.py). That goes for session ids in paths, too: commits and documents have names like theirs. The
rules are pure; time comes in as an argument.

- too long, too deep: links that grow by a bit on every page;
- repeated parts of a path, /a/b/a/b/a/b, and three or more parts that come twice in a row, /a/b/c/a/b/c: a relative
  link that should have been absolute, or a folder that holds itself. Numbers do not count, since dates and numbered
  folders repeat them honestly (/2011/11/11/11, /00/00/00/42.jpg), unless five and more in a row count up, /1/2/3/4/5;
- too many parameters, the same parameter again and again: filters that pile up; a URL inside a URL inside a URL;
- calendars: "next month" without end. A date far ahead, or far back in what calls itself a calendar.
  /2003/05/some-title is an archive, /products/2100/5 is no date.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise

from gossamer.records import Reason, Url
from gossamer.settings import TrapsSettings

COUNTED_MIN = 5  # numbers in a row that count up: a path that grows by one part on every page
CYCLE_MIN = 3  # parts; fewer come twice in a row honestly, /en/docs/en/docs
CALENDAR_YEARS_AHEAD = 2  # next year's conference is announced, and the one after; hardly anything beyond
CALENDAR_YEARS_BACK = 15  # few event calendars are older, and every calendar program goes back for ever
DATE_YEARS_AHEAD = 75  # where nothing says calendar, later "years" are numbers: /images/8745/12/03.jpg

# Most URLs need no more than these looks at their path and their query. Each starts with a digit, and looks back from
# there, to be quick. Numbers alone are no dates in a path: sites that count their pages have them everywhere.
_MAY_BE_DATED = re.compile(r"[1-9](?<![0-9]{2})[0-9]{3}[-/_.][01]?[0-9]")
_HAS_YEAR = re.compile(r"[1-9](?<![0-9]{2})[0-9]{3}(?:[0-9]{2}){0,2}(?![0-9])")
# Escaped five times over: each round through a login or a language switch wraps the whole URL once more.
WRAPPED_AGAIN = "%25252525"

# A year and a month, maybe a day: 2031/05, 2031-5-1, 2031_05_01.
_DATE = re.compile(r"(?<![0-9])((?:1[89]|[2-9][0-9])[0-9]{2})([-/_.])(0?[1-9]|1[0-2])(?:\2([0-3]?[0-9]))?(?![0-9])")
_DATE_ONLY_DIGITS = re.compile(r"((?:19|2[0-9])[0-9]{2})(?:0[1-9]|1[0-2])(?:[0-3][0-9])?")
_YEAR_LAST = re.compile(r"[0-3]?[0-9]([-/_.])[0-3]?[0-9]\1((?:19|2[0-9])[0-9]{2})")
# What a calendar may write behind a date; a title there means a page about something.
_VIEW = re.compile(
    r"(?:\.[a-z]+)?(?:/(?:day|week|month|list|view|index|default|w?[0-9]+)(?:\.[a-z]+)?)*/?", re.IGNORECASE
)

_CALENDAR = re.compile(r"calend[aeo]r|kalend|calendri|almanac", re.IGNORECASE)
_EVENTS = re.compile(
    r"\bevents?\b|events?[_-]|agenda|termine|veranstaltung|evenement|eventos|schedule|booking|availability",
    re.IGNORECASE,
)
_DATED = re.compile(r"date|check-?in|\b(?:day|week|month|year|start|end|from|to)\b", re.IGNORECASE)
_YEAR_NAMES = frozenset(("year", "yr", "y", "jahr", "annee", "ano", "anno"))
_MONTH_NAMES = frozenset(("month", "mon", "m", "monat", "mois", "mes", "mese"))


def trap_in(url: Url, bounds: TrapsSettings, now: float) -> Reason | None:
    """The trap that this URL looks like; None: it looks honest."""
    if len(url) > bounds.url_bytes_max:  # canonical URLs are ASCII
        return Reason.URL_TOO_LONG
    path, _, query = url[url.index("/", url.index("//") + 2) :].partition("?")
    if path.count("/") > min(bounds.repeats_max, bounds.path_depth_max):
        parts = [part for part in path.split("/") if part]
        if len(parts) > bounds.path_depth_max:
            return Reason.TRAP_PATH_DEPTH
        if _repeats(parts, bounds.repeats_max):
            return Reason.TRAP_REPEATED_PATH
    parameters = query.split("&") if query else []
    if parameters and (WRAPPED_AGAIN in query or _piles_up(parameters, bounds)):
        return Reason.TRAP_PARAMETERS
    if (_MAY_BE_DATED.search(path) or (query and _HAS_YEAR.search(query))) and _is_far_in_a_calendar(
        path, parameters, now
    ):
        return Reason.TRAP_CALENDAR
    return None


def _repeats(parts: list[str], most: int) -> bool:
    again = len(parts) - len(set(parts))
    if again >= most and any(times > most and not _is_number(part) for part, times in Counter(parts).items()):
        return True
    if again >= CYCLE_MIN and _cycles(parts):
        return True
    return len(parts) >= COUNTED_MIN and _counts_up(parts)


def _counts_up(parts: list[str]) -> bool:
    run = 0
    for before, part in pairwise(parts):
        is_next = before.isdecimal() and part.isdecimal() and len(part) < 6 and int(part) == int(before[:6]) + 1
        run = run + 1 if is_next else 0
        if run == COUNTED_MIN - 1:
            return True
    return False


def _cycles(parts: list[str]) -> bool:
    for length in range(CYCLE_MIN, len(parts) // 2 + 1):
        for start in range(len(parts) - 2 * length + 1):
            cycle = parts[start : start + length]
            if cycle == parts[start + length : start + 2 * length] and not any(map(_is_number, cycle)):
                return True
    return False


def _is_number(part: str) -> bool:
    """Also `-` and `_`, which stand for a choice that was not made: /shoes/-/-/-/red."""
    return not any(map(str.isalpha, part))


def _piles_up(parameters: list[str], bounds: TrapsSettings) -> bool:
    if len(parameters) > bounds.parameters_max:
        return True
    names = [parameter.partition("=")[0] for parameter in parameters]
    if len(set(names)) == len(names):
        return False
    if max(Counter(parameters).values()) > bounds.repeats_max:
        return True
    # Several values for one name are honest (tag=a&tag=b), up to half of what a query may hold.
    return max(Counter(names).values()) > max(bounds.repeats_max, bounds.parameters_max // 2)


def _is_far_in_a_calendar(path: str, parameters: list[str], now: float) -> bool:
    year_now = datetime.fromtimestamp(now, UTC).year

    def is_far(year: int, *, is_date: bool, may_be_archive: bool) -> bool:
        if year_now - CALENDAR_YEARS_BACK <= year <= year_now + CALENDAR_YEARS_AHEAD:
            return False
        is_calendar = _CALENDAR.search(path) is not None
        is_events = is_calendar or _EVENTS.search(path) is not None
        if year > year_now:
            return is_events or (is_date and year <= year_now + DATE_YEARS_AHEAD)
        return is_calendar or (is_events and not may_be_archive)

    for date in _DATE.finditer(path):
        is_full = date[4] is not None and len(date[3]) == len(date[4]) == len("05")
        if _VIEW.fullmatch(path, date.end()) and is_far(int(date[1]), is_date=is_full, may_be_archive=True):
            return True
    named: dict[str, str] = {}
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        named[name.lower()] = value
        year = _year_in(value)
        is_date = _DATED.search(name) is not None
        if year is not None and is_far(year, is_date=is_date, may_be_archive=not is_date):
            return True
    has_month = not _MONTH_NAMES.isdisjoint(named)
    years = [int(named[name]) for name in _YEAR_NAMES & named.keys() if re.fullmatch("[1-9][0-9]{3}", named[name])]
    return any(is_far(year, is_date=has_month, may_be_archive=not has_month) for year in years)


def _year_in(value: str) -> int | None:
    """The year of a date that a parameter holds: 2031-05, 2031-05-01T10:00, 20310501, 1.5.2031."""
    value = value.replace("%2F", "/")
    if date := _DATE.match(value) or _DATE_ONLY_DIGITS.fullmatch(value):
        return int(date[1])
    if date := _YEAR_LAST.fullmatch(value):
        return int(date[2])
    return None
