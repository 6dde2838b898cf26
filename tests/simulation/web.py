"""A modelled web, and the judge of how it is treated.

Sizes of hosts have a heavy tail, latencies are log-normal. Some hosts are overloaded for hours (429, often with
Retry-After), some answer with errors now and then, some are dead, or away for days, of some a second port is, and of
some a part of the pages begins to fail; some ask for a Crawl-delay, forbid a part of themselves, or send us elsewhere
for their robots.txt. The pages of a host form a tree, and each links to others. At `cured_at` all faults are over.

The judge knows only what a server knows: when it was asked, when its answer ended, and what it had asked for. It
objects at once to a second request in flight, to one that comes too soon, and to one that robots.txt forbids.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

from gossamer.clock import VirtualClock
from gossamer.headers import ExtraHeaders
from gossamer.records import Answer, Exchange, Failed, Fetched, Link, Moved, Reason, Url, Validators
from gossamer.settings import PolitenessSettings
from gossamer.url.media_types import MediaTypes
from gossamer.url.site import host_of

HOUR_S, DAY_S = 3600.0, 86400.0
BRANCHES = 3  # pages that a page of the same host links to
EPSILON_S = 1e-3


@dataclass
class ModelledHost:
    name: str
    pages: int
    latency_s: float  # median
    crawl_delay_s: float | None = None
    errors: float = 0.0  # chance of 500
    is_dead: bool = False
    is_strained: bool = False  # overloaded for one hour in six
    outages: tuple[tuple[float, float], ...] = ()  # from when until when it does not answer
    fails_from: float = math.inf  # a seventh of its pages answer with 500 from then on
    changes_s: float = math.inf  # its pages say something else every so often
    robots_at: Url | None = None  # its robots.txt redirects there
    port: int = 0  # where its pages are, too; 0: nowhere else
    port_outages: tuple[tuple[float, float], ...] = ()  # from when until when that port does not answer
    # What the judge remembers.
    is_asked: bool = False
    not_before: float = 0.0
    asked_for_s: float = 0.0  # Crawl-delay, once it has been told
    strained_in_a_row: int = 0
    requests: int = 0

    def url(self, page: int) -> Url:
        return f"http://{self.name}/{page}" if page else f"http://{self.name}/"

    def url_at_port(self, page: int) -> Url:
        return f"http://{self.name}:{self.port}/{page or ''}"

    def is_away(self, url: Url, now: float) -> bool:
        outages = self.outages + (self.port_outages if f":{self.port}/" in url else ())
        return self.is_dead or any(start <= now < end for start, end in outages)

    def robots(self) -> str:
        delay = f"Crawl-delay: {self.crawl_delay_s:g}\n" if self.crawl_delay_s is not None else ""
        return f"User-agent: *\n{delay}Disallow: /private\n"


@dataclass
class ModelledWeb:
    """It stands where `fetch.http.Http` stands: `fetch` is all that a fetcher needs."""

    clock: VirtualClock
    politeness: PolitenessSettings
    hosts: dict[str, ModelledHost]
    random: Random
    gone_every: int = 100  # among the pages of a host, 404
    moved_every: int = 40  # and 301
    cured_at: float = math.inf
    objections: list[str] = field(default_factory=list)
    asked_at: dict[Url, float] = field(default_factory=dict)  # the last time

    # ---- what is there -------------------------------------------------------------------------------

    def links(self, url: Url) -> list[Link]:
        """Down the tree of the host, to two other hosts, and to a place where nobody may go."""
        host, page = self.hosts[host_of(url)], page_of(url)
        chance = Random(url)
        below = [page * BRANCHES + n for n in range(1, BRANCHES + 1)]
        own = [host.url(n) for n in below if n < host.pages]
        others = [
            other.url(chance.randrange(other.pages)) for other in chance.choices(list(self.hosts.values()), k=2)
        ]
        forbidden = [f"http://{host.name}/private/{page}"] if page % 50 == 7 else []
        at_port = [host.url_at_port(n) for n in (page, *below) if n < host.pages] if host.port else []
        return [Link(link, source=url) for link in [*at_port, host.url(0), *own, *others, *forbidden]]

    def is_always_there(self, url: Url) -> bool:
        """Whether a page can be fetched by whoever has patience."""
        host = self.hosts[host_of(url)]
        return self.is_page(url) and not (host.is_dead or host.is_strained or host.errors)

    def may_fail(self, url: Url) -> bool:
        """Whether the page itself may have failed, before all was cured, while its host was well."""
        host = self.hosts[host_of(url)]
        return host.errors > 0 or host.fails_from < self.cured_at

    def is_page(self, url: Url) -> bool:
        """Whether there is a page at this URL, and anybody may see it."""
        number = page_of(url) + 1
        return bool(number % self.gone_every and number % self.moved_every) and "/private" not in url

    # ---- what it answers -----------------------------------------------------------------------------

    async def fetch(
        self,
        url: Url,
        validators: Validators | None = None,
        *,
        body_bytes_max: int | None = None,
        wanted: MediaTypes | None = None,
        extra: ExtraHeaders | None = None,
    ) -> Answer:
        host = self.hosts[host_of(url)]
        started_at = self.clock.now()
        self._judge(host, url, started_at)
        host.is_asked = True
        latency_s = host.latency_s * math.exp(self.random.gauss(0, 0.5))
        answer: Answer | None = None
        try:
            is_away = host.is_away(url, started_at) and started_at < self.cured_at
            await self.clock.sleep(60.0 if is_away else latency_s)
            answer = self._answer(host, url, started_at, latency_s)
            return answer
        finally:
            # Also when the crawler dies in the middle: then the connection breaks, and that is the end of it.
            host.is_asked = False
            self._remember(host, url, answer, latency_s)

    def _answer(self, host: ModelledHost, url: Url, started_at: float, latency_s: float) -> Answer:
        now = self.clock.now()

        def exchange(status: int, headers: str = "") -> Exchange:
            head = f"HTTP/1.1 {status} X\r\n{headers}\r\n".encode()
            return Exchange(b"GET", head, status, "192.0.2.1", started_at, now, latency_s)

        is_cured = started_at >= self.cured_at
        if host.is_away(url, started_at) and not is_cured:
            return Failed(Reason.TIMEOUT, ended_at=now)
        if host.is_strained and now % (6 * HOUR_S) < HOUR_S and not is_cured:
            retry_after = f"Retry-After: {self.random.choice([60, 600])}\r\n" if self.random.random() < 0.7 else ""
            return Failed(Reason.OVERLOADED, exchange(429, retry_after))
        if url.endswith("/robots.txt"):
            if host.robots_at is not None:
                return Moved(exchange(301), b"", host.robots_at)
            return Fetched(exchange(200), host.robots().encode())
        is_failing = self.random.random() < host.errors or (now >= host.fails_from and page_of(url) % 7 == 3)
        if is_failing and not is_cured:
            return Failed(Reason.SERVER_ERROR, exchange(500))
        if (page_of(url) + 1) % self.gone_every == 0:
            return Failed(Reason.GONE, exchange(404))
        if (page_of(url) + 1) % self.moved_every == 0:
            return Moved(exchange(301), b"", host.url(0))
        return Fetched(exchange(200), f"{url} {now // host.changes_s:.0f}".encode())

    # ---- how it is treated ---------------------------------------------------------------------------

    def _judge(self, host: ModelledHost, url: Url, now: float) -> None:
        if host.is_asked:
            self.objections.append(f"{url} asked for at {now}, while {host.name} was answering")
        if now < host.not_before - EPSILON_S:
            self.objections.append(f"{url} asked for at {now}, {host.not_before - now:.3f} s too soon")
        if "/private" in url:
            self.objections.append(f"{url} is forbidden by robots.txt")
        host.requests += 1
        self.asked_at[url] = now

    def _remember(self, host: ModelledHost, url: Url, answer: Answer | None, latency_s: float) -> None:
        """From which moment on the host may be asked again, by what it has told so far."""
        if url.endswith("/robots.txt") and isinstance(answer, Fetched) and host.robots_at is None:
            host.asked_for_s = host.crawl_delay_s or 0.0
        wait_s = max(self.politeness.delay_s, host.asked_for_s)
        exchange = answer.exchange if answer is not None else None
        if exchange is not None:
            slow_s = min(self.politeness.latency_factor * latency_s, self.politeness.delay_s_max)
            wait_s = max(wait_s, slow_s, exchange.retry_after_s or 0.0)
            host.strained_in_a_row = host.strained_in_a_row + 1 if exchange.status == 429 else 0
            doubled_s = 2**host.strained_in_a_row * self.politeness.delay_s if host.strained_in_a_row else 0.0
            wait_s = max(wait_s, min(doubled_s, self.politeness.back_off_s_max))
        host.not_before = self.clock.now() + wait_s


def page_of(url: Url) -> int:
    return int("0" + url.rpartition("/")[2])


def heavy_tailed(
    seed: int, clock: VirtualClock, politeness: PolitenessSettings, hosts: int, pages: int
) -> ModelledWeb:
    """The n-th host has pages in proportion to 1/n. The largest ask for so much patience that each takes days."""
    chance = Random(seed)
    shares = [1 / n for n in range(1, hosts + 1)]
    made: dict[str, ModelledHost] = {}
    for n, share in enumerate(shares):
        host = ModelledHost(f"h{n}.test", max(1, round(pages * share / sum(shares))), math.exp(chance.gauss(-1, 1)))
        made[host.name] = host
        if n < 10:
            host.crawl_delay_s = round((15 if n == 0 else chance.uniform(2, 15)) * DAY_S / host.pages)
        elif n != 10 and chance.random() < 0.3:
            host.crawl_delay_s = 120.0
        match n % 10:
            case 3:
                host.errors = 0.2
            case 5:
                host.is_strained = True
            case 7:
                host.is_dead = True
            case 9:
                host.robots_at = "http://h10.test/robots.txt"
    return ModelledWeb(clock, politeness, made, chance)


def troubled(seed: int, clock: VirtualClock, politeness: PolitenessSettings, hosts: int, days: float) -> ModelledWeb:
    """A small web with every kind of fault, until all of them are cured after so many days."""
    chance = Random(seed)
    start, made = clock.now(), {}
    for n in range(hosts):
        host = ModelledHost(f"h{n}.test", chance.randint(4, 16), math.exp(chance.gauss(-1, 1)))
        made[host.name] = host
        if n % 2:
            host.changes_s = chance.uniform(1, 10) * DAY_S
        if n % 3 == 0 and n % 8 != 7:  # with hours between two requests, twice the pages take too long
            host.port = 8081
            moments = [start] if n % 2 else [start + chance.uniform(0, days) * DAY_S for _ in range(2)]
            host.port_outages = tuple((moment, moment + chance.uniform(1, days) * DAY_S) for moment in moments)
        match n % 8:
            case 1:
                away = [start + chance.uniform(0, HOUR_S), start + chance.uniform(1, days - 1) * DAY_S]
                host.outages = tuple((moment, moment + chance.uniform(0.5, 4) * DAY_S) for moment in away)
            case 2:
                host.errors = 0.3
            case 3:
                host.fails_from = start + chance.uniform(0, days) * DAY_S
            case 4:
                host.is_strained = True
            case 5:
                host.is_dead = True
            case 6:
                host.robots_at = "http://h0.test/robots.txt"
            case 7:
                host.crawl_delay_s = 4 * HOUR_S
    return ModelledWeb(clock, politeness, made, chance, gone_every=23, cured_at=start + days * DAY_S)
