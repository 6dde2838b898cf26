"""A robots.txt that fails, moves, never ends or is none: what the host's pages are then worth asking for."""

from __future__ import annotations

import codecs

import pytest

from gossamer.fetch.http import Http
from gossamer.records import Fetched, Reason, Refused, Result, RobotsRead
from tests.hostile.asking import SETTINGS, Asking
from tests.hostile.server import Connection, Scenario, answer, playing

PAGE = answer(b"page", "Content-Type: text/html")
CLOSED = b"User-agent: *\nDisallow: /\n"


def site(**files: bytes | Scenario) -> Scenario:
    """Answers by path, `robots` being /robots.txt; a page for everything else."""

    async def scenario(connection: Connection) -> None:
        while True:
            path = (await connection.request()).split(b" ")[1].decode()
            found = files.get(path.strip("/").partition(".")[0], PAGE)
            if isinstance(found, bytes):
                await connection.send(found)
            else:
                await found(connection)

    return scenario


def reason_of(result: Result) -> Reason | None:
    return result.reason if isinstance(result, Refused) else None


def moved(location: str) -> bytes:
    return answer(b"", f"Location: {location}", status="301 Moved")


async def silent(connection: Connection) -> None:
    await connection.hang()


async def drops(connection: Connection) -> None:
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nUser-agent: *\n")
    connection.writer.close()


async def endless(connection: Connection) -> None:
    await connection.send(b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /early\n")
    await connection.send_for_ever(b"# and so on, and so on\n" * 1000)


@pytest.mark.parametrize(
    "robots",
    [
        pytest.param(answer(b"", status="500 Oops"), id="500"),
        pytest.param(answer(b"", status="503 Later"), id="503"),
        pytest.param(answer(b"", status="429 Slower"), id="429"),
        pytest.param(silent, id="silent"),
        pytest.param(drops, id="dropped"),
    ],
)
async def test_a_robots_txt_that_cannot_be_had_closes_the_host(http: Http, robots: bytes | Scenario) -> None:
    async with playing(site(robots=robots)) as stage:
        asking = Asking(http)
        waits_s = []
        for _ in range(len(SETTINGS.retry_s) + 1):
            read = await asking.fetch(stage.url("/page"))
            assert isinstance(read, RobotsRead)
            waits_s.append(read.wait_s)
        assert waits_s == [*SETTINGS.retry_s, 0.0]  # asked again later, then given up
        result = await asking.fetch(stage.url("/page"))
        assert isinstance(result, Refused) and result.reason is Reason.ROBOTS_UNREACHABLE
        assert set(stage.asked()) == {"/robots.txt"}


@pytest.mark.parametrize("status", ["404 Not Found", "403 Forbidden", "401 Unauthorized", "410 Gone"])
async def test_a_robots_txt_that_is_not_there_opens_the_host(http: Http, status: str) -> None:
    async with playing(site(robots=answer(CLOSED, status=status))) as stage:
        asking = Asking(http)
        await asking.read(stage.url())
        assert isinstance(await asking.fetch(stage.url("/page")), Fetched)


@pytest.mark.parametrize("hops", range(1, 6))
async def test_rules_behind_redirects_bind_the_host_that_was_asked(http: Http, hops: int) -> None:
    steps = {f"step{hop}": moved(f"/step{hop + 1}") for hop in range(1, hops)} | {f"step{hops}": answer(CLOSED)}
    async with playing(site(robots=moved("/step1"), **steps)) as stage:
        asking = Asking(http)
        await asking.read(stage.url(), turns=hops + 1)
        assert reason_of(await asking.fetch(stage.url("/page"))) is Reason.ROBOTS


async def test_rules_of_another_host_bind_the_host_that_was_asked(http: Http) -> None:
    async with (
        playing(site(theirs=answer(CLOSED)), host="127.0.0.2") as other,
        playing(site(robots=moved(other.url("/theirs", "127.0.0.2")))) as stage,
    ):
        asking = Asking(http)
        await asking.read(stage.url(), turns=2)
        assert asking.turns == ["127.0.0.2"]  # asked at its own turn
        assert reason_of(await asking.fetch(stage.url("/page"))) is Reason.ROBOTS
        await asking.read(other.url(host="127.0.0.2"))
        assert isinstance(await asking.fetch(other.url("/page", "127.0.0.2")), Fetched)


async def test_a_robots_txt_that_moves_in_circles_is_none(http: Http) -> None:
    async with playing(site(robots=moved("/other"), other=moved("/robots.txt"))) as stage:
        asking = Asking(http)
        await asking.read(stage.url(), turns=SETTINGS.redirects_max + 1)
        assert isinstance(await asking.fetch(stage.url("/page")), Fetched)


async def test_the_beginning_of_an_endless_robots_txt_counts(http: Http) -> None:
    async with playing(site(robots=endless)) as stage:
        asking = Asking(http)
        copy = await asking.read(stage.url())
        assert len(copy.body) == SETTINGS.body_bytes_max >= 500 * 1024
        assert reason_of(await asking.fetch(stage.url("/early"))) is Reason.ROBOTS
        assert isinstance(await asking.fetch(stage.url("/page")), Fetched)


async def after_reading(http: Http, body: bytes, path: str) -> Result:
    async with playing(site(robots=answer(body, "Content-Type: text/plain"))) as stage:
        asking = Asking(http)
        await asking.read(stage.url())
        return await asking.fetch(stage.url(path))


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><head><title>Not found</title></head><body><p>Disallow is a word</p></body></html>",
        b"\x89PNG\r\n\x1a\n" + bytes(1000),
        b'{"error": "not found"}',
        b"",
    ],
    ids=["html", "picture", "json", "nothing"],
)
async def test_what_is_no_robots_txt_forbids_nothing(http: Http, body: bytes) -> None:
    assert isinstance(await after_reading(http, body, "/page"), Fetched)


@pytest.mark.parametrize(
    "body",
    [
        codecs.BOM_UTF8 + CLOSED,
        CLOSED.replace(b"\n", b"\r"),
        CLOSED.replace(b"\n", b"\r\n\n\r"),
        b"\0\0\n" + CLOSED,
        b"# \xff\xfe\x00 no text at all\n" + CLOSED,
    ],
    ids=["mark", "cr", "mixed", "nul", "binary"],
)
async def test_odd_bytes_in_a_robots_txt_are_borne(http: Http, body: bytes) -> None:
    assert reason_of(await after_reading(http, body, "/page")) is Reason.ROBOTS


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
async def test_a_robots_txt_in_a_wide_encoding_is_read_or_passed_over(http: Http, codec: str) -> None:
    assert isinstance(await after_reading(http, CLOSED.decode().encode(codec), "/page"), Fetched | Refused)


@pytest.mark.parametrize("said", ["1e9", "1000000000", "301"])
async def test_a_host_that_asks_for_an_absurd_crawl_delay_is_left_alone(http: Http, said: str) -> None:
    result = await after_reading(http, f"User-agent: *\nCrawl-delay: {said}\n".encode(), "/page")
    assert isinstance(result, Refused) and result.reason is Reason.CRAWL_DELAY_TOO_LONG


@pytest.mark.parametrize("said", ["-5", "soon", "1e400", "nan", "inf", ""])
async def test_a_crawl_delay_that_is_no_time_is_passed_over(http: Http, said: str) -> None:
    async with playing(site(robots=answer(f"User-agent: *\nCrawl-delay: {said}\n".encode()))) as stage:
        asking = Asking(http)
        assert (await asking.read(stage.url())).crawl_delay_s is None
        assert isinstance(await asking.fetch(stage.url("/page")), Fetched)
