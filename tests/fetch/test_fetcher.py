from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gossamer.clock import RealClock
from gossamer.fetch.dns import Dns
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.protocols import protocols
from gossamer.fetch.robots import Ask, RobotsCache, Unreachable, decide
from gossamer.fetch.transfer import Transfers
from gossamer.interfaces import HostElsewhere
from gossamer.records import (
    Answer,
    Exchange,
    Fetched,
    Lease,
    Link,
    Postponed,
    Reason,
    Refused,
    Result,
    RobotsCopy,
    RobotsRead,
)
from gossamer.settings import DnsSettings, FetchSettings, RobotsSettings
from gossamer.url.site import host_of
from tests.fetch.raw_server import RawServer, raw_server

SETTINGS = RobotsSettings(retry_s=(10.0, 20.0))
PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"


def file(body: bytes, status: int = 200, headers: str = "") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def reason_of(result: Result) -> Reason | None:
    return result.reason if isinstance(result, Refused) else None


class World:
    """A server with a robots.txt, and a fetcher that remembers copies only in memory."""

    def __init__(self, server: RawServer, transfers: Transfers) -> None:
        self.server = server
        self.turns: list[str] = []
        self.elsewhere: set[str] = set()  # hosts of another node
        self.copies: dict[str, RobotsCopy] = {}
        cache = RobotsCache(self.copies.get)
        modules = protocols(("http",), transfers, "gossamer/0")
        self.found: Answer | None = None  # by that node
        told = (SETTINGS, "gossamer")
        find = lambda origin, url: self.found  # noqa: E731
        self.fetcher = Fetcher(modules, cache, self._booking_of, RealClock(), *told, elsewhere=find)

    def robots(self, *files: tuple[str, bytes]) -> None:
        answers = dict(files)

        def answer(request: bytes) -> list[bytes | float]:
            path = request.split(b" ")[1].decode()
            return [answers.get(path, PAGE)]

        self.server.answer = answer

    @asynccontextmanager
    async def _booking_of(self, url: str) -> AsyncIterator[Callable[[Answer], None]]:
        if host_of(url) in self.elsewhere:
            raise HostElsewhere(host_of(url))
        self.turns.append(host_of(url))
        yield lambda answer: None

    async def fetch(self, path: str = "/page", host: str = "127.0.0.1") -> Result:
        url = self.server.url(path, host)
        return await self.fetcher.fetch(Lease(Link(url), host, RealClock().now() + 60))

    def asked(self) -> list[str]:
        return [request.split(b" ")[1].decode() for request in self.server.requests]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = RealClock()
    limits = FetchSettings(timeout_s=1.0, connect_timeout_s=1.0)
    transfers = Transfers(Dns(clock, DnsSettings()), clock, limits, allow_private=True)
    async with raw_server() as server:
        yield World(server, transfers)
    await transfers.close()


async def test_the_first_turn_of_a_host_reads_its_robots_txt_and_nothing_else(world: World) -> None:
    world.robots(("/robots.txt", file(b"User-agent: *\nDisallow: /private\nCrawl-delay: 2.5\n")))
    first = await world.fetch()
    assert isinstance(first, RobotsRead)
    assert first.robots.crawl_delay_s == 2.5
    assert world.asked() == ["/robots.txt"]
    assert isinstance(await world.fetch(), Fetched)
    assert world.asked() == ["/robots.txt", "/page"]


async def test_what_robots_txt_disallows_is_refused_without_a_request(world: World) -> None:
    world.robots(("/robots.txt", file(b"User-agent: *\nDisallow: /private\n")))
    await world.fetch()
    result = await world.fetch("/private/x")
    assert reason_of(result) is Reason.ROBOTS
    assert world.asked() == ["/robots.txt"]


async def test_a_robots_txt_that_is_not_there_allows_everything(world: World) -> None:
    world.robots(("/robots.txt", file(b"", 404)))
    assert isinstance(await world.fetch(), RobotsRead)
    assert isinstance(await world.fetch(), Fetched)


async def test_every_redirect_of_robots_txt_takes_a_turn(world: World) -> None:
    moved = file(b"", 301, "Location: /elsewhere.txt\r\n")
    world.robots(("/robots.txt", moved), ("/elsewhere.txt", file(b"User-agent: *\nDisallow: /\n")))
    for asked in (["/robots.txt"], ["/robots.txt", "/elsewhere.txt"]):
        assert isinstance(await world.fetch(), RobotsRead)
        assert world.asked() == asked
    assert reason_of(await world.fetch()) is Reason.ROBOTS
    assert world.turns == []  # all on the host that is leased anyway


async def test_a_redirect_to_another_host_waits_for_that_hosts_turn(world: World) -> None:
    location = f"Location: http://127.0.0.2:{world.server.port}/theirs.txt\r\n"
    world.robots(("/robots.txt", file(b"", 302, location)), ("/theirs.txt", file(b"User-agent: *\nDisallow: /\n")))
    await world.fetch()
    await world.fetch()
    assert world.turns == ["127.0.0.2"]


