from __future__ import annotations

import gc
import gzip
import mmap
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import brotli
import pytest

from gossamer.clock import RealClock
from gossamer.fetch.address import is_forbidden
from gossamer.fetch.dns import Dns
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.records import Failed, Fetched, Moved, Reason, Refused, Validators
from gossamer.settings import DnsSettings, FetchSettings
from tests.fetch.raw_server import CLOSE, raw_server

LIMITS = FetchSettings(timeout_s=2.0, connect_timeout_s=1.0, body_bytes_max=100_000, header_bytes_max=4096)


@asynccontextmanager
async def http_with(
    limits: FetchSettings = LIMITS, *, allow_private: bool = True, overrides: dict[str, str] | None = None
) -> AsyncIterator[Http]:
    clock = RealClock()
    dns = Dns(clock, DnsSettings(overrides=overrides or {}))
    transfers = Transfers(dns, clock, limits, allow_private=allow_private)
    yield Http(transfers, "gossamer/0 (+test@example.org)")
    await transfers.close()
    await dns.close()


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    async with http_with(overrides={"name.test": "127.0.0.1"}) as http:
        yield http


def ok(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def test_an_answer_is_kept_as_it_came(http: Http) -> None:
    async with raw_server(ok(b"hello", "X-Odd:  spaced ", "Content-Type: text/plain")) as server:
        result = await http.fetch(server.url("/a?b=c"))
    assert isinstance(result, Fetched)
    assert result.body == b"hello"
    assert result.exchange.head.startswith(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Odd:  spaced \r\n")
    assert result.exchange.header("x-odd") == "spaced"
    assert result.exchange.ip == "127.0.0.1"


async def test_the_request_in_the_record_is_the_request_that_was_sent(http: Http) -> None:
    async with raw_server(ok(b"")) as server:
        result = await http.fetch(server.url("/a?b=c"))
    assert isinstance(result, Fetched)
    recorded, sent = result.exchange.request, server.requests[0]
    assert recorded.split(b"\r\n")[0] == sent.split(b"\r\n")[0]
    assert sorted(recorded.split(b"\r\n")) == sorted(sent.split(b"\r\n"))


async def test_a_connection_is_used_again(http: Http) -> None:
    async with raw_server(ok(b"hello")) as server:
        for _ in range(3):
            assert isinstance(await http.fetch(server.url()), Fetched)
        assert server.connections == 1


async def test_a_kept_connection_that_breaks_is_not_asked_a_second_time_at_once(http: Http) -> None:
    async with raw_server(ok(b"hello")) as server:
        assert isinstance(await http.fetch(server.url()), Fetched)
        server.answer = lambda request: [CLOSE]
        result = await http.fetch(server.url("/breaks"))
        assert isinstance(result, Failed) and result.reason is Reason.STALE_CONNECTION
        assert len(server.requests) == 2


async def test_a_name_is_connected_to_where_our_resolver_says(http: Http) -> None:
    async with raw_server(ok(b"hello")) as server:
        result = await http.fetch(server.url(host="name.test"))
    assert isinstance(result, Fetched)
    assert f"Host: name.test:{server.port}".encode() in server.requests[0]


@pytest.mark.parametrize("encoding", ["gzip", "br"])
async def test_content_encodings_are_removed(http: Http, encoding: str) -> None:
    packed = {"gzip": gzip.compress, "br": brotli.compress}[encoding](b"hello" * 100)
    async with raw_server(ok(packed, f"Content-Encoding: {encoding}")) as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Fetched)
    assert result.body == b"hello" * 100


async def test_a_bomb_is_cut_off_at_the_limit_of_unpacked_bytes(http: Http) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    async with raw_server(ok(bomb, "Content-Encoding: gzip")) as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Fetched)
    assert (result.exchange.truncated, len(result.body)) == ("length", LIMITS.body_bytes_max)


async def test_too_many_headers_are_refused(http: Http) -> None:
    async with raw_server(ok(b"", *(f"X-{n}: {'x' * 100}" for n in range(100)))) as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Failed)
    assert (result.reason, result.detail) == (Reason.TOO_LARGE, "headers")


async def test_a_body_that_is_too_large_is_cut(http: Http) -> None:
    async with raw_server(ok(b"x" * 200_000)) as server:
        result = await http.fetch(server.url(), body_bytes_max=1000)
    assert isinstance(result, Fetched)
    assert (result.body, result.exchange.truncated) == (b"x" * 1000, "length")


