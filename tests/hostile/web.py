"""A small web of hostile sites, one habit each, and one friendly host among them; and a crawl of all of it.

Every site is a function from a path to an answer. Names are resolved by a name server of the tests, which knows any
name that it is asked for: one of the sites answers under every sub-domain. All of them are one server on loopback.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from tests.crawl.command import gossamer, quick_settings
from tests.fetch.dns_server import addresses, dns_server
from tests.hostile.server import Connection, answer, playing

HOST_PAGES_MAX, SITE_PAGES_MAX = 12, 20
FRIENDLY_PAGES = 10
MANY_LINKS = 25_000
RETRY_AFTER_S, RETRY_AFTER_S_MAX = 1, 3
LATENCY_FACTOR = 2.0
SLOWER_S = 0.07  # by so much each answer of the slowing host is later than the one before
SLOWER_PAGES = 4


class Asked(NamedTuple):
    """One request as the server saw it. Its answer ended at `ended_at`."""

    host: str
    path: str
    started_at: float
    ended_at: float


@dataclass
class Crawled:
    port: int
    asked: list[Asked]
    pages: dict[str, dict[str, Any]]
    hosts: dict[str, dict[str, Any]]
    summary: str
    took_s: float
    paths: dict[str, list[str]] = field(init=False)  # asked of each host, without robots.txt

    def __post_init__(self) -> None:
        self.paths = {host: [] for host in SITES}
        for each in self.asked:
            if each.path != "/robots.txt":
                self.paths.setdefault(each.host, []).append(each.path)

    def page(self, host: str, path: str = "/") -> dict[str, Any]:
        return self.pages[f"http://{host}.test:{self.port}{path}"]


def page(*links: str, text: str = "", head: str = "") -> bytes:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    body = f"<!DOCTYPE html><html><head>{head}</head><body>{text} {anchors}</body></html>"
    return answer(body.encode(), "Content-Type: text/html; charset=utf-8")


def moved(target: str, *headers: str) -> bytes:
    return answer(b"", f"Location: {target}", *headers, status="302 Found")


def later(status: str, retry_after: str) -> bytes:
    return answer(b"", f"Retry-After: {retry_after}", status=status)


NOT_FOUND = answer(b"not here", status="404 Not Found")


# ---- the sites -------------------------------------------------------------------------------------------


def friendly(path: str, _: int) -> bytes:
    return page(*(f"/p{number}" for number in range(1, FRIENDLY_PAGES)), text=f"welcome to {path}")


def loop(path: str, _: int) -> bytes:
    return moved({"/": "/a", "/a": "/b", "/b": "/a"}[path])


def chain(path: str, _: int) -> bytes:
    number = int(path.strip("/") or 0)
    return moved(f"/{number + 1}") if number < 100 else page(text="the end")


def ever_new(path: str, _: int) -> bytes:
    return moved(f"/?n={int(path.rpartition('=')[2] or 0) + 1 if '=' in path else 1}")


def cookie(path: str, _: int) -> bytes:
    return moved(path, "Set-Cookie: seen=yes; Path=/")


def mover(path: str, _: int) -> bytes:
    return moved("http://shut.test:{port}/private")


def shut(path: str, _: int) -> bytes:
    if path == "/robots.txt":
        return answer(b"User-agent: *\nDisallow: /private\n")
    return page(text="nobody should see this")


def asks_for_time(status: str, retry_after: Callable[[], str]) -> Site:
    def site(path: str, times: int) -> bytes:
        return later(status, retry_after()) if times == 1 else page(text="at last")

    return site


def in_a_moment() -> str:
    """An HTTP date, which has no fractions of a second."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=RETRY_AFTER_S + 1), usegmt=True)


def slower(path: str, _: int) -> bytes:
    number = int(path.strip("/") or 0)
    links = [f"/{number + 1}"] if number < SLOWER_PAGES else []
    return page(*links, text=f"page {number}")


def wall(path: str, _: int) -> bytes:
    if path == "/forbidden":
        return answer(b"no", status="403 Forbidden")
    return page("/forbidden", *(f"/{number}" for number in range(8)), text="Prove that you are human")


def tree(path: str, _: int) -> bytes:
    number = int(path.strip("/") or 1)
    return page(f"/{2 * number}", f"/{2 * number + 1}", text=f"leaf {number}")


def frames(path: str, _: int) -> bytes:
    number = int(path.strip("/") or 0)
    return page(text=f'frame {number} <iframe src="/{number + 1}"></iframe>')


def growing(path: str, _: int) -> bytes:
    number = path.count("/")
    return page("again/", f"/deeper{path.removeprefix('/deeper')}{number}/", f"{path}?x={'y' * 300 * number}")


def sessions(path: str, times: int) -> bytes:
    session = sha256(f"{path}{times}".encode()).hexdigest()[:32]
    return page(f"/page?sid={session}", f"/page;jsessionid={session}", f"/page?PHPSESSID={session}", text=path)


