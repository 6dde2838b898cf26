"""What the tests of restoring share: a journal in a real Kafka, objects in a real S3 server, nodes with disks."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from gossamer.archive.bucket import BucketStorage
from gossamer.clock import RealClock
from gossamer.cluster.kafka.client import Appender
from gossamer.cluster.kafka.journal import Journal, PartitionJournal
from gossamer.cluster.ownership import Ownership, Ownerships
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.records import Claim, Exchange, Fetched, Lease, Link, Outcome, Page, Place
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.worker.restore import Restore, Restored
from tests.s3.server import SECRETS, server
from tests.servers.kafka import kafka

NUMBER = 3  # of the partition
_names = itertools.count()


def new_topic(partitions: int = 4) -> str:
    topic = f"journal-{os.getpid()}-{next(_names)}"
    admin = AdminClient({"bootstrap.servers": kafka().bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    return topic


@asynccontextmanager
async def journal_of(topic: str, bootstrap: str = "") -> AsyncIterator[Journal]:
    servers = bootstrap or kafka().bootstrap
    appender = Appender(servers, {}, RealClock())
    try:
        yield Journal(topic, appender, servers, {})
    finally:
        appender.close()


def objects_in(place: str, options: dict[str, str] | None = None) -> BucketStorage:
    """Patient: the machine that runs the tests may be busy."""
    return BucketStorage(place, (options or server().options) | SECRETS | {"timeout": "20s"})


@dataclass
class Cluster:
    """One partition of a crawl, and the nodes that own it one after the other."""

    folder: Path
    journal: Journal
    objects: BucketStorage
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ownerships = Ownerships(self.objects, self.journal)
        self.clock = RealClock(seed=1)

    def disk(self, node: str) -> Path:
        return self.folder / node / f"{NUMBER:03d}"

    async def mint(self, node: str) -> Ownership:
        return await self.ownerships.mint(NUMBER, node)

    async def restore(self, own: Ownership, *, accept_loss: bool = False) -> Restored:
        restore = Restore(self.objects, self.ownerships, self.journal, self.clock, self.said.append)
        return await restore(NUMBER, own.epoch, own.node, self.disk(own.node), accept_loss=accept_loss)

    def opened(self, own: Ownership) -> Owner:
        return Owner(self, own)

    async def gain(self, node: str) -> tuple[Owner, Restored]:
        own = await self.mint(node)
        restored = await self.restore(own)
        return self.opened(own), restored


class Owner:
    """A store with its journal, open on a node."""

    def __init__(self, cluster: Cluster, own: Ownership) -> None:
        self.own = own
        self.journal: PartitionJournal = cluster.journal.begin(NUMBER, own.epoch, own.cut)
        self.store = RocksStore(cluster.disk(own.node), TABLES, journal=self.journal)

    def write(self, *keys: str, journal: bool = True) -> None:
        """A batch for each; without `journal` its owner dies before they are sent."""
        if not journal:
            self.store._journal = Silent(self.journal)
        for key in keys:
            batch = self.store.batch()
            batch.put("urls", key.encode(), f"by {self.own.node} in {self.own.epoch}".encode())
            batch.delete("due", key.encode())
            self.store.write(batch, sync=False)


class Silent:
    """A journal whose messages reach nobody."""

    def __init__(self, journal: PartitionJournal) -> None:
        self.epoch, self.position = journal.epoch, journal.position

    def append(self, mark: object, entries: bytes) -> None: ...


def everything(folder: Path) -> dict[str, list[tuple[bytes, bytes]]]:
    store = RocksStore(folder, TABLES, read_only=True)
    try:
        return {table: list(store.scan(table)) for table in TABLES}
    finally:
        store.close()


def keys_in(folder: Path) -> list[str]:
    return [key.decode() for key, _ in everything(folder)["urls"]]


# ---- a frontier at work ----------------------------------------------------------------------------------


def opened_frontier(store: RocksStore, clock: RealClock) -> Frontier:
    limits, polite = FrontierSettings(active_hosts_max=200), PolitenessSettings(delay_s=0.0)
    return Frontier.open(store, store.folder, clock, lambda link: None, limits, polite)


def work(frontier: Frontier, clock: RealClock, turn: int) -> int:
    """Add links, lease, finish most of them; how many pages."""
    urls = [f"http://host{(turn * 7 + n) % 90}.test/a-page-{turn // 3}-{n % 11}.html" for n in range(120)]
    frontier.add([Link(url, "read on", "", "http://source.test/", 1) for url in urls], sync=False, position=turn)
    leases = frontier.lease(20)
    outcomes = [_outcome(lease, clock.now()) for lease in leases[: 1 + turn % 20]]
    for outcome in outcomes:
        frontier.answered(outcome.lease, outcome.result)
    places = [Place("000-00000.warc.gz", turn * 100 + n, 99) for n in range(len(outcomes))]
    frontier.finish(outcomes, places, Place("000-00000.warc.gz", turn * 100 + 99, 0))
    return len(outcomes)


def _outcome(lease: Lease, now: float) -> Outcome:
    exchange = Exchange(b"GET / HTTP/1.1", b"HTTP/1.1 200 OK\r\n", 200, "192.0.2.1", now, now, 0.0)
    return Outcome(
        lease,
        Fetched(exchange, b"body"),
        Page(lease.url, "text/html", "A title"),
        claim=Claim("ab" * 32, lease.url, now),
    )
