"""Bad input gets one clear message, a code, and nothing half-written."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

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
    (folder / "seeds.txt").write_text("# seeds\nhttp://127.0.0.1:9/\nnonsense\n")
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
    ran = await gossamer("crawl", "http://127.0.0.1:9/", "--dir", folder)
    assert ran.code == 1 and "thesis.doc" in ran.err
    assert os.listdir(folder) == ["thesis.doc"]


async def test_a_configuration_with_a_wrong_type_or_an_unknown_key(folder: Path) -> None:
    for text, word in (('[fetch]\ntimeout_s = "soon"\n', "fetch.timeout_s"), ("[fetch]\ntimeot_s = 1\n", "timeot_s")):
        (folder / "my.toml").write_text(text)
        ran = await gossamer(
            "crawl", "http://127.0.0.1:9/", "--config", folder / "my.toml", "--dir", folder / "crawl"
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
    crawl = ["crawl", "http://127.0.0.1:9/", "--dir", folder / "crawl", "--allow-private", "--max-time", "0.1"]
    await gossamer(*crawl)
    (folder / "crawl/partitions/000/CURRENT").write_text("rubbish")
    for arguments in (crawl, ["status", folder / "crawl"]):
        ran = await gossamer(*arguments)
        assert ran.code == 1
        assert "partitions/000" in ran.err and "damaged" in ran.err and "Traceback" not in ran.err


async def test_a_damaged_configuration(folder: Path) -> None:
    await gossamer("crawl", "http://127.0.0.1:9/", "--dir", folder / "crawl", "--allow-private", "--max-time", "0.1")
    (folder / "crawl/gossamer.toml").write_text("[fetch\n")
    ran = await gossamer("status", folder / "crawl")
    assert ran.code == 2 and is_one_message(ran.err) and "gossamer.toml" in ran.err


async def test_a_private_address_is_refused_unless_allowed(folder: Path) -> None:
    ran = await gossamer("crawl", "http://127.0.0.1:9/", "--dir", folder / "crawl")
    assert ran.code == 0
    assert "private_address" in ran.out
    why = await gossamer("why", folder / "crawl", "http://127.0.0.1:9/")
    assert "refused" in why.out and "--allow-private" in why.out
