"""Mistakes are told before anything is asked for, and say what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.config import ConfigError
from gossamer.folder import FolderError
from gossamer.library.crawl import crawl
from gossamer.synthetic_web import serve
from tests.library.small_webs import crawl_of, plain_web, times_asked


async def test_a_setting_that_does_not_exist_or_cannot_be(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown key fetch\.timeout .*did you mean fetch\.timeout_s\?"):
        await anext(crawl("http://a.test/", dir=folder, settings={"fetch.timeout": 3}))
    with pytest.raises(ConfigError, match=r"crawl\.max_pages = 0 .* wanted a whole number from 1"):
        await anext(crawl("http://a.test/", dir=folder, max_pages=0))
    assert not list(folder.iterdir())


async def test_a_seed_that_is_no_url_and_no_seed_at_all(folder: Path) -> None:
    with pytest.raises(ValueError, match="'example' is not a URL that can be crawled"):
        await anext(crawl(["http://a.test/", "example"], dir=folder))
    with pytest.raises(ValueError, match="is not a crawl yet: give at least one URL"):
        await anext(crawl(dir=folder))
    assert not list(folder.iterdir())


async def test_a_folder_that_is_in_use_or_holds_something_else(folder: Path) -> None:
    async with serve(plain_web(hosts=1)) as server:
        first = crawl_of(server, folder / "crawl")
        await anext(first)
        with pytest.raises(FolderError, match="is being crawled by process"):
            await anext(crawl_of(server, folder / "crawl"))
        assert len([page async for page in first]) == 7  # undisturbed
        assert set(times_asked(server).values()) == {1}
    (folder / "diary.txt").write_text("Dear diary")
    with pytest.raises(FolderError, match=r"it holds \S+"):
        await anext(crawl("http://a.test/", dir=folder))


async def test_crawls_that_do_not_agree_on_what_a_url_is_called_cannot_run_at_once() -> None:
    other: dict[str, object] = {"crawl.parameters_dropped": ["color"]}
    async with serve(plain_web(hosts=1)) as server:
        first = crawl_of(server)
        await anext(first)
        with pytest.raises(ConfigError, match=r"parameters_dropped .* hold for a whole program"):
            await anext(crawl_of(server, settings=other))
        await first.aclose()
        assert len([page async for page in crawl_of(server, settings=other)]) == 8
