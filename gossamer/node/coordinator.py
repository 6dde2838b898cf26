"""The coordinator of a cluster: what follows from the reports of all nodes. The owner of partition 0 is it.

It decides two things by the same rules as the coordinator of one machine (supervisor/coordinator.py), with nodes in
the place of workers: whether the crawl is complete, and which node may finish how many pages more. Its proof holds
here as well; what a report says of a partition counts where it is that of the highest epoch in which anybody has
reported it, and the ends of the logs are those of the topic of links, asked for after all these reports were read.
It also makes the recrawl plan for all (recrawl.py).

**Seeds** stand on the board, and it is the coordinator that sends them to their partitions, once every node says that
it has read them: then their hosts are in scope everywhere. Until that is done (`fed`) the crawl is not complete; and
an end says up to where the board was taken into account (`report.ended`). So seeds that somebody adds in the moment
of the end are fetched, or at the latest when nodes are started again. Whoever takes over from a coordinator that died
in between sends them twice, which changes nothing.

**A node that is gone** leaves its last report behind. As long as nobody else owns its partitions, they are as it
said: an idle one has nothing to do, and one that was not idle keeps the crawl open. As soon as others have reported
all of them, in later epochs, the report of the dead is passed over, and with it the pages that it was allowed. A
report of no partitions at all is passed over when it has not changed for two sessions: by then whoever wrote it has
given up what it was allowed (allowance.py).

**Two coordinators** may believe in themselves for a moment, while partition 0 moves. Each says in which epoch it
owns it, and nobody listens to an earlier one any more once a later one is on the board, which gives all writes one
order. The later one says so first, reads the board up to there, and only then begins to decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from gossamer.clock import Clock
from gossamer.cluster.kafka.board import Board
from gossamer.cluster.partitions import partition_of
from gossamer.node import recrawl
from gossamer.node.report import Allowance, Decisions, Ended, NodeReport, counts_of, ended
from gossamer.records import Link, Seed
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.settings import Tree
from gossamer.supervisor.coordinator import Coordinator, Heard
from gossamer.supervisor.recrawl_coordinator import RecrawlCoordinator

SESSIONS = 2.0


class Topic(Protocol):
    """What is needed of the topic of links."""

    async def append(self, links: Mapping[int, Sequence[Link]]) -> None: ...
    async def ends(self) -> dict[int, int]: ...


class ClusterCoordinator:
    def __init__(self, node: str, epoch: int, config: Tree, board: Board, topic: Topic, clock: Clock) -> None:
        self.epoch = epoch
        self._config = config
        self._partitions = config.crawl.partitions
        self._decisions = Decisions(node, epoch)
        self._board = board
        self._topic = topic
        self._clock = clock
        before = recrawl.plan_on(board) or RecrawlPlan()
        self._recrawl = RecrawlCoordinator(before, config.schedule, clock, lambda plan: None)
        self._changed: dict[str, tuple[int, float]] = {}  # of each report: its offset, and when we saw that first
        self._has_begun = False
        self._given: dict[str, Allowance] = {}  # to each node, by us or by whoever was it before

    async def round(self, outside: int) -> None:
        """Look at the reports, and write on the board what follows. `outside`: the last that an operator wrote."""
        if not self._has_begun:
            began_at = await self._put("coordinator", self._decisions)
            await self._board.fence()
            self._given = self._given_before(began_at)
            self._has_begun = True
        reports = current(self._reports())
        pages_max = self._config.crawl.max_pages
        coordinator: Coordinator[str, NodeReport] = Coordinator(self._partitions, pages_max, lambda _: -1)
        coordinator.damaged = {number: text for report in reports.values() for number, text in report.damage.items()}
        for name, report in reports.items():
            coordinator.hear(name, Heard(report, report.outside, report.allowed), self._allowed(report))
        if not coordinator.is_everything_covered or ended(self._board) is not None:
            return
        await self._plan(coordinator.covered, reports)
        is_fed = await self._feed(min(report.outside for report in reports.values()))
        pages = sum(each.pages for report in reports.values() for each in report.partitions.values())
        if coordinator.is_at_limit(pages):
            await self._end("pages", outside)
        elif coordinator.are_all_idle(outside):
            if self._config.crawl.forever or not is_fed:
                return
            ends = await self._topic.ends()
            if coordinator.is_complete(outside, lambda partition: ends[partition]):
                await self._end(how_complete(reports), outside)
        else:
            await self._allow(coordinator, reports, pages)

    async def _allow(
        self, coordinator: Coordinator[str, NodeReport], reports: Mapping[str, NodeReport], pages: int
    ) -> None:
        for name in coordinator.allowances(pages):
            allowance = Allowance(reports[name].started_at, coordinator.allowed(name), self._decisions.epoch)
            self._given[name] = allowance
            await self._put(f"allow/{name}", allowance)
        if coordinator.wants_back != self._decisions.wants_back:
            self._decisions = msgspec.structs.replace(self._decisions, wants_back=coordinator.wants_back)
            await self._put("coordinator", self._decisions)

    async def _end(self, why: str, outside: int) -> None:
        await self._put("ending", Ended(why, self._clock.now(), self._decisions.node, outside))

    async def _feed(self, known: int) -> bool:
        """Send seeds on their way, of those that every node has read (`known`); True: that was all of them."""
        entry = self._board.get("fed")
        fed = msgspec.json.decode(entry.value, type=int) if entry is not None else -1
        entries = [entry for key in self._board.keys("seeds/") if (entry := self._board.get(key)) is not None]
        unfed = sorted((entry.offset, entry.value) for entry in entries if entry.offset > fed)
        left = [(offset, value) for offset, value in unfed if offset <= known]
        for _, value in left:
            groups: defaultdict[int, list[Link]] = defaultdict(list)
            for seed in msgspec.json.decode(value, type=list[Seed]):
                groups[partition_of(seed.url, self._partitions)].append(seed.link)
            await self._topic.append(groups)
        if left:
            await self._board.put("fed", msgspec.json.encode(left[-1][0]))
            await self._board.fence()
        return len(left) == len(unfed)

    async def _plan(self, partitions: Sequence[int], reports: Mapping[str, NodeReport]) -> None:
        """When pages are visited again, where all of them have told what they want."""
        epochs: dict[int, int] = {}
        for report in reports.values():
            for number, each in report.partitions.items():
                epochs[number] = max(each.epoch, epochs.get(number, 0))
        told = recrawl.told_since_the_plan(self._board, epochs)
        if told.keys() >= set(partitions) and (plan := self._recrawl.take(told, partitions)) is not None:
            await self._board.put(recrawl.PLAN, recrawl.encode(msgspec.structs.replace(plan, given={})))
            await self._board.fence()

    def _given_before(self, began_at: int) -> dict[str, Allowance]:
        """What earlier ones have allowed before our word; whatever they say after it nobody hears."""
        entries = ((key, self._board.get(key)) for key in self._board.keys("allow/"))
        return {
            key.removeprefix("allow/"): msgspec.json.decode(entry.value, type=Allowance)
            for key, entry in entries
            if entry is not None and entry.offset < began_at
        }

    def _allowed(self, report: NodeReport) -> int:
        allowance = self._given.get(report.node)
        return allowance.pages if allowance is not None and allowance.started_at == report.started_at else 0

    def _reports(self) -> dict[str, NodeReport]:
        """Without those of nodes that own nothing and have not been heard of for long."""
        now, found = self._clock.boottime(), {}
        for key in self._board.keys("node/"):
            entry = self._board.get(key)
            if entry is None:
                continue
            if self._changed.get(key, (-1, 0.0))[0] != entry.offset:
                self._changed[key] = (entry.offset, now)
            report = msgspec.json.decode(entry.value, type=NodeReport)
            if report.partitions or now - self._changed[key][1] < SESSIONS * self._config.cluster.session_s:
                found[report.node] = report
        return found

    async def _put(self, key: str, what: msgspec.Struct) -> int:
        return await self._board.put(key, msgspec.json.encode(what))


def current(reports: Mapping[str, NodeReport]) -> dict[str, NodeReport]:
    """Those that are not passed over: some partition is still theirs, or they never had one."""
    epochs: dict[int, int] = {}
    for report in reports.values():
        for number, each in report.partitions.items():
            epochs[number] = max(each.epoch, epochs.get(number, 0))
    return {
        name: report
        for name, report in reports.items()
        if not report.partitions or any(each.epoch == epochs[number] for number, each in report.partitions.items())
    }


def how_complete(reports: Mapping[str, NodeReport]) -> str:
    counts = counts_of(reports.values())
    if not counts["pages"]:
        return "nothing"
    return "resting" if counts["resting"] else "later" if counts["waiting"] else "complete"
