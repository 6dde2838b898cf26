"""The synthetic web: a request in, an answer out, and no other state than its options.

START HERE to read this package. Every host has ordinary pages (pages.py), and ordinary pages carry links to all
that is not ordinary. The first part of a path names the section, and each section has one maker of answers:

    pages.py      /  /p/N                                        ordinary pages
    robots.py     /robots.txt /rules/ /private/ /tmp/ /print/    rules, and what they are about
    redirects.py  /moved/ /landing/ /chain/ /loop/               also loops, and into forbidden places
    failures.py   /missing/ /busy/ /broken/ /reset/ /slow/ ...   what cannot be fetched, or not at once
    markup.py     /charset/ /untyped/ /files/ /nofollow/ ...     what pages say of themselves, and files
    copies.py     /copy/ /near/                                  duplicates
    traps.py      /calendar/ /shop/ /repeat/ /facets/ /deep/     places without end
    sitemaps.py   /sitemap.xml /sitemaps/ /hidden/ /feed.rss     other ways to find pages

Behind the ordinary hosts come those that are nothing but a trap (trap_hosts.py), those that only look like it
(look_alikes.py), and those that have scripts (scripted/).

`Web.answer` is a pure function of its request: the server (server.py) only plays what it decides, and the
truth about the web (truth.py) is found by asking it directly.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import brotli

from gossamer.synthetic_web import markup
from gossamer.synthetic_web.answer import Answer, Request, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.habits import (
    copies,
    failures,
    look_alikes,
    redirects,
    robots,
    sitemaps,
    trap_hosts,
    traps,
)
from gossamer.synthetic_web.html import plain_answer
from gossamer.synthetic_web.options import RobotsKind, WebOptions
from gossamer.synthetic_web.pages import Carried, changes_of, ordinary_page
from gossamer.synthetic_web.scripted import applications, decorated, hostile

Maker = Callable[[Atlas, Visit], Answer | None]

FILES: dict[str, Maker] = {**robots.FILES, **sitemaps.FILES}
SECTIONS: dict[str, Maker] = {
    **robots.SECTIONS,
    **redirects.SECTIONS,
    **failures.SECTIONS,
    **markup.SECTIONS,
    **copies.SECTIONS,
    **traps.SECTIONS,
    **sitemaps.SECTIONS,
}
BEHIND: tuple[Maker, ...] = (
    trap_hosts.trap_page,
    look_alikes.look_alike,
    applications.scripted_answer,
    decorated.decorated_answer,
    hostile.hostile_answer,
)
CARRIED: dict[str, Carried] = {
    **robots.CARRIED,
    **redirects.CARRIED,
    **failures.CARRIED,
    **markup.CARRIED,
    **copies.CARRIED,
    **traps.CARRIED,
}


class Web:
    def __init__(self, options: WebOptions) -> None:
        self.options = options
        self.atlas = Atlas(options)
        # Only what is switched on is looked at for every page.
        self._carried = {name: links for name, links in CARRIED.items() if getattr(options, name)}

    def __repr__(self) -> str:
        return f"Web(seed={self.options.seed}, hosts={self.options.hosts}, port={self.port})"

    @property
    def port(self) -> int:
        return self.atlas.port

    @port.setter
    def port(self, port: int) -> None:
        """The server tells which port it found, because links spell it out."""
        self.atlas.port = port

    # What is where.

    def url(self, host: int, path: str = "/") -> str:
        return self.atlas.url(host, path)

    def names(self) -> dict[str, str]:
        """Host names and their addresses, for a resolver that has to be told."""
        return {self.atlas.name(host): self.atlas.address(host) for host in self.all_hosts()}

    def all_hosts(self) -> range:
        return range(self.options.hosts_in_all)

    def locate(self, url: str) -> tuple[int, str] | None:
        """The number of the host, and the path with its query; None where the URL is not of this web."""
        parts = urlsplit(url)
        host = self.atlas.host_of(parts.hostname or "")
        if parts.scheme != "http" or host is None or (self.port and (parts.port or 80) != self.port):
            return None
        return host, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def trap_kind(self, url: str) -> str | None:
        """Which trap a URL belongs to; None where it is no trap."""
        place = self.locate(url)
        return (place and trap_hosts.kind_of(self.atlas, place[0])) or traps.trap_kind(url)

    def robots_kind(self, host: int) -> RobotsKind:
        return self.atlas.robots_kind(host) if host < self.options.hosts else RobotsKind.MISSING

    def permits(self, url: str, agent: str = "gossamer") -> bool:
        """What robots.txt says about a URL, as meant by the one who wrote it."""
        place = self.locate(url)
        return (
            place is not None
            and robots.permits(self.robots_kind(place[0]), place[1], agent)
            and applications.permits(self.atlas, *place)
        )

    def crawl_delay_s(self, hostname: str) -> float:
        """What a host asks for in its robots.txt; 0 where it asks for nothing."""
        host = self.atlas.host_of(hostname)
        asks = host is not None and self.robots_kind(host) is RobotsKind.DELAY
        return self.options.crawl_delay_s if asks else 0.0

    def change_interval_s(self, url: str) -> float | None:
        """The mean time between two changes of an ordinary page; None where it never changes."""
        place = self.locate(url)
        page = self._page_of(place[1].partition("?")[0]) if place else None
        changes = changes_of(self.atlas, place[0], page) if place and page is not None else None
        return changes.interval_s if changes else None

    # Answers.

    def counts(self, target: str) -> bool:
        """Does the answer depend on how often it was asked for? Then the server has to count."""
        return target.startswith(COUNTED)

    def answer(self, request: Request) -> Answer:
        answer = self._make(request)
        if (
            answer.status == 200
            and (request.if_none_match or request.if_modified_since)
            and _unchanged(request, answer)
        ):
            kept = tuple(header for header in answer.headers if header[0] in ("ETag", "Last-Modified"))
            return Answer(answer.kind, 304, kept)
        if answer.coding and answer.coding in request.accept_encoding:
            return _coded(answer)
        return answer

    def _make(self, request: Request) -> Answer:
        path, _, query = request.target.partition("?")
        parts = path[1:].split("/")
        visit = Visit(request.host, parts, query, request.now, request.times_asked)
        page = self._page_of(path)
        if request.host >= self.options.hosts:
            answer = next(filter(None, (make(self.atlas, visit) for make in BEHIND)), None)
        elif page is not None:
            return ordinary_page(self.atlas, visit, page, self._carried)
        else:
            make = FILES.get(path) or SECTIONS.get(parts[0])
            answer = make(self.atlas, visit) if make and self._is_switched_on(parts[0]) else None
        return answer or plain_answer("not_found", 404)

    def _page_of(self, path: str) -> int | None:
        if path == "/":
            return 0
        if path.startswith("/p/"):
            return self.atlas.page_number(path[3:]) or None  # page 0 is at /
        return None

    def _is_switched_on(self, section: str) -> bool:
        behaviour = traps.BEHAVIOURS.get(section)
        return behaviour is None or getattr(self.options, behaviour) > 0


COUNTED = tuple(f"/{section}/" for section in failures.COUNTED)


def _coded(answer: Answer) -> Answer:
    # Cheap levels: the point is that the client has to decode, not that the wire is spared.
    squeezed = (
        gzip.compress(answer.body, 1, mtime=0) if answer.coding == "gzip" else brotli.compress(answer.body, quality=1)
    )
    headers = (*answer.headers, ("Content-Encoding", answer.coding), ("Vary", "Accept-Encoding"))
    return replace(answer, body=squeezed, headers=headers)


def _unchanged(request: Request, answer: Answer) -> bool:
    """RFC 9110, 13.2.2: If-None-Match decides alone where it is given."""
    etag, modified = answer.header("ETag"), answer.header("Last-Modified")
    if request.if_none_match:
        given = {tag.strip().removeprefix("W/") for tag in request.if_none_match.split(",")}
        return etag is not None and (etag in given or "*" in given)
    if modified is None:
        return False
    try:
        return parsedate_to_datetime(modified) <= parsedate_to_datetime(request.if_modified_since)
    except (ValueError, TypeError):  # no date at all, or one without a time zone
        return False
