"""Patterns: budgets for URLs of one shape, which shrink when their pages turn out alike.

A calendar, a counter, a shop with twelve filters, a server that answers whatever it is asked for: each gives away
pages without end, and their URLs look like honest ones. But their pages are alike. So every page is counted under its
pattern (url/patterns.py). A pattern has `traps.pattern_pages` pages free, three times as many on a host that a person
asked for, and each further page that is not like the others earns it `traps.pattern_gain` more. Archives, catalogues
and forums earn faster than they spend and never notice; a trap stops when its free pages are fetched.

A page is *alike* if the judge found its content at another URL, or if its text is nearly that of one of the last
pages of its pattern: nine tenths of it, numbers included (resemblance.py). In a short text a date alone is more than
the rest: there all words have to be the same, and all numbers but one, or all but dates. So neither products that
share their terms of sale nor tables of figures are alike, and the days of a calendar are.

Where the patterns themselves are without end (filters in all combinations, made-up names), none is ever used up. So
the first alike pages of a pattern, half of those that it has free, also count against the wider patterns that it lies
within: one whose pages come from ever new patterns runs out like any other, and an old trap costs it nothing more.

A host has room for `PATTERNS_MAX` patterns. The one that goes is the one used longest ago among those that never had
an alike page; what its pages earned goes on to the pattern around it. So an alike page always counts against its own
pattern, however many sections a site has, and a trap that is met late cannot live on what the others earned.

On disk: table `patterns`, host key -> {pattern: Pattern}, least recently used first, written in the batch that
finishes an alike page, and for unlike ones now and then. What a crash takes back makes a budget later, never smaller.
In memory: the same for the hosts being crawled now. An honest page costs about 2 µs here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from itertools import groupby
from typing import Protocol

import msgspec

from gossamer.frontier.disk.tables import encode
from gossamer.interfaces import Batch, Store
from gossamer.records import Host, Outcome, Page, Url
from gossamer.resemblance import are_near
from gossamer.settings import TrapsSettings
from gossamer.url.patterns import WHOLE_HOST, is_wide, lies_within, pattern_of, wider
from gossamer.url.site import host_of

PATTERNS_MAX = 64  # of a host. About 70 KB in memory if all are full and all have alike pages
ASKED_FOR = 3  # times as many free pages on a host that a person asked for, and for the pattern of a whole host
REMEMBERED = 3  # texts of a pattern
REMEMBERED_ALIKE = 8  # and of one with alike pages: shops send visitors round in small circles
SHORT_WORDS = 80  # up to here two dates may be more than a tenth of a text
SHORT_CHARS = 1000
PROVEN = 3  # unlike pages, if they are most of a pattern, show that it is no part of a trap around it
SAVED_FROM = 8  # pages of a host; most hosts never get there

# Said on every page of a calendar, and different on each: English, German, French, Spanish.
_CALENDAR_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
    januar februar märz mai juni juli oktober dezember
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    lundi mardi mercredi jeudi vendredi samedi dimanche
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    lunes martes miércoles jueves viernes sábado domingo
    """,
    )
)
_WORD = re.compile(r"\w+")


class Pattern(msgspec.Struct, array_like=True, gc=False):
    """What is known of the pages of one pattern; of a wider one only what those within cost it."""

    pages: int = 0
    alike: int = 0
    last: list[bytes | int] = []  # the last texts, oldest first: sketches, and hashes. Numbers are of old versions