async def test_a_body_of_exactly_the_limit_is_whole(http: Http) -> None:
    async with raw_server(ok(b"x" * 1000)) as server:
        result = await http.fetch(server.url(), body_bytes_max=1000)
    assert isinstance(result, Fetched)
    assert (len(result.body), result.exchange.truncated) == (1000, "")


async def test_a_large_body_lies_in_a_file_and_can_be_read_again_and_again() -> None:
    body = bytes(range(256)) * 1200
    async with http_with(FetchSettings()) as http, raw_server(ok(body)) as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Fetched) and isinstance(result.body, mmap.mmap)
    assert result.body[:] == body == result.body[:]
    assert (len(result.body), sha256(result.body).digest()) == (len(body), sha256(body).digest())


async def test_a_server_that_does_not_begin_to_answer_is_left_after_the_time_for_the_first_byte() -> None:
    limits = FetchSettings(first_byte_timeout_s=0.2, timeout_s=30.0)
    async with http_with(limits) as http, raw_server(30.0) as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Failed)
    assert (result.reason, result.detail) == (Reason.TIMEOUT, "no answer within 0.2 s")


async def test_an_answer_may_take_longer_than_its_first_byte() -> None:
    limits = FetchSettings(first_byte_timeout_s=0.3, timeout_s=30.0)
    head, body = ok(b"hello")[:-5], b"hello"
    async with http_with(limits) as http, raw_server(head, 0.5, body) as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Fetched) and result.body == b"hello"


async def test_a_known_page_is_asked_for_only_if_it_has_changed(http: Http) -> None:
    async with raw_server(b"HTTP/1.1 304 Not Modified\r\n\r\n") as server:
        result = await http.fetch(server.url(), Validators('"v1"', "Sun, 15 Nov 2026 00:00:00 GMT"))
    assert isinstance(result, Fetched) and result.is_not_modified
    assert b'If-None-Match: "v1"\r\nIf-Modified-Since: Sun, 15 Nov 2026 00:00:00 GMT\r\n' in server.requests[0]


async def test_what_a_server_gave_goes_back_as_it_came_or_not_at_all(http: Http) -> None:
    unasked = ('"a\rHost: evil"', '"a\0"', '"\x7f"', "x" * 1001, "\u20ac")
    async with raw_server(b"HTTP/1.1 304 Not Modified\r\n\r\n") as server:
        result = await http.fetch(server.url(), Validators('"caf\xe9"', "g\xe9stern"))
        assert isinstance(result, Fetched) and result.is_not_modified
        for value in unasked:
            result = await http.fetch(server.url(), Validators(value, value))
            assert isinstance(result, Failed)  # it was not asked whether it has changed
    assert b'\r\nIf-None-Match: "caf\xe9"\r\nIf-Modified-Since: g\xe9stern\r\n' in server.requests[0]
    assert len(server.requests) == 1 + len(unasked)
    assert all(b"If-" not in request for request in server.requests[1:])


async def test_not_modified_is_a_fault_where_nobody_asked_for_it(http: Http) -> None:
    async with raw_server(b"HTTP/1.1 304 Not Modified\r\n\r\n") as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Failed) and result.reason is Reason.CLIENT_ERROR


async def test_a_redirect_is_a_result(http: Http) -> None:
    async with raw_server(b"HTTP/1.1 302 Found\r\nLocation: ../b?x#f\r\nContent-Length: 0\r\n\r\n") as server:
        result = await http.fetch(server.url("/a/c"))
        assert isinstance(result, Moved)
        assert result.target == server.url("/b?x")
        assert len(server.requests) == 1


@pytest.mark.parametrize("location", ["Location: mailto:a@b.c\r\n", "Location: \r\n", ""])
async def test_a_redirect_that_leads_nowhere_is_a_failure(http: Http, location: str) -> None:
    async with raw_server(f"HTTP/1.1 301 X\r\n{location}Content-Length: 0\r\n\r\n".encode()) as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Failed) and result.reason is Reason.BAD_REDIRECT


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, Reason.GONE),
        (410, Reason.GONE),
        (403, Reason.CLIENT_ERROR),
        (429, Reason.OVERLOADED),
        (503, Reason.OVERLOADED),
        (500, Reason.SERVER_ERROR),
        (300, Reason.CLIENT_ERROR),
        (699, Reason.BROKEN_ANSWER),
    ],
)
async def test_a_status_has_its_meaning(http: Http, status: int, reason: Reason) -> None:
    async with raw_server(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode()) as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Failed) and result.reason is reason
    assert result.exchange is not None and result.exchange.status == status


