"""How soon is a large partition back on a machine that never had it: from a snapshot and the journal since?

    python -m benchmarks.restore [--urls 1_000_000 5_000_000] [--tail-pages 20_000] [--again 2] [--json]

For each size a partition is built by the frontier's own `add` (links as of a crawl, 45 % known already), with the
journal following to Kafka; a snapshot is taken by the keeper of a worker; then come so many pages of work (a lease,
50 links, a finish; 20 pages a batch), which are in the journal only. At 22 pages a second and partition, 20,000 pages
are what 15 minutes bring, which is the default of `cluster.snapshot_s`. Then another node restores it into an empty
folder. `open s` is what follows until it could lease: the store is opened, and the filter of known URLs built anew.

With `--again` so many further snapshots come before that, each after as many pages: `again bytes` is what one of them
uploads, in the mean, and `snapshot B/min` what that makes of a partition at that pace.

Kafka, SeaweedFS, and this process share the machine. CPU is that of this process, all its threads.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.cluster import object_sizes
from benchmarks.frontier import always_open, crawl_like_links
from benchmarks.journal import LINKS, PAGES, one_batch
from benchmarks.reference import took_once_ms
from gossamer.archive.bucket import BucketStorage
from gossamer.clock import Clock, RealClock
from gossamer.cluster.kafka.client import Appender
from gossamer.cluster.kafka.journal import Journal, PartitionJournal
from gossamer.cluster.ownership import Ownerships
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.interfaces import Archive, Objects
from gossamer.local_servers.kafka import Kafka
from gossamer.local_servers.seaweedfs import BUCKET, SECRETS, SeaweedFS
from gossamer.records import Link
from gossamer.runtime.memory import steady_memory
from gossamer.schedule.planner import Planner
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.settings import FrontierSettings, PolitenessSettings, ProcessSettings, ScheduleSettings
from gossamer.worker.keeper import ClusterKeeper
from gossamer.worker.manifest import valid_manifests
from gossamer.worker.partition import Partition
from gossamer.worker.restore import Restored

HOSTS = 100_000
BATCH = 5_000  # links
PAGES_PER_S = 22  # of a partition
BEHIND_MAX = 20  # batches that Kafka has not acknowledged; a crawl bounds them by bytes
Row = dict[str, float | int | str]


class Builder:
    """Owns one partition, as a worker of a node does, and fills it without fetching anything."""

    def __init__(self, node: str, folder: Path, objects: Objects, journal: Journal, clock: Clock) -> None:
        self.node = node
        self._folder = folder
        self._clock = clock
        self._objects = objects
        self._ownerships = Ownerships(objects, journal)
        self._keeper = ClusterKeeper(
            node, objects, journal, clock, folder / "snapshots", tell, snapshot_s=900.0, settle_s=600.0
        )
        self.frontier: Frontier
        self.partition: Partition
        self.journal: PartitionJournal

    async def own(self, number: int) -> Restored:
        """Restore it, and do not open it yet."""
        (self._folder / "partitions").mkdir(parents=True, exist_ok=True)
        self._number, self._store_folder = number, self._folder / "partitions" / f"{number:03d}"
        self.epoch = (await self._ownerships.mint(number, self.node)).epoch
        restored, journal = await self._keeper.restore(number, self.epoch, self._store_folder)
        self.journal = cast("PartitionJournal", journal)
        return restored

    def open(self) -> None:
        store = self._store = RocksStore(self._store_folder, TABLES, journal=self.journal)
        planner = Planner(ScheduleSettings(), ProcessSettings(), RecrawlPlan())
        settings, polite = FrontierSettings(host_queue_max=10**9), PolitenessSettings(delay_s=0.0)
        self.frontier = Frontier.open(
            store, store.folder, self._clock, always_open, settings, polite, planner=planner, revisit_share=0.3
        )
        self.partition = Partition(self._number, self.frontier, cast("Archive", None), planner, self.epoch, store)

    async def add(self, links: Iterator[Link], known: int) -> None:
        """Until so many URLs are known."""
        while self.frontier.totals.known < known:
            self.frontier.add(list(itertools.islice(links, min(BATCH, 2 * known))), sync=False)
            await self._followed()

    async def work(self, links: Iterator[Link], pages: int) -> None:
        for _ in range(pages // PAGES):
            one_batch(self.frontier, list(itertools.islice(links, LINKS * PAGES)))
            await self._followed()

    async def _followed(self) -> None:
        while self.journal.appended > self.journal.number + BEHIND_MAX:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    async def snapshot(self) -> int:
        """Its bytes."""
        await self._keeper.opened(self.partition, needs_snapshot=True)
        history = await self._ownerships.history(self._number)
        return next(valid_manifests(self._objects, self._number, history)).bytes

    async def end(self) -> None:
        """In order."""
        await self.journal.settled()
        await self._keeper.closing(self.partition)
        self.frontier.close()
        await self.journal.settled()
        self._store.close()
        await self._keeper.closed(self.partition)


async def measure(folder: Path, sizes: list[int], tail_pages: int, again: int, *, as_json: bool) -> list[Row]:
    clock, rows = RealClock(seed=1), []
    with Kafka(folder / "kafka", heap="512m") as kafka, SeaweedFS(folder / "s3") as s3:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 2})
        admin.create_topics([NewTopic("journal", len(sizes), 1)])["journal"].result(30)
        appender = Appender(kafka.bootstrap, {}, clock)
        journal = Journal("journal", appender, kafka.bootstrap, {})
        objects = BucketStorage(f"s3://{BUCKET}/restore", s3.options | SECRETS | {"timeout": "60s"})
        for number, urls in enumerate(sizes):
            data = kafka.folder / "1" / "data" / f"journal-{number}"

            def uploaded() -> int:
                return sum(object_sizes(s3, "restore/snapshots/files/"))

            here = folder / str(number)
            rows.append(await one(here, number, urls, tail_pages, again, objects, journal, clock, data, uploaded))
            shutil.rmtree(here)
            if not as_json:
                print(
                    "\n".join(f"{name:<24} {told(value):>14}" for name, value in rows[-1].items()) + "\n", flush=True
                )
        appender.close()
    return rows


async def one(
    folder: Path,
    number: int,
    urls: int,
    pages: int,
    again: int,
    objects: Objects,
    journal: Journal,
    clock: Clock,
    data: Path,
    uploaded: Callable[[], int],
) -> Row:
    """`data`: where the broker keeps the partition's journal. `uploaded`: bytes of all snapshots so far."""
    row: Row = {"urls": urls, "tail pages": pages}
    links = crawl_like_links(HOSTS, random.Random(1), 1 << 20)
    first = Builder("first", folder / "first", objects, journal, clock)
    await first.own(number)
    first.open()
    began = time.perf_counter()
    await first.add(links, urls)
    row["build s"] = time.perf_counter() - began
    began = time.perf_counter()
    row["snapshot bytes"] = await first.snapshot()
    row["snapshot s"] = time.perf_counter() - began
    if again:
        row |= await taken_again(first, links, pages, again, uploaded)
    tell(", ".join(f"{name} {told(value)}" for name, value in row.items()))  # the rest takes minutes
    bytes_before, packed_before = first.journal.bytes, packed_bytes(data)
    began = time.perf_counter()
    await first.work(links, pages)
    row["tail made in s"] = time.perf_counter() - began
    await first.end()
    row["tail bytes"] = first.journal.bytes - bytes_before
    row["tail bytes packed"] = packed_bytes(data) - packed_before
    shutil.rmtree(folder / "first")
    second = Builder("second", folder / "second", objects, journal, clock)
    cpu_began = time.process_time()
    restored = await second.own(number)
    row["how"] = restored.how.value
    row["restore s"] = restored.seconds
    row["restore CPU s"] = time.process_time() - cpu_began
    row["tail entries"] = restored.entries
    row["tail batches"] = restored.batches
    began = time.perf_counter()
    second.open()
    second.frontier.lease(1)
    row["open s"] = time.perf_counter() - began
    row["known after"] = second.frontier.totals.known
    await second.end()
    row["reference ms"] = took_once_ms()
    return row


async def taken_again(
    owner: Builder, links: Iterator[Link], pages: int, times: int, uploaded: Callable[[], int]
) -> Row:
    bytes_before, took_s = uploaded(), 0.0
    for _ in range(times):
        await owner.work(links, pages)
        began = time.perf_counter()
        whole_bytes = await owner.snapshot()
        took_s += time.perf_counter() - began
    mean_bytes = (uploaded() - bytes_before) / times
    per_min = mean_bytes / (pages / PAGES_PER_S) * 60
    return {
        "again bytes": int(mean_bytes),
        "again s": took_s / times,
        "of bytes in all": whole_bytes,
        "snapshot B/min": int(per_min),
    }


def packed_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.log"))


def told(value: float | int | str) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--tail-pages", type=int, default=20_000)
    parser.add_argument("--again", type=int, default=0, help="further snapshots, each after as many pages")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    steady_memory()  # as a worker does
    folder = Path(tempfile.mkdtemp(prefix="gossamer-restore-"))
    try:
        rows = asyncio.run(measure(folder, asked.urls, asked.tail_pages, asked.again, as_json=asked.json))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if asked.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
