"""What the coordinator writes on a real board: seeds in the moment of the end, pages of a node that is silent, and
the recrawl plan of all nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from gossamer.clock import RealClock, VirtualClock
from gossamer.cluster.kafka.link_topic import KafkaLinkLog
from gossamer.node import recrawl
from gossamer.node.allowance import OwnAllowance
from gossamer.node.coordinator import ClusterCoordinator
from gossamer.node.operating import ClusterClient, create_topics
from gossamer.node.recrawl import NodeRecrawl, Told
from gossamer.node.report import Allowance, NodeReport, PartitionReport, ended
from gossamer.records import Seed
from gossamer.schedule.recrawl_plan import PartitionStatistics, RecrawlPlan
from gossamer.settings import ArchiveSettings, ClusterSettings, CrawlSettings, ScheduleSettings, Tree
from tests.servers.kafka import kafka

SESSION_S = 45.0


class Stage:
    """A board and a topic of links, and nodes that are only reports. Time passes when told to."""

    def __init__(self, tree: Tree, client: ClusterClient, log: KafkaLinkLog, clock: VirtualClock) -> None:
        self.tree, self.client, self.board, self.clock = tree, client, client.board, clock
        self.ends_are_asked: Callable[[], Awaitable[Any]] | None = None
        self._log = log

    def coordinator(self, pages_max: int | None = None) -> ClusterCoordinator:
        crawl = msgspec.structs.replace(self.tree.crawl, max_pages=pages_max)
        tree = msgspec.structs.replace(self.tree, crawl=crawl)
        return ClusterCoordinator("a", 1, tree, self.board, self, self.clock)

    async def append(self, links: Any) -> None:
        await self._log.append(links)

    async def ends(self) -> dict[int, int]:
        ends = await self._log.ends()
        if self.ends_are_asked is not None:
            await self.ends_are_asked()
        return ends

    async def report(self, node: str, partitions: dict[int, PartitionReport], **more: Any) -> None:
        report = NodeReport(node=node, started_at=1.0, at=self.clock.now(), partitions=partitions, **more)
        await self.board.put(f"node/{node}", msgspec.json.encode(report))
        await self.board.fence()


@pytest.fixture
async def stage(clock: VirtualClock) -> AsyncIterator[Stage]:
    name = f"c{uuid4().hex[:8]}"
    settings = ClusterSettings(name=name, kafka=kafka().bootstrap, copies=1, session_s=SESSION_S)
    tree = Tree(cluster=settings, crawl=CrawlSettings(partitions=2), archive=ArchiveSettings(url="s3://nowhere"))
    async with AsyncExitStack() as opened:
        await create_topics(tree, RealClock())
        client = await opened.enter_async_context(ClusterClient.connected(settings, RealClock()))
        log = KafkaLinkLog(settings, 2, client.appender, RealClock())
        opened.callback(log.close)
        yield Stage(tree, client, log, clock)


async def test_seeds_that_are_added_in_the_moment_of_the_end_make_it_void(stage: Stage) -> None:
    first = await stage.client.add_seeds([Seed("http://a.test/")])
    outside = stage.board.offset - 1
    both = {0: PartitionReport(1, 0, pages=1), 1: PartitionReport(1, 0)}
    coordinator = stage.coordinator()
    await stage.report("a", both, is_idle=True, outside=outside)
    await coordinator.round(outside)
    assert first == 1 and sum((await stage.ends()).values()) == 1  # on its way, and not complete therefore
    assert stage.board.get("ending") is None
    read = {number: PartitionReport(1, end, pages=1) for number, end in (await stage.ends()).items()}

    async def add() -> None:
        stage.ends_are_asked = None
        await stage.client.add_seeds([Seed("http://b.test/")])

    stage.ends_are_asked = add
    await stage.report("a", read, is_idle=True, outside=outside)
    await coordinator.round(outside)
    await stage.board.fence()
    assert stage.board.get("ending") is not None  # written after the seeds, by one who knew nothing of them
    assert ended(stage.board) is None
    assert stage.client.ending() is None
    # Nobody ends, and the round after next sends them.
    await coordinator.round(outside)
    assert sum((await stage.ends()).values()) == 1  # not before all nodes know that their host is in scope
    later = max(entry.offset for key in stage.board.keys("seeds/") if (entry := stage.board.get(key)) is not None)
    await stage.report("a", read, is_idle=True, outside=later)
    await coordinator.round(later)
    ends = await stage.ends()
    assert sum(ends.values()) == 2 and ended(stage.board) is None
    await stage.report(
        "a", {number: PartitionReport(1, end, pages=2) for number, end in ends.items()}, is_idle=True, outside=later
    )
    await coordinator.round(later)
    await stage.board.fence()
    end = ended(stage.board)
    assert end is not None and end.why == "complete"
    await stage.client.add_seeds([Seed("http://c.test/")])  # and after it
    assert ended(stage.board) is None
    await stage.client.stop()
    assert ended(stage.board) is not None  # what an operator ends is over, whatever there is to do


async def test_a_silent_node_without_partitions_gives_up_its_pages_before_others_get_them(stage: Stage) -> None:
    clock = stage.clock
    own = OwnAllowance(clock, SESSION_S)
    own.hear(Allowance(own.started_at, 4, 1), 1)
    own.told(clock.boottime(), own.started_at)
    assert own.to_hand_out == 4
    busy = {0: PartitionReport(1, 0), 1: PartitionReport(1, 0)}
    coordinator = stage.coordinator(pages_max=10)
    await stage.report("a", busy)
    await stage.board.put("allow/silent", msgspec.json.encode(Allowance(1.0, 4, 0)))
    await stage.report("silent", {}, is_idle=True, allowed=4, pages_left=4, pages_spare=4)

    async def allowed() -> int:
        await coordinator.round(0)
        await stage.board.fence()
        entry = stage.board.get("allow/a")
        return msgspec.json.decode(entry.value, type=Allowance).pages if entry is not None else 0

    assert await allowed() == 6
    clock.advance(SESSION_S + 1.0)
    assert await allowed() == 6
    before = own.started_at
    own.look()  # it was frozen, say, and goes on
    assert own.to_hand_out == own.allowed == 0 and own.wants_back
    own.hear(Allowance(before, 9, 1), 1)  # to a life that is over
    assert own.to_hand_out == 0
    clock.advance(SESSION_S)
    assert await allowed() == 10  # those four are somebody else's now
    own.told(clock.boottime(), own.started_at)
    own.hear(Allowance(own.started_at, 3, 1), 1)
    clock.advance(SESSION_S - 1.0)
    own.look()
    assert own.to_hand_out == 3


def statistics(known: int) -> PartitionStatistics:
    return PartitionStatistics(known=known, cash=known * 10, given={1: known}, requests=known)


async def told(stage: Stage, partition: int, epoch: int, known: int) -> None:
    await stage.board.put(recrawl.key_of(partition), recrawl.encode(Told(epoch, statistics(known))))
    await stage.board.fence()


async def test_a_plan_is_made_of_what_the_present_owners_of_all_partitions_have_told(stage: Stage) -> None:
    coordinator = stage.coordinator()
    await stage.report("a", {0: PartitionReport(1, 0)})
    await stage.report("b", {1: PartitionReport(7, 0)})
    await told(stage, 0, 1, 100)
    await told(stage, 1, 6, 5)  # by whoever owned it before
    await coordinator.round(0)
    assert recrawl.plan_on(stage.board) is None
    await told(stage, 1, 7, 300)
    await coordinator.round(0)
    plan = recrawl.plan_on(stage.board)
    assert plan is not None and (plan.known, plan.cashes) == (400, {0: 1000, 1: 3000})
    await told(stage, 0, 1, 150)
    await coordinator.round(0)
    assert recrawl.plan_on(stage.board) == plan  # the other one has not told anything since
    after = stage.coordinator()  # somebody else, who goes on where this one was
    await told(stage, 1, 7, 350)
    await after.round(0)
    second = recrawl.plan_on(stage.board)
    assert second is not None and second.known == 500


async def test_a_node_tells_once_for_each_plan_and_hands_the_plan_to_its_workers(stage: Stage) -> None:
    kept: list[RecrawlPlan] = []
    epochs = {0: 3}
    node = NodeRecrawl(stage.board, ScheduleSettings(), stage.clock, lambda: epochs, kept.append)
    assert [node.wants_statistics, node.wants_statistics] == [True, False]  # not again at once
    assert node.take({0: statistics(100), 1: statistics(7)}, [0]) is None  # another node's is not ours to tell
    await settle(node, stage)
    stage.clock.advance(5.0)
    wants, told_by = node.wants_statistics, stage.board.keys("statistics/")
    assert (wants, told_by) == (False, ["statistics/000"])
    epochs[0] = 4  # it moved to another worker, whose word it is now
    assert node.wants_statistics is True
    node.take({0: statistics(120)}, [0])
    await settle(node, stage)
    await stage.board.put(recrawl.PLAN, recrawl.encode(RecrawlPlan(known=500)))
    await stage.board.fence()
    plan = node.take({}, [0])
    assert plan is not None and (plan.known, plan.given) == (500, {0: {1: 120}}) and kept == [plan]
    assert node.take({}, [0]) is None
    wants = node.wants_statistics
    stage.clock.advance(10.0)
    assert (wants, node.wants_statistics) == (False, True)  # for the next one


async def settle(node: NodeRecrawl, stage: Stage) -> None:
    assert node._telling is not None
    await node._telling
    await stage.board.fence()


def test_a_folder_has_an_identity_of_its_own(folder: Path) -> None:
    from gossamer.folder import CrawlFolder  # noqa: PLC0415
    from gossamer.node.run import keep_name  # noqa: PLC0415

    here, there = (keep_name(CrawlFolder(folder / name), "n1", "news") for name in ("here", "there"))
    assert here.startswith("n1/") and there.startswith("n1/") and here != there
    assert keep_name(CrawlFolder(folder / "here"), "n1", "news") == here
