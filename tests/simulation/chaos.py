"""A web of chaos: servers that say anything at all, put together by chance, for weeks.

The real crawl asks real servers on loopback: the fetcher with libcurl, the processors, the frontier, the archive and
the schedule of visits are those of a worker. Only time is virtual. While something is under way it passes slowly, and
whenever nothing is, it jumps to the next moment at which something is due. So what a server says comes back to it in
later requests (ETag, Last-Modified), is read from the disk after a restart, and meets what it says then.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from gossamer.clock import VirtualClock
from gossamer.cluster.pace import Pace
from gossamer.cluster.shared import LocalShared
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.store import RocksStore
from gossamer.messages import worker_messages
from gossamer.process.fingerprints import duplicates
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.records import Outcome, Seed
from gossamer.settings import Tree
from gossamer.supervisor.recrawl_coordinator import RecrawlCoordinator
from gossamer.worker.worker import Worker
from tests.fuzz import corpus
from tests.fuzz.run import mutated
from tests.fuzz.targets import Target

DAY_S = 86_400.0
TICK_S = 0.001  # of real time, between two looks at what is under way ...
SLOWLY_S = 0.05  # ... and what passes of virtual time meanwhile
HOSTS, PAGES = 6, 8

_STATUSES = [200] * 12 + [200, 204, 206, 301, 302, 303, 304, 307, 308, 400, 404, 410, 429, 500, 503, 599, 999]
_NAMES = [
    *(
        "ETag",
        "Last-Modified",
        "Location",
        "Retry-After",
        "Refresh",
        "Content-Type",
        "Content-Encoding",
        "X-Robots-Tag",
    ),
    *(
        "Link",
        "Set-Cookie",
        "Date",
        "Age",
        "Expires",
        "Cache-Control",
        "Vary",
        "Content-Language",
        "Connection",
        "Via",
    ),
]
_VALUES = [
    *('"caf\xe9"', 'W/"1"', '""', '"' + "x" * 2000 + '"', '"\x01\x7f"', "\xff\xfe", "*", "", " ", "9" * 5000, "-1"),
    *(
        "Sun, 15 Nov 2026 00:00:00 GMT",
        "Sun, 99 Nov 20260000000000 00:00:00 GMT",
        "g\xe9stern",
        "0",
        "3",
        "1e9",
        "1.5",
    ),
    *("/1", "//h2.test/\xe9", "http://", "http://h1.test:99999/", "mailto:a@b", "\\..\\..", "?" + "a=b&" * 500, "#"),
    *("text/html; charset=\xe9", "text/html", "application/rss+xml", "application/pdf", "image/png", "text/;", "/"),
    *("gzip", "br, gzip", "identity", "x", "noindex, nofollow", "gossamer: none", "unavailable_after: 1", "0;url=/2"),
    *("0; url='", "close", "<a>; rel=next", "</2>; rel=canonical", "max-age=" + "9" * 400, "\xd9\xa3"),
]
_BODIES = (
    Target(lambda body: None, corpus.HTML, corpus.HTML_WORDS),
    Target(lambda body: None, corpus.FEEDS + corpus.SITEMAPS, corpus.XML_WORDS),
    Target(lambda body: None, corpus.TEXTS + corpus.IMAGES + corpus.packed(corpus.FEEDS), corpus.IMAGE_WORDS),
)
_REFERENCES = [b"&#" + b"9" * 5000 + b";", b"&amp;#" + b"9" * 5000 + b";", b"&#x" + b"f" * 5000 + b";"]


class ChaosWeb:
    """Answers for every host by chance; the seed, and the order of requests, decide."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.port = 0
        self.requests: list[bytes] = []

    def url(self, host: int, page: int) -> str:
        return f"http://h{host}.test:{self.port}/{page}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(request)
                writer.write(self._robots() if b"GET /robots.txt" in request else self._answer())
                await writer.drain()
                if self.chance.random() < 0.05:
                    return
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()

    def _robots(self) -> bytes:
        """Mostly such that something may be asked."""
        body = self.chance.choice([*corpus.ROBOTS, b"", b"", b""]) if self.chance.random() < 0.2 else b""
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    def _answer(self) -> bytes:
        chance = self.chance
        head = [f"HTTP/1.1 {chance.choice(_STATUSES)} {chance.choice(_VALUES)[:20]}"]
        head += [f"{chance.choice(_NAMES)}: {self._value()}" for _ in range(chance.randint(0, 8))]
        if chance.random() < 0.7:
            head.append(f"ETag: {self._value()}")
        body = self._body()
        lines = "\r\n".join(head).encode("latin-1", "replace")
        return lines + b"\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    def _value(self) -> str:
        chance = self.chance
        value = chance.choice(_VALUES)
        if chance.random() < 0.2:
            value += "".join(chr(chance.choice((9, *range(32, 256)))) for _ in range(chance.randint(1, 20)))
        return value

    def _body(self) -> bytes:
        chance = self.chance
        target = chance.choice(_BODIES)
        body = chance.choice(target.seeds)
        if chance.random() < 0.7:
            body = mutated(body, target, chance, 4000)
        places = [(chance.randrange(HOSTS), chance.randrange(PAGES)) for _ in range(3)]
        links = b"".join(b"<a href='%b'>%d</a>" % (self.url(*place).encode(), place[1]) for place in places)
        if chance.random() < 0.2:
            body = body.replace(b"<title>", b"<title>" + chance.choice(_REFERENCES))
        return body + links


