"""A crawler as simple as can be: it ignores politeness and shares no code with the web that it crawls.

It reads HTML with the standard library and robots.txt with Protego. Where it and the web's own truth agree, both
are likely to be right.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

from protego import Protego

from tests.synthetic_web.client import Reply, get

PATIENCE_S = 3.0  # twenty times what the slowest honest answer takes, for the sake of busy machines
TRIES = 3
CONNECTIONS = 40
AGENT = "gossamer"


@dataclass
class Found:
    reachable: set[str] = field(default_factory=set)
    redirects: dict[str, str] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    disallowed: set[str] = field(default_factory=set)
    withheld: set[str] = field(default_factory=set)
    links: dict[str, set[str]] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    sitemaps: set[str] = field(default_factory=set)


class LinkReader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.base = url
        self.nofollow = False
        self.links: list[tuple[str, bool]] = []  # URL, to be followed

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "base":
            self.base = urljoin(self.base, values["href"])
        elif tag == "meta" and values.get("name") == "robots":
            self.nofollow = "nofollow" in values["content"]
        elif tag == "a" and "href" in values:
            self.links.append((absolute(values["href"], self.base), "nofollow" not in values.get("rel", "")))


def absolute(url: str, base: str) -> str:
    return urldefrag(urljoin(base, url)).url


class NaiveCrawler:
    def __init__(self, accept: Callable[[str], bool]) -> None:
        self.accept = accept
        self.found = Found()
        self.seen: set[str] = set()
        self.robots: dict[str, asyncio.Task[Protego | None]] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.connections = asyncio.Semaphore(CONNECTIONS)

    async def crawl(self, seed: str) -> Found:
        self.add(seed)
        while self.tasks:
            done, _ = await asyncio.wait(self.tasks, return_when=asyncio.FIRST_COMPLETED)
            self.tasks -= done
            for task in done:
                task.result()
        return self.found

    def add(self, url: str, hops: int = 0) -> None:
        if url not in self.seen and hops <= 5 and self.accept(url):
            self.seen.add(url)
            self.tasks.add(asyncio.create_task(self.visit(url, hops)))

    async def visit(self, url: str, hops: int) -> None:
        origin = "http://" + urlsplit(url).netloc
        if origin not in self.robots:
            self.robots[origin] = asyncio.create_task(self.read_robots(origin))
        robots = await self.robots[origin]
        if robots is None:
            self.found.withheld.add(url)
        elif not robots.can_fetch(url, AGENT):
            self.found.disallowed.add(url)
        else:
            self.digest(url, await self.ask(url), hops)

    def digest(self, url: str, reply: Reply, hops: int) -> None:
        if "location" in reply.headers:
            target = absolute(reply.headers["location"], url)
            self.found.redirects[url] = target
            self.add(target, hops + 1)
        elif reply.status != 200 or not reply.complete:
            self.found.failing.add(url)
        else:
            self.found.reachable.add(url)
            self.found.bodies[url] = reply.body
            self.read(url, reply)

    def read(self, url: str, reply: Reply) -> None:
        content_type = reply.headers.get("content-type", "text/html")
        text = reply.body.decode("utf-16" if reply.body[:2] == b"\xff\xfe" else "latin-1")
        links = self.found.links.setdefault(url, set())
        if content_type.startswith("text/html"):
            reader = LinkReader(url)
            reader.feed(text)
            for link, follow in reader.links:
                links.add(link)
                if follow and not reader.nofollow:
                    self.add(link)
        elif content_type.startswith("application/rss"):
            links.update(re.findall("<item>.*?<link>(.*?)</link>", text))
        elif content_type.startswith("application/atom"):
            links.update(re.findall('<link href="(.*?)"', text))
        if "application/" in content_type:
            for link in links:
                self.add(link)

    async def read_robots(self, origin: str) -> Protego | None:
        url = origin + "/robots.txt"
        for _ in range(6):
            reply = await self.ask(url)
            if "location" not in reply.headers:
                break
            url = urljoin(url, reply.headers["location"])
        if reply.status is None or reply.status >= 500:
            return None
        robots = Protego.parse(reply.body.decode() if reply.status == 200 else "")
        for sitemap in robots.sitemaps:
            self.tasks.add(asyncio.create_task(self.read_sitemap(sitemap)))
        return robots

    async def read_sitemap(self, url: str) -> None:
        self.found.sitemaps.add(url)
        body = (await self.ask(url)).body
        text = (gzip.decompress(body) if url.endswith(".gz") else body).decode()
        for location in re.findall("<loc>(.*?)</loc>", text):
            if "<sitemapindex" in text:
                self.tasks.add(asyncio.create_task(self.read_sitemap(location)))
            else:
                self.add(location)

    async def ask(self, url: str) -> Reply:
        reply = Reply()
        for _ in range(TRIES):
            async with self.connections:
                try:
                    reply = await get(url, timeout_s=PATIENCE_S)
                except TimeoutError:
                    return Reply()
            if reply.status not in (429, 503):
                break
        return reply
