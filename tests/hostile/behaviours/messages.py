"""Rows 19 to 59: answers whose framing, status line or headers are broken, huge or odd."""

from __future__ import annotations

import itertools

from gossamer.records import Reason
from tests.hostile.behaviours.rows import BROKEN, Row, failed, fetched, play, played, proven
from tests.hostile.limits import BODY_BYTES_MAX
from tests.hostile.server import IN_CHUNKS, Connection, answer, blurts, chunked, drips, pours, says

MIB = 1024 * 1024
PAGE = b"<p>A page of no importance, and yet it counts"[:42]
OK = b"HTTP/1.1 200 OK\r\n"
CUT = fetched(b"x" * BODY_BYTES_MAX, "length")
TOO_LARGE = failed(Reason.TOO_LARGE)
# libcurl has its own bounds for a line and for all headers, and calls what breaks them a broken answer.
HUGE_HEAD = failed(Reason.TOO_LARGE, Reason.BROKEN_ANSWER)


def headers(*lines: str | bytes, body: bytes = PAGE) -> bytes:
    return answer(body, *lines)


def unframed(*lines: bytes, body: bytes = PAGE) -> bytes:
    """An answer with these lines in its head and no length of ours."""
    return b"\r\n".join([b"HTTP/1.1 200 OK", *lines, b"", body])


def numbered_headers(count: int, size_bytes: int) -> list[str]:
    return [f"X-{number}: {'x' * size_bytes}" for number in range(count)]


async def endless_chunks(connection: Connection) -> None:
    await connection.request()
    await connection.send(IN_CHUNKS)
    await connection.send_for_ever(chunked(b"x" * 8192, end=b""))


async def endless_headers(connection: Connection) -> None:
    await connection.request()
    await connection.send(OK)
    await connection.send_for_ever(b"X-More: " + b"x" * 2000 + b"\r\n")