@pytest.mark.parametrize(
    "answer",
    [
        (b"complete nonsense\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", CLOSE),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nnot a chunk",),
        (CLOSE,),
    ],
)
async def test_a_broken_answer_is_a_value(http: Http, answer: tuple[bytes, ...]) -> None:
    async with raw_server(*answer) as server:
        result = await http.fetch(server.url())
    assert isinstance(result, Failed)
    assert result.reason is Reason.BROKEN_ANSWER


async def test_an_answer_that_does_not_come_ends_at_the_time_limit(http: Http) -> None:
    async with raw_server(30.0) as server:
        started = time.monotonic()
        result = await http.fetch(server.url())
        assert time.monotonic() - started < 3
    assert isinstance(result, Failed) and result.reason is Reason.TIMEOUT
    assert result.ended_at > 0


async def test_nobody_there_is_a_value(http: Http) -> None:
    result = await http.fetch("http://127.0.0.1:4/")
    assert isinstance(result, Failed) and result.reason is Reason.CONNECT


async def test_private_addresses_are_refused_before_a_connection() -> None:
    no_way_inside = http_with(allow_private=False, overrides={"sneaky.test": "127.0.0.1"})
    async with no_way_inside as http, raw_server(ok(b"secret")) as server:
        for url in (server.url(), server.url(host="sneaky.test")):
            result = await http.fetch(url)
            assert isinstance(result, Refused) and result.reason is Reason.PRIVATE_ADDRESS
        assert server.connections == 0


async def test_a_port_that_browsers_refuse_is_not_connected_to(http: Http) -> None:
    """The link filter keeps such links out; a robots.txt that is redirected there does not pass it."""
    for url in ("http://127.0.0.1:6667/robots.txt", "http://[::1]:25/"):
        assert await http.fetch(url) == Refused(Reason.BAD_PORT, url)


@pytest.mark.parametrize(
    "ip",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "nonsense",
        # An IPv4 address within, which a translator or a tunnel on the way would lead to.
        "64:ff9b::7f00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::a00:1",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:0:10.0.0.1",
        "2002:808:808::1",
        "2001:0:808:808::f7f7:f7f7",
        # Not given out for the internet, or for something else.
        "fec0::1",
        "100::1",
        "5f00::1",
        "2001:2::1",
        "2001:10::1",
        "2001:db8::1",
        "3fff::1",
        "fe80::1%eth0",
        "192.0.0.8",
        "192.88.99.1",
        "198.19.0.1",
        "203.0.113.7",
        "240.0.0.1",
    ],
)
def test_addresses_that_lead_inside(ip: str) -> None:
    assert is_forbidden(ip)


@pytest.mark.parametrize(
    "ip", ["8.8.8.8", "93.184.216.34", "2606:2800:220:1::1", "2001:4860:4860::8888", "::ffff:8.8.8.8"]
)
def test_addresses_of_the_public_internet(ip: str) -> None:
    assert not is_forbidden(ip)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what a process holds is read from /proc")
async def test_a_body_that_was_cut_goes_with_its_result(http: Http) -> None:
    """And not when Python next looks for circles of objects: until then bodies and their open files pile up."""
    gc.collect()
    gc.disable()
    try:
        async with raw_server(ok(b"x" * 1_000_000, "Content-Type: text/plain")) as server:
            results = [await http.fetch(server.url(), body_bytes_max=600_000) for _ in range(3)]
            assert all(isinstance(result, Fetched) and len(result.body) == 600_000 for result in results)
            assert bodies_on_disk() == len(results)
            results.clear()
            assert bodies_on_disk() == 0
    finally:
        gc.enable()


def bodies_on_disk() -> int:
    return sum(line.endswith(" (deleted)") for line in Path("/proc/self/maps").read_text().splitlines())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="what a process holds is read from /proc")
async def test_no_other_process_inherits_our_connections(http: Http) -> None:
    """It would keep them open after we hung up: the process that reads documents held dozens of them."""
    async with raw_server(ok(b"kept")) as server:
        await http.fetch(server.url())
        links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        sockets = [int(link.name) for link in links if str(link.readlink()).startswith("socket:")]
        assert sockets and not any(os.get_inheritable(socket) for socket in sockets)
