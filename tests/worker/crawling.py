"""A process that works on a partition until it is killed: `python -m tests.worker.crawling FOLDER ...`.

It prints `opened`, and then how many batches are acknowledged, again and again."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from gossamer.clock import RealClock
from gossamer.cluster.ownership import Ownerships
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.worker.restore import Restore
from tests.worker.places import NUMBER, journal_of, objects_in, opened_frontier, work


async def main(folder: Path, node: str, topic: str, bootstrap: str, place: str, options: dict[str, str]) -> None:
    clock, objects = RealClock(), objects_in(place, options)
    async with journal_of(topic, bootstrap) as journal:
        ownerships = Ownerships(objects, journal)
        own = await ownerships.mint(NUMBER, node)
        restored = await Restore(objects, ownerships, journal, clock, print)(NUMBER, own.epoch, node, folder)
        mine = journal.begin(NUMBER, own.epoch, own.cut)
        frontier = opened_frontier(RocksStore(folder, TABLES, journal=mine), clock)
        print("opened", own.epoch, restored.how, restored.batches, flush=True)
        turn = 1000 * own.epoch
        while True:
            work(frontier, clock, turn)
            turn += 1
            await asyncio.sleep(0)
            print("acknowledged", mine.number, flush=True)


if __name__ == "__main__":
    where, name, journal_topic, servers, objects_place, told = sys.argv[1:]
    asyncio.run(main(Path(where), name, journal_topic, servers, objects_place, json.loads(told)))
