"""Starting: long lists of seeds, settings that are refused, and what is said when something is in the way."""

from __future__ import annotations

import shutil
import socket
import stat
from pathlib import Path

from gossamer import config
from gossamer.folder import CrawlFolder
from gossamer.seeds import SeedList
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings

SEEDS = 60_000


async def test_a_long_list_of_seeds_holds_up_nothing_and_is_read_once(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=4, pages_per_host=3))) as server:
        lines = [f"{server.url(number % 4)}?n={number}" for number in range(SEEDS)]
        (folder / "list").write_bytes(b"\xef\xbb\xbf# many\n" + "\n".join(lines).encode())
        crawl = ["crawl", "--file", folder / "list", "--dir", folder / "crawl", "--allow-private", *quick_settings()]
        ran = await gossamer(*crawl, "--max-pages", 3)
        assert ran.code == 0, ran.err
        seeds = SeedList(folder / "crawl")
        # Pages came before all seeds were in their queues, and nobody calls that complete.
        assert 0 < (fed := seeds.fed) < seeds.bytes
        status = (await gossamer("status", folder / "crawl", "--json")).lines()[0]
        assert not status["complete"] and status["pages"] == 3

        size = seeds.bytes
        ran = await gossamer(*crawl, "--max-pages", 4)  # the same command resumes it
        assert ran.code == 0 and seeds.bytes == size, "the list was added a second time"
        assert seeds.fed > fed


async def test_what_was_read_of_the_list_of_seeds_is_not_read_again(folder: Path) -> None:
    """A crawl of one site leaves most partitions empty. What stands in the list is changed behind its back: nobody
    notices, because nobody looks."""
    async with serve(Web(WebOptions.plain(hosts=1, pages_per_host=2))) as server:
        crawl = ["crawl", f"{server.url(0)}?n=1", "--dir", folder / "crawl", "--allow-private", *quick_settings()]
        ran = await gossamer(*crawl)
        assert ran.code == 0, ran.err
        seeds = SeedList(folder / "crawl")
        assert seeds.fed == seeds.bytes
        seeds.path.write_text(seeds.path.read_text().replace("?n=1", "?n=2"))
        ran = await gossamer(*crawl)
        assert ran.code == 0 and not [entry for entry in server.log.entries if entry.url.endswith("?n=2")], ran.err
        shutil.rmtree(folder / "crawl" / "partitions")  # now it has to be read: nothing is known any more
        shutil.rmtree(folder / "crawl" / "archive")
        ran = await gossamer(*crawl)
        assert ran.code == 0 and [entry for entry in server.log.entries if entry.url.endswith("?n=2")], ran.err


async def test_a_bad_line_is_named_by_its_number_and_nothing_is_made(folder: Path) -> None:
    (folder / "list").write_text("http://127.0.0.1:9/ priority=0.9 max_depth=2\n\nhttp://127.0.0.1:9/ prority=1\n")
    ran = await gossamer("crawl", "--file", folder / "list", "--dir", folder / "crawl")
    assert ran.code == 2 and "line 3" in ran.err and "prority" in ran.err and "Traceback" not in ran.err
    assert not (folder / "crawl").exists()


async def test_a_setting_that_is_refused_is_not_kept(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=1, pages_per_host=2))) as server:
        crawl = ["crawl", server.url(0), "--dir", folder / "crawl", "--allow-private", *quick_settings()]
        assert (await gossamer(*crawl)).code == 0
        kept = (folder / "crawl/gossamer.toml").read_bytes()
        ran = await gossamer(*crawl, "--set", "archive.url=s3://", "--set", "crawl.max_pages=7")
        assert ran.code != 0 and "Traceback" not in ran.err
        assert (folder / "crawl/gossamer.toml").read_bytes() == kept
        assert (await gossamer(*crawl)).code == 0
    ran = await gossamer("crawl", "http://127.0.0.1:9/", "--dir", folder / "new", "--set", "archive.url=s3://")
    assert ran.code != 0 and not CrawlFolder(folder / "new").is_crawl


async def test_an_error_names_what_can_be_typed(folder: Path) -> None:
    ran = await gossamer("crawl", "http://127.0.0.1:9/", "--dir", folder / "c", "--set", "frontier.retries_s=soon")
    assert ran.code == 2 and "--set frontier.retries_s" in ran.err and "--retries" not in ran.err
    ran = await gossamer("crawl", "http://127.0.0.1:9/", "--dir", folder / "c", "--max-pages", "few")
    assert ran.code == 2 and "flag --max-pages" in ran.err


async def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = await gossamer("web", "--port", port, "--hosts", 1)
    assert ran.code == 1 and str(port) in ran.err and "--port" in ran.err and "resumes" not in ran.err


async def test_what_a_server_says_is_no_command_to_the_terminal(folder: Path) -> None:
    ran = await gossamer("crawl", "http://127.0.0.1:9/", "--dir", folder / "c", "--allow-private", *quick_settings())
    assert ran.code == 0
    ran = await gossamer("why", folder / "c", "http://127.0.0.1:9/\x1b]0;owned\x07")
    assert "\x1b" not in ran.out and "\x07" not in ran.out and "owned" in ran.out


def test_nobody_else_can_hold_the_lock(folder: Path) -> None:
    crawl = CrawlFolder(folder / "c")
    crawl.create()
    config.load(crawl.path, environment={}).save(crawl.path)
    lock = crawl.path / "crawl.lock"
    lock.touch(0o666)
    lock.chmod(0o666)  # as an earlier version left it
    with crawl.locked():
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
