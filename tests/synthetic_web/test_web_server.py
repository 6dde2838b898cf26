"""Every behaviour, played over a real socket."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

import brotli
import pytest
import uvloop

from gossamer.clock import RealClock, VirtualClock
from gossamer.synthetic_web import RobotsKind, Server, Web, WebOptions, serve
from gossamer.synthetic_web.answer import Request
from gossamer.synthetic_web.server import _listen
from tests.synthetic_web.client import Reply, carrier, get, read_reply, until, url_of

OPTIONS = replace(WebOptions.everything(hosts=14, pages_per_host=20), slow_s=0.1, drip_s=0.2)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(Web(OPTIONS)) as server:
        yield server


def host_of_kind(web: Web, kind: RobotsKind) -> int:
    return next(host for host in range(1, web.options.hosts) if web.robots_kind(host) is kind)


async def get_carried(server: Server, behaviour: str, path: str, which: int = 0) -> Reply:
    return await get(url_of(server.web, behaviour, path, which))


# Ordinary pages.


async def test_an_ordinary_page_is_what_the_web_decided(server: Server) -> None:
    reply = await get(server.url(3, "/p/7"))
    decided = server.web.answer(Request(3, "/p/7", RealClock().now()))
    assert (reply.status, reply.body) == (200, decided.body)
    assert reply.headers["content-type"] == "text/html; charset=utf-8"


async def test_the_host_header_decides_and_the_address_stands_in_for_it(server: Server) -> None:
    by_name = await get(f"http://h3.test:{server.port}/p/7", address="127.0.0.1")
    by_address = await get(f"http://nonsense:{server.port}/p/7", address=server.web.atlas.address(3))
    assert by_name.body == by_address.body == (await get(server.url(3, "/p/7"))).body
    assert [entry.host for entry in server.log.entries] == ["h3.test", "127.1.0.4", "127.1.0.4"]


async def test_head_has_the_headers_of_get_and_no_body(server: Server) -> None:
    head, whole = await get(server.url(1, "/p/2"), method="HEAD"), await get(server.url(1, "/p/2"))
    head.headers.pop("date"), whole.headers.pop("date")
    assert (head.status, head.headers, head.body) == (whole.status, whole.headers, b"")


async def test_a_connection_serves_many_requests_also_when_they_come_at_once(server: Server) -> None:
    reader, writer = await asyncio.open_connection(server.web.atlas.address(1), server.port)
    for page in (1, 2, 3):
        writer.write(f"GET /p/{page} HTTP/1.1\r\nHost: {server.web.atlas.address(1)}\r\n\r\n".encode())
    for page in (1, 2, 3):
        reply = await read_reply(reader)
        assert reply.body == (await get(server.url(1, f"/p/{page}"))).body
    writer.close()


async def test_gzip_and_brotli_are_sent_to_who_accepts_them(server: Server) -> None:
    decoders = {"gzip": gzip.decompress, "br": brotli.decompress}
    for behaviour, coding in (("gzip", "gzip"), ("brotli", "br")):
        host, page = carrier(server.web, behaviour, 2)
        url = server.url(host, f"/p/{page}")
        plain, coded = await get(url), await get(url, {"Accept-Encoding": coding})
        assert "content-encoding" not in plain.headers
        assert coded.headers["content-encoding"] == coding
        assert decoders[coding](coded.body) == plain.body


async def test_chunked_pages_are_whole(server: Server) -> None:
    host, page = carrier(server.web, "chunked", 2)
    reply = await get(server.url(host, f"/p/{page}"))
    assert reply.headers["transfer-encoding"] == "chunked"
    assert reply.complete and reply.body.endswith(b"</html>\n")


async def test_an_unchanged_page_is_not_sent_again_and_a_changed_one_is() -> None:
    clock = VirtualClock()
    web = Web(WebOptions(hosts=1, pages_per_host=40, changing=1.0, validators=True))
    kinds = set()
    async with serve(web, clock) as server:
        for page in range(1, 40):
            url = server.url(0, f"/p/{page}")
            first = await get(url)
            asking = {}
            if "etag" in first.headers:
                asking["If-None-Match"] = first.headers["etag"]
            if "last-modified" in first.headers:
                asking["If-Modified-Since"] = first.headers["last-modified"]
            kinds.add(tuple(asking))
            assert (await get(url, asking)).status == (304 if asking else 200)
            clock.advance(30 * (web.change_interval_s(url) or 0))
            assert (await get(url, asking)).status == 200
    assert len(kinds) == 4  # ETag, Last-Modified, both, neither


# robots.txt.


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (RobotsKind.MISSING, 404),
        (RobotsKind.OPEN, 200),
        (RobotsKind.MOVED, 301),
        (RobotsKind.BORROWED, 302),
        (RobotsKind.UNAVAILABLE, 503),
    ],
)
async def test_robots_files_answer_with_their_status(server: Server, kind: RobotsKind, status: int) -> None:
    reply = await get(server.url(host_of_kind(server.web, kind), "/robots.txt"))
    assert reply.status == status


async def test_a_huge_robots_file_is_larger_than_a_crawler_has_to_read(server: Server) -> None:
    reply = await get(server.url(host_of_kind(server.web, RobotsKind.HUGE), "/robots.txt"))
    assert reply.complete and len(reply.body) > 500 * 1024
    assert reply.body.startswith(b"User-agent: *\nDisallow: /private/\n")


async def test_a_silent_host_never_answers_for_its_robots_file(server: Server) -> None:
    with pytest.raises(TimeoutError):
        await get(server.url(host_of_kind(server.web, RobotsKind.SILENT), "/robots.txt"), timeout_s=0.1)


# Redirects.


async def test_redirects_use_all_four_statuses_and_lead_to_pages(server: Server) -> None:
    statuses = set()
    for which in range(8):
        host, page = carrier(server.web, "redirects", which)
        reply = await get(server.url(host, f"/moved/{page}"))
        statuses.add(reply.status)
        location = reply.headers["location"]
        goal = location if location.startswith("http") else server.url(host, location)
        assert (await get(goal)).status == 200
    assert statuses == {301, 302, 307, 308}


async def test_a_loop_comes_back_to_where_it_began(server: Server) -> None:
    assert (await get_carried(server, "redirect_loops", "/loop/{page}/a")).headers["location"].endswith("/b")
    assert (await get_carried(server, "redirect_loops", "/loop/{page}/b")).headers["location"].endswith("/a")
    assert (await get_carried(server, "redirect_loops", "/loop/{page}/self")).headers["location"].endswith("/self")


# Failures.


@pytest.mark.parametrize(
    ("behaviour", "path", "status"),
    [("not_found", "/missing/{page}", 404), ("gone", "/gone/{page}", 410), ("server_errors", "/broken/{page}", 500)],
)
async def test_errors_that_stay(server: Server, behaviour: str, path: str, status: int) -> None:
    assert [(await get_carried(server, behaviour, path)).status for _ in range(3)] == [status] * 3


async def test_a_busy_page_says_when_to_come_back_and_is_there_then(server: Server) -> None:
    refused = await get_carried(server, "too_many_requests", "/busy/{page}")
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert (await get_carried(server, "too_many_requests", "/busy/{page}")).status == 200


async def test_an_overloaded_page_is_there_after_as_many_refusals_as_asked_for() -> None:
    async with serve(Web(replace(OPTIONS, refusals=2))) as server:
        replies = [await get_carried(server, "unavailable", "/overloaded/{page}") for _ in range(3)]
    assert [reply.status for reply in replies] == [503, 503, 200]


async def test_a_reset_is_a_reset_and_a_hang_up_is_none(server: Server) -> None:
    outcomes = []
    for behaviour, path in (("resets", "/reset/{page}"), ("hang_ups", "/hang-up/{page}")):
        host, page = carrier(server.web, behaviour)
        reader, writer = await asyncio.open_connection(server.web.atlas.address(host), server.port)
        writer.write(f"GET {path.format(page=page)} HTTP/1.1\r\n\r\n".encode())
        try:
            outcomes.append(repr(await reader.read()))
        except ConnectionResetError:
            outcomes.append("reset")
        writer.close()
    assert outcomes == ["reset", "b''"]
    assert [entry.status for entry in server.log.entries] == [None, None]


async def test_a_truncated_answer_ends_before_its_length(server: Server) -> None:
    reply = await get_carried(server, "truncated", "/truncated/{page}")
    assert reply.status == 200 and not reply.complete
    assert 0 < len(reply.body) < int(reply.headers["content-length"])


async def test_slow_and_dripping_answers_take_their_time_and_are_whole(server: Server) -> None:
    for behaviour, path, takes_s in (("slow", "/slow/{page}", 0.1), ("dripping", "/drip/{page}", 0.2)):
        reply = await get_carried(server, behaviour, path)
        assert reply.complete and reply.body.endswith(b"</html>\n")
        entry = server.log.entries[-1]
        assert entry.time_out - entry.time_in >= takes_s


async def test_slowness_is_of_the_clock_that_the_server_was_given() -> None:
    clock = VirtualClock()
    async with serve(Web(replace(OPTIONS, slow_s=3600.0)), clock) as server:
        asking = asyncio.create_task(get_carried(server, "slow", "/slow/{page}"))
        await until(lambda: clock.next_wake_at)
        clock.advance(3600.0)
        assert (await asking).complete
        assert server.log.entries[0].time_out - server.log.entries[0].time_in == 3600.0


@pytest.mark.parametrize(("behaviour", "path"), [("endless", "/endless/{page}"), ("silent", "/silent/{page}")])
async def test_an_answer_without_end_is_logged_when_the_client_goes_away(behaviour: str, path: str) -> None:
    async with serve(Web(OPTIONS)) as server:
        with pytest.raises(TimeoutError):
            await get(url_of(server.web, behaviour, path), timeout_s=0.1)
        await until(lambda: server.log.entries)
        (entry,) = server.log.entries
        assert entry.aborted
        assert entry.time_out - entry.time_in > 0.05


# Kinds of documents.


@pytest.mark.parametrize(
    ("name", "content_type", "title"),
    [
        ("latin-1", "text/html; charset=iso-8859-1", "Crème brûlée".encode("latin-1")),
        ("meta", "text/html", "Crème brûlée".encode("latin-1")),
        ("bom", "text/html", "Crème brûlée".encode("utf-16-le")),
        ("wrong", "text/html; charset=utf-8", "Crème brûlée".encode("latin-1")),
        ("none", "text/html", "Crème brûlée".encode()),
    ],
)
async def test_charsets_are_named_or_not(server: Server, name: str, content_type: str, title: bytes) -> None:
    reply = await get_carried(server, "charsets", f"/charset/{{page}}/{name}")
    assert reply.headers["content-type"] == content_type
    assert title in reply.body


async def test_content_types_can_be_missing_and_wrong(server: Server) -> None:
    missing = await get_carried(server, "content_types", "/untyped/{page}")
    assert "content-type" not in missing.headers and b"<html" in missing.body
    binary = await get_carried(server, "content_types", "/untyped/{page}/binary")
    assert binary.headers["content-type"] == "application/octet-stream" and b"<html" in binary.body
    picture = await get_carried(server, "content_types", "/untyped/{page}/picture")
    assert picture.headers["content-type"].startswith("text/html") and picture.body.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "content_type", "start"),
    [
        ("note.txt", "text/plain", b""),
        ("dot.png", "image/png", b"\x89PNG"),
        ("paper.pdf", "application/pdf", b"%PDF"),
    ],
)
async def test_files_that_are_not_html(server: Server, name: str, content_type: str, start: bytes) -> None:
    reply = await get_carried(server, "files", f"/files/{{page}}/{name}")
    assert reply.headers["content-type"].startswith(content_type)
    assert reply.body.startswith(start) and b"<html" not in reply.body


@pytest.mark.parametrize(
    ("behaviour", "path", "says"),
    [
        ("noindex", "/noindex/{page}", b'<meta name="robots" content="noindex">'),
        ("nofollow", "/nofollow/{page}", b'<meta name="robots" content="nofollow">'),
        ("canonical", "/canonical/{page}/print", b'<link rel="canonical" href="http://127.'),
        ("bases", "/based/{page}", b'<base href="/found/base/'),
    ],
)
async def test_pages_say_things_about_themselves(server: Server, behaviour: str, path: str, says: bytes) -> None:
    assert says in (await get_carried(server, behaviour, path)).body


# Robustness.


@pytest.mark.parametrize(
    ("junk", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET nowhere HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000, 431),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 405),
    ],
)
async def test_junk_is_answered_and_the_connection_closed(server: Server, junk: bytes, status: int) -> None:
    reader, writer = await asyncio.open_connection("127.1.0.1", server.port)
    writer.write(junk)
    assert (await read_reply(reader)).status == status
    writer.close()
    assert (await get(server.url(0))).status == 200


async def test_strange_paths_are_not_found_and_break_nothing(server: Server) -> None:
    sections = ("p", "landing", "copy", "chain", "loop", "calendar", "events", "facets", "shop", "repeat", "deep")
    for section in (*sections, "near", "found", "files", "untyped", "sitemaps", "news", "print", "tmp"):
        for rest in ("", "/", "/x", "/1/2/3/4/5", "/of/99999999999/1", "/²", "/-1", "//", "/..", "?;=&", "?date=x"):
            assert (await get(server.url(0, f"/{section}{rest}".encode().decode("latin-1")))).status in (200, 404)


async def test_a_client_that_sends_without_reading_is_cut_off(server: Server) -> None:
    reader, writer = await asyncio.open_connection("127.1.0.1", server.port)
    host, page = carrier(server.web, "silent")
    line = f"GET /silent/{page} HTTP/1.1\r\nHost: {server.web.atlas.address(host)}\r\n\r\n"
    writer.write(line.encode() * 2000)
    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()
    assert [entry.aborted for entry in server.log.entries] == [True]


async def test_only_loopback_addresses_are_served() -> None:
    with pytest.raises(ValueError, match="only served on loopback"):
        _listen("192.0.2.1", 0, any_interface=False)
    async with serve(Web(OPTIONS)) as server:
        outside = own_address()
        if outside is None:
            pytest.skip("this machine has no other address")
        with pytest.raises(OSError):  # refused, or dropped before a byte
            reader, writer = await asyncio.open_connection(outside, server.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            if await reader.read() == b"":
                raise ConnectionResetError
        assert not server.log.entries


def own_address() -> str | None:
    """An address of this machine that is not loopback. Connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address: str = probe.getsockname()[0]
        return None if address.startswith("127.") else address


