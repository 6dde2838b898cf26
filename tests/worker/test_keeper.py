"""A partition moves from one node to another that has nothing of it: a real crawl, judged by the access log."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.archive.bucket import BucketStorage
from gossamer.clock import RealClock
from gossamer.cluster.kafka.journal import Journal
from gossamer.cluster.ownership import Ownerships
from gossamer.cluster.pace import Pace
from gossamer.cluster.shared import LocalShared
from gossamer.config import load
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.store import RocksStore
from gossamer.messages import worker_messages
from gossamer.process.fingerprints import duplicates
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.records import Seed
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from gossamer.worker.keeper import ClusterKeeper
from gossamer.worker.restore import How
from gossamer.worker.worker import Worker
from tests.crawl.command import QUICK
from tests.crawl.judge import requests_at_once
from tests.s3.server import ENVIRONMENT, server
from tests.worker.places import journal_of, new_topic, objects_in

HOSTS, PAGES, DELAY_S = 4, 20, 0.02


class Node:
    """A worker that nobody supervises, in a folder of its own."""

    def __init__(self, name: str, folder: Path, place: str, journal: Journal, shared: LocalShared) -> None:
        self.name, self.folder = name, CrawlFolder(folder)
        self.folder.create()
        self.said: list[str] = []
        self._shared, self._journal = shared, journal
        self._objects: BucketStorage = objects_in(f"{place}/state")
        self.ownerships = Ownerships(self._objects, journal)
        settings: dict[str, object] = {
            **QUICK,
            "crawl.partitions": 1,
            "crawl.scope": "any",
            "crawl.allow_private": True,
            "politeness.delay_s": DELAY_S,
            "fetch.timeout_s": 30,  # a busy machine is no reason to ask twice
            "fetch.connect_timeout_s": 30,
            "archive.url": f"{place}/archive",
            "archive.options": {"endpoint": server().options["endpoint"], "timeout": "20s"},
        }
        self._tree = load(folder, None, settings).tree

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[tuple[Worker, ClusterKeeper]]:
        order = worker_messages.Welcome(str(self.folder.path), self._tree)
        async with Worker(0, order, self._shared, self.said.append) as worker:
            keeper = ClusterKeeper(
                *(
                    self.name,
                    self._objects,
                    self._journal,
                    RealClock(),
                    self.folder.path / "copies",
                    self.said.append,
                ),
                snapshot_s=0.5,
                settle_s=10.0,
            )
            worker._around = replace(worker._around, keeper=keeper)
            worker.crawl.is_paused = False
            tasks = [asyncio.create_task(worker.run()), asyncio.create_task(keeper.take_snapshots())]
            try:
                yield worker, keeper
            finally:
                tasks[1].cancel()
                worker.crawl.stop()
                await tasks[0]

    async def gain(self, worker: Worker) -> None:
        own = await self.ownerships.mint(0, self.name)
        assert await worker.assigned([0], own.epoch) == {}


@pytest.fixture
async def nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Server, Callable[[str], Node]]]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    place, pace = server().new_place(), Pace(RealClock(), 100_000.0, 100_000)
    async with (
        serve(Web(WebOptions.plain(hosts=HOSTS, pages_per_host=PAGES))) as web,
        journal_of(new_topic(1)) as journal,
    ):
        with (
            closing(RocksStore(tmp_path / "fingerprints", duplicates.TABLES)) as store,
            closing(Duplicates(store, tmp_path / "fingerprints", 0)) as claims,
        ):
            shared = LocalShared(claims, pace)
            yield web, lambda name: Node(name, tmp_path / name, place, journal, shared)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(90):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("end", ["in order", "lost"])
async def test_a_crawl_goes_on_at_a_node_that_has_nothing_of_it(
    end: str, nodes: tuple[Server, Callable[[str], Node]]
) -> None:
    web, node = nodes
    first, second = node("a"), node("b")
    async with first.worker() as (worker, _):
        await first.gain(worker)
        worker.add_seeds(0, [Seed(web.url(0))])
        await until(lambda: worker.partitions[0].pages > HOSTS * PAGES // 3)
        await (worker.revoked([0]) if end == "in order" else worker.lost([0]))
        if first.folder.links.exists():
            shutil.copytree(first.folder.links, second.folder.links, dirs_exist_ok=True)  # as if it were a topic
        asked = len(web.log.entries)
        async with second.worker() as (other, keeper):
            await second.gain(other)
            restored = keeper.restored[0]
            assert restored.how is not How.DISK and restored.mark.number > 0
            assert not restored.is_clean  # not even in order: clocks of two machines differ
            assert other.partitions[0].pages > 0
            await until(lambda: other.partitions[0].is_idle and not other.links.has_unread)
            assert len(web.log.entries) > asked
            await other.revoked([0])
        assert (await second.ownerships.released(0, 2)) is not None
    pages = Counter((entry.host, entry.path) for entry in web.log.entries if entry.path != "/robots.txt")
    assert len(pages) == HOSTS * PAGES and requests_at_once(web.log.entries) == []
    if end == "in order":
        assert max(pages.values()) == 1
