"""The rules of robots.txt: which of its lines speak to us, and what they say of a URL. RFC 9309, section 2.

A file is read in one pass for one crawler's name, and only the lines for that name are kept, or those for `*` where
no line names us. Groups for the same name are merged wherever they stand. Of the paths that match, the longest
decides, and of two equally long ones the Allow. Lines that mean nothing are passed over and never end a group.

Where the RFC can be read in two ways, the reading that fetches less is ours:

- An escaped plain letter (`%7E` for `~`) is decoded before a Disallow is compared, as section 2.2.2 says. An Allow is
  compared as it is written, as the conformance cases of Google's parser have it. So an Allow never reaches further
  than its author wrote, and a Disallow never less far than its author meant. For the same reason a URL with bare
  letters outside ASCII is encoded for a Disallow and not for an Allow; a canonical URL has none.
- `/robots.txt` is judged like any other page. That section 2.2.2 always allows it lets us read the rules, and we do.
- Common misspellings of Disallow and a forgotten colon are understood.

Reserved characters are compared as they stand: `/` and `%2F` are different resources (RFC 3986, 2.2). `*` and `$`
in a URL are themselves; a rule that means them writes `%2A` and `%24` (RFC 9309, 2.2.3).

Cost: paths without wildcards lie in a dictionary, and a decision looks up the beginnings of the URL's path, one for
each length that occurs; paths with wildcards are tried one by one, the longest first, each in one walk from left to
right without going back. docs/decisions/0008 has the figures.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

import msgspec

from gossamer.records import Url

SHOWN_CHARS_MAX = 200  # of a line, in an explanation: a line may be as long as the file


class Explanation(msgspec.Struct, frozen=True):
    """May this URL be fetched, and which line says so."""

    is_allowed: bool
    group: str = ""  # whose lines were obeyed: our name, "*", or "" where none speak to us
    rule: str = ""  # the line as it stands in the file; "": no rule matches, so all is allowed
    line: int = 0  # its number, from 1 on
    crawl_delay_s: float | None = None


# ---- Lines ------------------------------------------------------------------------------------------------


class Field(Enum):
    """What a line is about: the names that it goes by, in lower case."""

    USER_AGENT = (b"user-agent", b"useragent", b"user agent")
    ALLOW = (b"allow",)
    DISALLOW = (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")
    CRAWL_DELAY = (b"crawl-delay", b"crawl delay")
    SITEMAP = (b"sitemap", b"sitemaps", b"site-map")
    UNKNOWN = (b"",)


FIELDS = {name: field for field in Field for name in field.value}


class Record(NamedTuple):
    line: int
    field: Field
    value: bytes


def readable(body: bytes) -> bytes:
    """The text of a file without its byte order mark. UTF-16, which some editors write, becomes UTF-8."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace").encode()
    # Also a part of the mark: the conformance cases have files whose first bytes were lost.
    for mark in (codecs.BOM_UTF8, codecs.BOM_UTF8[:2], codecs.BOM_UTF8[:1]):
        if body.startswith(mark):
            return body[len(mark) :]
    return body


def records(text: bytes) -> Iterator[Record]:
    """What its lines say. They end with CR, LF or both, as in `bytes.splitlines`; a comment says nothing."""
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition(b"#")[0]
        name, colon, value = said.partition(b":")
        if not colon:
            match said.split():
                case [name, value]:
                    pass
                case []:
                    continue
                case _:
                    value = b""
        yield Record(number, FIELDS.get(name.strip().lower(), Field.UNKNOWN), value.strip())


def line_of(text: bytes, number: int) -> str:
    """A line for people to read; "" for line 0, which stands for none."""
    if not number:
        return ""
    shown = text.splitlines()[number - 1].strip()[: 4 * SHOWN_CHARS_MAX].decode("utf-8", "replace")
    return shown if len(shown) <= SHOWN_CHARS_MAX else shown[:SHOWN_CHARS_MAX] + "…"


def sitemaps_of(text: bytes) -> list[str]:
    """As they are written, each once. A sitemap belongs to no group."""
    found = (record.value.decode("utf-8", "replace") for record in records(text) if record.field is Field.SITEMAP)
    return list(dict.fromkeys(url for url in found if url))


def seconds_of(value: bytes) -> float | None:
    """A Crawl-delay; None where it is no number of seconds that one could wait."""
    try:
        seconds = float(value.replace(b"_", b"x"))  # only in Python is 1_0 a number
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


