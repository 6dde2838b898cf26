"""Operating a cluster from anywhere: create a crawl, add seeds, steer it, and hear how its nodes are.

Everything goes over the board; no node is asked directly, and none has to be up. What is on the board is durable, and
in force on every node as soon as it has read it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from enum import Enum, auto
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from gossamer import config
from gossamer.archive.bucket import ArchiveRefused
from gossamer.clock import Clock
from gossamer.cluster.kafka import topics
from gossamer.cluster.kafka.board import Board
from gossamer.cluster.kafka.client import Appender, KafkaAway, KafkaRefused, greet
from gossamer.cluster.kafka.link_topic import KafkaLinkLog
from gossamer.cluster.kafka.topics import Topics
from gossamer.config import FILE_NAME, ConfigError
from gossamer.folder import FolderError
from gossamer.interfaces import JournalLost, LaterOwner
from gossamer.messages.node_messages import CarriedOut
from gossamer.node import recovery
from gossamer.node.coordinator import current
from gossamer.node.instructions import INSTRUCTIONS, What, carried_out
from gossamer.node.recovery import Accepted
from gossamer.node.report import WORK, Ended, NodeReport, ended, last_of
from gossamer.records import Link, Seed
from gossamer.settings import ClusterSettings, Tree
from gossamer.text import COMMAND

SEEDS_AT_ONCE = 2000  # of one entry on the board: with the longest URLs it still fits
SILENT_S = 10.0  # a node that is up reports every second
WAIT_S = 180.0  # for nodes that are up


class Waited(Enum):
    DONE = auto()
    LATE = auto()  # nodes are up, and have not done all of it yet
    NOBODY = auto()  # is up


def check_settings(tree: Tree) -> None:
    """What a cluster cannot do without."""
    for key, value in (("cluster.name", tree.cluster.name), ("cluster.kafka", tree.cluster.kafka)):
        if not value:
            raise ConfigError(f"{key} is not set: a cluster has a name, and Kafka (docs/cluster.md)")
    if not tree.archive.url:
        raise ConfigError("archive.url is not set: the nodes of a cluster share an archive, as in s3://bucket/prefix")
    if tree.cluster.margin_s >= tree.cluster.session_s:
        raise ConfigError("cluster.margin_s has to be below cluster.session_s: no moment would be safe")


@contextmanager
def faults_told() -> Iterator[None]:
    """Faults of the servers as a person should read them."""
    try:
        yield
    except* (KafkaRefused, KafkaAway, ArchiveRefused, JournalLost, LaterOwner) as faults:
        fault: BaseException = faults
        while isinstance(fault, BaseExceptionGroup):
            fault = fault.exceptions[0]
        raise FolderError(str(fault)) from faults


class ClusterClient:
    def __init__(self, settings: ClusterSettings, appender: Appender, board: Board, clock: Clock) -> None:
        self.board = board
        self.appender = appender
        self._settings = settings
        self._clock = clock

    @classmethod
    @asynccontextmanager
    async def connected(cls, settings: ClusterSettings, clock: Clock) -> AsyncIterator[ClusterClient]:
        """Raises `FolderError` where there is no such crawl, `KafkaRefused` where brokers do not take us, and
        `KafkaAway`."""
        await asyncio.to_thread(greet, settings.kafka, settings.kafka_options)
        async with AsyncExitStack() as opened:
            appender = Appender(settings.kafka, settings.kafka_options, clock)
            opened.callback(appender.close)
            try:
                board = await Board.open(Topics(settings.name).board, settings, appender, clock)
            except KafkaRefused as fault:  # Kafka does not show topics to those who may not see them
                if "authorization" in str(fault) or await topics.exist(settings):
                    raise
                raise FolderError(
                    f"there is no crawl called {settings.name} yet: `{COMMAND} crawl --cluster FILE URL` begins one"
                ) from fault
            opened.push_async_callback(board.close)
            yield cls(settings, appender, board, clock)

    async def write(self, files: Mapping[str, bytes]) -> None:
        """What the crawl is: its settings, and what decides where a URL belongs."""
        for key, value in files.items():
            entry = self.board.get(key)
            if entry is None or entry.value != value:
                await self.board.put(key, value)
        await self.board.fence()

    async def add_seeds(self, seeds: Iterable[Seed]) -> int:
        """On the board: every node learns what is in scope, and the coordinator sends them to their partitions."""
        count, rest = 0, iter(seeds)
        while some := list(islice(rest, SEEDS_AT_ONCE)):
            await self.board.put(f"seeds/{self._name()}", msgspec.json.encode(some))
            count += len(some)
        await self.board.fence()
        return count

    def _name(self) -> str:
        """For an entry that nobody else writes; names sort as they were made."""
        return f"{self._clock.now():017.6f}-{self._clock.random.getrandbits(32):08x}"

    async def set_paused(self, why: str) -> None:
        await self.write({"paused": why.encode()})

    async def set_policies(self, policies: bytes) -> None:
        await self.write({"policies": policies})

    async def instruct(self, what: What) -> int:
        """Have something done by the owners of all partitions; its number."""
        number = await self.board.put(f"{INSTRUCTIONS}{self._name()}", msgspec.json.encode(what))
        await self.board.fence()
        return number

    async def append_links(self, groups: Iterable[Mapping[int, Sequence[Link]]], partitions: int) -> int:
        """Links that come from no page of now. First to their topic, then a word on the board: an end that knew
        nothing of them counts no more."""
        log, count = KafkaLinkLog(self._settings, partitions, self.appender, self._clock), 0
        try:
            for some in groups:
                await log.append(some)
                count += sum(map(len, some.values()))
        finally:
            log.close()
        await self._begin_again()
        return count

    async def accept_loss(self, partition: int) -> None:
        await self.board.put(recovery.key_of(partition), msgspec.json.encode(Accepted(self._clock.now())))
        await self._begin_again()

    async def _begin_again(self) -> None:
        """There is something to do that an earlier end knew nothing of."""
        await self.board.put("again", self._name().encode())
        await self.board.fence()

    async def carried_out(self, number: int, partitions: int, most_s: float = WAIT_S) -> tuple[Waited, CarriedOut]:
        """Wait until the owners of all partitions have followed an instruction."""
        waited = await self.until(lambda reports: not carried_out(reports, number, partitions)[0], most_s)
        missing, urls = carried_out(self.reports(), number, partitions)
        return waited, CarriedOut(urls, len(missing))

    async def until(self, is_done: Callable[[Mapping[str, NodeReport]], bool], most_s: float = WAIT_S) -> Waited:
        """Wait until the reports of the nodes say so; at most so long, and not where nobody is up."""
        news = asyncio.Event()
        heard_at = began_at = self._clock.now()

        def changed(key: str, _value: bytes | None) -> None:
            nonlocal heard_at
            if key.startswith("node/"):
                heard_at = self._clock.now()
                news.set()

        self.board.subscribe(changed)
        try:
            while not is_done(self.reports()):
                if self._clock.now() >= heard_at + SILENT_S:
                    return Waited.NOBODY
                if self._clock.now() >= began_at + most_s:
                    return Waited.LATE
                news.clear()
                await self._clock.wait(news, min(heard_at + SILENT_S, began_at + most_s))
            return Waited.DONE
        finally:
            self.board.unsubscribe(changed)

    async def stop(self) -> None:
        """All nodes finish what is in flight and end."""
        await self.board.put("ending", msgspec.json.encode(Ended("interrupted", self._clock.now(), "")))
        await self.board.fence()

    async def go_on(self) -> None:
        await self.board.fence()
        if self.board.get("ending") is not None:
            await self.board.delete("ending")
            await self.board.fence()

    def crawl(self, file: Path) -> Tree:
        """What was chosen for the crawl. Raises FolderError where there is none."""
        if (entry := self.board.get("crawl")) is None:
            raise FolderError(f"{self._settings.name} is no crawl yet: `{COMMAND} crawl --cluster {file} URL`")
        with TemporaryDirectory(prefix="gossamer-") as temporary:
            (Path(temporary) / FILE_NAME).write_bytes(entry.value)
            return config.load(Path(temporary), file).tree

    def is_read_by(self, reports: Mapping[str, NodeReport]) -> bool:
        """Whether all nodes have what operators wrote."""
        last = last_of(self.board, WORK)
        return bool(reports) and all(report.outside >= last for report in reports.values())

    def is_recovered(self, partition: int, reports: Mapping[str, NodeReport]) -> bool:
        """Whether somebody owns it, and has taken back the word that a loss is accepted."""
        is_owned = any(partition in report.partitions for report in reports.values())
        return is_owned and self.board.get(recovery.key_of(partition)) is None

    def ending(self) -> Ended | None:
        return ended(self.board)

    def reports(self) -> dict[str, NodeReport]:
        """Of all nodes that own something, or were heard of lately."""
        entries = [entry for key in self.board.keys("node/") if (entry := self.board.get(key)) is not None]
        reports = (msgspec.json.decode(entry.value, type=NodeReport) for entry in entries)
        return current({report.node: report for report in reports})


async def create_topics(tree: Tree, clock: Clock) -> list[str]:
    """Returns what a person should know of topics that were there already."""
    return await topics.create(tree.cluster, tree.crawl.partitions, clock)