FRAMING: list[Row] = [
    played(19, "Content-Length larger than the body", short=play(blurts(unframed(b"Content-Length: 9999")), BROKEN)),
    played(
        20,
        "Content-Length is no number",
        # Browsers read on to the end; libcurl calls it a broken answer, which is as clean.
        word=play(blurts(unframed(b"Content-Length: thousand")), fetched(PAGE), BROKEN),
    ),
    played(
        21,
        "Content-Length is negative",
        negative=play(blurts(unframed(b"Content-Length: -1")), fetched(PAGE), BROKEN),
    ),
    played(22, "Content-Length is `3-`", dash=play(blurts(unframed(b"Content-Length: 3-")), fetched(PAGE), BROKEN)),
    played(
        23,
        "the same Content-Length twice",
        two_headers=play(says(unframed(b"Content-Length: 42", b"Content-Length: 42")), fetched(PAGE)),
        one_list=play(says(unframed(b"Content-Length: 42, 42")), fetched(PAGE), BROKEN),
    ),
    played(
        24,
        "two lengths that differ",
        two_headers=play(blurts(unframed(b"Content-Length: 30", b"Content-Length: 42")), BROKEN),
        other_order=play(blurts(unframed(b"Content-Length: 42", b"Content-Length: 30")), BROKEN),
        one_list=play(blurts(unframed(b"Content-Length: 30, 42")), BROKEN),
    ),
    played(
        25,
        "Content-Length and chunks",
        chunks_win=play(
            says(
                unframed(
                    b"Content-Length: 3",
                    b"Transfer-Encoding: chunked",
                    body=chunked(PAGE),
                )
            ),
            fetched(PAGE),
            BROKEN,
        ),
    ),
    played(26, "chunks without their end", cut=play(blurts(IN_CHUNKS + chunked(PAGE, end=b"")), BROKEN)),
    played(27, "a chunk size that is no number", letters=play(blurts(IN_CHUNKS + b"zz\r\nabc\r\n0\r\n\r\n"), BROKEN)),
    played(28, "a chunk size that is wrong", five=play(blurts(IN_CHUNKS + b"5\r\n1234567\r\n0\r\n\r\n"), BROKEN)),
    played(
        29,
        "chunk lines end with a bare LF",
        bare=play(blurts(IN_CHUNKS + b"4\npage\n0\n\n"), fetched(b"page"), BROKEN),
    ),
    played(
        30,
        "chunk extensions",
        extended=play(says(IN_CHUNKS + b'4;name="value";flag\r\npage\r\n0;end\r\n\r\n'), fetched(b"page")),
    ),
    played(
        31,
        "trailers",
        trailed=play(
            says(IN_CHUNKS + chunked(b"page", end=b"0\r\nX-Checksum: 1\r\nX-More: 2\r\n\r\n")), fetched(b"page")
        ),
    ),
    played(
        32,
        "a chunk-size line of 1 MB",
        digits=play(blurts(IN_CHUNKS + b"0" * MIB + b"4\r\npage\r\n0\r\n\r\n"), BROKEN),
        # libcurl passes over an extension without keeping it.
        extension=play(blurts(IN_CHUNKS + b"4;" + b"x" * MIB + b"\r\npage\r\n0\r\n\r\n"), fetched(b"page"), BROKEN),
    ),
    played(33, "endless chunks", endless=play(endless_chunks, fetched(b"x" * BODY_BYTES_MAX, "length"))),
    played(34, "chunks over the limit", over=play(blurts(IN_CHUNKS + chunked(*[b"x" * 4096] * 20)), CUT)),
    played(
        35,
        "a body exactly as large as is allowed",
        length=play(says(headers(body=b"x" * BODY_BYTES_MAX)), fetched(b"x" * BODY_BYTES_MAX)),
        chunks=play(says(IN_CHUNKS + chunked(*[b"x" * 4096] * 16)), fetched(b"x" * BODY_BYTES_MAX)),
        to_the_end=play(blurts(unframed(body=b"x" * BODY_BYTES_MAX)), fetched(b"x" * BODY_BYTES_MAX)),
        one_more=play(blurts(headers(body=b"x" * (BODY_BYTES_MAX + 1))), CUT),
    ),
    played(
        36,
        "a large body",
        small=play(blurts(headers(body=b"x" * 200_000)), CUT),
        large=play(
            pours(
                OK + b"Content-Length: 10485760\r\n\r\n",
                lambda: itertools.repeat(b"x" * 65_536, 160),
            ),
            CUT,
        ),
    ),
]

