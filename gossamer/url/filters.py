"""The door: may this link enter the crawl, and if not, why not.

Everything enters here, seeds, links, redirects and sitemap entries alike, and every refusal is one `Reason`. The
decision looks at nothing but the link, so it is the same on every machine and can be explained later.

A seed is what a person asked for. It is in scope, and neither depth, include patterns nor traps keep it out; only
an exclude pattern does. A seed that has moved is still that seed. In the scope `host`, `example.com` and
`www.example.com` count as one, since seeds are written either way and most sites send visitors from one to the other.

The order of the questions is from cheap to dear, and the length comes before any pattern is tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from gossamer.clock import Clock, RealClock
from gossamer.records import Link, Reason, Url
from gossamer.settings import TrapsSettings
from gossamer.url.site import host_of, site_of
from gossamer.url.traps import trap_in

Scope = Literal["host", "site", "any"]

REDIRECTS_MAX = 5


class Filters:
    def __init__(
        self,
        seeds: Iterable[Url],
        *,
        scope: Scope = "host",
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        max_depth: int | None = None,
        traps: TrapsSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Patterns are regular expressions, searched for anywhere in the canonical URL."""
        self._scope = scope
        self._homes = {_home(host_of(seed), scope) for seed in seeds}
        self._include = _compiled(include, "include")
        self._exclude = _compiled(exclude, "exclude")
        self._max_depth = max_depth
        self._traps = traps or TrapsSettings()
        self._clock = clock or RealClock()

    def __call__(self, link: Link) -> Reason | None:
        url = link.url
        is_seed = link.source is None or (link.depth == 0 and bool(link.chain))
        if len(link.chain) > REDIRECTS_MAX:
            return Reason.TOO_MANY_REDIRECTS
        if is_nofollow(link.rel):
            return Reason.NOFOLLOW
        if self._max_depth is not None and link.depth > self._max_depth:
            return Reason.MAX_DEPTH
        if not is_seed and len(url) > self._traps.url_bytes_max:
            return Reason.URL_TOO_LONG
        if not (is_seed or self._is_in_scope(url)):
            return Reason.SCOPE
        if self._exclude and any(pattern.search(url) for pattern in self._exclude):
            return Reason.EXCLUDED
        if is_seed:
            return None
        if self._include and not any(pattern.search(url) for pattern in self._include):
            return Reason.NOT_INCLUDED
        return trap_in(url, self._traps, self._clock.now())

    def _is_in_scope(self, url: Url) -> bool:
        return self._scope == "any" or _home(host_of(url), self._scope) in self._homes


def is_nofollow(rel: str) -> bool:
    """`ugc` and `sponsored` say what a link is, and do not ask to leave it alone."""
    return "nofollow" in rel and "nofollow" in rel.split()


def _home(host: str, scope: Scope) -> str:
    return site_of(host) if scope == "site" else host.removeprefix("www.")


def _compiled(patterns: Iterable[str], kind: str) -> list[re.Pattern[str]]:
    compiled = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(pattern))
        except re.error as error:
            raise ValueError(f"the {kind} pattern {pattern!r} is not a regular expression: {error}") from None
    return compiled
