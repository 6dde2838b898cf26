"""`gossamer robots` explains what robots.txt decides, and the crawl decides the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crawl.command import gossamer, quick_settings
from tests.fetch.raw_server import RawServer, raw_server

FILE = b"""User-agent: other
Disallow: /
User-agent: Gossamer
Crawl-delay: 0.1
Disallow: /private/
Allow: /private/open
Sitemap: /map.xml
"""


def says(server: RawServer, robots: bytes, status: int = 200) -> None:
    def answer(request: bytes) -> list[bytes | float]:
        is_robots = request.startswith(b"GET /robots.txt ")
        body, code = (robots, status) if is_robots else (b'<a href="/private/x">x</a>', 200)
        head = f"HTTP/1.1 {code} X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        return [head.encode() + body]

    server.answer = answer


@pytest.mark.parametrize(
    ("path", "is_allowed", "rule", "line"),
    [
        ("/private/a", False, "Disallow: /private/", 5),
        ("/private/open", True, "Allow: /private/open", 6),
        ("/", True, None, None),
    ],
)
async def test_the_line_that_decides_is_shown(
    path: str, is_allowed: bool, rule: str | None, line: int | None
) -> None:
    async with raw_server() as server:
        says(server, FILE)
        ran = await gossamer("robots", server.url(path), "--allow-private", "--json")
        told = await gossamer("robots", server.url(path), "--allow-private")
        asked = [request.split(b" ")[1] for request in server.requests]
    facts = ran.lines()[0]
    assert (facts["allowed"], facts["rule"], facts["line"]) == (is_allowed, rule, line)
    assert (facts["group"], facts["crawl_delay_s"], facts["status"]) == ("gossamer", 0.1, 200)
    assert asked == [b"/robots.txt"] * 2  # and never the page itself
    assert ("allowed" if is_allowed else "refused") in told.out
    assert rule is None or f"by line {line}: {rule}" in told.out


async def test_a_server_without_robots_txt_allows_everything() -> None:
    async with raw_server() as server:
        says(server, b"", 404)
        told = await gossamer("robots", server.url("/x"), "--allow-private")
    assert "there is no robots.txt, so everything is allowed" in told.out


async def test_the_cause_is_told_where_robots_txt_could_not_be_fetched() -> None:
    async with raw_server() as server:
        url = server.url("/x")
    (facts,) = (await gossamer("robots", url, "--allow-private", "--json")).lines()
    told = await gossamer("robots", url, "--allow-private")
    assert (facts["allowed"], facts["reason"]) == (False, "robots_unreachable")
    cause = f"robots.txt: connect: Failed to connect to {url.split('/')[2]}"
    assert facts["detail"].startswith(cause) and cause in told.out


async def test_a_private_server_is_not_asked() -> None:
    async with raw_server() as server:
        told = await gossamer("robots", server.url("/x"))
        assert server.connections == 0
    assert "not known: a private or local address" in told.out


async def test_the_crawl_obeys_it_and_says_by_which_line(folder: Path) -> None:
    async with raw_server() as server:
        says(server, FILE)
        flags = ["--allow-private", *quick_settings(fetch__timeout_s=20)]
        ran = await gossamer("crawl", server.url("/"), "--dir", folder, *flags)
        assert ran.code == 0, ran.err
        asked = [request.split(b" ")[1] for request in server.requests]
        why = await gossamer("why", folder, server.url("/private/x"))
        stored = await gossamer("robots", server.url("/private/x"), "--dir", folder)
        assert len(server.requests) == len(asked)
    assert asked == [b"/robots.txt", b"/", b"/map.xml"]
    assert "detail: line 5: Disallow: /private/" in why.out
    assert "by line 5: Disallow: /private/" in stored.out


async def test_a_host_that_wants_too_long_a_delay_is_not_crawled_and_the_crawl_ends(folder: Path) -> None:
    async with raw_server() as server:
        says(server, b"User-agent: *\nCrawl-delay: 86400\n")
        ran = await gossamer("crawl", server.url("/"), "--dir", folder, "--allow-private", *quick_settings())
        assert ran.code == 1, ran.err
        why = await gossamer("why", folder, server.url("/"))
        assert [request.split(b" ")[1] for request in server.requests] == [b"/robots.txt"]
    assert "[crawl_delay_too_long]" in why.out and "detail: Crawl-delay: 86400" in why.out
