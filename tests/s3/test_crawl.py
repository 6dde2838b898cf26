"""Crawls whose archive is a bucket of a real S3 server, which is also frozen, killed and taken away meanwhile."""

from __future__ import annotations

import asyncio
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.archive import reader, segments
from gossamer.archive.storage import FolderStorage, Storage
from gossamer.inspect.view import CrawlView
from gossamer.records import State
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import Ran, gossamer, quick_settings, start, until
from tests.crawl.judge import requests_at_once
from tests.s3.server import ENVIRONMENT, free_port, server

# Always on the same port, so that it is the same web for every crawl: its pages link to each other by it.
WEB = replace(
    WebOptions.plain(hosts=6, pages_per_host=10, page_bytes=4_000), duplicates=0.1, redirects=0.1, port=free_port()
)


def crawl_of(web: Server, folder: Path, url: str = "", **settings: object) -> list[object]:
    flags: dict[str, object] = {"crawl.partitions": 3, "crawl.commit_s": 0.1} | settings
    if url:
        flags |= {"archive.url": url, "archive.options": ",".join(f"{k}={v}" for k, v in server().options.items())}
    words = [word for key, value in flags.items() for word in ("--set", f"{key}={value}")]
    quick = quick_settings(fetch__timeout_s=20)
    return ["crawl", web.url(0), "--dir", folder, "--allow-private", "--scope", "any", "--workers", 1, *quick, *words]


async def run(*arguments: object, **environment: str) -> Ran:
    ran = await gossamer(*arguments, timeout_s=90, environment=ENVIRONMENT | environment)
    assert ran.code == 0, ran.err
    return ran


async def said(crawl: asyncio.subprocess.Process, what: str) -> str:
    """Wait until a crawl says something."""
    assert crawl.stderr is not None
    async with asyncio.timeout(60):
        while what not in (line := (await crawl.stderr.readline()).decode()):
            assert line, f"it ended without saying {what!r}"
    return line


class Result(NamedTuple):
    """What a crawl has in the end, without what depends on the order of things."""

    states: dict[str, tuple[State, int | None, str]]
    stored: list[str]  # contents, as often as they are stored
    visits: int


def result_of(folder: Path, storage: Storage) -> Result:
    with CrawlView(folder) as view:
        states = {known.url: (known.state, known.status, known.content_hash) for known in view.known()}
    records = [
        record
        for partition in range(8)
        for name in segments.files(storage, partition)
        for record in reader.records(storage, name)
    ]
    stored = [record.headers["WARC-Payload-Digest"][7:] for record in records if record.type == "response"]
    visits = [record for record in records if record.type in ("response", "revisit")]
    return Result(states, sorted(stored), len(visits))


CALM: list[Result] = []


async def calm(web: Server, folder: Path) -> Result:
    """The same crawl into a folder, and nothing happens to it."""
    if not CALM:
        await run(*crawl_of(web, folder))
        CALM.append(result_of(folder, FolderStorage(folder / "archive")))
        web.log.entries.clear()
    return CALM[0]


async def test_a_crawl_into_a_bucket_equals_one_into_a_folder_and_so_it_does_compacted(tmp_path: Path) -> None:
    url, folder = server().new_place(), tmp_path / "crawl"
    async with serve(Web(WEB)) as web:
        expected = await calm(web, tmp_path / "calm")
        await run(*crawl_of(web, folder, url))
    storage = server().storage(url)
    assert len(expected.states) > 60
    assert result_of(folder, storage) == expected
    assert not any((folder / "archive").iterdir())
    assert "hush-hush" not in (folder / "gossamer.toml").read_text()

    # Killed when the first partition is done, and of the second one the joined file is written.
    killed = await gossamer("compact", folder, environment=ENVIRONMENT | {"GOSSAMER_KILL_AT": "after_put:2"})
    assert killed.code == -signal.SIGKILL
    assert result_of(folder, storage) == expected
    assert "became 3 of" in (await run("compact", folder)).out
    assert result_of(folder, storage) == expected
    with CrawlView(folder) as view:
        pointed_at = {known.place.file for known in view.known() if known.place}
    assert pointed_at == {name for name in storage.names() if not name.endswith(".owner")}


