"""Starting: long lists of seeds, settings that are refused, and what is said when something is in the way."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gossamer import config
from gossamer.commands.crawl import default_dir
from gossamer.commands.seeds import typed_seeds
from gossamer.folder import CrawlFolder
from gossamer.records import Seed
from gossamer.seeds import SeedList
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.api.serving import empty_crawl
from tests.crawl.command import ROOT, gossamer, quick_settings
from tests.export.crawls import command

SEEDS = 60_000
# Settings that look right, and that the archive does not take when the crawl starts.
UNUSABLE = ["--set", "archive.url=s3://bucket/crawl", "--set", "archive.options=colour=red"]


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
        ran = await gossamer(*crawl, *UNUSABLE, "--set", "crawl.max_pages=7")
        assert ran.code != 0 and "Traceback" not in ran.err and "colour" in ran.err
        assert (folder / "crawl/gossamer.toml").read_bytes() == kept
        assert (await gossamer(*crawl)).code == 0
    ran = await gossamer("crawl", "http://127.0.0.1:9/", "--dir", folder / "new", *UNUSABLE)
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
    assert ran.code == 1
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


def default_folder(*urls: str, file: Path | None = None) -> str:
    with closing(typed_seeds(urls, str(file) if file else None)) as seeds:
        return str(default_dir(seeds))


def test_the_default_folder_tells_crawls_of_different_seeds_apart(folder: Path) -> None:
    assert default_folder("https://example.com") == "crawl-example.com"
    assert default_folder("http://[::1]:8080/") == "crawl---1"
    docs = default_folder("https://example.com/docs")
    both = default_folder("https://example.com/", "https://example.org/")
    assert len({"crawl-example.com", docs, both}) == 3
    assert docs.startswith("crawl-example.com-") and both.startswith("crawl-example.com-")
    # The same command finds its folder again, and what it says of the seeds means nothing.
    assert default_folder("https://example.com/docs#top") == docs
    (folder / "list").write_text("https://example.com/docs priority=high\n")
    assert default_folder(file=folder / "list") == docs


def test_the_default_folder_is_not_taken_from_a_crawl_of_other_seeds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    crawl = CrawlFolder(empty_crawl(Path("crawl-127.0.0.1")))
    SeedList(crawl.path).take([Seed("http://127.0.0.1:7777/")], "host")
    ran = command("crawl", "http://127.0.0.1:8888/", "--allow-private")
    assert ran.code == 2 and ran.err == (
        "gossamer: crawl-127.0.0.1 holds a crawl of other seeds: name a folder with --dir (--dir crawl-127.0.0.1 "
        "adds http://127.0.0.1:8888/ to that crawl)\n"
    )


def test_the_demo_deletes_nothing_that_it_did_not_make(folder: Path) -> None:
    crawl = empty_crawl(folder / "demo")
    SeedList(crawl).take([Seed("http://127.0.0.1:7777/")], "host")  # somebody's own, of a server on this machine
    ran = command("demo", "--dir", crawl)
    assert ran.code == 1 and ran.err == f"gossamer: {crawl} holds a crawl that is not a demo: choose another --dir\n"
    (crawl / "demo.txt").touch()
    (crawl / "pages.jsonl").write_text("exported with care")
    ran = command("demo", "--dir", crawl)
    assert ran.code == 1 and ran.err == (
        f"gossamer: {crawl} holds pages.jsonl, which no demo made: choose another --dir\n"
    )
    assert (crawl / "seeds.txt").exists() and (crawl / "pages.jsonl").exists()


@pytest.mark.parametrize(
    ("call", "not_imported"),
    [
        (["--version"], "numpy rocksdict pycurl selectolax rich obstore aiodns starlette pyarrow"),
        (["status", "D"], "pycurl selectolax rich obstore starlette pyarrow"),
        (["crawl", "--dir", "D", "http://127.0.0.1:1/"], "obstore starlette pyarrow pypdfium2 urllib.request"),
    ],
)
def test_a_call_imports_what_it_needs(folder: Path, call: list[str], not_imported: str) -> None:
    """What takes long to import, and is not for this verb. The crawl, in a worker, asks a port that nobody has."""
    command = [sys.executable, "-X", "importtime", "-m", "gossamer", *(str(folder) if w == "D" else w for w in call)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    imported = {
        line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")
    }
    assert "gossamer.cli" in imported
    assert not imported & set(not_imported.split())
