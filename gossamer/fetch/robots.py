"""robots.txt: what a host lets us fetch, as RFC 9309 says, with a copy at most a day old.

A host's robots.txt takes turns like its pages: each request for it is one lease, its redirects included, so that
politeness holds for it as for everything else. What its status means (RFC 9309 2.3.1):

    2xx                      its rules
    3xx                      the next turn asks at the target, five times at most; then as if there were none
    4xx                      there is none: everything is allowed
    429, 5xx, no answer      unreachable: nothing is allowed; asked again later, and again, then given up;
                             an older copy stays in force meanwhile
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from protego import Protego

from gossamer.records import RobotsCopy, Url
from gossamer.settings import RobotsSettings

ORIGINS_MAX = 20_000  # parsed rules in memory; about 3 KB each


class Robots:
    """The rules of one robots.txt."""

    def __init__(self, rules: Protego) -> None:
        self._rules = rules

    @classmethod
    def parse(cls, body: bytes) -> Robots:
        """Any bytes will do: what cannot be understood is passed over, as the RFC asks."""
        return cls(Protego.parse(body.decode("utf-8-sig", "replace")))

    def allowed(self, url: Url, agent: str) -> bool:
        return bool(self._rules.can_fetch(url, agent))

    def crawl_delay(self, agent: str) -> float | None:
        delay = self._rules.crawl_delay(agent)
        return float(delay) if delay is not None else None

    @property
    def sitemaps(self) -> list[str]:
        return list(self._rules.sitemaps)


ALLOW_ALL = Robots.parse(b"")


@dataclass(frozen=True)
class Ask:
    """The next request of this origin has to be for this."""

    url: Url


@dataclass(frozen=True)
class Unreachable:
    """Given up, for as long as the copy lasts: nothing of this origin may be fetched."""

    status: int | None


def is_unreachable(status: int | None) -> bool:
    return status is None or status == 429 or status >= 500


def decide(copy: RobotsCopy | None, origin: str, settings: RobotsSettings, now: float) -> Ask | Unreachable | None:
    """What to do before a page of this origin is fetched; None: the copy is good, its rules decide."""
    ask = Ask(f"{origin}/robots.txt")
    if copy is None:
        return ask
    if copy.moved_to is not None:
        return Ask(copy.moved_to)
    waits_s = settings.retry_s
    if is_unreachable(copy.status):
        given_up = copy.tries > len(waits_s) and now - copy.tried_at <= settings.age_s_max
        return Unreachable(copy.status) if given_up else ask
    if now - copy.fetched_at <= settings.age_s_max:
        return None
    # Old, and the server did not answer when it was asked for a new one: in force until the next try is due.
    wait_s = waits_s[min(copy.tries, len(waits_s)) - 1] if copy.tries and waits_s else 0.0
    return None if now - copy.tried_at < wait_s else ask


def rules_of(copy: RobotsCopy) -> Robots:
    if copy.status is not None and 200 <= copy.status < 300:
        return Robots.parse(copy.body)
    return ALLOW_ALL


class RobotsCache:
    """Copies and their parsed rules, the most recently used in memory, the rest with their hosts on disk."""

    def __init__(self, shelf: Callable[[str], RobotsCopy | None]) -> None:
        self._shelf = shelf
        self._copies: OrderedDict[str, tuple[RobotsCopy | None, Robots]] = OrderedDict()

    def get(self, origin: str) -> tuple[RobotsCopy | None, Robots]:
        found = self._copies.get(origin)
        if found is None:
            copy = self._shelf(origin)
            return self._keep(origin, copy)
        self._copies.move_to_end(origin)
        return found

    def put(self, copy: RobotsCopy) -> Robots:
        return self._keep(copy.origin, copy)[1]

    def _keep(self, origin: str, copy: RobotsCopy | None) -> tuple[RobotsCopy | None, Robots]:
        found = (copy, rules_of(copy) if copy else ALLOW_ALL)
        self._copies[origin] = found
        if len(self._copies) > ORIGINS_MAX:
            self._copies.popitem(last=False)
        return found
