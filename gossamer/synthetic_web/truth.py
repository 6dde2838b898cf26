"""The truth about a synthetic web: what a correct crawler would ask for, and what it would find.

A breadth-first search over the web's own answers, without HTTP, HTML parsing or a robots library: pages say what
they link to, and the one who wrote the rules says what they forbid. So it can judge a crawler that uses all three.

The rules it follows are those of the design: nofollow links and pages are not followed, a redirect is, up to five
in a row after a page, hosts whose robots.txt cannot be fetched are left alone, and an answer that comes after a few
refusals counts as an answer. Depth counts links from a seed; a redirect does not add to it.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import urldefrag, urljoin, urlsplit

from gossamer.synthetic_web.answer import FAILING, Answer, Request
from gossamer.synthetic_web.habits.sitemaps import has_sitemap
from gossamer.synthetic_web.habits.trap_hosts import kind_of
from gossamer.synthetic_web.habits.traps import trap_kind
from gossamer.synthetic_web.options import UNREACHABLE
from gossamer.synthetic_web.web import Web

HOPS_MAX = 5
PATIENCE = 10**6  # asked so often, every answer that ever comes has come

Canonicalize = Callable[[str, str | None], str | None]
"""URL, and the URL that it is relative to; None where it cannot be crawled."""


@dataclass
class Truth:
    """URLs are as `canonicalize` made them; hosts are without their port."""

    reachable: set[str] = field(default_factory=set)  # to be asked for, and had
    redirects: dict[str, str] = field(default_factory=dict)  # to be asked for, and where they lead
    failing: dict[str, int | str] = field(default_factory=dict)  # to be asked for, with status or kind of failure
    late: dict[str, int] = field(default_factory=dict)  # reachable, but only after refusals with this status
    disallowed: set[str] = field(default_factory=set)  # linked, and forbidden by robots.txt
    withheld: set[str] = field(default_factory=set)  # linked, on a host whose robots.txt cannot be fetched
    unreachable_robots: set[str] = field(default_factory=set)  # those hosts
    nofollow: set[str] = field(default_factory=set)  # only linked by links that say nofollow
    too_far: set[str] = field(default_factory=set)  # behind more than five redirects
    rejected: set[str] = field(default_factory=set)  # what `accept` did not accept
    sitemaps: set[str] = field(default_factory=set)  # to be asked for, where sitemaps are followed
    sitemap_only: set[str] = field(default_factory=set)  # pages that only a sitemap mentions
    feed_only: set[str] = field(default_factory=set)  # pages that only a feed mentions
    duplicates: dict[str, str] = field(default_factory=dict)  # URL -> digest, where two or more have the same bytes
    near_duplicates: dict[str, str] = field(default_factory=dict)  # URL -> group
    links: dict[str, set[str]] = field(default_factory=dict)  # of each reachable page
    trap_hosts: dict[str, str] = field(default_factory=dict)  # that are nothing but a trap, and of which kind
    built: dict[str, str] = field(default_factory=dict)  # reachable, and what only a browser sees of its text
    loads: set[str] = field(default_factory=set)  # what a browser asks for to build them
    decorated: set[str] = field(default_factory=set)  # reachable, with scripts that gain nothing

    def is_trap(self, url: str) -> str | None:
        """Which trap a URL belongs to; None where it is no trap."""
        return self.trap_hosts.get(urlsplit(url).hostname or "") or trap_kind(url)

    @property
    def asked(self) -> set[str]:
        """All that a correct crawler asks for, robots.txt apart."""
        return self.reachable | self.redirects.keys() | self.failing.keys() | self.sitemaps


def absolute(url: str, base: str | None = None) -> str | None:
    """The plainest canonical form: absolute, without fragment."""
    return urldefrag(urljoin(base, url) if base else url).url


def truth(
    web: Web,
    seeds: Iterable[str],
    accept: Callable[[str, int], bool] | None = None,
    agent: str = "gossamer",
    follow_sitemaps: bool = False,
    follow_feeds: bool = False,
    canonicalize: Canonicalize = absolute,
    now: float | None = None,
    renders: bool = False,
) -> Truth:
    """Search the web from its seeds.

    `accept` gets a URL and its depth and says whether a crawler may go there. By default all is accepted but traps,
    without which the search would not end; whoever accepts traps has to bound the depth. `now` matters
    for the bytes of pages that change, and for nothing else. `renders`: a browser shows what scripts make of pages.
    """
    search = _Search(web, agent, follow_sitemaps, follow_feeds, canonicalize, now or web.options.born_at)
    search.renders = renders
    search.accept = accept or (lambda url, _depth: web.trap_kind(url) is None)
    for seed in seeds:
        search.link(canonicalize(seed, None), 0)
    search.run()
    return search.truth


class _Search:
    def __init__(
        self,
        web: Web,
        agent: str,
        follow_sitemaps: bool,
        follow_feeds: bool,
        canonicalize: Canonicalize,
        now: float,
    ) -> None:
        self.web = web
        self.agent = agent
        self.follow_sitemaps = follow_sitemaps
        self.follow_feeds = follow_feeds
        self.canonicalize = canonicalize
        self.now = now
        self.accept: Callable[[str, int], bool] = lambda url, depth: True
        self.renders = False
        self.truth = Truth(trap_hosts=_trap_hosts(web))
        self.queue: deque[tuple[str, int, int]] = deque()  # url, depth, hops
        self.hops: dict[str, int] = {}  # the fewest by which a URL was found
        self.digests: dict[str, list[str]] = {}
        self.hosts: set[int] = set()

    def link(self, url: str | None, depth: int, hops: int = 0) -> None:
        """A way to a URL was found. It is worth going if it is the first, or the one with the fewest redirects."""
        if url is None or hops >= self.hops.get(url, HOPS_MAX + 2):
            return
        if hops > HOPS_MAX:
            self.truth.too_far.add(url)
        elif not self.accept(url, depth):
            self.truth.rejected.add(url)
        else:
            self.hops[url] = hops
            # A redirect adds no depth, so its target goes first: depths in the queue never fall.
            (self.queue.appendleft if hops else self.queue.append)((url, depth, hops))

    def run(self) -> None:
        while self.queue:
            url, depth, hops = self.queue.popleft()
            if self.hops[url] == hops:
                self.visit(url, depth, hops)
        truth = self.truth
        truth.too_far -= self.hops.keys()
        truth.nofollow -= self.hops.keys()
        for digest, urls in self.digests.items():
            if len(urls) > 1:
                truth.duplicates.update(dict.fromkeys(urls, digest))

    def visit(self, url: str, depth: int, hops: int) -> None:
        truth, place = self.truth, self.web.locate(url)
        if place is None:
            truth.failing[url] = "elsewhere"
            return
        host, target = place
        if self.web.robots_kind(host) in UNREACHABLE:
            truth.unreachable_robots.add(urlsplit(url).hostname or "")
            truth.withheld.add(url)
            return
        self.enter(host)
        if not self.web.permits(url, self.agent):
            truth.disallowed.add(url)
            return
        answer = self.web.answer(Request(host, target, self.now, PATIENCE))
        if self.web.counts(target):
            first = self.web.answer(Request(host, target, self.now))
            if first.status != answer.status:
                truth.late[url] = first.status
        location = answer.header("Location")
        if answer.delivery in FAILING:
            truth.failing[url] = str(answer.delivery)
        elif location is not None:
            goal = self.canonicalize(location, url)
            truth.redirects[url] = goal or location
            self.link(goal, depth, hops + 1)
        elif answer.status != 200:
            truth.failing[url] = answer.status
        else:
            self.read(url, depth, answer)

    def enter(self, host: int) -> None:
        """The first time on a host: its sitemaps."""
        if host in self.hosts:
            return
        self.hosts.add(host)
        if not has_sitemap(self.web.atlas, host):
            return
        index = self.canonicalize(self.web.url(host, "/sitemap.xml"), None)
        if index is None or not self.web.permits(index, self.agent):
            return
        files = [index, *(anchor.href for anchor in self.at(index).anchors)]
        for file in files:
            for anchor in self.at(file).anchors if file != index else ():
                page = self.canonicalize(anchor.href, None)
                if page is not None and self.at(page).kind == "hidden":
                    self.truth.sitemap_only.add(page)
                if self.follow_sitemaps:
                    self.link(page, 1)
        if self.follow_sitemaps:
            self.truth.sitemaps.update(files)

    def read(self, url: str, depth: int, answer: Answer) -> None:
        """A page that was fetched: its links, and who else has its bytes."""
        truth = self.truth
        truth.reachable.add(url)
        digest = hashlib.blake2b(answer.body, digest_size=16).hexdigest()
        urls = self.digests.setdefault(digest, [])
        if url not in urls:
            urls.append(url)
        if answer.near_group:
            truth.near_duplicates[url] = answer.near_group
        base = urljoin(url, answer.base) if answer.base else url
        links = truth.links.setdefault(url, set())
        built = answer.built if self.renders else None
        if built:
            truth.built[url] = built.text
            truth.loads.update(urljoin(url, path) for path in built.loads)
        if answer.kind == "decorated":
            truth.decorated.add(url)
        for anchor in (*answer.anchors, *(built.anchors if built else ())):
            target = self.canonicalize(anchor.href, base)
            if target is None:
                continue
            links.add(target)
            if answer.kind == "feed" and self.at(target).kind == "news":
                truth.feed_only.add(target)
            if answer.nofollow or "nofollow" in anchor.rel:
                truth.nofollow.add(target)
            elif answer.kind != "feed" or self.follow_feeds:
                self.link(target, depth + 1)

    def at(self, url: str) -> Answer:
        place = self.web.locate(url)
        assert place is not None, f"{url} is not of this web"
        return self.web.answer(Request(place[0], place[1], self.now, PATIENCE))


def _trap_hosts(web: Web) -> dict[str, str]:
    """By address and by name."""
    kinds = {host: kind for host in web.all_hosts() if (kind := kind_of(web.atlas, host))}
    return {name: kind for host, kind in kinds.items() for name in (web.atlas.address(host), web.atlas.name(host))}