async def test_a_redirect_to_a_host_of_another_node_waits_for_its_answer(world: World) -> None:
    """Until then nothing of the host is asked for, and it is told why."""
    moved = f"HTTP/1.1 301 X\r\nLocation: {world.server.url('/robots.txt', 'localhost')}\r\nContent-Length: 0\r\n\r\n"
    world.robots(("/robots.txt", moved.encode()))
    world.elsewhere.add("localhost")
    await world.fetch()
    waits = await world.fetch()
    assert isinstance(waits, Postponed) and waits.reason is Reason.ROBOTS_UNREACHABLE and waits.wait_s > 0
    assert "localhost, which another node asks" in waits.detail
    found = Fetched(Exchange(b"", b"", 200, "", 1.0, 1.0, 0.0), b"User-agent: *\nDisallow: /p\n")
    world.found = found
    read = await world.fetch()
    assert isinstance(read, RobotsRead) and read.robots.status == 200 and read.robots.body == found.body
    assert reason_of(await world.fetch()) is Reason.ROBOTS
    assert world.asked() == ["/robots.txt"]


async def test_after_five_redirects_it_is_as_if_there_were_none(world: World) -> None:
    world.robots(("/robots.txt", file(b"", 301, "Location: /robots.txt\r\n")))
    for _ in range(6):
        assert isinstance(await world.fetch(), RobotsRead)
    assert isinstance(await world.fetch(), Fetched)
    assert world.asked() == ["/robots.txt"] * 6 + ["/page"]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_unreachable_robots_txt_closes_the_host_and_is_tried_again(world: World, status: int) -> None:
    world.robots(("/robots.txt", file(b"", status)))
    waits = []
    for _ in range(3):
        read = await world.fetch()
        assert isinstance(read, RobotsRead)
        waits.append(read.wait_s)
    assert waits == [10.0, 20.0, 0.0]
    result = await world.fetch()
    assert isinstance(result, Refused) and result.reason is Reason.ROBOTS_UNREACHABLE
    assert world.asked() == ["/robots.txt"] * 3


async def test_a_robots_txt_that_never_answers_is_unreachable(world: World) -> None:
    world.server.answer = lambda request: [30.0]
    read = await world.fetch()
    assert isinstance(read, RobotsRead)
    assert (read.robots.status, read.wait_s) == (None, 10.0)


async def test_only_the_first_half_mebibyte_of_a_huge_file_counts(world: World) -> None:
    rules = b"User-agent: *\nDisallow: /early\n" + b"#" * 600_000 + b"\nDisallow: /late\n"
    world.robots(("/robots.txt", file(rules)))
    await world.fetch()
    assert reason_of(await world.fetch("/early")) is Reason.ROBOTS
    assert isinstance(await world.fetch("/late"), Fetched)


NOW, DAY_S = 1_000_000.0, 86400.0
ORIGIN = "http://a.test"


def copy(status: int | None, age_s: float = 0.0, **more: object) -> RobotsCopy:
    return RobotsCopy(ORIGIN, NOW - age_s, status, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        (None, Ask),
        (copy(200), None),
        (copy(404), None),
        (copy(200, age_s=DAY_S - 1), None),
        (copy(200, age_s=DAY_S + 1), Ask),
        (copy(404, age_s=DAY_S + 1), Ask),
        (copy(None, tries=1, tried_at=NOW), Ask),
        (copy(503, tries=2, tried_at=NOW), Ask),
        (copy(503, tries=3, tried_at=NOW, rest_s=10.0), Unreachable),
        (copy(503, tries=3, tried_at=NOW - 11, rest_s=10.0), Ask),
        (copy(200, age_s=DAY_S + 5, tries=1, tried_at=NOW - 5), None),  # old, and the server does not answer
        (copy(200, age_s=DAY_S + 5, tries=1, tried_at=NOW - 11), Ask),
        (copy(200, moved_to="http://a.test/x", hops=1), Ask),
    ],
)
def test_what_a_copy_means(known: RobotsCopy | None, wanted: type | None) -> None:
    decision = decide(known, ORIGIN, SETTINGS, NOW)
    assert decision is None if wanted is None else isinstance(decision, wanted)


async def test_an_old_copy_stays_in_force_while_the_server_does_not_answer(world: World) -> None:
    origin = world.server.url("").rstrip("/")
    body = b"User-agent: *\nDisallow: /private\n"
    world.copies[origin] = RobotsCopy(origin, RealClock().now() - DAY_S - 10, 200, body)
    world.robots(("/robots.txt", file(b"", 503)))
    read = await world.fetch()
    assert isinstance(read, RobotsRead) and read.wait_s == 0.0
    assert reason_of(await world.fetch("/private")) is Reason.ROBOTS
    assert isinstance(await world.fetch("/page"), Fetched)
    assert world.asked() == ["/robots.txt", "/page"]
