"""Rows 117 to 121: TLS that is wrong, missing, old or slow, and HTTP/2 that breaks.

HTTP/2 is spoken here by hand, frame by frame (RFC 9113): no server would agree to send what these send.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from datetime import timedelta

from gossamer.records import Reason
from tests.fetch.certificates import Authority, self_signed
from tests.hostile.behaviours.rows import BROKEN, LATE, UNSAFE, Play, Row, Wanted, failed, fetched, play, played
from tests.hostile.server import HERE, Connection, Gone, answer, says

DAY = timedelta(days=1)

OK = says(answer(b"page"))
# Sent back unread: libcurl would ask again by itself, and one fetch is one request.
UNREAD = failed(Reason.BROKEN_ANSWER, Reason.STALE_CONNECTION)
BROKEN_OR_UNSAFE = failed(Reason.TLS, Reason.BROKEN_ANSWER)


AUTHORITY = Authority("Trusted by the tests")
SHOWN = {
    "trusted": lambda: AUTHORITY.issue(HERE),
    "unknown": lambda: self_signed(HERE),
    "expired": lambda: AUTHORITY.issue(HERE, starts=-2 * DAY, ends=-DAY),
    "another": lambda: AUTHORITY.issue("another.test"),
}


def certificate(name: str, *protocols: str) -> Callable[[], ssl.SSLContext]:
    def context() -> ssl.SSLContext:
        tls = SHOWN[name]().context()
        tls.set_alpn_protocols(protocols or ["http/1.1"])
        return tls

    return context


# ---- TLS by hand -----------------------------------------------------------------------------------------


def record(kind: int, content: bytes) -> bytes:
    return bytes([kind, 3, 1]) + len(content).to_bytes(2, "big") + content


def alert(number: int) -> bytes:
    return record(21, bytes([2, number]))


PROTOCOL_VERSION, HANDSHAKE_FAILURE = 70, 40
# ServerHello: TLS 1.0, 32 random bytes, no session, a cipher of that time, no compression.
_HELLO = b"\x03\x01" + bytes(32) + b"\x00" + b"\x00\x2f" + b"\x00"
OLD_HELLO = record(22, b"\x02" + len(_HELLO).to_bytes(3, "big") + _HELLO)


def replies(content: bytes) -> Callable[[Connection], Awaitable[None]]:
    """Waits for the first bytes, which are a ClientHello, and says this."""

    async def scenario(connection: Connection) -> None:
        await connection.reader.read(10_000)
        await connection.send(content)
        await connection.hang()

    return scenario


def in_clear(content: bytes, *wanted: Wanted) -> Play:
    return play(replies(content), *wanted, scheme="https")


# ---- HTTP/2 by hand --------------------------------------------------------------------------------------

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY = 0, 1, 3, 4, 5, 6, 7
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STATUS_200 = b"\x88"  # HPACK: the eighth entry of the static table
INTERNAL_ERROR, REFUSED_STREAM = 2, 7


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def frames(*parts: bytes) -> Callable[[Connection], Awaitable[None]]:
    """Greets, waits for the request on stream 1, and sends these frames."""

    async def scenario(connection: Connection) -> None:
        reader = connection.reader
        if await reader.readexactly(len(PREFACE)) != PREFACE:
            raise Gone
        await connection.send(frame(SETTINGS, 0, 0), frame(SETTINGS, ACK, 0))
        kind = None
        while kind != HEADERS:
            head = await reader.readexactly(9)
            kind = head[3]
            await reader.readexactly(int.from_bytes(head[:3], "big"))
        connection.stage.requests.append(b"HEADERS (stream 1)")
        await connection.send(*parts)
        await connection.hang()

    return scenario


def http2(*parts: bytes, wanted: Wanted = BROKEN) -> Play:
    return play(frames(*parts), wanted, tls=certificate("trusted", "h2"))


HEAD = frame(HEADERS, END_HEADERS, 1, STATUS_200)

ROWS: list[Row] = [
    played(
        117,
        "certificates that are unknown, expired or another's",
        trusted=play(OK, fetched(b"page"), tls=certificate("trusted")),
        unknown=play(OK, UNSAFE, tls=certificate("unknown")),
        expired=play(OK, UNSAFE, tls=certificate("expired")),
        another=play(OK, UNSAFE, tls=certificate("another")),
    ),
    played(
        118,
        "no TLS where it belongs, and TLS where it does not",
        http_on_https=in_clear(answer(b"page", status="400 Bad Request"), BROKEN_OR_UNSAFE),
        tls_on_http=play(replies(alert(HANDSHAKE_FAILURE)), BROKEN),
    ),
    played(
        119,
        "TLS 1.0 only, and no common cipher",
        old_hello=in_clear(OLD_HELLO, UNSAFE),
        version=in_clear(alert(PROTOCOL_VERSION), UNSAFE),
        cipher=in_clear(alert(HANDSHAKE_FAILURE), UNSAFE),
    ),
    played(120, "a handshake that hangs", silent=in_clear(b"", LATE)),
    played(
        121,
        "HTTP/2 that breaks",
        works=http2(HEAD, frame(DATA, END_STREAM, 1, b"page"), wanted=fetched(b"page")),
        reset=http2(frame(RST_STREAM, 0, 1, number(INTERNAL_ERROR))),
        refused=http2(frame(RST_STREAM, 0, 1, number(REFUSED_STREAM)), wanted=UNREAD),
        goaway=http2(frame(GOAWAY, 0, 0, number(0) + number(INTERNAL_ERROR)), wanted=UNREAD),
        data_then_reset=http2(HEAD, frame(DATA, 0, 1, b"half"), frame(RST_STREAM, 0, 1, number(INTERNAL_ERROR))),
        push=http2(frame(PUSH_PROMISE, END_HEADERS, 1, number(2) + STATUS_200)),
        garbage=http2(b"\xff" * 200),
        data_before_headers=http2(frame(DATA, END_STREAM, 1, b"page")),
        # With a larger buffer libcurl sees more of them at once, calls it a flood, and is done with it.
        endless_pings=http2(
            *[frame(PING, 0, 0, bytes(8))] * 2000,
            wanted=failed(Reason.TIMEOUT, Reason.TOO_SLOW, Reason.BROKEN_ANSWER),
        ),
    ),
]