class HostPatterns:
    """The patterns of a host, least recently used first, and which of them are used up."""

    __slots__ = ("_free", "_gain", "_newest", "left", "pages", "patterns", "spent")

    def __init__(self, patterns: dict[str, Pattern], free: int, gain: int) -> None:
        self.patterns = patterns
        self.pages = 0  # since it is in memory
        self.spent: set[str] = set()
        # Pages that can be asked for before the pattern that was alike last is used up, about; at first, any pattern.
        self.left: float = free
        self._free = free
        self._gain = gain
        self._newest = ""  # the last in `patterns`, once it is known
        for name in patterns:
            self.look_at(name)

    def use(self, name: str) -> tuple[str, Pattern]:
        """The pattern that a page counts for: its own; the whole host's where all others are used up."""
        if name == self._newest:  # as on most hosts nearly always: a dict that is shuffled grows anew again and again
            return name, self.patterns[name]
        pattern = self.patterns.pop(name, None)
        if pattern is None:
            if len(self.patterns) >= PATTERNS_MAX and name != WHOLE_HOST and not self._make_room():
                return self.use(WHOLE_HOST)
            pattern = Pattern(last=[])
        self.patterns[name] = pattern
        self._newest = name
        return name, pattern

    def _make_room(self) -> bool:
        """Forget a pattern that never had an alike page; what it earned stays with the one around it.

        Where most had one, each of another address, the few honest ones are worth more: then one of those goes."""
        rows = [row for row in self.patterns.items() if row[0] not in self.spent and row[0] != WHOLE_HOST]
        if not rows:
            return False
        never = [row for row in rows if not row[1].alike]
        group = never if 2 * len(never) >= len(rows) else [row for row in rows if row[1].alike]
        name, pattern = min(group, key=lambda row: row[1].alike)  # of equal ones the first, used longest ago
        del self.patterns[name]
        around = next((wide for wide in wider(name) if wide != name and wide in self.patterns), WHOLE_HOST)
        self.patterns.setdefault(around, Pattern(last=[])).pages += pattern.pages - pattern.alike
        return True

    def balance(self, name: str) -> tuple[int, int]:
        """Of how many pages that count for a pattern how many are alike. Unlike pages count for all wider ones."""
        own = self.patterns[name]
        if not is_wide(name):
            return own.pages, own.alike
        unlike = sum(each.pages - each.alike for other, each in self.patterns.items() if lies_within(other, name))
        return own.alike + unlike, own.alike

    def look_at(self, name: str) -> float:
        """Is it used up? Otherwise how many pages it has left."""
        pages, alike = self.balance(name)
        free = self._free * ASKED_FOR if name == WHOLE_HOST else self._free
        left = free + self._gain * max(0, pages - alike - 1) - pages  # the first page of any trap is like no other
        if left <= 0:
            self.spent.add(name)
            return math.inf  # nothing more of it is asked for
        self.spent.discard(name)
        return left

    def count(self, name: str, page: Page, *, is_copy: bool) -> bool:
        """Whether the page is like others of its pattern."""
        name, pattern = self.use(name)
        pattern.pages += 1
        self.pages += 1
        is_alike = _is_alike(pattern, page) or is_copy
        if pattern.pages <= PROVEN and name != WHOLE_HOST:
            is_alike |= _is_alike(self.use(WHOLE_HOST)[1], page)
        if is_alike:
            pattern.alike += 1
            self.left = self.look_at(name)
            if pattern.alike <= max(1, self._free // 2):
                self._charge_wider(name)
        else:
            self.left += self._gain
            if self.spent:
                for spent in list(self.spent):  # it may have earned something
                    self.look_at(spent)
        return is_alike

    def _charge_wider(self, name: str) -> None:
        for wide in wider(name):
            if wide != name:
                name_of_wide, pattern = self.use(wide)
                pattern.pages += 1
                pattern.alike += 1
                self.left = min(self.left, self.look_at(name_of_wide))

    def used_up(self) -> Iterator[tuple[str, int, int]]:
        """Each pattern of which nothing more is asked for, its pages, and how many of them were alike."""
        for name in self.patterns:
            if name in self.spent:
                yield name, *self.balance(name)


_decode = msgspec.msgpack.Decoder(dict[str, Pattern]).decode


class Queue(Protocol):
    """What is looked at of a host's queue (back.py)."""

    host: Host
    out: int
    patterns: HostPatterns | None


class Patterns:
    def __init__(
        self,
        store: Store,
        settings: TrapsSettings,
        active: Mapping[bytes, Queue],
        is_home: Callable[[str], bool] = lambda host: False,
    ) -> None:
        """`active`: the hosts being crawled now; with patterns in memory. `is_home`: did a person ask for it?"""
        self._store = store
        self._settings = settings
        self._active = active
        self._is_home = is_home
        self._dirty: dict[bytes, HostPatterns] = {}

    def _of(self, key: bytes, host: str) -> HostPatterns:
        back = self._active.get(key)
        if back is not None and back.patterns is not None:
            return back.patterns
        is_new = back is not None and back.host.pages <= 1  # the page in hand is its first
        stored = None if is_new else self._store.get("patterns", key)
        free = self._settings.pattern_pages * (ASKED_FOR if self._is_home(host) else 1)
        patterns = HostPatterns(_decode(stored) if stored is not None else {}, free, self._settings.pattern_gain)
        if back is not None:
            back.patterns = patterns
        return patterns

    # ---- what may still be asked for ---------------------------------------------------------------------

    def has_spent(self, key: bytes, host: Host, back: Queue | None = None) -> bool:
        """Whether any pattern of this host is used up: only then is it worth a look at a URL."""
        if host.pages < self._settings.pattern_pages:
            return False
        return bool(((back and back.patterns) or self._of(key, host.name)).spent)

    def is_held(self, back: Queue) -> bool:
        """What is in flight may use up a pattern: wait and see."""
        return back.patterns is not None and back.out >= back.patterns.left

    def refusal(self, key: bytes, url: Url) -> str | None:
        """Why a URL of this host is taken for a trap, in words; None: its pattern has budget left."""
        host = self._of(key, host_of(url))
        if not host.spent:
            return None
        name = pattern_of(url)
        own = host.patterns.get(name)
        if own is not None and own.pages - own.alike >= max(PROVEN, own.alike):
            return None
        for each in (name, *wider(name)):
            if each in host.spent:
                pages, alike = host.balance(each)
                return f"of {pages} pages with addresses like {each}, {alike} were like others"
        return None

    def used_up(self, key: bytes, host: Host) -> list[tuple[str, int, int]]:
        """The patterns of a host of which nothing more is asked for: name, pages, and how many were alike."""
        return list(self._of(key, host.name).used_up()) if self.has_spent(key, host) else []

    # ---- what a page adds --------------------------------------------------------------------------------

    def count(self, key: bytes, outcome: Outcome, back: Queue | None = None) -> None:
        """A page was fetched for the first time. `back`: the queue of its host, if the caller has it at hand."""
        assert outcome.page is not None
        host = (back and back.patterns) or self._of(key, outcome.lease.host)
        is_copy = not outcome.verdict.is_original
        is_alike = host.count(pattern_of(outcome.lease.url), outcome.page, is_copy=is_copy)
        if is_alike or (host.pages >= SAVED_FROM and host.pages.bit_count() == 1):
            self._dirty[key] = host

    def save(self, batch: Batch) -> None:
        for key, host in self._dirty.items():
            batch.put("patterns", key, encode(host.patterns))
        self._dirty.clear()


def _is_alike(pattern: Pattern, page: Page) -> bool:
    """Whether the pattern has just had this text; otherwise it is remembered."""
    if not page.sketch:
        return False  # a picture, or a page that a script would fill: there is nothing to compare
    undated = _undated(page) if page.words < SHORT_WORDS else b""
    text = undated or page.sketch
    for other in pattern.last:
        if text == other or (isinstance(other, bytes) and are_near(page.sketch, other)):
            return True
    pattern.last.append(text)
    del pattern.last[: -REMEMBERED_ALIKE if pattern.alike else -REMEMBERED]
    return False


def _undated(page: Page) -> bytes:
    """A hash of what a short page says besides dates with names of months or days; empty where it has none."""
    text = page.main_text or page.text
    if len(text) > SHORT_CHARS:
        return b""
    words = _WORD.findall(f"{page.title} {text}".lower())
    if _CALENDAR_WORDS.isdisjoint(words):
        return b""
    said: list[str] = []
    for is_date, some in groupby(words, lambda word: word in _CALENDAR_WORDS or not word.isalpha()):
        run = list(some)
        if not is_date or _CALENDAR_WORDS.isdisjoint(run):
            said += run
    return blake2b(" ".join(said).encode(), digest_size=8).digest()
