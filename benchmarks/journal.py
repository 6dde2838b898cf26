"""What does a journal cost a page, and how soon is a partition back from a snapshot and its journal?

    python -m benchmarks.journal [--urls 200_000] [--pages 2_000] [--json]

Starts a Kafka broker and an S3 server of the tests. Builds two frontiers alike, one with a journal and one without,
and works on pages of both in turns (a lease, 50 links of which 45 % are known, a finish; 20 pages a batch). Then the
disk is thrown away, and the partition restored: from a snapshot and the journal of those pages, from a disk that is
behind, and from the journal alone. CPU in the loop is that of the main thread, which means something on a machine
that others use, too; what the client's threads take is in the process's.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.frontier import crawl_like_links, outcome_of
from gossamer.archive.bucket import BucketStorage
from gossamer.clock import RealClock
from gossamer.cluster.kafka.client import Appender
from gossamer.cluster.kafka.journal import Journal
from gossamer.cluster.ownership import Ownerships
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.interfaces import Archive, OwnJournal
from gossamer.records import Link, Place
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.worker.partition import Partition
from gossamer.worker.restore import Restore
from gossamer.worker.snapshots import Snapshots
from tests.s3.server import SECRETS, server
from tests.servers.kafka import kafka

HOSTS = 20_000
LINKS, PAGES = 50, 20  # of a page, of a batch


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the journal, snapshots and restoring.")
    parser.add_argument("--urls", type=int, default=200_000)
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gossamer-journal-"))
    try:
        facts = asyncio.run(measure(folder, arguments.urls, arguments.pages))
    finally:
        shutil.rmtree(folder)
    print(json.dumps(facts) if arguments.json else "\n".join(f"{name:<34} {value}" for name, value in facts.items()))


async def measure(folder: Path, urls: int, pages: int) -> dict[str, object]:
    clock, servers = RealClock(seed=1), kafka().bootstrap
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("journal", 1, 1)])["journal"].result(30)
    appender = Appender(servers, {}, clock)
    journal = Journal("journal", appender, servers, {})
    objects = BucketStorage(server().new_place(), server().options | SECRETS | {"timeout": "60s"})
    ownerships = Ownerships(objects, journal)
    restore = Restore(objects, ownerships, journal, clock, print)
    own = await ownerships.mint(0, "a")
    await restore(0, own.epoch, "a", folder / "a")
    mine = journal.begin(0, own.epoch, own.cut)
    store = RocksStore(folder / "a", TABLES, journal=mine)
    partition = Partition(0, opened(store, clock), cast("Archive", None), None, own.epoch, store)
    plain = RocksStore(folder / "plain", TABLES)
    without = opened(plain, clock)
    links = crawl_like_links(HOSTS, random.Random(1), 0)
    while partition.frontier.totals.known < urls:
        some = list(itertools.islice(links, 5000))
        without.add(some, sync=False)
        partition.frontier.add(some, sync=False)
        while mine.appended > mine.number + 20:  # noqa: ASYNC110
            await asyncio.sleep(0.001)  # a bound, as held_up is
    facts: dict[str, object] = {"urls": urls, "journal_mib_so_far": round(mine.bytes / 2**20, 1)}
    facts["store_mib"] = round(sum(file.stat().st_size for file in (folder / "a").iterdir()) / 2**20, 1)
    snapshots = Snapshots(objects, ownerships, journal, clock, folder / "copies", 900.0, print)
    began = time.perf_counter()
    manifest = await snapshots.take(partition, mine)
    assert manifest is not None
    facts["first_snapshot"] = f"{time.perf_counter() - began:.2f} s, {manifest.bytes / 2**20:.1f} MiB"
    shutil.copytree(folder / "a", folder / "behind")  # no file of it changes any more before the next batch
    facts |= await work(partition.frontier, without, mine, links, pages)
    without.close()
    plain.close()
    await mine.settled()
    partition.frontier.close()
    await mine.settled()
    store.close()
    await restored(facts, "snapshot_and_journal", restore, ownerships, folder / "b")
    (folder / "behind").rename(folder / "c")
    await restored(facts, "disk_behind", restore, ownerships, folder / "c")
    objects.remove(name for name in list(objects.names("snapshots/")) if "files" not in name)
    await restored(facts, "journal_alone", restore, ownerships, folder / "d")
    appender.close()
    return facts


async def work(
    followed: Frontier, without: Frontier, mine: OwnJournal, links: Iterator[Link], pages: int
) -> dict[str, object]:
    """What a page costs, in turns with a journal and without."""
    spent = {followed: [0.0, 0.0], without: [0.0, 0.0]}
    bytes_before = mine.bytes
    for turn in range(pages // PAGES):
        some = list(itertools.islice(links, LINKS * PAGES))
        for frontier in (followed, without) if turn % 2 else (without, followed):  # the second finds warm caches
            loop_s, all_s = time.thread_time(), time.process_time()
            one_batch(frontier, some)
            spent[frontier][0] += time.thread_time() - loop_s
            while mine.appended > mine.number:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            spent[frontier][1] += time.process_time() - all_s
    facts: dict[str, object] = {"pages": pages}
    for frontier, name in ((followed, "with_journal"), (without, "without")):
        facts[f"loop_us_a_page_{name}"] = round(spent[frontier][0] / pages * 1e6)
        facts[f"cpu_us_a_page_{name}"] = round(spent[frontier][1] / pages * 1e6)
    facts["journal_bytes_a_page"] = round((mine.bytes - bytes_before) / pages)
    return facts


def one_batch(frontier: Frontier, links: list[Link]) -> None:
    frontier.add(links, sync=False)
    leases = frontier.lease(PAGES)
    outcomes = [outcome_of(lease) for lease in leases]
    for outcome in outcomes:
        frontier.answered(outcome.lease, outcome.result)
    places = [Place("000-00000.warc.gz", n, 99) for n in range(len(outcomes))]
    frontier.finish(outcomes, places, Place("000-00000.warc.gz", 1, 0))


async def restored(
    facts: dict[str, object], name: str, restore: Restore, ownerships: Ownerships, folder: Path
) -> None:
    own = await ownerships.mint(0, folder.name)
    began = time.process_time()
    found = await restore(0, own.epoch, folder.name, folder)
    cpu_s, pace = time.process_time() - began, found.entries / found.seconds
    applied = f"{found.entries:,} entries in {found.batches:,} batches, {pace:,.0f}/s"
    facts[f"restore_{name}"] = f"{found.how}: {found.seconds:.2f} s ({cpu_s:.2f} s CPU), {applied}"


def opened(store: RocksStore, clock: RealClock) -> Frontier:
    settings = FrontierSettings(host_queue_max=10**9)
    return Frontier.open(store, store.folder, clock, lambda link: None, settings, PolitenessSettings(delay_s=0.0))


if __name__ == "__main__":
    main()
