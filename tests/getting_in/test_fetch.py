"""`gossamer fetch` tries one URL: it decides as a crawl does, is as polite, and stores nothing."""

from __future__ import annotations

import json
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start, until
from tests.fetch.raw_server import raw_server
from tests.getting_in.pages import answers, header_of, html, long_text, moved, path_of

ROBOTS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 42\r\n\r\n"
    b"User-agent: *\nDisallow: /private/\nAllow: /\n"
)


async def fetched(*arguments: object) -> dict[str, Any]:
    ran = await gossamer("fetch", *arguments, "--allow-private", "--json")
    assert ran.code == 0, ran.err
    facts: dict[str, Any] = json.loads(ran.out)
    return facts


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_every_step_is_told_with_what_was_sent_and_received() -> None:
    links = '<a href="/next">next</a> <a href="http://other.test/">away</a> <a rel="nofollow" href="/not">no</a>'
    async with raw_server() as server:
        table = {"/robots.txt": ROBOTS, "/old": moved("/new"), "/new": html(f"Hello there. {links}")}
        answers(server, table)
        facts = await fetched(server.url("/old"), "--delay", "0", "--contact", "me@example.org")
        told = await gossamer("fetch", server.url("/old"), "--delay", "0", "--allow-private")
        asked = [path_of(request) for request in server.requests]
        agent = header_of(server.requests[0], "User-Agent")
    assert asked == ["/robots.txt", "/old", "/new"] * 2
    first, second = facts["steps"]
    assert (first["status"], first["moved_to"]) == (302, server.url("/new"))
    assert (second["status"], second["reason"], second["robots"]["rule"]) == (200, None, "Allow: /")
    assert f"User-Agent: {agent}\r\n" in second["request"] and "(+me@example.org)" in second["request"]
    assert second["response"].startswith("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
    page = facts["page"]
    assert (page["title"], page["media_type"]) == ("A page", "text/html") and "Hello there." in page["text"]
    assert {link["url"]: link["reason"] for link in page["links"]} == {
        server.url("/next"): None,
        "http://other.test/": "scope",
        server.url("/not"): "nofollow",
    }
    for said in ("< HTTP/1.1 302 Found", f"moved to {server.url('/new')}", "title: A page", "nothing was stored"):
        assert said in told.out
    assert "3 links, 1 of them would be followed (not: 1 nofollow, 1 scope)" in told.out


async def test_what_robots_txt_or_the_address_rules_refuse_is_not_asked_for() -> None:
    async with raw_server() as server:
        answers(server, {"/robots.txt": ROBOTS})
        facts = await fetched(server.url("/private/x"))
        asked = [path_of(request) for request in server.requests]
        refused = await gossamer("fetch", server.url("/"), "--json")
        assert len(server.requests) == len(asked)
    [step] = facts["steps"]
    assert asked == ["/robots.txt"] and step["reason"] == "robots" and facts["page"] is None
    assert step["detail"] == "line 2: Disallow: /private/" and not step["is_asked"]
    assert refused.lines()[0]["steps"][0]["reason"] == "private_address"


async def test_with_default_settings_the_delay_of_a_host_is_kept() -> None:
    async with serve(Web(WebOptions(hosts=1, pages_per_host=3))) as server:
        facts = await fetched(server.url(0))
        robots, page = server.log.entries
    assert facts["steps"][0]["status"] == 200
    assert (robots.path, page.path) == ("/robots.txt", "/")
    assert page.time_in - robots.time_out >= 1.0


async def test_a_near_copy_of_a_page_of_the_crawl_is_recognised_and_its_folder_stays_as_it_is(folder: Path) -> None:
    pages = {"/": html(long_text(1)), "/copy": html(long_text(1, "another")), "/new": html(long_text(2))}
    async with raw_server() as server:
        answers(server, pages)
        ran = await gossamer("crawl", server.url("/"), "--dir", folder, "--allow-private", *quick_settings())
        assert ran.code == 0, ran.err
        before = files_in(folder)
        near = await fetched(server.url("/copy"), "--dir", folder)
        new = await fetched(server.url("/new"), "--dir", folder)
        again = await fetched(server.url("/"), "--dir", folder)
        away = await fetched("http://127.0.0.9/", "--dir", folder)
        asked = [path_of(request) for request in server.requests]
    assert near["verdict"]["kind"] == "near" and near["verdict"]["of"] == server.url("/")
    assert new["verdict"]["kind"] == "original" and new["known"] is None
    assert again["verdict"]["kind"] == "unchanged" and again["known"]["state"] == "done"
    assert away["steps"][0]["reason"] == "scope"
    assert asked == ["/robots.txt", "/", "/copy", "/new", "/"]  # the crawl's copy of robots.txt is good for a day
    assert files_in(folder) == before


async def test_hosts_of_a_running_crawl_are_left_to_it_unless_it_is_paused(folder: Path) -> None:
    flags = ["--dir", folder, "--allow-private", "--delay", "3"]
    async with serve(Web(WebOptions(hosts=1, pages_per_host=50))) as server:
        crawl = await start("crawl", server.url(0), *flags)
        try:
            await until(lambda: len(server.log.entries) >= 3, timeout_s=60)
            facts = await fetched(server.url(0, "/p/1"), "--dir", folder)
            paused = await gossamer("pause", folder)
            allowed = await fetched(server.url(0, "/p/1"), "--dir", folder)
        finally:
            crawl.send_signal(signal.SIGINT)
            await crawl.communicate()
        entries = sorted(server.log.entries)
    assert facts["steps"][0]["reason"] == "ownership" and "is running" in facts["steps"][0]["detail"]
    assert paused.code == 0 and allowed["steps"][0]["status"] == 200
    gaps = [later.time_in - earlier.time_out for earlier, later in pairwise(entries)]
    assert min(gaps) >= 3.0
