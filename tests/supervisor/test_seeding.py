"""New seeds for a crawl that is not running, and the list on its way to the queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer import config
from gossamer.clock import RealClock
from gossamer.cluster.partitions import partition_of
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES, Totals
from gossamer.messages.control_messages import Refusal, SeedsAdded
from gossamer.records import Link, Reason, Seed
from gossamer.seeds import SeedList
from gossamer.supervisor.seeding import AT_ONCE, SeedFeed, add_seeds


@pytest.fixture
def crawl(folder: Path) -> CrawlFolder:
    """A crawl that was stopped before it did anything."""
    crawl = CrawlFolder(folder / "c")
    crawl.create()
    flags = {"crawl.exclude": ["/secret"], "crawl.partitions": 2}
    config.load(crawl.path, flags=flags, environment={}).save(crawl.path)
    for number in range(2):
        RocksStore(crawl.partition(number), TABLES).close()
    SeedList(crawl.path).take([Seed("http://a.test/")], "host")
    return crawl


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
    assert list(SeedList(crawl.path)) == [Seed("http://a.test/"), Seed("http://b.test/", 0.5)]
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


class Queues:
    """What reached the partitions; `fails_at`: the worker that owns them dies then."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.urls: list[str] = []
        self.most = 0
        self._fails_at = fails_at

    async def add_seeds(self, partition: int, seeds: list[Seed]) -> None:
        self.most = max(self.most, len(seeds))
        self.urls += [seed.url for seed in seeds]
        if self._fails_at is not None and len(self.urls) >= self._fails_at:
            raise FolderError("dead")


async def test_the_feed_goes_on_where_all_before_is_durable_and_never_holds_more_than_a_stretch(folder: Path) -> None:
    seeds = SeedList(folder)
    wanted = [f"http://{number % 7}.test/{number}" for number in range(12_000)]
    seeds.take(map(Seed, wanted), "host")

    dying = Queues(fails_at=5000)
    with pytest.raises(FolderError):
        await SeedFeed(seeds, 4, dying.add_seeds, dict.fromkeys(range(4), Totals())).run()
    assert 0 < seeds.fed < seeds.bytes

    living = Queues()
    feed = SeedFeed(seeds, 4, living.add_seeds, dict.fromkeys(range(4), Totals(known=1)))
    await feed.run()
    assert feed.is_done and seeds.fed == seeds.bytes
    assert {*dying.urls, *living.urls} == set(wanted) and len(living.urls) < len(wanted)
    assert living.most <= AT_ONCE


async def test_the_list_is_read_again_for_a_partition_that_lost_its_store_and_for_nobody_else(folder: Path) -> None:
    """One of them never got a seed, and one turned all of its own away: they are empty and have lost nothing."""
    seeds = SeedList(folder)
    hosts = [f"{number}.test" for number in range(40) if partition_of(f"http://{number}.test/", 4) != 2]
    wanted = [f"http://{hosts[number % len(hosts)]}/{number}" for number in range(30_000)]
    seeds.take(map(Seed, wanted), "host")
    first = Queues()
    await SeedFeed(seeds, 4, first.add_seeds, dict.fromkeys(range(4), Totals())).run()
    assert sorted(first.urls) == sorted(wanted)

    totals = {0: Totals(known=9), 1: Totals(turned_away={Reason.EXCLUDED: 9}), 2: Totals(), 3: Totals(known=9)}
    quiet = Queues()
    await SeedFeed(seeds, 4, quiet.add_seeds, totals).run()
    assert quiet.urls == [] and seeds.fed == seeds.bytes

    lost = {url for url in wanted if partition_of(url, 4) == 3}
    dying, living = Queues(fails_at=2000), Queues()
    with pytest.raises(FolderError):
        await SeedFeed(seeds, 4, dying.add_seeds, totals | {3: Totals()}).run()
    assert seeds.fed < seeds.bytes and set(dying.urls) <= lost
    await SeedFeed(seeds, 4, living.add_seeds, totals).run()  # what it got before it died again, it knows
    assert seeds.fed == seeds.bytes and lost <= {*dying.urls, *living.urls}
