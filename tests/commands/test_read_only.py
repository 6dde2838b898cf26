"""A folder that can only be read: a colleague's crawl, a read-only mount."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.unprivileged import read_only, unprivileged
from tests.export.crawls import Crawls, command, copied, crawl_twice
from tests.shared_crawl import once


@pytest.fixture
def crawl(tmp_path_factory: pytest.TempPathFactory, worker_id: str, tmp_path: Path) -> Path:
    crawls: Crawls = once(tmp_path_factory, worker_id, "exports", crawl_twice)
    return copied(crawls.whole, tmp_path / "crawl")


def test_a_folder_that_can_only_be_read_can_be_looked_into(crawl: Path) -> None:
    pages = command("pages", crawl, "--json").lines()
    url = next(page["url"] for page in pages if page["status"] == 200 and not page["url"].endswith("/uncopied"))
    calls: list[list[object]] = [["pages", crawl, "--json"], ["why", crawl, url], ["verify", crawl]]
    allowed = [command(*call) for call in calls]
    with read_only(crawl):
        held = [unprivileged(*call) for call in calls]
        printed = unprivileged("export", crawl, "--to", "cdxj")
        paused = unprivileged("pause", crawl)
    for ran, other in zip(held, allowed, strict=True):
        assert (ran.code, ran.err) == (0, "")
        assert without_waits(ran.out) == without_waits(other.out)
    assert printed.code == 0 and url in printed.out, printed.err
    assert paused.code == 1
    assert paused.err == f"gossamer: {crawl} can only be looked into: {crawl}/crawl.lock: Permission denied\n"


def without_waits(text: str) -> list[str]:
    """What a moment later is another figure is left out."""
    return [line for line in text.splitlines() if "next visit in" not in line]


def test_what_cannot_even_be_read_is_called_that(crawl: Path) -> None:
    for path, said in (
        (crawl / "partitions/001/CURRENT", f"{crawl}/partitions/001: Permission denied"),
        (crawl / "partitions/001", f"{crawl}/partitions/001/CURRENT: Permission denied"),
        (crawl / "gossamer.toml", f"cannot read the configuration file {crawl}/gossamer.toml: Permission denied"),
        (crawl, f"{crawl} cannot be looked into: Permission denied"),
    ):
        mode = path.stat().st_mode
        path.chmod(0)
        ran = unprivileged("pages", crawl)
        path.chmod(mode)
        assert ran.err == f"gossamer: {said}\n" and ran.code in (1, 2)
