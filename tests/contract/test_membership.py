"""Owners of partitions: assigned, revoked and lost while pages and links are under way. Judged by the access log."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import msgspec
import pytest

from gossamer.clock import RealClock
from gossamer.cluster.pace import Pace
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.shared import LocalShared
from gossamer.config import load
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.interfaces import LaterOwner
from gossamer.messages import worker_messages
from gossamer.process.fingerprints import duplicates
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.records import Seed
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from gossamer.worker.partition import Snapshot
from gossamer.worker.worker import Worker
from tests.crawl.command import QUICK

PARTITIONS, HOSTS, PAGES = 4, 6, 25


class Stage:
    """A crawl's folder, and workers in it that nobody supervises."""

    def __init__(self, folder: Path, server: Server, shared: LocalShared) -> None:
        self.folder = CrawlFolder(folder)
        self.folder.create()
        self.server = server
        self._shared = shared
        settings: dict[str, object] = {
            **QUICK,
            "crawl.partitions": PARTITIONS,
            "crawl.scope": "any",
            "crawl.allow_private": True,
            "politeness.delay_s": 0.02,
            "fetch.timeout_s": 30,  # requests are counted here: none is given up because the machine is busy
            "fetch.connect_timeout_s": 30,
        }
        self._tree = load(folder, None, settings).tree

    @asynccontextmanager
    async def worker(self, number: int) -> AsyncIterator[Worker]:
        order = worker_messages.Welcome(str(self.folder.path), self._tree)
        async with Worker(number, order, self._shared, print) as worker:
            worker.crawl.is_paused = False
            run = asyncio.create_task(worker.run())
            try:
                yield worker
            finally:
                worker.crawl.stop()
                await run

    @property
    def requests(self) -> int:
        return len(self.server.log.entries)


@pytest.fixture
async def stage(folder: Path) -> AsyncIterator[Stage]:
    pace = Pace(RealClock(), 100_000.0, 100_000)
    async with serve(Web(WebOptions.plain(hosts=HOSTS, pages_per_host=PAGES))) as server:
        with (
            closing(RocksStore(folder / "fingerprints", duplicates.TABLES)) as store,
            closing(Duplicates(store, folder / "fingerprints", 0)) as claims,
        ):
            yield Stage(folder / "crawl", server, LocalShared(claims, pace))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def add_seeds(worker: Worker, stage: Stage) -> None:
    seed = Seed(stage.server.url(0))
    for number in worker.partitions:
        if number == partition_of(seed.url, PARTITIONS):
            worker.add_seeds(number, [seed])


def is_over(*workers: Worker) -> bool:
    partitions = [partition for worker in workers for partition in worker.partitions.values()]
    return all(partition.is_idle for partition in partitions) and not any(each.links.has_unread for each in workers)


async def test_a_worker_that_was_not_sure_of_its_partitions_goes_on_when_it_is_again(stage: Stage) -> None:
    def ask(owned_until: float) -> worker_messages.Ask:
        return worker_messages.Ask(is_paused=False, give_back=False, owned_until=owned_until)

    async with stage.worker(0) as worker:
        worker.handle(ask(0.0))
        await worker.assigned(range(PARTITIONS), 1)
        add_seeds(worker, stage)
        await asyncio.sleep(0.3)  # it has looked, found that it may not ask, and nothing else will wake it
        assert stage.requests == 0
        worker.handle(ask(worker.clock.boottime() + 60))
        await until(lambda: is_over(worker))
        assert stage.requests == HOSTS * (PAGES + 1)  # and robots.txt


async def test_partitions_move_to_and_fro_and_every_page_is_fetched_once(stage: Stage) -> None:
    async with stage.worker(0) as first, stage.worker(1) as second:
        await first.assigned(range(PARTITIONS), 1)
        add_seeds(first, stage)
        epoch, owner, other = 1, first, second
        for number in (0, 1, 2, 3, 2, 0):
            before = stage.requests
            await until(lambda before=before: stage.requests > before + 5 or is_over(first, second))  # type: ignore[misc]
            giver, taker = (owner, other) if number in owner.partitions else (other, owner)
            epoch += 1
            await giver.revoked([number])
            await taker.assigned([number], epoch)
        await until(lambda: is_over(first, second))
    assert pages_of(stage) == Counter(dict.fromkeys(pages_of(stage), 1))
    assert len(pages_of(stage)) == HOSTS * PAGES