def calendar(path: str, _: int) -> bytes:
    if path == "/":
        day = datetime(datetime.now(UTC).year + 2, 12, 28, tzinfo=UTC)  # the last days that are worth a visit
    else:
        day = datetime.fromisoformat(path.rpartition("/")[2]).replace(tzinfo=UTC)
    tomorrow = day + timedelta(days=1)
    return page(f"/calendar/{tomorrow:%Y-%m-%d}", text=f"nothing happens on {day:%Y-%m-%d}")


def always200(path: str, _: int) -> bytes:
    words = sha256(path.encode()).hexdigest()
    return page(*(f"/{words[at : at + 8]}" for at in (0, 8, 16)), text=f"There is no {path} here, and that is fine")


def wild(path: str, _: int) -> bytes:
    # Asked as www.wild.test and as every name below it; which one does not matter.
    words = sha256(f"{path}{time.monotonic_ns()}".encode()).hexdigest()
    return page(*(f"http://{words[at : at + 6]}.wild.test:{{port}}/" for at in (0, 6, 12)), text=words)


def many(path: str, _: int) -> bytes:
    return page(*(f"/{number}" for number in range(MANY_LINKS))) if path == "/" else page(text=path)


def sitemap(path: str, _: int) -> bytes:
    if path not in ("/", "/other.xml"):
        return page(text=path)
    entries = "".join(
        f"<sitemap><loc>http://sitemap.test:{{port}}{entry}</loc></sitemap>" for entry in ("/", "/other.xml", "/page")
    )
    return answer(f"<sitemapindex>{entries}<!-- {path} --></sitemapindex>".encode(), "Content-Type: text/xml")


Site = Callable[[str, int], bytes]  # path, how often it was asked for now -> answer; {port} is filled in

SITES: dict[str, Site] = {
    "friendly": friendly,
    "loop": loop,
    "chain": chain,
    "ever-new": ever_new,
    "cookie": cookie,
    "mover": mover,
    "shut": shut,
    "seconds": asks_for_time("429 Slower", lambda: str(RETRY_AFTER_S)),
    "date": asks_for_time("503 Later", in_a_moment),
    "garbage": asks_for_time("503 Later", lambda: "when I feel like it"),
    "decade": asks_for_time("429 Slower", lambda: "315360000"),
    "slower": slower,
    "wall": wall,
    "tree": tree,
    "frames": frames,
    "growing": growing,
    "sessions": sessions,
    "calendar": calendar,
    "always200": always200,
    "wild": wild,
    "many": many,
    "sitemap": sitemap,
}
BELONGS_TO_OTHERS = frozenset({"shut"})  # found through them, and no seed


# ---- serving and crawling --------------------------------------------------------------------------------


class HostileWeb:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._times: Counter[tuple[str, str]] = Counter()

    async def play(self, connection: Connection) -> None:
        while True:
            request = (await connection.request()).decode("latin-1")
            started_at = time.monotonic()
            path = request.split(" ", 2)[1]
            host = request.partition("Host: ")[2].partition("\r\n")[0].partition(".test")[0]
            said = self._answer(host, path, connection.stage.port)
            if host == "slower" and path != "/robots.txt":
                await asyncio.sleep(SLOWER_S * (1 + int(path.strip("/") or 0)))
            self.asked.append(Asked(host, path, started_at, time.monotonic()))
            await connection.send(said)

    def _answer(self, host: str, path: str, port: int) -> bytes:
        self._times[host, path] += 1
        site = wild if host.endswith(".wild") else SITES[host]
        if path == "/robots.txt" and site is not shut:
            return NOT_FOUND
        head, _, body = site(path, self._times[host, path]).partition(b"\r\n\r\n")
        head, body = (part.replace(b"{port}", str(port).encode()) for part in (head, body))
        lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
        return b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"", body])


async def crawl_hostile_web(folder: Path) -> Crawled:
    web = HostileWeb()
    async with dns_server() as names, playing(web.play) as stage:
        names.otherwise = lambda query: addresses("127.0.0.1")
        seeds = [f"http://{name}.test:{stage.port}/" for name in SITES if name not in BELONGS_TO_OTHERS]
        settings = quick_settings(
            crawl__commit_s=0.05,
            dns__servers=names.address,
            politeness__ip_requests_per_s=100_000,
            politeness__ip_burst=100_000,
            politeness__site_requests_per_s=100_000,
            politeness__latency_factor=LATENCY_FACTOR,
            politeness__retry_after_s_max=RETRY_AFTER_S_MAX,
            frontier__host_pages_max=HOST_PAGES_MAX,
            frontier__site_pages_max=SITE_PAGES_MAX,
        )
        flags = ["--dir", folder, "--allow-private", "--scope", "any", "--workers", "1", *settings]
        started = time.monotonic()
        ran = await gossamer("crawl", *seeds, *flags, timeout_s=60)
        took_s = time.monotonic() - started
        assert ran.code == 0, ran.err
        pages = await gossamer("pages", folder, "--json")
        hosts = await gossamer("hosts", folder, "--json")
    return Crawled(
        stage.port,
        web.asked,
        {page["url"]: page for page in pages.lines()},
        {host["host"]: host for host in hosts.lines()},
        ran.out,
        took_s,
    )
