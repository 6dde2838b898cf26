"""Seeds: the list in the crawl's folder, and new ones for a crawl that is not running."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer import config
from gossamer.clock import RealClock
from gossamer.control.live import Refusal, SeedsAdded
from gossamer.control.seeding import add_seeds
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import TABLES
from gossamer.records import Link, Reason, Seed


@pytest.fixture
def crawl(folder: Path) -> CrawlFolder:
    """A crawl that was stopped before it did anything."""
    crawl = CrawlFolder(folder / "c")
    crawl.create()
    flags = {"crawl.exclude": ["/secret"], "crawl.partitions": 2}
    config.load(crawl.path, flags=flags, environment={}).save(crawl.path)
    for number in range(2):
        RocksStore(crawl.partition(number), TABLES).close()
    crawl.add_seeds(["http://a.test/"])
    return crawl


def test_the_list_of_seeds_is_readable_and_keeps_what_was_said_of_each(crawl: CrawlFolder) -> None:
    crawl.add_seeds([Seed("http://b.test/?q=a=b", 0.25, 3), Seed("http://a.test/", priority=1.0), "http://c.test/"])
    text = (crawl.path / "seeds.txt").read_text()
    assert text == "http://a.test/\nhttp://b.test/?q=a=b priority=0.25 max_depth=3\nhttp://c.test/\n"
    assert crawl.all_seeds()[1] == Seed("http://b.test/?q=a=b", 0.25, 3)
    assert crawl.seeds() == ["http://a.test/", "http://b.test/?q=a=b", "http://c.test/"]


@pytest.mark.parametrize("line", ["http://a.test/ priority=nan", "http://a.test/ depth=1", "http://a.test/ b"])
def test_a_list_of_seeds_that_makes_no_sense_is_named(crawl: CrawlFolder, line: str) -> None:
    (crawl.path / "seeds.txt").write_text(line)
    with pytest.raises(FolderError, match=r"seeds\.txt is damaged"):
        crawl.seeds()


def test_a_crawl_that_is_not_running_takes_seeds_for_its_next_start(crawl: CrawlFolder) -> None:
    new = [
        Seed("http://b.test/#x", 0.5),
        Seed("http://a.test/"),
        Seed("http://b.test/"),
        Seed("http://b.test/secret"),
    ]
    refused = [Refusal("http://b.test/secret", Reason.EXCLUDED)]
    assert add_seeds(crawl, new, RealClock()) == SeedsAdded(1, 2, refused)
    assert add_seeds(crawl, new, RealClock()) == SeedsAdded(0, 3, refused)
    assert crawl.all_seeds() == [Seed("http://a.test/"), Seed("http://b.test/", 0.5)]
    with crawl.locked(), pytest.raises(FolderError, match="is being crawled by process"):
        add_seeds(crawl, new, RealClock())


def test_who_looks_whether_a_crawl_runs_sees_it(crawl: CrawlFolder) -> None:
    def seen() -> tuple[bool, Path | None]:
        return crawl.is_locked, crawl.socket

    assert seen() == (False, None)
    with crawl.locked():
        crawl.listen_at(Path("/somewhere"))
        assert seen() == (True, Path("/somewhere"))
    assert seen() == (False, None)


def test_a_seed_enters_as_a_link_that_knows_what_was_said() -> None:
    assert Seed("http://a.test/", 0.5, 2).link == Link("http://a.test/", max_depth=2, priority=0.5)
