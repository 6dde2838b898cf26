"""robots.txt: what a host lets us fetch, as RFC 9309 says, with a copy at most a day old.

A host's robots.txt takes turns like its pages: each request for it is one lease, its redirects included, so that
politeness holds for it as for everything else. What its status means (RFC 9309 2.3.1):

    2xx                      its rules
    3xx                      the next turn asks at the target, five times at most; then as if there were none
    4xx                      there is none: everything is allowed
    429, 5xx, no answer      unreachable: nothing is allowed; asked again later, and again, then after rests that
                             grow (`frontier.rests_s`); an older copy stays in force meanwhile
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gossamer.fetch.rules import Explanation, Rules, line_of, readable, rules_for, sitemaps_of
from gossamer.records import RobotsCopy, Url
from gossamer.settings import RobotsSettings

CACHE_BYTES_MAX = 64 << 20  # of files in memory, with their rules about twice that; a usual file has 1 KB
ENTRY_BYTES = 1000  # of one that is empty, or missing
AHEAD_S = 60.0  # what two clocks may differ by


class Robots:
    """One robots.txt. It is read once for each name that asks, which in a crawl is one."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._rules: dict[str, Rules] = {}

    @classmethod
    def parse(cls, body: bytes) -> Robots:
        """Any bytes will do: what cannot be understood is passed over, as the RFC asks.

        Of a long file only the beginning is read, and its last line may be cut. It counts as it stands, because
        nothing here tells it from a line that ends with the file. A path that lost its end covers more than was
        meant: a Disallow then errs towards fetching less, an Allow still yields to longer paths that are whole.
        """
        return cls(readable(body))

    def _for(self, agent: str) -> Rules:
        rules = self._rules.get(agent)
        if rules is None:
            rules = self._rules[agent] = rules_for(self._text, agent)
        return rules

    def allowed(self, url: Url, agent: str) -> bool:
        return self._for(agent).judge(url)[0]

    def explain(self, url: Url, agent: str) -> Explanation:
        rules = self._for(agent)
        is_allowed, line = rules.judge(url)
        return Explanation(is_allowed, rules.group, line_of(self._text, line), line, rules.crawl_delay_s)

    def crawl_delay(self, agent: str) -> float | None:
        return self._for(agent).crawl_delay_s

    @property
    def sitemaps(self) -> list[str]:
        return sitemaps_of(self._text)


ALLOW_ALL = Robots.parse(b"")


@dataclass(frozen=True)
class Ask:
    """The next request of this origin has to be for this."""

    url: Url


@dataclass(frozen=True)
class Unreachable:
    """Not to be asked for again for so long: nothing of this origin may be fetched meanwhile."""

    copy: RobotsCopy
    wait_s: float


def is_unreachable(status: int | None) -> bool:
    return status is None or status == 429 or status >= 500


def decide(copy: RobotsCopy | None, origin: str, settings: RobotsSettings, now: float) -> Ask | Unreachable | None:
    """What to do before a page of this origin is fetched; None: the copy is good, its rules decide."""
    ask = Ask(f"{origin}/robots.txt")
    if copy is None:
        return ask
    if max(copy.fetched_at, copy.tried_at) > now + AHEAD_S:
        return ask  # noted by a clock that was ahead: it would be good for as long
    if copy.moved_to is not None:
        return Ask(copy.moved_to)
    waits_s = settings.retry_s
    if is_unreachable(copy.status):
        left_s = copy.tried_at + copy.rest_s - now
        return Unreachable(copy, left_s) if left_s > 0 else ask
    if now - copy.fetched_at <= settings.age_s_max:
        return None
    # Old, and the server did not answer when it was asked for a new one: in force until the next try is due.
    wait_s = waits_s[min(copy.tries, len(waits_s)) - 1] if copy.tries and waits_s else 0.0
    return None if now - copy.tried_at < wait_s else ask


def rules_of(copy: RobotsCopy) -> Robots:
    if copy.status is not None and 200 <= copy.status < 300:
        return Robots.parse(copy.body)
    return ALLOW_ALL


class RobotsCounts(msgspec.Struct):
    """Decisions about robots.txt, and how many found their rules ready in memory."""

    asked: int = 0
    hits: int = 0


class RobotsCache:
    """Copies and their parsed rules, the most recently used in memory, the rest with their hosts on disk."""

    def __init__(self, storage: Callable[[str], RobotsCopy | None]) -> None:
        self.counts = RobotsCounts()
        self._storage = storage
        self._copies: OrderedDict[str, tuple[RobotsCopy | None, Robots]] = OrderedDict()
        self._size_bytes = 0

    def get(self, origin: str) -> tuple[RobotsCopy | None, Robots]:
        self.counts.asked += 1
        found = self._copies.get(origin)
        if found is None:
            copy = self._storage(origin)
            return self._keep(origin, copy)
        self.counts.hits += 1
        self._copies.move_to_end(origin)
        return found

    def put(self, copy: RobotsCopy) -> Robots:
        return self._keep(copy.origin, copy)[1]

    def forget(self) -> None:
        """What is on disk was changed."""
        self._copies.clear()
        self._size_bytes = 0

    def _keep(self, origin: str, copy: RobotsCopy | None) -> tuple[RobotsCopy | None, Robots]:
        found = (copy, rules_of(copy) if copy else ALLOW_ALL)
        if origin in self._copies:
            self._size_bytes -= _size_of(self._copies.pop(origin)[0])
        self._copies[origin] = found
        self._size_bytes += _size_of(copy)
        while self._size_bytes > CACHE_BYTES_MAX:
            self._size_bytes -= _size_of(self._copies.popitem(last=False)[1][0])
        return found


def _size_of(copy: RobotsCopy | None) -> int:
    return ENTRY_BYTES + (len(copy.body) if copy else 0)
