"""The crawl client of a whole cluster: what a crawl on one machine is asked over its socket, the board answers here.

Figures are those that nodes write there once a second, put together (node/watch.py). A pause, a policy, seeds and an
end are written on the board, and the answer waits a moment until all nodes that are at work have heard of it. What is
to be done at stores is an instruction to their owners (node/instructions.py); the answer says how many have followed
it by then. Of single pages nobody tells a server of the whole: events are changes of state alone.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from gossamer.api.crawl_client import ANSWER_S, FRESH_S, CrawlClient, no_answer
from gossamer.api.route import NoAnswer
from gossamer.clock import Clock
from gossamer.cluster.kafka.client import KafkaRefused
from gossamer.cluster.wire import Disconnected, Message
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.tables import Totals
from gossamer.messages import control_messages
from gossamer.messages.control_messages import (
    AS_ASKED,
    Now,
    Point,
    RecentPoints,
    ReleaseUrl,
    Retry,
    SeedsAdded,
)
from gossamer.messages.node_messages import CarriedOut, ClusterNow
from gossamer.node.mirror import Mirror
from gossamer.node.watch import Watch, Watched
from gossamer.records import Seed
from gossamer.seeds import SeedList
from gossamer.settings import Tree
from gossamer.supervisor.history import History
from gossamer.supervisor.seeding import accepted_seeds
from gossamer.worker.progress import by_class, troubles

T = TypeVar("T", bound=Message)
R = TypeVar("R")

HEARD_S, HEARD_LOOK_S = 5.0, 0.1  # until all nodes have heard of a change: they read the board at once
CARRIED_S = 9.0  # until all owners have done what they were told: a browser has 15 s of patience


class ClusterCrawlClient(CrawlClient):
    is_whole_cluster = True

    def __init__(self, file: Path, folder: CrawlFolder, tree: Tree, watch: Watch, clock: Clock) -> None:
        """`folder`: with what is on the board, and kept so from now on."""
        super().__init__(folder, clock, asyncio.ensure_future)
        self.where = file
        self._tree = tree
        self._watch = watch
        self._client = watch.client
        self._mirror = Mirror(self._client.board, folder)
        self._watched: Watched | None = None
        self._watched_at = 0.0
        self._watching = asyncio.Lock()
        self._at_start: Totals | None = None  # when this server first saw the crawl at work; None: it is not
        self._history: History | None = None
        self.when_ended: Callable[[], None] = lambda: None
        self._client.board.subscribe(self._changed)

    # ---- asking ------------------------------------------------------------------------------------------

    async def cluster(self) -> ClusterNow:
        return (await self.watched()).cluster

    async def watched(self) -> Watched:
        async with self._watching:
            if self._watched is None or self._clock.awake() >= self._watched_at + FRESH_S:
                self._watched = await self._watch.look()
                self._watched_at = self._clock.awake()
            return self._watched

    async def call(self, question: Message, wanted: type[T]) -> T:
        match question:
            case control_messages.AskNow():
                answer: Message = await self._of_now()
            case control_messages.AskRecent():
                answer = RecentPoints(list(self._history.recent) if self._history is not None else [])
            case control_messages.AddSeeds(seeds=seeds):
                answer = await self._within(self._add_seeds(seeds))
            case _:
                raise AssertionError(f"a cluster is not asked like this: {question}")
        assert isinstance(answer, wanted)
        return answer

    async def instructed(self, what: Retry | ReleaseUrl) -> CarriedOut:
        number = await self._within(self._client.instruct(what))
        return (await self._client.carried_out(number, self._tree.crawl.partitions, CARRIED_S))[1]

    async def tell(self, question: Message) -> None:
        assert isinstance(question, control_messages.Steer)
        self._now = self._watched = None
        if question.to == "drain":
            await self._within(self._client.stop())
        else:
            await self._within(self._client.set_paused(AS_ASKED if question.to == "pause" else ""))
            await self._heard("paused")
        self._now = self._watched = None

    async def policies_changed(self) -> None:
        await self._within(self._client.set_policies(msgspec.json.encode(self._folder.policies())))
        await self._heard("policies")

    async def _of_now(self) -> Now:
        watched = await self.watched()
        now = watched.now
        if now is None:
            if self._at_start is not None:
                self._at_start = None
                self.when_ended()
            raise Disconnected
        if self._at_start is None:
            self._at_start = now.totals
            self._history = History(self._folder.history, point_of(now))
        assert self._history is not None
        self._history.note(point_of(now))
        return replace(now, totals_at_start=self._at_start, pages_today=self._history.pages_today(now.totals.pages))

    # ---- changing ----------------------------------------------------------------------------------------

    async def _add_seeds(self, seeds: list[Seed]) -> SeedsAdded:
        let_in, refused = accepted_seeds(seeds, self._tree, self._folder.policies(), self._clock)
        known = SeedList(self._folder.path).index(self._tree.crawl.scope)
        new = [seed for url, seed in let_in.items() if not known.has(url)]
        await self._client.add_seeds(new)
        if new:
            await self._client.go_on()
        return SeedsAdded(len(new), len(seeds) - len(refused) - len(new), refused)

    async def _within(self, work: Awaitable[R]) -> R:
        """Kafka may be away: then it is not known whether this was done."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await work
        except TimeoutError:
            raise no_answer() from None
        except KafkaRefused as refused:
            raise NoAnswer(503, "refused_by_kafka", str(refused)) from None

    async def _heard(self, key: str) -> None:
        entry, until = self._client.board.get(key), self._clock.awake() + HEARD_S
        while entry is not None and self._clock.awake() < until:
            watched = await self._watch.look()
            reports = self._client.reports()
            at_work = {node.name for node in watched.cluster.nodes if node.state != "missing"}
            if all(report.outside >= entry.offset for name, report in reports.items() if name in at_work):
                return
            await self._clock.sleep(HEARD_LOOK_S)

    def _changed(self, key: str, _value: bytes | None) -> None:
        """What others change on the board is in the folder at once."""
        try:
            self._mirror.take(key, self._tree.crawl.scope)
        except OSError as fault:
            print(f"gossamer: what operators have changed cannot be written: {fault}", file=sys.stderr, flush=True)


def point_of(now: Now) -> Point:
    return Point(
        at=now.at,
        pages=now.totals.pages,
        bytes=now.totals.bytes,
        errors=troubles(now.errors),
        queued=now.totals.queued,
        waiting=now.totals.waiting,
        hosts=now.totals.hosts,
        memory_bytes=now.memory_bytes,
        started_at=now.started_at,
        duplicates=now.totals.duplicates,
        disk_free_bytes=now.disk_free_bytes,
        freshness=round(now.recrawl_plan.freshness, 4),
        statuses=by_class(now.statuses),
        fetch_s=now.fetch_s,
    )
