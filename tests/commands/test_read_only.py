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
    url = command("pages", crawl, "--json").lines()[0]["url"]
    # Each as it is where everything is allowed; the archive is that of a real crawl.
    calls: list[list[object]] = [
        ["pages", crawl, "--json"],
        ["hosts", crawl, "--host", url.split("/")[2].partition(":")[0]],
        ["why", crawl, url],
        ["export", crawl, "--to", "cdxj"],
        ["verify", crawl],
    ]
    allowed = [unprivileged(*call) for call in calls]
    with read_only(crawl):
        held = [unprivileged(*call) for call in calls]
        status = unprivileged("status", crawl)
        stopped = unprivileged("pause", crawl)
    assert [ran.code for ran in allowed] == [0] * len(calls), allowed
    assert [(ran.code, ran.err) for ran in held] == [(ran.code, ran.err) for ran in allowed]
    for ran, other in zip(held, allowed, strict=True):
        assert without_waits(ran.out) == without_waits(other.out)
    assert status.code == 0 and "pages" in status.out, status.err
    assert stopped.code == 1
    assert stopped.err == f"gossamer: {crawl} can only be looked into: {crawl}/crawl.lock: Permission denied\n"


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