STATUS: list[Row] = [
    played(
        37,
        "204, and the connection stays open",
        no_body=play(says(OK.replace(b"200 OK", b"204 No Content") + b"\r\n"), fetched(b"", status=204)),
    ),
    proven(
        38,
        "304 to a conditional request",
        "test_revisits.py::test_304_to_a_conditional_request_is_an_answer_without_a_body",
    ),
    played(
        39,
        "206 that nobody asked for",
        partial=play(
            says(answer(b"part", "Content-Range: bytes 0-3/100", status="206 Partial Content")),
            failed(Reason.BROKEN_ANSWER, status=206),
        ),
    ),
    played(
        40,
        "1xx before the answer",
        hundred=play(says(b"HTTP/1.1 100 Continue\r\n\r\n" + answer(PAGE)), fetched(PAGE)),
        hints=play(says(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" * 3 + answer(PAGE)), fetched(PAGE)),
    ),
    played(
        41,
        "101 Switching Protocols",
        upgrade=play(
            drips(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x05hello"
            ),
            BROKEN,
        ),
    ),
    played(
        42,
        "no status line",
        text=play(blurts(b"This is a text in bytes \xc3\xa4\xc3\xb6\xc3\xbc, as in HTTP/0.9"), BROKEN),
        newlines=play(blurts(b"\r\n\r\n"), BROKEN),
    ),
    played(
        43,
        "`200: OK`",
        colon=play(blurts(b"HTTP/1.1 200: OK\r\nContent-Type: text/html\r\n\r\n" + PAGE), fetched(PAGE), BROKEN),
    ),
    played(
        44,
        "no reason phrase",
        bare=play(says(b"HTTP/1.1 200\r\nContent-Length: 42\r\n\r\n" + PAGE), fetched(PAGE)),
        space=play(says(b"HTTP/1.1 200 \r\nContent-Length: 42\r\n\r\n" + PAGE), fetched(PAGE)),
    ),
    played(45, "a status line and nothing but a body", body=play(blurts(OK + b"\r\n" + PAGE), fetched(PAGE))),
    played(
        46,
        "status codes that do not exist",
        nines=play(says(answer(b"?", status="999 Request denied")), BROKEN),
        two_digits=play(blurts(answer(b"?", status="99 Bottles")), BROKEN),
        four_digits=play(blurts(answer(b"?", status="1000 And One")), BROKEN),
        text=play(blurts(answer(b"?", status="OK 200")), BROKEN),
        zero=play(blurts(answer(b"?", status="000 Nothing")), BROKEN),
    ),
]

HEADERS: list[Row] = [
    proven(
        47,
        "stray bytes in the head",
        "test_recorded.py::test_stray_bytes_in_a_head_never_lead_to_more_than_a_page_or_a_failure",
    ),
    played(
        48,
        "header lines end with a bare LF",
        bare=play(says(b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 42\n\n" + PAGE), fetched(PAGE)),
    ),
    played(
        49,
        "a folded header",
        folded=play(says(headers("Set-Cookie: UserID=JohnDoe;\r\n  Max-Age=3600;\r\n  Version=1")), fetched(PAGE)),
    ),
    played(
        50,
        "a header without a colon",
        word=play(blurts(headers("hello", "X-A: b")), fetched(PAGE), BROKEN),
        markup=play(blurts(headers("<html>", "X-A: b")), fetched(PAGE), BROKEN),
    ),
    played(
        51,
        "headers that are not ASCII",
        koi8=play(says(headers("X-City: Киев".encode("koi8-r"))), fetched(PAGE, in_head="Киев".encode("koi8-r"))),
        sjis=play(
            says(headers("X-City: 東京".encode("shift_jis"))), fetched(PAGE, in_head="東京".encode("shift_jis"))
        ),
        utf8=play(says(headers("X-City: 東京".encode())), fetched(PAGE, in_head="東京".encode())),
    ),
    played(52, "a header name of 1 MB", long=play(blurts(headers("X" * MIB + ": y")), HUGE_HEAD)),
    played(53, "800 kB of headers", many=play(blurts(headers(*numbered_headers(400, 2000))), HUGE_HEAD)),
    played(
        54,
        "headers without end",
        endless=play(endless_headers, HUGE_HEAD),
        ten_thousand=play(blurts(headers(*numbered_headers(10_000, 10))), TOO_LARGE),
    ),
    played(
        55,
        "the same header again",
        twice=play(
            says(headers("X-A: 1", "X-B: 2", "X-A: 3")), fetched(PAGE, in_head=b"X-A: 1\r\nX-B: 2\r\nX-A: 3\r\n")
        ),
    ),
    played(
        56,
        "a header that only looks like Transfer-Encoding",
        like=play(blurts(unframed(b"Client-Transfer-Encoding: chunked")), fetched(PAGE)),
    ),
    played(
        57,
        "cookies that are broken",
        nul=play(blurts(headers(b"Set-Cookie: a=\x00b")), fetched(PAGE), BROKEN),  # libcurl allows no NUL in a head
        date=play(says(headers("Set-Cookie: a=b; expires=Sometime, 99-Foo-9999 99:99:99")), fetched(PAGE)),
        nameless=play(says(headers("Set-Cookie: =b", "Set-Cookie: ;", "Set-Cookie:")), fetched(PAGE)),
    ),
    played(
        58,
        "large cookies",
        large=play(says(headers(f"Set-Cookie: a={'b' * 5000}")), fetched(PAGE)),
        flood=play(says(headers(*(f"Set-Cookie: a{n}={'b' * 100}" for n in range(300)))), fetched(PAGE)),
    ),
    proven(
        59,
        "a redirect to itself until a cookie comes back",
        "test_crawl.py::test_redirects_end_and_every_hop_is_recorded",
        "test_reuse.py::test_neither_cookies_nor_passwords_are_ever_sent",
    ),
]

ROWS: list[Row] = [*FRAMING, *STATUS, *HEADERS]
