"""HTTP/2, agreed upon in the TLS handshake (ALPN), with a server that sends its frames by hand (RFC 9113).

One fetch is one request here too. What a server can break in this protocol is played in tests/hostile.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gossamer.records import Failed, Fetched, Reason
from tests.fetch.certificates import Authority
from tests.fetch.tls_client import Client, client
from tests.fetch.tls_server import Speak, TlsServer, TlsStream, tls_server

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY = 0x0, 0x1, 0x3, 0x4, 0x7
END_STREAM, ACK, END_HEADERS = 0x1, 0x1, 0x4
NO_ERROR, REFUSED_STREAM = 0x0, 0x7
STATUS_200 = b"\x88"  # HPACK's static table, entry 8


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def header(name: bytes, value: bytes) -> bytes:
    """One header field as HPACK has it without any compression: RFC 7541, section 6.2.2."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def page(stream: int) -> list[bytes]:
    head = STATUS_200 + header(b"content-type", b"text/plain")
    return [frame(HEADERS, END_HEADERS, stream, head), frame(DATA, END_STREAM, stream, b"hello")]


def speaking(answer: Callable[[int], list[bytes]]) -> Speak:
    """A server that answers a request on a stream with these frames."""

    async def speak(stream: TlsStream, server: TlsServer) -> None:
        assert stream.protocol == "h2"
        await stream.write(frame(SETTINGS, 0, 0))
        received = b""
        while len(received) < len(PREFACE):
            received += await stream.read()
        received = received.removeprefix(PREFACE)
        while True:
            while len(received) >= 9 and len(received) >= (end := 9 + int.from_bytes(received[:3], "big")):
                kind, flags, number = struct.unpack(">BBI", received[3:9])
                payload, received = received[9:end], received[end:]
                if kind == SETTINGS and not flags & ACK:
                    await stream.write(frame(SETTINGS, ACK, 0))
                elif kind == HEADERS:
                    server.requests.append(payload)
                    await stream.write(b"".join(answer(number)))
            received += await stream.read()

    return speak


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def ours(authority: Authority, tmp_path: Path) -> AsyncIterator[Client]:
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    async with client(authority, tmp_path / "ca.pem") as ours:
        yield ours


@asynccontextmanager
async def http2_server(authority: Authority, answer: Callable[[int], list[bytes]]) -> AsyncIterator[TlsServer]:
    context = authority.issue("name.test").context()
    context.set_alpn_protocols(["h2"])
    async with tls_server(context, speaking(answer)) as server:
        yield server


async def test_a_page_comes_over_http_2_where_the_server_speaks_it(ours: Client, authority: Authority) -> None:
    async with http2_server(authority, page) as server:
        result = await ours.fetch(server.url("name.test"))
    assert isinstance(result, Fetched)
    assert result.body == b"hello"
    assert result.exchange.head.startswith(b"HTTP/2 200")
    assert result.exchange.header("Content-Type") == "text/plain"


async def test_one_after_another_use_one_connection(ours: Client, authority: Authority) -> None:
    async with http2_server(authority, page) as server:
        for _ in range(3):
            assert isinstance(await ours.fetch(server.url("name.test")), Fetched)
        assert (server.handshakes, len(server.requests)) == (1, 3)


async def test_a_server_that_prefers_http_1_gets_it(ours: Client, authority: Authority) -> None:
    context = authority.issue("name.test").context()
    context.set_alpn_protocols(["http/1.1"])
    async with tls_server(context) as server:
        assert isinstance(await ours.fetch(server.url("name.test")), Fetched)
    assert server.requests[0].startswith(b"GET / HTTP/1.1\r\n")


def refused(stream: int) -> list[bytes]:
    return [frame(RST_STREAM, 0, stream, struct.pack(">I", REFUSED_STREAM))]


def left(stream: int) -> list[bytes]:
    """The server leaves, and the last request that it has looked at is number 0."""
    return [frame(GOAWAY, 0, 0, struct.pack(">II", 0, NO_ERROR))]


@pytest.mark.parametrize("answer", [refused, left])
async def test_a_request_that_was_sent_back_unread_is_not_made_again_at_once(
    ours: Client, authority: Authority, answer: Callable[[int], list[bytes]]
) -> None:
    # RFC 9113, section 8.7, lets a client ask again at once, and libcurl would. The host's delay does not.
    async with http2_server(authority, answer) as server:
        result = await ours.fetch(server.url("name.test"))
        assert isinstance(result, Failed)
        assert result.reason in (Reason.BROKEN_ANSWER, Reason.STALE_CONNECTION)
        assert len(server.requests) == 1
