"""Conditional requests."""

from __future__ import annotations

from gossamer.fetch.http import Http
from gossamer.records import Failed, Fetched, Reason, Validators
from tests.hostile.server import Connection, answer, playing


async def says_304(connection: Connection) -> None:
    while True:
        await connection.request()
        await connection.send(answer(b"", 'ETag: "1"', status="304 Not Modified", length=False))


async def test_304_to_a_conditional_request_is_an_answer_without_a_body(http: Http) -> None:
    async with playing(says_304) as stage:
        for _ in range(2):  # the connection stands: nobody waits for a body
            result = await http.fetch(stage.url(), Validators(etag='"1"', last_modified="yesterday"))
            assert isinstance(result, Fetched)
            assert (result.exchange.status, result.body[:], result.exchange.truncated) == (304, b"", "")
        assert stage.connections == 1
        assert b'\r\nIf-None-Match: "1"\r\nIf-Modified-Since: yesterday\r\n' in stage.requests[0]


async def test_304_that_nobody_asked_for_is_no_page(http: Http) -> None:
    async with playing(says_304) as stage:
        result = await http.fetch(stage.url())
        assert isinstance(result, Failed) and result.reason is Reason.CLIENT_ERROR
