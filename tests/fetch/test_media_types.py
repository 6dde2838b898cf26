"""What is not wanted by its media type is not waited for (`crawl.media_types`)."""

from __future__ import annotations

import pytest

from gossamer.records import Failed, Fetched, Moved, Reason
from gossamer.url.media_types import MediaTypes
from tests.fetch.raw_server import raw_server
from tests.fetch.test_http import http_with

HTML = MediaTypes(["text/html", "application/xhtml+xml"])


def head(status: str, *headers: str, length: int = 5) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {length}", *headers, "", ""]).encode()


async def test_a_transfer_ends_with_the_headers_where_they_declare_an_unwanted_type() -> None:
    # The body never comes: who waited for it would be told of a time-out.
    async with (
        http_with() as http,
        raw_server(head("200 OK", "Content-Type: video/mp4", length=10**9), 30.0) as server,
    ):
        result = await http.fetch(server.url(), wanted=HTML)
    assert isinstance(result, Failed)
    assert (result.reason, result.detail) == (Reason.MEDIA_TYPE, "video/mp4")
    assert result.exchange is not None and result.exchange.status == 200
    assert result.exchange.header("Content-Type") == "video/mp4"


@pytest.mark.parametrize("declared", ["text/html", "TEXT/HTML; charset=utf-8", ""])
async def test_what_is_wanted_or_says_nothing_comes_whole(declared: str) -> None:
    async with http_with() as http, raw_server(head("200 OK", f"Content-Type: {declared}"), b"hello") as server:
        result = await http.fetch(server.url(), wanted=HTML)
    assert isinstance(result, Fetched) and result.body == b"hello"


async def test_without_a_wish_every_type_comes() -> None:
    async with http_with() as http, raw_server(head("200 OK", "Content-Type: video/mp4"), b"hello") as server:
        assert isinstance(await http.fetch(server.url()), Fetched)
        assert isinstance(await http.fetch(server.url(), wanted=MediaTypes([])), Fetched)


async def test_a_redirect_or_an_error_counts_whatever_its_type() -> None:
    async with http_with() as http, raw_server() as server:
        server.answer = lambda request: [head("302 Found", "Location: /there", "Content-Type: image/png"), b"moved"]
        assert isinstance(await http.fetch(server.url(), wanted=HTML), Moved)
        server.answer = lambda request: [head("404 Not Found", "Content-Type: image/png"), b"there"]
        result = await http.fetch(server.url(), wanted=HTML)
        assert isinstance(result, Failed) and result.reason is Reason.GONE


async def test_the_next_answer_of_the_host_is_not_disturbed() -> None:
    async with http_with() as http, raw_server() as server:
        server.answer = lambda request: [head("200 OK", "Content-Type: video/mp4"), b"movie"]
        assert isinstance(await http.fetch(server.url("/a"), wanted=HTML), Failed)
        server.answer = lambda request: [head("200 OK", "Content-Type: text/html"), b"hello"]
        result = await http.fetch(server.url("/b"), wanted=HTML)
        assert isinstance(result, Fetched) and result.body == b"hello"
        assert len(server.requests) == 2