async def test_what_is_lost_is_not_asked_for_any_more_and_its_next_owner_finishes_it(stage: Stage) -> None:
    async with stage.worker(0) as first:
        await first.assigned(range(PARTITIONS), 1)
        add_seeds(first, stage)
        await until(lambda: stage.requests > 20)
        open_ = first.crawl.in_flight
        assert open_
        await first.lost(range(PARTITIONS))
        assert first.crawl.in_flight == 0 and first.crawl.is_idle
        asked = stage.requests
        async with stage.worker(1) as second:
            assert await second.assigned(range(PARTITIONS), 2) == {}
            await until(lambda: stage.requests > asked + 20)
            await until(lambda: is_over(second))
            known = sum(partition.totals.pages for partition in second.partitions.values())
        assert not first.partitions
    assert known == HOSTS * PAGES
    again = [url for url, count in pages_of(stage).items() if count > 1]
    assert len(again) <= open_  # what was being asked for or not committed


async def test_an_owner_of_an_earlier_epoch_is_turned_away_and_has_touched_nothing(stage: Stage) -> None:
    seed = Seed(stage.server.url(0))
    number = partition_of(seed.url, PARTITIONS)
    async with stage.worker(0) as first, stage.worker(1) as second:
        await first.assigned([number], 5)
        first.add_seeds(number, [seed])  # a partition that nothing has come to has no store, and nothing to guard
        await first.revoked([number])
        before = rows_of(stage.folder.partition(number))
        for epoch in (4, 5):
            with pytest.raises(LaterOwner):
                await second.assigned([number], epoch)
        assert rows_of(stage.folder.partition(number)) == before
        assert await second.assigned([number], 6) == {}


async def test_partitions_that_are_lost_while_they_are_given_up_are_gone_once(stage: Stage) -> None:
    async with stage.worker(0) as first:
        await first.assigned(range(PARTITIONS), 1)
        add_seeds(first, stage)
        await until(lambda: stage.requests > 20)
        first.crawl.page_limit.left = 1000 - first.pages
        giving_up = asyncio.ensure_future(first.revoked(range(PARTITIONS)))
        await asyncio.sleep(0)
        pages = first.pages
        await first.lost(range(PARTITIONS))
        await asyncio.wait_for(giving_up, 20)
        assert not first.partitions and first.crawl.in_flight == 0
        await asyncio.wait_for(first.crawl.commit(), 20)  # whatever was on its way is dropped
        assert first.crawl.page_limit.held == 1000 - pages


async def test_a_partition_that_is_lost_while_it_is_opened_is_not_ours(stage: Stage) -> None:
    async with stage.worker(0) as first, stage.worker(1) as second:
        opening = asyncio.ensure_future(first.assigned(range(PARTITIONS), 1))
        await asyncio.sleep(0)
        await first.lost([0, 3])
        assert await opening == {}
        assert sorted(first.partitions) == [1, 2]
        assert await second.assigned([0, 3], 2) == {}


async def test_a_snapshot_is_the_state_of_one_moment_and_can_be_owned(stage: Stage, folder: Path) -> None:
    number = partition_of(stage.server.url(0), PARTITIONS)
    async with stage.worker(0) as first:
        await first.assigned([number], 1)
        add_seeds(first, stage)
        partition = first.partitions[number]
        await until(lambda: partition.pages > 5)
        snapshot = await partition.snapshot(folder / "snapshots")
        pages = partition.pages
        await until(lambda: partition.pages > pages + 5)
        await first.revoked([number])
    copy = folder / "snapshots" / snapshot.name
    assert msgspec.json.decode((copy / "snapshot.json").read_bytes(), type=Snapshot) == snapshot
    assert snapshot.name == f"{number:03d}e1-00001"
    with closing(RocksStore(copy, TABLES, read_only=True)) as store:
        meta = PartitionReader(store).meta()
    assert (meta.epoch, meta.log_position, meta.archive_end) == (1, snapshot.log_position, snapshot.archive_end)
    assert meta.totals.pages == pages
    shutil.rmtree(stage.folder.partition(number))
    shutil.copytree(copy, stage.folder.partition(number))
    async with stage.worker(1) as second:
        await second.assigned([number], 2)
        await until(lambda: is_over(second))
        assert second.pages > pages


def rows_of(folder: Path) -> list[tuple[str, bytes, bytes]]:
    with closing(RocksStore(folder, TABLES, read_only=True)) as store:
        return [(table, *row) for table in TABLES for row in store.scan(table)]


def pages_of(stage: Stage) -> Counter[tuple[str, str]]:
    entries = stage.server.log.entries
    return Counter((entry.host, entry.path) for entry in entries if entry.path != "/robots.txt")