def test_it_runs_on_uvloop_too() -> None:
    async def story() -> list[int | None]:
        async with serve(Web(OPTIONS)) as server:
            page = await get(server.url(0))
            robots = await get(server.url(host_of_kind(server.web, RobotsKind.HUGE), "/robots.txt"))
            host, number = carrier(server.web, "resets")
            reader, writer = await asyncio.open_connection(server.web.atlas.address(host), server.port)
            writer.write(f"GET /reset/{number} HTTP/1.1\r\n\r\n".encode())
            with pytest.raises(ConnectionResetError):
                await reader.read()
            assert page.complete and robots.complete
            return [entry.status for entry in server.log.entries]

    assert uvloop.run(story()) == [200, 200, None]


async def test_an_answer_that_the_client_is_slow_to_read_ends_when_it_has_been_read() -> None:
    options = WebOptions(hosts=2, robots_kinds=(RobotsKind.HUGE,), robots_huge_bytes=20_000_000)
    async with serve(Web(options)) as server:
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(slow, (server.web.atlas.address(1), server.port))
        await loop.sock_sendall(slow, b"GET /robots.txt HTTP/1.1\r\n\r\n")
        received = len(await loop.sock_recv(slow, 1000))
        assert not server.log.entries  # it has begun, and cannot have ended
        started = server.clock.now()
        while received < 20_000_000:
            received += len(await loop.sock_recv(slow, 1_000_000))
        await until(lambda: server.log.entries)
        assert server.log.entries[0].time_out > started
        assert not server.log.entries[0].aborted
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        slow.close()