# ---- Paths ------------------------------------------------------------------------------------------------

_BEFORE_PATH = re.compile(r"(?:[^/?#:]*:)?(?://)?[^/?#]*")
_UNSAFE = r'\x00-\x20"<>\\^`{|}\x7f*$'  # neither reserved nor unreserved in RFC 3986, or an operator in a rule
_IN_ASCII = re.compile(rf"%[0-9A-Fa-f]{{2}}|[{_UNSAFE}]+")
_IN_OCTETS = re.compile(rf"%[0-9A-Fa-f]{{2}}|[{_UNSAFE}\x80-\xff]+")
_UNRESERVED = {f"%{ord(c):02X}": c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"}


def path_of(url: Url) -> str:
    """Path and query: what rules are compared with."""
    before = _BEFORE_PATH.match(url)
    path = url[before.end() if before else 0 :].partition("#")[0]
    return path if path.startswith("/") else "/" + path


def _encoded(found: re.Match[str]) -> str:
    text = found[0]
    return (text if text[0] == "%" else "%" + text.encode("latin-1").hex("%")).upper()


def _decoded(found: re.Match[str]) -> str:
    text = _encoded(found)
    return _UNRESERVED.get(text, text)


def as_meant(octets: str) -> str:
    """For a Disallow: as RFC 9309, 2.2.2 has it. Takes octets as characters up to U+00FF."""
    return _IN_OCTETS.sub(_decoded, octets)


def as_written(octets: str) -> str:
    """For an Allow: encoded where it has to be, and nothing decoded."""
    return _IN_OCTETS.sub(_encoded, octets)


class Pattern(NamedTuple):
    """A path with wildcards, cut at them."""

    octets: int
    probe: str  # its longest piece: where that is nowhere in a path, nothing else needs a look
    line: int
    head: str  # the path begins with this,
    middle: tuple[str, ...]  # then these come, one after the other,
    tail: str  # and it ends with this:
    is_anchored: bool  # `$`; without it anything may follow
    has_gap: bool  # there is a `*`


class Paths:
    """The paths of all Allow lines, or of all Disallow lines, of a group."""

    __slots__ = ("_lengths", "_patterns", "_plain")

    def __init__(self) -> None:
        self._plain: dict[str, int] = {}  # path, with its `$` if it has one: the first line that has it
        self._lengths: list[int] = []  # of plain paths without `$`, the longest first
        self._patterns: list[Pattern] = []  # the longest first

    def add(self, path: str, octets: int, line: int) -> None:
        if "*" not in path and len(path) == octets:
            self._plain.setdefault(path, line)
            return
        is_anchored = path.endswith("$")
        head, *rest = path.removesuffix("$").split("*")
        middle = tuple(filter(None, rest[:-1]))
        tail = rest[-1] if rest else ""
        probe = max((head, *middle, tail), key=len)
        self._patterns.append(Pattern(octets, probe, line, head, middle, tail, is_anchored, has_gap=bool(rest)))

    def sort(self) -> None:
        """Once, after the last `add`."""
        self._lengths = sorted({len(path) for path in self._plain if path[-1] != "$"}, reverse=True)
        self._patterns.sort(key=lambda pattern: -pattern.octets)  # stable: the first of equals stays first

    def longest(self, path: str) -> tuple[int, int]:
        """Octets and line of the most specific path that matches; zeros where none does."""
        best = self._longest_plain(path)
        best_octets = best[0]
        for pattern in self._patterns:
            octets, probe, *_ = pattern
            if octets <= best_octets:
                break
            if probe in path and matches(pattern, path):
                return octets, pattern.line
        return best

    def _longest_plain(self, path: str) -> tuple[int, int]:
        # A URL's own `$` is escaped, so this key is the rule for exactly this path: no other can be longer.
        line = self._plain.get(path + "$")
        if line is not None:
            return len(path) + 1, line
        for length in self._lengths:
            if length <= len(path) and (line := self._plain.get(path[:length])) is not None:
                return length, line
        return 0, 0


def matches(pattern: Pattern, path: str) -> bool:
    """Each piece is taken at the first place where it fits: no other place would leave more for the next pieces."""
    if not path.startswith(pattern.head):
        return False
    at = len(pattern.head)
    if not pattern.has_gap:
        return at == len(path) or not pattern.is_anchored
    for piece in pattern.middle:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    if pattern.is_anchored:
        return len(path) - len(pattern.tail) >= at and path.endswith(pattern.tail)
    return path.find(pattern.tail, at) >= 0


# ---- Groups -----------------------------------------------------------------------------------------------

_PRODUCT = re.compile(rb"[A-Za-z_-]*")  # RFC 9309, 2.2.1: what follows, as a version, is not part of the name


class Rules:
    """All that a file says to one crawler: its groups, merged."""

    __slots__ = ("_allowed", "_disallowed", "crawl_delay_s", "group")

    def __init__(self, group: str) -> None:
        self.group = group
        self.crawl_delay_s: float | None = None
        self._allowed = Paths()
        self._disallowed = Paths()

    def add(self, record: Record) -> None:
        # Octets as characters, so that one regular expression does for rules and for URLs.
        value = record.value.decode("latin-1")
        if not value:
            return  # an empty path matches nothing
        paths = self._disallowed if record.field is Field.DISALLOW else self._allowed
        if _IN_OCTETS.search(value) is None:
            paths.add(value, len(value), record.line)
            return
        end = "$" if value.endswith("$") else ""
        pieces = value.removesuffix("$").split("*")
        meant = "*".join(map(as_meant, pieces)) + end
        path = meant if paths is self._disallowed else "*".join(map(as_written, pieces)) + end
        # What is decoded counts as what it means, so that an Allow gains no weight over a Disallow by its escapes.
        paths.add(path, len(meant), record.line)

    def delay(self, seconds: float) -> None:
        """Of several the longest: it keeps all of them."""
        self.crawl_delay_s = max(seconds, self.crawl_delay_s or 0.0)

    def sort(self) -> Rules:
        self._allowed.sort()
        self._disallowed.sort()
        return self

    def judge(self, url: Url) -> tuple[bool, int]:
        """Is it allowed, and by which line; 0: by none."""
        path = written = meant = path_of(url)
        if not path.isascii() or _IN_ASCII.search(path) is not None:
            written = _IN_ASCII.sub(_encoded, path)
            meant = as_meant(path.encode("utf-8", "surrogatepass").decode("latin-1"))
        forbidden_octets, forbidding_line = self._disallowed.longest(meant)
        allowed_octets, allowing_line = self._allowed.longest(written)
        if forbidden_octets > allowed_octets:
            return False, forbidding_line
        return True, allowing_line


def rules_for(text: bytes, agent: str) -> Rules:
    """The groups that name this crawler, or else those for `*`, or else nothing. `agent` may have a version."""
    product = agent.partition("/")[0]
    ours, general = Rules(product), Rules("*")
    names: dict[bytes | None, Rules] = {product.lower().encode("utf-8", "replace"): ours, b"*": general}
    spoken_to: list[Rules] = []  # by all groups so far
    ruled: list[Rules] = []  # by the rules of this group
    paced: list[Rules] = []  # by a Crawl-delay, if one follows
    has_rules = has_other = False

    for record in records(text):
        match record.field:
            case Field.USER_AGENT:
                # Only a rule ends the User-agent lines of a group (2.2.1 with 2.2.4). A Crawl-delay is no rule and
                # does not, yet itself it is meant for the lines above it and not for those that follow.
                if has_rules:
                    ruled = []
                if has_rules or has_other:
                    paced = []
                has_rules = has_other = False
                if (rules := names.get(_name_in(record.value))) is not None:
                    for addressed in (spoken_to, ruled, paced):
                        if rules not in addressed:
                            addressed.append(rules)
            case Field.ALLOW | Field.DISALLOW:
                has_rules = True
                for rules in ruled:
                    rules.add(record)
            case Field.CRAWL_DELAY:
                has_other = True
                if (seconds := seconds_of(record.value)) is not None:
                    for rules in paced:
                        rules.delay(seconds)
    if ours in spoken_to:
        return ours.sort()
    return general.sort() if general in spoken_to else Rules("")


def _name_in(value: bytes) -> bytes | None:
    """The product token of a User-agent line, or `*`; None where it has neither."""
    if value.startswith(b"*"):
        return b"*" if value[1:2].isspace() or len(value) == 1 else None
    found = _PRODUCT.match(value)
    return found[0].lower() or None if found else None