class ChaosCrawl:
    """A worker on virtual time, in a folder that it can be opened in again and again."""

    def __init__(self, folder: Path, web: ChaosWeb, tree: Tree, clock: VirtualClock) -> None:
        self._folder = CrawlFolder(folder)
        self._folder.create()
        self._web = web
        self._tree = tree
        self._clock = clock
        self._steered_at = 0.0
        self.visits: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()  # of results

    async def live(self, days: float) -> None:
        """Raises whatever would have ended a worker."""
        clock = self._clock
        ends_at = clock.now() + days * DAY_S
        pace = Pace(clock, 1000.0, 1000)
        with (
            closing(RocksStore(self._folder.fingerprints, duplicates.TABLES)) as store,
            closing(Duplicates(store, self._folder.fingerprints)) as claims,
        ):
            order = worker_messages.Welcome(str(self._folder.path), self._tree)
            worker = Worker(0, order, LocalShared(claims, pace), lambda text: None, on_finished=self._on_finished)
            worker.clock = clock
            async with worker:
                self._worker = worker
                before, keep = self._folder.recrawl_plan(), self._folder.set_recrawl_plan
                self._recrawl = RecrawlCoordinator(before, self._tree.schedule, clock, keep)
                await worker.assign_all()
                seeds = [Seed(self._web.url(host, page)) for host in range(HOSTS) for page in range(PAGES)]
                for number, partition in worker.partitions.items():
                    if partition.totals.known == 0:
                        worker.add_seeds(number, seeds)
                worker.crawl.is_paused = False
                run = asyncio.create_task(worker.crawl.run(alone=False))
                while not run.done() and clock.now() < ends_at:
                    await self._pass(ends_at)
                worker.crawl.stop()
                while not run.done():
                    await self._pass(clock.now())
                await run

    async def _pass(self, ends_at: float) -> None:
        """A moment; where nothing is under way, all that is left until something is due."""
        await asyncio.sleep(TICK_S)
        if self._worker.crawl.in_flight:
            self._clock.advance(SLOWLY_S)
            return
        moments = [partition.next_at() for partition in self._worker.partitions.values()]
        next_at = min((moment for moment in moments if moment is not None), default=ends_at)
        self._clock.advance(max(SLOWLY_S, min(next_at, ends_at) - self._clock.now()))

    async def _on_finished(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            self.visits[outcome.lease.url] += 1
            self.kinds[type(outcome.result).__name__] += 1
            if outcome.page is not None and outcome.page.fault:
                self.faults[outcome.page.fault] += 1
        if self._clock.now() >= self._steered_at + DAY_S / 4:  # oftener is right too, and each is kept on disk
            self._steered_at = self._clock.now()
            plan = self._recrawl.take(self._worker.statistics(), self._worker.partitions)
            if plan is not None:
                self._worker.apply_plan(plan)
