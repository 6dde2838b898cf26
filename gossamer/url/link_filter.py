"""The link filter: may this link enter the crawl, and if not, why not.

Everything enters here, seeds, links, redirects and sitemap entries alike, and every refusal is one `Reason`. The
decision looks at nothing but the link, so it is the same on every machine and can be explained later.

A seed is what a person asked for. It is in scope, and neither depth, include patterns, prefixes, media types nor
traps keep it out; only what is excluded does, hosts and patterns, and a port that no web server has. A seed that has
moved is still that seed. In the scope `host`, `example.com` and `www.example.com` count as one, since seeds are
written either way and most sites send visitors from one to the other.

A prefix ends where a part of a path does: /docs is /docs, /docs/a and /docs?a, and not /docs-old. With http it holds
for https, too. A prefix without a host, such as /docs/, holds for every host. A sitemap is wanted whatever the media
types: it is a way to pages and not one of them.

The order of the questions is from cheap to dear, and the length comes before any pattern is tried. A plain URL takes
about 1 µs before the traps are looked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache
from typing import Literal

from ada_url import join_url

from gossamer.clock import Clock, RealClock
from gossamer.records import SITEMAP, Link, Reason, Url
from gossamer.settings import TrapsSettings, Tree
from gossamer.url.canonical import NOWHERE, canonicalize
from gossamer.url.media_types import MediaTypes
from gossamer.url.ports import has_bad_port
from gossamer.url.site import host_of, site_of
from gossamer.url.traps import trap_in

Scope = Literal["host", "site", "any"]

REDIRECTS_MAX = 5
HOSTS_REMEMBERED = 16_384  # most links of a page lead to a few hosts; an entry takes about 200 bytes


class LinkFilter:
    def __init__(
        self,
        seeds: Iterable[Url],
        *,
        scope: Scope = "host",
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        prefixes: Iterable[str] = (),
        hosts_excluded: Iterable[str] = (),
        media_types: Iterable[str] = (),
        max_depth: int | None = None,
        traps: TrapsSettings | None = None,
        clock: Clock | None = None,
        own: Sequence[Callable[[Link], bool]] = (),
        homes: Container[str] = frozenset(),
    ) -> None:
        """Patterns are regular expressions, searched for anywhere in the canonical URL. `own`: of whoever crawls.

        `homes`: those of further seeds, of which there may be more than fit into memory (seeds.py)."""
        self._scope = scope
        self._more_homes = homes
        self._homes = {home_of(host_of(seed), scope) for seed in seeds}
        self._include = _compiled(include, "include")
        self._exclude = _compiled(exclude, "exclude")
        self._prefixes = Prefixes(prefixes)
        self._hosts_excluded = frozenset(map(_excluded_host, hosts_excluded))
        self._of_host = lru_cache(HOSTS_REMEMBERED)(self._look_at_host)  # by scheme, host and port
        self._media_types = MediaTypes(media_types)
        self._max_depth = max_depth
        self._traps = traps or TrapsSettings()
        self._clock = clock or RealClock()
        self._own = own

    def __call__(self, link: Link) -> Reason | None:
        url, chain = link.url, link.chain
        is_seed = link.source is None or (link.depth == 0 and bool(chain))
        if len(chain) > REDIRECTS_MAX:
            return Reason.TOO_MANY_REDIRECTS
        if link.rel and is_nofollow(link.rel):
            return Reason.NOFOLLOW
        if self._max_depth is not None and link.depth > self._max_depth:
            return Reason.MAX_DEPTH
        if link.max_depth is not None and link.depth > link.max_depth:
            return Reason.MAX_DEPTH
        if not is_seed and len(url) > self._traps.url_bytes_max:
            return Reason.URL_TOO_LONG
        of_host = self._of_host(url[: url.find("/", len("https://"))])
        if of_host is not None and not (is_seed and of_host is Reason.SCOPE):
            return of_host
        if self._exclude and any(pattern.search(url) for pattern in self._exclude):
            return Reason.EXCLUDED
        if is_seed:
            return None
        if self._media_types and link.rel != SITEMAP and not self._media_types.may_be_at(url):
            return Reason.MEDIA_TYPE
        if self._prefixes and not self._prefixes.match(url):
            return Reason.NOT_INCLUDED
        if self._include and not any(pattern.search(url) for pattern in self._include):
            return Reason.NOT_INCLUDED
        trap = trap_in(url, self._traps, self._clock.now())
        if trap is None and self._own and not all(keeps(link) for keeps in self._own):
            return Reason.OWN_FILTER
        return trap

    def welcome(self, seeds: Iterable[Url]) -> None:
        """A person asks for more: from now on links to these hosts are in scope."""
        hosts = {host_of(seed) for seed in seeds}
        new = {home_of(host, self._scope) for host in hosts if not self._has_home(host)}
        if new:
            self._homes |= new
            self._of_host.cache_clear()

    def is_home(self, host: str) -> bool:
        """Whether a person asked for a host: a seed is on it, or the scope has room for nothing else."""
        return self._scope != "any" or self._has_home(host)

    def _has_home(self, host: str) -> bool:
        home = home_of(host, self._scope)
        return home in self._homes or home in self._more_homes

    def _look_at_host(self, url: Url) -> Reason | None:
        host = host_of(url)
        if not self._hosts_excluded.isdisjoint(_domains(host)):
            return Reason.EXCLUDED
        if has_bad_port(url):
            return Reason.BAD_PORT
        return None if self._scope == "any" or self._has_home(host) else Reason.SCOPE


class Prefixes:
    """Beginnings of URLs, and of paths on any host."""

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._whole: set[str] = set()
        self._beginnings: tuple[str, ...] = ()
        for prefix in prefixes:
            # The parser is given a host where there is none, and its form is compared without the scheme.
            is_path = prefix.startswith("/") and not prefix.startswith("//")
            url = canonicalize(prefix, "http://any.host/" if is_path else None)
            if url is None:
                raise ValueError(f"the prefix {prefix!r} is neither a URL nor a path such as /docs/")
            begin = url.partition("://")[2].removeprefix("any.host" if is_path else "")
            self._whole.add(begin)
            self._beginnings += (begin,) if begin.endswith("/") or "?" in begin else (f"{begin}/", f"{begin}?")

    def __bool__(self) -> bool:
        return bool(self._whole)

    def match(self, url: Url) -> bool:
        rest = url.partition("://")[2]
        return self._holds(rest) or self._holds(rest[rest.index("/") :])

    def _holds(self, text: str) -> bool:
        return text in self._whole or text.startswith(self._beginnings)


def is_nofollow(rel: str) -> bool:
    """`ugc` and `sponsored` say what a link is, and do not ask to leave it alone."""
    return "nofollow" in rel and "nofollow" in rel.split()


def home_of(host: str, scope: Scope) -> str:
    """What a seed brings into scope: its site, or its host with and without `www.`."""
    return site_of(host) if scope == "site" else host.removeprefix("www.")


def _excluded_host(name: str) -> str:
    try:
        return host_of(join_url(NOWHERE, f"http://{name.removeprefix('*').strip('.')}/"))
    except ValueError:
        raise ValueError(f"the excluded host {name!r} is not the name of a host") from None


def _domains(host: str) -> list[str]:
    """a.b.test, b.test, test"""
    parts = host.removesuffix(".").split(".")
    return [".".join(parts[number:]) for number in range(len(parts))]


def _compiled(patterns: Iterable[str], kind: str) -> list[re.Pattern[str]]:
    compiled = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(pattern))
        except re.error as error:
            raise ValueError(f"the {kind} pattern {pattern!r} is not a regular expression: {error}") from None
    return compiled


def link_filter_of(
    homes: Container[str], config: Tree, clock: Clock, own: Sequence[Callable[[Link], bool]] = ()
) -> LinkFilter:
    """`homes`: what the seeds bring into scope (seeds.py)."""
    crawl = config.crawl
    return LinkFilter(
        (),
        homes=homes,
        scope=crawl.scope,
        include=crawl.include,
        exclude=crawl.exclude,
        prefixes=crawl.prefixes,
        hosts_excluded=crawl.hosts_excluded,
        media_types=crawl.media_types,
        max_depth=crawl.max_depth,
        traps=config.traps,
        clock=clock,
        own=own,
    )
