"""A worker is killed at any moment, with its disk or without: the next owner has every batch that was acknowledged.

A real frontier adds, leases and finishes in a process of its own. The judge is a second store, to which the journal
is applied by the rule in its plainest form: owner by owner, batch by batch."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.interfaces import JournalEntry
from gossamer.worker.restore import How
from tests.s3.server import server
from tests.servers.kafka import kafka
from tests.worker.places import NUMBER, Cluster, everything, journal_of, new_topic, objects_in, opened_frontier


class Killed:
    """A worker in a process of its own, until its end."""

    def __init__(self, cluster: Cluster, topic: str, place: str) -> None:
        self._cluster, self._topic, self._place = cluster, topic, place

    async def run(self, node: str, batches: int) -> tuple[str, int]:
        """Until so many batches more are acknowledged; how it began, and the last it knew of."""
        told = [self._topic, kafka().bootstrap, self._place, json.dumps(server().options)]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.worker.crawling", str(self._cluster.disk(node)), node, *told),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        began, first, last = "", 0, 0
        try:
            async with asyncio.timeout(120):
                while first == 0 or last < first + batches:
                    line = (await process.stdout.readline()).decode()
                    assert line, "it died by itself"
                    if line.startswith("opened"):
                        began = line.strip()
                    elif line.startswith("acknowledged"):
                        last = int(line.split()[1])
                        first = first or last
        finally:
            process.kill()
            await process.wait()
        return began, last


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[tuple[Cluster, Killed]]:
    topic, place = new_topic(), server().new_place()
    async with journal_of(topic) as journal:
        cluster = Cluster(tmp_path, journal, objects_in(place))
        yield cluster, Killed(cluster, topic, place)


async def judged(cluster: Cluster, folder: Path, cut: int) -> dict[str, list[tuple[bytes, bytes]]]:
    """What the journal says, with no code of the restore."""
    entries: list[JournalEntry] = []
    async for some in cluster.journal.entries(NUMBER, 0, cut):
        entries += some
    records = (await cluster.ownerships.history(NUMBER)).records
    cuts = {
        record.epoch: (record.cut, *[later.cut for later in records if later.epoch > record.epoch])
        for record in records
    }
    number = 0
    with closing(RocksStore(folder, TABLES)) as store:
        for entry in entries:
            begin, *later = cuts[entry.mark.epoch]
            if begin <= entry.offset < min(later, default=cut) and entry.mark.number == number + 1:
                store.apply(entry.mark, entry.entries)
                number += 1
    return everything(folder)


@pytest.mark.parametrize("seed", [1, 2])
async def test_after_kill_and_loss_of_the_disk_every_table_is_what_was_acknowledged(
    seed: int, scene: tuple[Cluster, Killed]
) -> None:
    cluster, killed = scene
    chance = Random(seed)
    acknowledged = 0
    for node in ("a", "b"):
        began, acknowledged = await killed.run(node, chance.randrange(10, 120))
        shutil.rmtree(cluster.disk(node))
    assert "nothing" in began  # the second had only the journal
    own = await cluster.mint("c")
    restored = await cluster.restore(own)
    assert restored.how is How.NOTHING and restored.mark.number >= acknowledged and not restored.is_clean
    tables = everything(cluster.disk("c"))
    assert tables == await judged(cluster, cluster.folder / "judge", own.cut)
    assert len(tables["urls"]) > 100 and tables["leases"]
    with closing(RocksStore(cluster.disk("c"), TABLES)) as store:
        frontier = opened_frontier(store, cluster.clock)
        assert frontier.lease(10)
        frontier.close()


async def test_killed_with_its_disk_it_goes_on_where_it_was(scene: tuple[Cluster, Killed]) -> None:
    cluster, killed = scene
    acknowledged = 0
    for _ in range(3):
        began, acknowledged = await killed.run("a", 30)
    assert "disk" in began
    own = await cluster.mint("a")
    restored = await cluster.restore(own)
    assert restored.how is How.DISK and restored.mark.number >= acknowledged
    if not restored.needs_snapshot:  # all that it had written had reached the journal
        assert everything(cluster.disk("a")) == await judged(cluster, cluster.folder / "judge", own.cut)