async def test_a_copy_of_a_crawl_that_shares_its_bucket_is_named_and_deletes_nothing(tmp_path: Path) -> None:
    url, folder, copy = server().new_place(), tmp_path / "crawl", tmp_path / "copy"
    async with serve(Web(WEB)) as web:
        await run(*crawl_of(web, folder, url), "--max-pages", 10)
        shutil.copytree(folder, copy)
        await run(*crawl_of(web, folder, url), "--max-pages", 40)
        storage = server().storage(url)
        written = dict(storage.sizes())
        asked = len(web.log.entries)
        second = await gossamer(*crawl_of(web, copy, url), "--max-pages", 40, environment=ENVIRONMENT)
        assert second.code == 1 and "Traceback" not in second.err
        assert f"is written by another crawl: {folder} on " in second.err
        assert dict(storage.sizes()) == written and len(web.log.entries) == asked
        await run(*crawl_of(web, folder, url), "--max-pages", 45)  # which goes on as if nothing had happened


@pytest.mark.parametrize("away_s", [1.5, pytest.param(60.0, marks=pytest.mark.long)])
async def test_a_crawl_waits_for_a_server_that_is_away_and_loses_nothing(away_s: float, tmp_path: Path) -> None:
    url = server().new_place()
    async with serve(Web(WEB)) as web:
        expected = await calm(web, tmp_path / "calm")
        crawl = await start(*crawl_of(web, tmp_path / "crawl", url), environment=ENVIRONMENT)
        await until(lambda: len(web.log.entries) > 20)
        server().freeze()
        assert f"the archive at {url} does not answer: no answer in time" in await said(crawl, "does not answer")
        asked = len(web.log.entries)
        server().kill()
        await asyncio.sleep(away_s)
        assert len(web.log.entries) == asked  # nothing more is asked for meanwhile
        server().start()
        await said(crawl, "the archive is back")
        _, err = await crawl.communicate()
        assert crawl.returncode == 0, err.decode()
        assert requests_at_once(web.log.entries) == []
        urls = [(entry.host, entry.path) for entry in web.log.entries]
    assert len(urls) == len(set(urls))  # and nothing is asked for twice
    assert result_of(tmp_path / "crawl", server().storage(url)) == expected


async def test_a_crawl_that_is_stopped_while_the_server_is_away_goes_on_later(tmp_path: Path) -> None:
    url = server().new_place()
    async with serve(Web(WEB)) as web:
        expected = await calm(web, tmp_path / "calm")
        command = crawl_of(web, tmp_path / "crawl", url)
        crawl = await start(*command, environment=ENVIRONMENT)
        await until(lambda: len(web.log.entries) > 20)
        server().freeze()
        try:
            await said(crawl, "does not answer")
            crawl.send_signal(signal.SIGINT)
            assert "in flight wait for it" in await said(crawl, "paused: ")
            crawl.send_signal(signal.SIGINT)
            await crawl.communicate()
            assert crawl.returncode == 130
        finally:
            server().thaw()
        await run(*command)
    assert result_of(tmp_path / "crawl", server().storage(url)) == expected


@pytest.mark.parametrize("moment", ["after_save:2", "after_finish:2"])
async def test_a_worker_killed_at_a_commit_stores_nothing_twice(moment: str, tmp_path: Path) -> None:
    url = server().new_place()
    async with serve(Web(WEB)) as web:
        expected = await calm(web, tmp_path / "calm")
        command = crawl_of(web, tmp_path / "crawl", url)
        ran = await run(*command, GOSSAMER_KILL_AT=moment)
    assert "SIGKILL" in ran.err
    assert result_of(tmp_path / "crawl", server().storage(url)) == expected


@pytest.mark.parametrize(
    ("url", "environment", "why"),
    [
        ("s3://no-such-bucket/x", {}, "NoSuchBucket"),
        ("", {"AWS_ACCESS_KEY_ID": "somebody"}, "InvalidAccessKeyId"),
    ],
)
async def test_a_bucket_that_cannot_be_used_ends_the_start(
    url: str, environment: dict[str, str], why: str, tmp_path: Path
) -> None:
    async with serve(Web(WEB)) as web:
        command = crawl_of(web, tmp_path, url or server().new_place())
        ran = await gossamer(*command, environment=ENVIRONMENT | environment)
    assert (ran.code, web.log.entries) == (1, [])
    assert why in ran.err
    assert "Traceback" not in ran.err
