"""Cookies, judged by what a server is brought: `off`, `redirects` (the default) and `host`, over a kill, too."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from tests.crawl.command import gossamer, quick_settings, start, until
from tests.fetch.raw_server import RawServer, raw_server
from tests.getting_in.pages import answers, header_of, html, moved, path_of


async def crawl(folder: Path, url: str, *flags: object, **settings: object) -> dict[str, dict[str, Any]]:
    ran = await gossamer("crawl", url, "--dir", folder, "--allow-private", *flags, *quick_settings(**settings))
    assert ran.code == 0, ran.err
    return {page["url"]: page for page in (await gossamer("pages", folder, "--json")).lines()}


def wall(request: bytes) -> bytes | None:
    """A site that shows /wall only to those who bring its cookie."""
    if path_of(request) == "/wall" and "seen=yes" not in (header_of(request, "Cookie") or ""):
        return moved("/wall", "Set-Cookie: seen=yes; Path=/")
    return None


def cookies_to(server: RawServer, path: str) -> list[str | None]:
    return [header_of(request, "Cookie") for request in server.requests if path_of(request) == path]


PAGES = {
    "/": html('<a href="/wall">wall</a> <a href="/loop">loop</a> <a href="/plain">plain</a>'),
    "/wall": html("Behind the wall."),
    "/loop": moved("/loop", "Set-Cookie: n=1"),
    "/plain": moved("/plain"),
}


async def test_by_default_a_url_that_sets_a_cookie_and_moves_to_itself_is_asked_once_more(folder: Path) -> None:
    async with raw_server() as server:
        answers(server, PAGES, wall)
        pages = await crawl(folder, server.url("/"))
        shown = await gossamer("show", folder, server.url("/wall"), "--text")
        asked = [path_of(request) for request in server.requests]
    assert pages[server.url("/wall")]["status"] == 200 and shown.out.strip() == "Behind the wall."
    assert cookies_to(server, "/wall") == [None, "seen=yes"]
    assert cookies_to(server, "/loop") == [None, "n=1"]  # once, and no oftener
    assert cookies_to(server, "/plain") == [None]
    assert cookies_to(server, "/") == [None]
    for path in ("/loop", "/plain"):
        assert pages[server.url(path)]["reason"] == "redirect_loop"
    assert asked.count("/robots.txt") == 1


async def test_the_second_request_waits_for_the_delay_of_its_host(folder: Path) -> None:
    """As `fetch` does: with default settings, a wall takes three turns of the host."""
    async with raw_server() as server:
        answers(server, PAGES, wall)
        told = await gossamer("fetch", server.url("/wall"), "--allow-private", "--json")
    [facts] = told.lines()
    assert facts["steps"][0]["status"] == 200 and "Behind the wall." in facts["page"]["text"]
    assert "Cookie: ..." in facts["steps"][0]["request"] and "seen=yes" not in facts["steps"][0]["request"]
    assert told.err.count("may be asked again") == 2


async def test_without_cookies_it_is_a_loop(folder: Path) -> None:
    async with raw_server() as server:
        answers(server, PAGES, wall)
        pages = await crawl(folder, server.url("/"), fetch__cookies="off")
    assert pages[server.url("/wall")]["reason"] == "redirect_loop" and cookies_to(server, "/wall") == [None]


async def test_a_jar_is_kept_with_its_site_and_survives_kill_9(folder: Path) -> None:
    """What the first page sets goes with every later one, of a process that never saw it, and to no other site."""
    links = "".join(f'<a href="/p/{number}">{number}</a>' for number in range(30))

    def first(request: bytes) -> bytes | None:
        if path_of(request) == "/":
            ours = ("Set-Cookie: id=42; Path=/", "Set-Cookie: part=x; Path=/p/7", "Set-Cookie: bad=1; Domain=test")
            return html(f'{links}<a href="http://127.0.0.2:{server.port}/other">x</a>', "200 OK", *ours)
        return html("A page.") if path_of(request) != "/robots.txt" else None

    flags = ["--dir", folder, "--allow-private", "--scope", "any", "--set", "fetch.cookies=host", "--workers", "1"]
    async with raw_server(also=["127.0.0.2"]) as server:
        answers(server, {}, first)
        process = await start("crawl", server.url("/"), *flags, *quick_settings(politeness__delay_s=0.3))
        await until(lambda: len(server.requests) >= 5, timeout_s=60)
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        killed_after = len(server.requests)
        ran = await gossamer("crawl", *flags, *quick_settings())
        assert ran.code == 0, ran.err
        later = server.requests[killed_after:]
    assert len({path_of(request) for request in server.requests}) == 33
    brought = {path_of(request): header_of(request, "Cookie") for request in later}
    assert {path: cookies for path, cookies in brought.items() if path.startswith("/p/") and path != "/p/7"} == {
        path: "id=42" for path in brought if path.startswith("/p/") and path != "/p/7"
    }
    assert cookies_to(server, "/p/7")[-1] == "part=x; id=42"
    assert set(cookies_to(server, "/other")) == {None} and set(cookies_to(server, "/robots.txt")) == {None}


async def test_what_is_brought_stands_in_no_record_of_the_archive(folder: Path) -> None:
    async with raw_server() as server:
        secret = "Set-Cookie: session=5up3r53cr3t; Path=/"
        page = html('<a href="/in">in</a>', "200 OK", secret)
        answers(server, {"/": page, "/in": html("inside")})
        await crawl(folder, server.url("/"), fetch__cookies="host")
        exported = await gossamer("export", folder, "--to", "jsonl", "--all")
        headers = await gossamer("show", folder, server.url("/in"), "--headers")
    assert cookies_to(server, "/in") == ["session=5up3r53cr3t"]
    assert "5up3r53cr3t" not in exported.out + headers.out
