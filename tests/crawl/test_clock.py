"""A machine whose clock was wrong: what a user sees of it."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path

from gossamer.synthetic_web.access_log import gaps_below
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings

DELAY_S = 0.1
AHEAD = """
import time
wall = time.time
time.time = lambda: wall() + 400 * 86400
"""
# While the machine slept, two clocks went on for an hour; timers, which go by a third one, stood still.
SLEPT = """
import pathlib, time
slept = pathlib.Path(__file__).parent / "slept"
of_kind, wall = time.clock_gettime, time.time
slept_s = lambda: 3600 * slept.exists()
time.clock_gettime = lambda kind: of_kind(kind) + (slept_s() if kind == time.CLOCK_BOOTTIME else 0)
time.time = lambda: wall() + slept_s()
"""


def python_with(folder: Path, customized: str) -> dict[str, str]:
    """An environment in which every Python process runs this first."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(customized)
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


async def test_after_a_run_with_a_clock_a_year_ahead_the_next_run_goes_on_and_says_so(folder: Path) -> None:
    ahead = python_with(folder / "ahead", AHEAD)
    web = Web(WebOptions(hosts=2, pages_per_host=6, links_per_page=8, page_bytes=500))
    async with serve(web) as server:
        crawl = [
            "crawl",
            server.url(0),
            "--dir",
            folder / "crawl",
            "--allow-private",
            "--scope",
            "any",
            "--workers",
            1,
        ]
        crawl += quick_settings(politeness__delay_s=DELAY_S, politeness__latency_factor=0, fetch__timeout_s=20)
        first = await gossamer(*crawl, "--max-pages", 4, environment=ahead)
        assert first.code == 0, first.err
        before = len(server.log.entries)
        second = await gossamer(*crawl, "--set", "crawl.max_pages=null")
        entries = server.log.entries
    assert second.code == 0 and "Complete" in second.out, second.err
    assert "400.0 days ahead" in second.err, second.err
    assert len({entry.url for entry in entries[before:] if entry.path != "/robots.txt"}) >= 8
    assert {entry.host for entry in entries[before:] if entry.path == "/robots.txt"}, (
        "the old copies are in the future"
    )
    assert gaps_below(entries, lambda _: DELAY_S) == []


async def test_after_the_machine_slept_no_host_is_asked_while_an_answer_of_it_is_still_open(folder: Path) -> None:
    """The slow answer of one host is open while the machine sleeps, longer than a lease runs. Another host keeps the
    worker busy afterwards: it looks at its leases at every turn."""
    sleepy = python_with(folder / "sleepy", SLEPT)
    open_now: Counter[str] = Counter()
    most_open: Counter[str] = Counter()
    asked: list[tuple[str, str]] = []
    fell_asleep_at = 0
    other_host_went_on = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal fell_asleep_at
        host = writer.get_extra_info("sockname")[0]
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
                asked.append((host, path))
                open_now[host] += 1
                most_open[host] = max(most_open[host], open_now[host])
                if path == "/slow" and not fell_asleep_at:
                    fell_asleep_at = len(asked)
                    (folder / "sleepy" / "slept").touch()
                if path == "/slow":
                    await other_host_went_on.wait()
                if fell_asleep_at and len(asked) >= fell_asleep_at + 12:
                    other_host_went_on.set()
                writer.write(answer(path))
                open_now[host] -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(path: str) -> bytes:
        if path == "/robots.txt":
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        links = ["/slow", "/1", "/2"] + [f"http://127.0.0.2:{port}/{n}" for n in range(20)] if path == "/" else []
        words = [f"word{n}of{path}" for n in range(40)] + [f'<a href="{link}">{link}</a>' for link in links]
        body = " ".join(words)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        return (head + body).encode()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as one:
        port = one.sockets[0].getsockname()[1]
        async with await asyncio.start_server(talk, "127.0.0.2", port):
            crawl = ["crawl", f"http://127.0.0.1:{port}/", "--dir", folder / "crawl", "--allow-private"]
            crawl += ["--scope", "any", "--workers", 1, *quick_settings(fetch__timeout_s=60)]
            ran = await gossamer(*crawl, environment=sleepy)
    assert ran.code == 0 and "Complete" in ran.out, ran.err
    assert fell_asleep_at and other_host_went_on.is_set(), asked
    assert most_open == {"127.0.0.1": 1, "127.0.0.2": 1}
    assert asked.count(("127.0.0.1", "/slow")) == 1
