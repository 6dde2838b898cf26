"""The crawl in a window: a real pseudo-terminal, with keys that are pressed and sizes that change."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
from pathlib import Path

from gossamer.folder import CrawlFolder
from gossamer.messages import control_messages
from gossamer.messages.control_client import connect_to_crawl
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import quick_settings, until
from tests.supervisor.held_web import HeldWeb, held
from tests.supervisor.window import Terminal, in_window

CTRL_C, CTRL_Z = b"\x03", b"\x1a"
SIZES = ((120, 40), (80, 24), (60, 20))
HOSTS = 3


def crawl_of(server: Server, folder: Path, *flags: object) -> list[object]:
    seeds = [server.url(host) for host in range(HOSTS)]
    where = [*seeds, "--dir", folder, "--allow-private", "--workers", 1]
    return ["crawl", *where, *quick_settings(fetch__timeout_s=60, fetch__slow_s=60), *flags]


async def test_the_picture_fits_every_size_of_the_window_and_nothing_of_it_stays_behind(folder: Path) -> None:
    web = HeldWeb(HOSTS)
    async with (
        serve(web, web.clock) as server,
        in_window(*crawl_of(server, folder / "c", "--max-pages", 10)) as terminal,
    ):
        window = terminal.window
        await terminal.shows("in flight", "0 of 10 pages", "answers")
        await until(lambda: len(held(server)) == HOSTS)
        web.release()
        await terminal.shows("3 of 10 pages", "2xx 4", "4xx 2", "\n3 requests under way")
        for columns, lines in (*SIZES, (30, 8), (200, 60), (13, 3), (80, 24)):
            terminal.resize(columns, lines)
            await until(lambda size=(columns, lines): fills(terminal, *size))  # type: ignore[misc]
        assert not window.scrolled
        assert window.is_borrowed and not window.has_cursor

        terminal.press(CTRL_C)
        await terminal.shows("stopping: 3 requests under way will be finished", "Ctrl-C again stops at once")
        assert "^C" not in window.text
        web.release()
        assert await terminal.end() == 0
        await until(lambda: "gossamer why" in window.text or "run why" in window.text)
        assert_given_back(terminal)
        assert "Stopped as asked.\n  6 pages" in window.text


def fills(terminal: Terminal, columns: int, lines: int) -> bool:
    """From the first row to the last, and up to the last column."""
    rows = terminal.window.rows
    return (
        rows[0].startswith(" gossamer"[:columns])
        and len(rows[0]) == columns
        and rows[-1].startswith("Ctrl-C"[:columns])
        and len(rows) == lines
        and max(map(len, rows)) <= columns
    )


def assert_given_back(terminal: Terminal) -> None:
    """The window is as it was, with lines of ours and nothing of the picture."""
    window = terminal.window
    assert not window.is_borrowed and window.has_cursor and window.modes[7]
    assert window.rows[0].startswith("gossamer: crawling into")
    assert not re.search("[█▁░…]|pages/s *top|Ctrl-C|under way", window.text)


async def test_stopped_at_once_it_gives_the_window_back_too(folder: Path) -> None:
    web = HeldWeb(HOSTS)
    async with serve(web, web.clock) as server, in_window(*crawl_of(server, folder / "c")) as terminal:
        await until(lambda: len(held(server)) == HOSTS)
        await terminal.shows("\n3 requests under way")
        terminal.press(CTRL_C)
        await terminal.shows("Ctrl-C again stops at once")
        terminal.press(CTRL_C)
        assert await terminal.end() == 130
        await until(lambda: "stopped at once; the same command resumes it" in terminal.window.text)
        assert_given_back(terminal)


async def test_what_is_told_meanwhile_is_in_the_picture_and_printed_when_the_window_is_back(folder: Path) -> None:
    web, crawl = HeldWeb(HOSTS), CrawlFolder(folder / "c")
    async with (
        serve(web, web.clock) as server,
        in_window(*crawl_of(server, crawl.path, "--serve=127.0.0.1:0"), columns=160) as terminal,
    ):
        await until(lambda: len(held(server)) == HOSTS)
        await terminal.shows(r"^ gossamer \S+ · .*/c · http://127\.0\.0\.1:\d+/ ")
        peer = await connect_to_crawl(crawl, asyncio.ensure_future)
        assert peer is not None
        await peer.tell(control_messages.Steer("pause"))
        await terminal.shows("\npaused: as asked\n")
        peer.close()
        terminal.press(CTRL_C)
        web.release()
        assert await terminal.end() == 0
        await until(lambda: "Stopped as asked" in terminal.window.text)
        assert_given_back(terminal)
        assert "\ngossamer: paused: as asked\n" in terminal.window.text


async def test_ctrl_z_lends_the_window_to_the_shell_until_the_crawl_is_back(folder: Path) -> None:
    web = HeldWeb(HOSTS)
    async with serve(web, web.clock) as server, in_window(*crawl_of(server, folder / "c")) as terminal:
        await terminal.shows("3 requests under way")
        terminal.press(CTRL_Z)
        process = Path(f"/proc/{terminal.process.pid}/stat")
        await until(lambda: process.read_text().rpartition(") ")[2].startswith("T"))
        await until(lambda: not terminal.window.is_borrowed)
        assert_given_back(terminal)
        terminal.process.send_signal(signal.SIGCONT)
        await terminal.shows("3 requests under way")
        assert terminal.window.is_borrowed and not terminal.window.has_cursor
        terminal.press(CTRL_C)
        web.release()
        assert await terminal.end() == 0


async def test_where_only_later_tries_are_left_the_picture_says_until_when(folder: Path) -> None:
    async with serve(Web(WebOptions(hosts=1, pages_per_host=1, server_errors=1.0))) as server:
        where = [server.url(0), "--dir", folder / "c", "--allow-private", "--workers", 1, "--forever"]
        settings = quick_settings(frontier__retries_s=3000)
        async with in_window("crawl", *where, *settings) as terminal:
            await terminal.shows(r"\nonly later tries are left: 1 URL, the first at \d\d:\d\d\n", "5xx 1")


async def test_where_no_server_answers_the_picture_says_so_and_when_it_is_asked_again(folder: Path) -> None:
    with socket.socket() as taken:  # nobody listens
        taken.bind(("127.9.9.9", 0))
        url = f"http://127.9.9.9:{taken.getsockname()[1]}/"
        where = [url, "--dir", folder / "c", "--allow-private", "--workers", 1, "--forever"]
        async with in_window("crawl", *where, *quick_settings(robots__retry_s=3000), columns=160) as terminal:
            await terminal.shows(
                r"\nno server answers \(1 × no connection to its server\); "
                r"waiting for hosts that rest: 127\.9\.9\.9 is asked again at \d\d:\d\d: robots.txt could not be"
            )
