"""Bad input gets one clear message, a code, and nothing half-written."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from gossamer.folder import CrawlFolder
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start, until


def is_one_message(err: str) -> bool:
    return err.startswith("gossamer: ") and "Traceback" not in err and err.count("\n") == 1


@pytest.mark.parametrize("seed", ["not a url", "ftp://a.test/", "http://", "mailto:me@example.org", "/etc/passwd"])
async def test_a_seed_that_is_no_url(folder: Path, seed: str) -> None:
    ran = await gossamer("crawl", seed, "--dir", folder / "crawl")
    assert ran.code == 2
    assert is_one_message(ran.err) and seed in ran.err
    assert not (folder / "crawl").exists()


async def test_no_seed_at_all(folder: Path) -> None:
    ran = await gossamer("crawl", "--dir", folder / "crawl")
    assert ran.code == 2 and is_one_message(ran.err)


async def test_a_list_of_seeds_with_one_bad_line_or_not_there(folder: Path) -> None:
    (folder / "seeds.txt").write_text("# seeds\nhttp://127.0.0.1:4/\nnonsense\n")
    ran = await gossamer("crawl", "--file", folder / "seeds.txt", "--dir", folder / "crawl")
    assert ran.code == 2 and is_one_message(ran.err) and "nonsense" in ran.err
    ran = await gossamer("crawl", "--file", folder / "missing.txt", "--dir", folder / "crawl")
    assert ran.code == 2 and is_one_message(ran.err) and "missing.txt" in ran.err


@pytest.mark.parametrize("verb", ["status", "pages", "hosts", "why", "config"])
async def test_a_folder_that_is_no_crawl(folder: Path, verb: str) -> None:
    url = ["http://a.test/"] if verb == "why" else []
    for path, word in ((folder, "no gossamer.toml"), (folder / "nowhere", "does not exist")):
        ran = await gossamer(verb, path, *url)
        assert ran.code == 1
        assert is_one_message(ran.err) and word in ran.err


async def test_a_folder_that_holds_something_else_is_left_alone(folder: Path) -> None:
    (folder / "thesis.doc").write_text("years of work")
    ran = await gossamer("crawl", "http://127.0.0.1:4/", "--dir", folder)
    assert ran.code == 1 and "thesis.doc" in ran.err
    assert os.listdir(folder) == ["thesis.doc"]


async def test_a_configuration_with_a_wrong_type_or_an_unknown_key(folder: Path) -> None:
    for text, word in (('[fetch]\ntimeout_s = "soon"\n', "fetch.timeout_s"), ("[fetch]\ntimeot_s = 1\n", "timeot_s")):
        (folder / "my.toml").write_text(text)
        ran = await gossamer(
            "crawl", "http://127.0.0.1:4/", "--config", folder / "my.toml", "--dir", folder / "crawl"
        )
        assert ran.code == 2
        assert is_one_message(ran.err) and word in ran.err and "my.toml" in ran.err
        assert not (folder / "crawl").exists()


async def test_a_crawl_in_use_by_another_process(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=1, pages_per_host=200))) as server:
        crawl = ["crawl", server.url(0), "--dir", folder / "crawl", "--allow-private", *quick_settings()]
        first = await start(*crawl)
        await until(lambda: server.log.entries)
        ran = await gossamer(*crawl)
        assert ran.code == 1
        assert "being crawled by process" in ran.err and "Traceback" not in ran.err
        first.send_signal(signal.SIGINT)
        await first.communicate()


async def test_a_damaged_store(folder: Path) -> None:
    crawl = ["crawl", "http://127.0.0.1:4/", "--dir", folder / "crawl", "--allow-private"]
    await gossamer(*crawl)
    [current] = (folder / "crawl/partitions").glob("*/CURRENT")  # of one URL: the other stores are not made yet
    current.write_text("rubbish")
    for arguments in (crawl, ["status", folder / "crawl"]):
        ran = await gossamer(*arguments)
        assert ran.code == 1
        assert f"partitions/{current.parent.name}" in ran.err and "damaged" in ran.err and "Traceback" not in ran.err


async def test_a_damaged_configuration(folder: Path) -> None:
    await gossamer("crawl", "http://127.0.0.1:4/", "--dir", folder / "crawl", "--allow-private", "--max-time", "0.1")
    (folder / "crawl/gossamer.toml").write_text("[fetch\n")
    ran = await gossamer("status", folder / "crawl")
    assert ran.code == 2 and is_one_message(ran.err) and "gossamer.toml" in ran.err


async def test_a_private_address_and_a_bad_port_are_refused(folder: Path) -> None:
    ran = await gossamer("crawl", "http://127.0.0.1:4/", "http://127.0.0.1:25/", "--dir", folder / "crawl")
    assert ran.code == 1
    assert "private_address" in ran.out and "bad_port" in ran.out
    why = await gossamer("why", folder / "crawl", "http://127.0.0.1:4/")
    assert "refused" in why.out and "--allow-private" in why.out


async def test_urls_of_a_scheme_that_is_no_longer_crawled_are_refused_and_come_back_with_it(folder: Path) -> None:
    url, flags = "https://127.0.0.1:4/", ["--dir", folder / "c", "--allow-private", "--workers", 1]
    flags += quick_settings(frontier__retries_s="3", fetch__connect_timeout_s=1)
    crawl = CrawlFolder(folder / "c")
    crawl.create()
    crawl.set_paused("so that it is queued and not asked for")
    queued = 0
    while not queued:
        await gossamer("crawl", url, *flags, "--max-time", "2")
        queued = json.loads((await gossamer("status", folder / "c", "--json")).out)["queued"]
    crawl.set_paused("")
    without = await gossamer("crawl", *flags, "--max-time", "none", "--set", "fetch.schemes=http")
    assert without.code == 1 and "Traceback" not in without.err, without.err
    why = (await gossamer("why", folder / "c", url, "--json")).lines()[0]
    assert (why["state"], why["reason"]) == ("refused", "scheme")
    back = await gossamer("crawl", *flags, "--set", "fetch.schemes=http,https")
    assert back.code == 1, back.err
    why = (await gossamer("why", folder / "c", url, "--json")).lines()[0]
    assert why["reason"] != "scheme"
