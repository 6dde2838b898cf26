"""Connections that are used again, and what one answer may not do to the next."""

from __future__ import annotations

import asyncio

import pytest

from gossamer.fetch.http import Http
from gossamer.records import Failed, Fetched
from gossamer.url.canonical import canonicalize
from tests.hostile.server import Connection, answer, playing, says

GOOD, EVIL = answer(b"good"), answer(b"evil")


async def test_a_connection_closed_while_idle_is_replaced_unnoticed(http: Http) -> None:
    async def closes_after_each_answer(connection: Connection) -> None:
        await connection.request()
        await connection.send(GOOD)  # it does not say "Connection: close"
        connection.writer.close()
        await connection.writer.wait_closed()
        connection.stage.quiet.set()

    async with playing(closes_after_each_answer) as stage:
        for _ in range(3):
            stage.quiet.clear()
            result = await http.fetch(stage.url())
            assert isinstance(result, Fetched) and result.body[:] == b"good"
            await stage.quiet.wait()
        assert stage.connections == 3 and len(stage.requests) == 3


@pytest.mark.parametrize("surplus", [b"surplus", EVIL, b"\r\n\r\n", b"\0" * 5000])
@pytest.mark.parametrize("is_late", [False, True])
async def test_what_follows_a_body_is_never_the_next_answer(http: Http, surplus: bytes, is_late: bool) -> None:
    async def says_more_than_asked(connection: Connection) -> None:
        await connection.request()
        if is_late:
            await connection.send(GOOD)
            await connection.stage.quiet.wait()  # the client has its answer, and the connection is idle
            await connection.send(surplus)
            connection.stage.quiet.clear()
        else:
            await connection.send(GOOD + surplus)
        await connection.request()
        await connection.send(EVIL)  # whoever uses this connection again believes anything

    async with playing(says_more_than_asked) as stage:
        first = await http.fetch(stage.url("/1"))
        if is_late:
            stage.quiet.set()
            while stage.quiet.is_set():  # noqa: ASYNC110 - the other way round than an event waits
                await asyncio.sleep(0.001)
        second = await http.fetch(stage.url("/2"))
        assert isinstance(first, Fetched) and first.body[:] == b"good"
        assert stage.connections == 2 and stage.asked() == ["/1", "/2"]
        assert isinstance(second, Fetched | Failed)
        if isinstance(second, Fetched):
            assert second.body[:] == b"good"


async def test_neither_cookies_nor_passwords_are_ever_sent(http: Http) -> None:
    asks_for_more = answer(
        b"", "Set-Cookie: a=b; Path=/", 'WWW-Authenticate: Basic realm="x"', status="401 Unauthorized"
    )
    async with playing(says(asks_for_more)) as stage:
        for _ in range(2):
            await http.fetch(stage.url())
        names = {line.split(b":")[0].lower() for request in stage.requests for line in request.split(b"\r\n")[1:]}
        assert names & {b"cookie", b"authorization"} == set()


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("?171", "/?171"),
        ("/a?b?c", "/a?b?c"),
        ("/a b", "/a%20b"),
        ("/a?b c", "/a?b%20c"),
        ("/a|b", "/a|b"),
        ("/a\\b", "/a/b"),
        ("/a/../b/./c", "/b/c"),
        ("/ö", "/%C3%B6"),
        ("/a#b", "/a"),
        ("/a\r\nX-Evil: yes", "/aX-Evil:%20yes"),
    ],
)
async def test_a_request_line_is_as_the_url_standard_writes_it(http: Http, written: str, asked: str) -> None:
    async with playing(says(GOOD)) as stage:
        url = canonicalize(stage.url(written))
        assert url is not None
        assert isinstance(await http.fetch(url), Fetched)
        assert stage.requests[0].startswith(f"GET {asked} HTTP/1.1\r\n".encode())
        assert b"\nX-Evil" not in stage.requests[0]
