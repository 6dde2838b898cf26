"""A node: one machine's part of a cluster. Its supervisor works as on one machine; this is what it asks the others.

Partitions come and go by the consumer group (`join`), and each time one of them gets a worker somebody has to own it
in a new epoch (`begin`). Until when they are ours for certain (`owned_until`) goes to the workers with every round.
Reports go to the board, decisions come from there: an end, and pages that may be finished. Whoever owns partition 0
makes these decisions (coordinator.py).

Nothing here waits for a server: if Kafka is away, the last report stands, `owned_until` passes, and the workers ask
for nothing until it is back.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from gossamer import __version__
from gossamer.clock import Clock
from gossamer.cluster.kafka.board import Board, Entry
from gossamer.cluster.kafka.group import Group
from gossamer.interfaces import LaterOwner, Unreachable
from gossamer.messages.control_messages import Now
from gossamer.messages.node_messages import ClusterNow, NodeNow, PartitionNow
from gossamer.messages.worker_messages import Report
from gossamer.node.allowance import OwnAllowance
from gossamer.node.coordinator import ClusterCoordinator, Topic
from gossamer.node.instructions import INSTRUCTIONS, Instructions
from gossamer.node.mirror import Mirror, is_outside
from gossamer.node.ranks import RanksFollower
from gossamer.node.recovery import Recovery
from gossamer.node.recrawl import NodeRecrawl
from gossamer.node.report import COUNTED, Allowance, Decisions, NodeReport, PartitionReport, ended
from gossamer.node.watch import for_board, packed
from gossamer.records import Place
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.settings import Tree
from gossamer.supervisor.coordinator import Coordinator
from gossamer.supervisor.status import CrawlStatus
from gossamer.supervisor.worker_pool import WorkerPool
from gossamer.worker.progress import memory_bytes

REPORT_S = 1.0
LAST_WORD_S = 5.0  # for the last report of a node that ends: Kafka may be away
CERTAIN_S = 0.05  # between two looks whether it is certain by now that a partition is ours
AWAY_S, AWAY_S_MAX = 0.5, 15.0  # between two tries to own a partition while the object store is away


@dataclass(frozen=True)
class Connections:
    """What a node has open for as long as it lives."""

    board: Board
    mint: Callable[[int, Callable[[], bool]], Awaitable[int]]  # a new epoch of a partition, while it is ours
    links: Topic
    ranks: RanksFollower


class Node:
    """Implements `supervisor.Cluster`."""

    def __init__(
        self,
        identity: str,
        config: Tree,
        clock: Clock,
        connections: Connections,
        mirror: Mirror,
        group_topic: str,
        keep_plan: Callable[[RecrawlPlan], None],
    ) -> None:
        """`identity`: NAME/ID, see `run.keep_name`. `keep_plan`: told each new recrawl plan."""
        self.name = identity.partition("/")[0]
        self.identity = identity
        self.pages = 0  # that this node has fetched since it started
        self._config = config
        self._clock = clock
        self._board = connections.board
        self._connections = connections
        self._mirror = mirror
        self._group_topic = group_topic
        self._group: Group | None = None
        self._pool: WorkerPool | None = None
        self._allowance = OwnAllowance(clock, config.cluster.session_s)
        self._instructions = Instructions(self._board, config.crawl.partitions)
        self.recrawl = NodeRecrawl(self._board, config.schedule, clock, self._own_epochs, keep_plan)
        self._recovery = Recovery(self._board, clock)
        self._ranks = connections.ranks
        self._decisions = Decisions("", -1)
        self._unmirrored: deque[str] = deque()  # keys of the board that have changed
        self._mine: Collection[int] = ()  # partitions, as the pool has them
        self._epochs: dict[int, int] = {}
        self._make: Callable[[], tuple[NodeReport, Now]] | None = None  # what there is to tell at this moment
        self._reporting: asyncio.Task[None] | None = None
        self._reported_at = 0.0
        self._links_read_at = 0.0
        self._coordinator: ClusterCoordinator | None = None
        self._say: Callable[[str], None] = lambda text: None

    # ---- partitions --------------------------------------------------------------------------------------

    async def begin(self, partition: int) -> int:
        """Raises `LaterOwner` when the partition is not ours any more: then nobody hears of us."""
        wait_s = AWAY_S
        while partition in self._mine:
            if not self._is_certain:
                await self._clock.sleep(CERTAIN_S)
                continue
            try:
                minted = self._connections.mint(partition, lambda: self._is_certain and partition in self._mine)
                epoch = self._epochs[partition] = await minted
                return epoch
            except LaterOwner:
                pass
            except Unreachable as away:
                self._say(f"partition {partition} cannot be opened yet: {away}")
                await self._clock.sleep(wait_s)
                wait_s = min(2 * wait_s, AWAY_S_MAX)
        raise LaterOwner(f"partition {partition} is another node's")

    def _own_epochs(self) -> dict[int, int]:
        """Of the partitions that a worker of ours owns, or is about to."""
        return {number: self._epochs[number] for number in self._mine if number in self._epochs}

    @property
    def _is_certain(self) -> bool:
        return self._clock.boottime() < self.owned_until

    def join(self, pool: WorkerPool, say: Callable[[str], None]) -> None:
        self._say = say
        self._pool, self._mine = pool, pool.mine
        pool.accepts_loss = self._recovery.is_accepted

        async def assigned(partitions: frozenset[int]) -> None:
            pool.gain(partitions)

        async def revoked(partitions: frozenset[int]) -> None:
            await pool.let_go(partitions)

        def lost(partitions: frozenset[int]) -> None:
            pool.lose(partitions)
            self._allowance.begin_anew()

        self._board.subscribe(self._changed)
        self._instructions.read()
        self._mirror.write(self._config.crawl.scope)  # what came since the first time, before anybody was told
        self._hear_decisions(self._board.get("coordinator"))
        self._group = Group(self._group_topic, self.name, self._config.cluster, self._clock, assigned, revoked, lost)

    async def leave(self) -> None:
        """Give up everything in order; others have it about a second later. The last report stands until then."""
        last = self._make() if self._make is not None else None
        if self._group is not None:
            await self._group.leave()
        if self._reporting is not None:
            self._reporting.cancel()
        for part in (self.recrawl, self._instructions, self._recovery, self._ranks):
            part.close()
        if last is not None and not self._board.held_up:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORD_S):
                    report = msgspec.structs.replace(last[0], in_flight=0, pages_left=0, pages_spare=0)
                    await self._put(report, msgspec.structs.replace(last[1], in_flight=0))

    @property
    def owned_until(self) -> float:
        return self._group.owned_until if self._group is not None else 0.0

    @property
    def held_up(self) -> str:
        if self._group is None:
            return ""
        state = self._group.state
        return state.held_up if state.partitions or not state.rebalances else ""

    # ---- links ---------------------------------------------------------------------------------------------

    def links_read(self) -> dict[int, int] | None:
        """Now and then: how far the owner of each partition has read its links, as it has reported last. Nobody waits
        for a partition that cannot be opened: what goes there is kept by Kafka, and then it is gone."""
        now = self._clock.now()
        if now - self._links_read_at < REPORT_S:
            return None
        self._links_read_at = now
        entries = [entry for key in self._board.keys("node/") if (entry := self._board.get(key)) is not None]
        reports = [msgspec.json.decode(entry.value, type=NodeReport) for entry in entries]
        last: dict[int, PartitionReport] = {}
        for report in reports:
            for number, each in report.partitions.items():
                if number not in last or each.epoch > last[number].epoch:
                    last[number] = each
        read = {number: each.position for number, each in last.items()}
        return read | {number: sys.maxsize for report in reports for number in report.damage}

    # ---- sinks ---------------------------------------------------------------------------------------------

    def sink_positions(self) -> dict[str, dict[int, Place]]:
        """How far each sink came, by target and partition, as it stands on the board."""
        found: dict[str, dict[int, Place]] = {}
        for key in self._board.keys("sink/"):
            target, _, number = key.removeprefix("sink/").rpartition("/")
            if (entry := self._board.get(key)) is not None:
                found.setdefault(target, {})[int(number)] = msgspec.json.decode(entry.value, type=Place)
        return found

    async def note_sink(self, target: str, positions: Mapping[int, Place]) -> None:
        puts = [
            self._board.put(f"sink/{target}/{number:03d}", msgspec.json.encode(at))
            for number, at in positions.items()
        ]
        await asyncio.gather(*puts)

    # ---- rounds ------------------------------------------------------------------------------------------

    def ending(self) -> str:
        """Why the crawl is over, by what the coordinator says; empty: it is not."""
        end = ended(self._board)
        return end.why if end is not None else ""

    @property
    def outside(self) -> int:
        return self._mirror.outside

    @property
    def wants_back(self) -> bool:
        return self._allowance.wants_back

    def before_round(self) -> None:
        """Pages that may be others' by now are taken back with the same message that lets workers go on."""
        self._allowance.look()
        self._ranks.look(self._say)
        if self._group is not None and self._group.is_fenced and self._pool is not None:
            self._group.abandon()
            self._pool.trouble = (
                f"another node called {self.name} has joined, in another folder or on another machine: this one "
                "ends, and the other has its partitions. Give one of them another --name and --dir"
            )
        if self._pool is not None:
            self._recovery.round(self._pool)

    def round(
        self,
        coordinator: Coordinator[int, Report],
        reports: Mapping[int, Report],
        pool: WorkerPool,
        status: CrawlStatus,
    ) -> dict[int, int]:
        """After the workers have reported; returns how many pages each may finish more."""
        self.pages += sum(report.news.pages for report in reports.values())
        self._allowance.to_hand_out += sum(report.pages_returned for report in reports.values())
        self._catch_up()
        self._instructions.round(reports, pool)
        allowances: dict[int, int] = {}
        if self._config.crawl.max_pages is not None:
            allowances = self._allowance.hand_out(coordinator, are_wanted_back=self._decisions.wants_back)
        self._report(coordinator, pool, status)
        return allowances

    def meanwhile(self, coordinator: Coordinator[int, Report], pool: WorkerPool, status: CrawlStatus) -> None:
        """Restoring may take minutes: what is open is told, and that we are not idle."""
        self._catch_up()
        self._report(coordinator, pool, status)

    def _report(self, coordinator: Coordinator[int, Report], pool: WorkerPool, status: CrawlStatus) -> None:
        """Once a second."""
        now = self._clock.now()
        if now - self._reported_at >= REPORT_S and (self._reporting is None or self._reporting.done()):
            if self._reporting is not None:
                self._reporting.result()
            self._reported_at = now
            self._reporting = asyncio.ensure_future(self._tell(self._made(coordinator, pool, status), status.now()))
        self._make = lambda: (self._made(coordinator, pool, status), status.now())

    def _hear_decisions(self, entry: Entry | None) -> None:
        if entry is not None:
            decisions = msgspec.json.decode(entry.value, type=Decisions)
            if decisions.epoch >= self._decisions.epoch:
                self._decisions = decisions

    def _hear_allowance(self, entry: Entry | None) -> None:
        if entry is not None:
            self._allowance.hear(msgspec.json.decode(entry.value, type=Allowance), self._decisions.epoch)

    def _made(self, coordinator: Coordinator[int, Report], pool: WorkerPool, status: CrawlStatus) -> NodeReport:
        reports = coordinator.reports
        partitions = {
            number: PartitionReport(
                self._epochs.get(number, 0),
                report.positions[number],
                **{name: getattr(totals, name) for name in COUNTED},
                instructed=report.instructed.get(number, []),
            )
            for report in reports.values()
            for number, totals in report.totals.items()
            if number in pool.mine
        }
        is_covered = partitions.keys() == pool.mine - pool.damage.keys()
        return NodeReport(
            node=self.name,
            started_at=self._allowance.started_at,
            at=self._clock.now(),
            partitions=partitions,
            in_flight=sum(report.in_flight for report in reports.values()),
            is_idle=is_covered
            and all(report.is_idle and self._instructions.are_done(report) for report in reports.values()),
            outside=min((each for each in coordinator.outsides if isinstance(each, int)), default=self.outside),
            allowed=self._allowance.allowed,
            pages_left=self._allowance.to_hand_out + coordinator.held(),
            pages_spare=self._allowance.to_hand_out + sum(report.pages_spare for report in reports.values()),
            pages_per_s=status.progress.rates()[0],
            workers=len(reports),
            memory_bytes=memory_bytes() + sum(report.memory_bytes for report in reports.values()),
            held_up=self.held_up or status.paused,
            damage={number: text for number, text in pool.damage.items() if number in pool.mine},
            version=__version__,
        )

    def now(self, status: CrawlStatus) -> ClusterNow:
        """This node, for whoever looks at its folder."""
        pool, now = status.pool, self._clock.now()
        reports = {member.number: member.report for member in pool.members.values() if member.report is not None}
        partitions = [
            PartitionNow(number, self._epochs.get(number, 0), report.positions[number], packed(totals), kept)
            for report in reports.values()
            for number, totals in report.totals.items()
            if number in pool.mine and (kept := report.kept.get(number)) is not None
        ]
        state = self._group.state if self._group is not None else None
        node = NodeNow(
            self.name,
            now,
            self._allowance.started_at,
            tuple(sorted(partitions, key=lambda each: each.number)),
            opening=len(pool.mine - pool.damage.keys()) - len(partitions),
            workers=len(reports),
            memory_bytes=status.memory_bytes,
            pages_per_s=status.progress.rates()[0],
            in_flight=sum(report.in_flight for report in reports.values()),
            held_up=self.held_up or status.paused,
            shared_away=next((report.shared_away for report in reports.values() if report.shared_away), ""),
            damage={number: text for number, text in pool.damage.items() if number in pool.mine},
            rebalances=state.rebalances_in_all if state is not None else 0,
            losses=state.losses if state is not None else 0,
            owned_for_s=max(0.0, self.owned_until - self._clock.boottime()),
            keeping=status.keeping,
            version=__version__,
        )
        crawl = self._config.crawl
        return ClusterNow(self._config.cluster.name, now, crawl.partitions, (node,), self._decisions.node)

    async def _tell(self, report: NodeReport, now: Now) -> None:
        sent_at = self._clock.boottime()
        await self._put(report, now)
        self._allowance.told(sent_at, report.started_at)
        if 0 in report.partitions:
            await self._coordinate(report.partitions[0].epoch)

    async def _put(self, report: NodeReport, now: Now) -> None:
        await asyncio.gather(
            self._board.put(f"node/{self.name}", msgspec.json.encode(report)),
            self._board.put(f"now/{self.name}", msgspec.msgpack.encode(for_board(now))),
        )

    async def _coordinate(self, epoch: int) -> None:
        if self._coordinator is None or self._coordinator.epoch != epoch:
            links = self._connections.links
            self._coordinator = ClusterCoordinator(self.name, epoch, self._config, self._board, links, self._clock)
        paused = self._board.get("paused")
        if paused is None or not paused.value:
            await self._coordinator.round(self._mirror.outside)

    def _changed(self, key: str, _value: bytes | None) -> None:
        if key == "coordinator":
            self._hear_decisions(self._board.get(key))
        elif key == f"allow/{self.name}":
            self._hear_allowance(self._board.get(key))
        elif is_outside(key):
            if key.startswith(INSTRUCTIONS):
                self._instructions.read()
            self._unmirrored.append(key)
            self._catch_up()

    def _catch_up(self) -> None:
        """The folder with the board. While there is no room on the disk, it is tried again with each round."""
        while self._unmirrored:
            try:
                self._mirror.take(self._unmirrored[0], self._config.crawl.scope)
            except OSError as fault:
                self._say(f"what operators have changed cannot be written yet: {fault}")
                return
            self._unmirrored.popleft()
