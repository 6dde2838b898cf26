"""How a crawl ends, as its user sees it: done, done for now, or nothing at all; and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.crawl.command import Ran, gossamer, quick_settings
from tests.fetch.raw_server import RawServer, raw_server


def answering(server: RawServer, status: int, seed_status: int = 200) -> list[str]:
    """The seed leads to five pages, one of which has this status. Returns the paths that are asked for."""
    asked: list[str] = []

    def answer(request: bytes) -> list[bytes | float]:
        path = request.split()[1].decode()
        asked.append(path)
        code = {"/robots.txt": 404, "/": seed_status, "/p/3": status}.get(path, 200)
        body = f"<p>{path}" + "".join(f'<a href="/p/{number}">{number}</a>' for number in range(5))
        head = f"HTTP/1.1 {code} X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        return [(head + body).encode()]

    server.answer = answer
    return asked


async def crawled(url: str, folder: Path, *flags: object) -> Ran:
    return await gossamer("crawl", url, "--dir", folder, "--allow-private", "--workers", 1, *quick_settings(), *flags)


async def test_a_page_that_fails_does_not_keep_the_crawl_open_and_is_tried_again_by_the_next(folder: Path) -> None:
    later = ("--set", "frontier.retries_s=300")
    async with raw_server() as server:
        asked = answering(server, 500)
        ran = await crawled(server.url("/"), folder / "c", *later)
        assert ran.code == 0 and "Done for now: what is left failed, and is tried again later." in ran.out, ran.out
        assert "  1 URL will be tried again from " in ran.out and "the same command goes on" in ran.out
        assert "5 pages" in ran.out and asked.count("/p/3") == 1
        status = await gossamer("status", folder / "c")
        assert "done for now; what failed is tried again later" in status.out

        again = await crawled(server.url("/"), folder / "c")
        assert again.code == 0 and "1 URL will be tried again from " in again.out and asked.count("/p/3") == 1
        answering(server, 200)
        assert (await gossamer("retry", folder / "c")).code == 0
        assert "Complete: every URL that was found is done." in (await crawled(server.url("/"), folder / "c")).out
    assert json.loads((await gossamer("status", folder / "c", "--json")).out)["complete"]


async def test_a_try_that_is_near_is_waited_for(folder: Path) -> None:
    async with raw_server() as server:
        asked = answering(server, 500)
        ran = await crawled(server.url("/"), folder / "c", "--set", "frontier.retries_s=0.2,0.2")
        assert ran.code == 0 and "Complete" in ran.out and asked.count("/p/3") == 3


@pytest.mark.parametrize(
    ("seed_status", "flags", "why"),
    [
        (404, (), "not there (404 or 410) [gone]"),
        (401, (), "the server refuses it (4xx) [client_error]"),
        (200, ("--exclude", "."), "matches an --exclude pattern [excluded]"),
        (200, ("--set", "crawl.allow_private=false"), "[private_address]"),
    ],
)
async def test_nothing_at_all_is_not_complete(
    folder: Path, seed_status: int, flags: tuple[str, ...], why: str
) -> None:
    async with raw_server() as server:
        answering(server, 200, seed_status)
        url = server.url("/")
        ran = await crawled(url, folder / "c", *flags)
    assert ran.code == 1 and ran.out.startswith("Nothing was fetched.\n") and "Complete" not in ran.out, ran.out
    told = next(line for line in ran.out.splitlines() if line.strip().startswith(f"{url}: "))
    assert why in told


async def test_a_server_that_is_away_ends_the_crawl_and_the_next_one_asks_it_again(folder: Path) -> None:
    async with raw_server() as server:
        url = server.url("/")
    crawl = ("crawl", url, "--dir", folder / "c", "--allow-private")  # with the waits that a user has
    ran = await gossamer(*crawl)
    assert ran.code == 1 and ran.out.startswith("Nothing was fetched.\n"), ran.out
    assert f"  {url}: robots.txt could not be fetched" in ran.out and "connect: " in ran.out
    assert "1 queued, of these 1 at hosts that do not answer" in ran.out
    assert json.loads((await gossamer("why", folder / "c", url, "--json")).out)["state"] == "queued"

    async with raw_server(port=server.port) as server:
        asked = answering(server, 200)
        assert (await gossamer("retry", folder / "c", "--reason", "robots_unreachable")).code == 0
        assert "Complete: every URL that was found is done." in (await gossamer(*crawl, *quick_settings())).out
    assert asked.count("/robots.txt") == 1 and asked.count("/p/4") == 1


async def test_who_waits_for_later_tries_also_waits_for_robots_txt(folder: Path) -> None:
    busy = b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"
    async with raw_server() as server:
        answering(server, 200)
        well = server.answer
        server.answer = lambda request: [busy] if len(server.requests) < 3 else well(request)
        waits = ("--wait", "--set", "robots.retry_s=2,2", "--set", "frontier.rests_s=3600")
        ran = await crawled(server.url("/"), folder / "c", *waits)
    assert ran.code == 0 and "Complete: every URL that was found is done." in ran.out, ran.out
