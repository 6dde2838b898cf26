"""Patterns: budgets for URLs of one shape, which shrink when their pages turn out alike.

A calendar, a counter, a shop with twelve filters, a server that answers whatever it is asked for: each gives away
pages without end, and their URLs look like honest ones. But their pages are alike. So every page is counted under its
pattern (url/patterns.py). A pattern has `traps.pattern_pages` pages free, and each page that is not like the others
earns it `traps.pattern_gain` more. Archives, catalogues and forums earn faster than they spend and never notice;
a trap stops after some forty pages.

A page is *alike* if the judge found its content at another URL, or if its text is nearly that of one of the last
pages of its pattern. Of a short text a SimHash says little: there the words have to be the same, but for numbers and
the names of months and days.

Where the patterns themselves are without end (filters in all combinations, made-up names), none is ever used up. So
the first alike pages of a pattern, half of those that it has free, also count against the wider patterns that it lies
within: one whose pages come from ever new patterns runs out like any other, and an old trap costs it nothing more.

On disk: table `patterns`, host key -> {pattern: Pattern}, written in the batch that finishes an alike page, and for
unlike ones now and then. What a crash takes back makes a budget later, never smaller. In memory: the same for the
hosts being crawled now. An honest page costs about 2 µs here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from hashlib import blake2b

import msgspec

from gossamer.frontier.back import Back
from gossamer.frontier.tables import encode
from gossamer.interfaces import Batch, Store
from gossamer.records import Host, Outcome, Page, Url
from gossamer.settings import TrapsSettings
from gossamer.url.patterns import WHOLE_HOST, is_wide, lies_within, pattern_of, wider

PATTERNS_MAX = 64  # of a host; those that come later count as one. About 40 KB in memory if all are full
REMEMBERED = 8  # texts of a pattern: shops send visitors round in small circles
NEAR_BITS = 3  # as for near copies, process.near_bits
SHORT_WORDS = 40  # below it a SimHash is made of too little, process.near_words_min
PROVEN = 3  # unlike pages, if they are most of a pattern, show that it is no part of a trap around it
UNKNOWN_MAX = 4  # pages of a host may always be in flight, though they could use up a pattern
CHARS_MAX = 1000  # of a short text
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
_AROUND_WORDS = ".,:;!?()[]/'\"-"
_DIGIT = re.compile(r"\d")


class Pattern(msgspec.Struct, array_like=True, gc=False):
    """What is known of the pages of one pattern; of a wider one only what those within cost it."""

    pages: int = 0
    alike: int = 0
    last: list[int] = []  # what the last texts were, oldest first


class HostPatterns:
    """The patterns of a host, and which of them are used up."""

    __slots__ = ("_settings", "left", "pages", "patterns", "spent")

    def __init__(self, patterns: dict[str, Pattern], settings: TrapsSettings) -> None:
        self.patterns = patterns
        self.pages = 0  # since it is in memory
        self.spent: set[str] = set()
        self.left = math.inf  # pages that can be asked for before the pattern that was alike last is used up, about
        self._settings = settings
        for name in patterns:
            self.look_at(name)

    def of(self, name: str) -> Pattern:
        pattern = self.patterns.get(name)
        if pattern is None:
            pattern = self.patterns[name] = Pattern(last=[])
        return pattern

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
        left = allowed(pages - alike, self._settings) - pages
        if left <= 0:
            self.spent.add(name)
            return math.inf  # nothing more of it is asked for
        self.spent.discard(name)
        return left


_decode = msgspec.msgpack.Decoder(dict[str, Pattern]).decode


def allowed(unlike: int, settings: TrapsSettings) -> int:
    """How many pages a pattern may have, if so many of them are not like the others."""
    return settings.pattern_pages + settings.pattern_gain * unlike


class Patterns:
    def __init__(self, store: Store, settings: TrapsSettings, active: Mapping[bytes, Back]) -> None:
        """`active`: the hosts being crawled now; those have their patterns in memory."""
        self._store = store
        self._settings = settings
        self._active = active
        self._dirty: dict[bytes, HostPatterns] = {}

    def _of(self, key: bytes) -> HostPatterns:
        back = self._active.get(key)
        if back is not None and back.patterns is not None:
            return back.patterns
        is_new = back is not None and back.host.pages <= 1  # the page in hand is its first
        stored = None if is_new else self._store.get("patterns", key)
        patterns = HostPatterns(_decode(stored) if stored is not None else {}, self._settings)
        if back is not None:
            back.patterns = patterns
        return patterns

    # ---- what may still be asked for ---------------------------------------------------------------------

    def has_spent(self, key: bytes, host: Host) -> bool:
        """Whether any pattern of this host is used up: only then is it worth a look at a URL."""
        return host.pages >= self._settings.pattern_pages and bool(self._of(key).spent)

    def is_held(self, back: Back) -> bool:
        """What is in flight may use up a pattern: wait and see."""
        if back.out < UNKNOWN_MAX:
            return False
        return back.patterns is not None and back.out >= back.patterns.left

    def refusal(self, key: bytes, url: Url) -> str | None:
        """Why a URL of this host is taken for a trap, in words; None: its pattern has budget left."""
        host = self._of(key)
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

    # ---- what a page adds --------------------------------------------------------------------------------

    def count(self, key: bytes, outcome: Outcome) -> None:
        """A page was had for the first time."""
        page = outcome.page
        assert page is not None
        host = self._of(key)
        name = pattern_of(outcome.lease.url)
        pattern = host.patterns.get(name)
        if pattern is None:
            name = name if len(host.patterns) < PATTERNS_MAX else WHOLE_HOST
            pattern = host.of(name)
        pattern.pages += 1
        host.pages += 1
        is_alike = _is_alike(pattern, page) or not outcome.verdict.is_original
        if pattern.pages <= PROVEN and name != WHOLE_HOST:
            is_alike |= _is_alike(host.of(WHOLE_HOST), page)
        if is_alike:
            pattern.alike += 1
            host.left = host.look_at(name)
            if pattern.alike <= self._settings.pattern_pages // 2:
                _charge_wider(host, name)
        else:
            host.left += self._settings.pattern_gain
            if host.spent:  # it may have earned something
                for spent in list(host.spent):
                    host.look_at(spent)
        if is_alike or (host.pages >= SAVED_FROM and host.pages.bit_count() == 1):
            self._dirty[key] = host

    def save(self, batch: Batch) -> None:
        for key, host in self._dirty.items():
            batch.put("patterns", key, encode(host.patterns))
        self._dirty.clear()


def _charge_wider(host: HostPatterns, name: str) -> None:
    for wide in wider(name):
        if wide != name:
            pattern = host.of(wide)
            pattern.pages += 1
            pattern.alike += 1
            host.left = min(host.left, host.look_at(wide))


def _is_alike(pattern: Pattern, page: Page) -> bool:
    """Whether the pattern has just had this text; otherwise it is remembered."""
    text, bits = page.simhash, NEAR_BITS
    if page.words < SHORT_WORDS:
        text, bits = _fingerprint_of_few(page), 0
        if not text:
            return False  # a picture, or a page that a script would fill: there is nothing to compare
    for other in pattern.last:
        if (other ^ text).bit_count() <= bits:
            return True
    pattern.last.append(text)
    if len(pattern.last) > REMEMBERED:
        del pattern.last[0]
    return False


def _fingerprint_of_few(page: Page) -> int:
    text = page.main_text or page.text
    if not text or text.isspace():
        return 0
    said = f"{page.title} {text}"[:CHARS_MAX].lower()
    # As a SimHash sees them: no word has a digit in it.
    bare = (word.strip(_AROUND_WORDS) for word in said.split())
    words = [word for word in bare if word.isalpha() or not _DIGIT.search(word) if word not in _CALENDAR_WORDS]
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8).digest(), "big") | 1
