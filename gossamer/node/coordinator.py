"""The coordinator of a cluster: what follows from the reports of all nodes. The owner of partition 0 is it.

It decides two things by the same rules as the coordinator of one machine (supervisor/coordinator.py), with nodes in
the place of workers: whether the crawl is complete, and which node may finish how many pages more. Its proof holds
here as well; what a report says of a partition counts where it is that of the highest epoch in which anybody has
reported it, and the ends of the logs are those of the topic of links, asked for after all these reports were read.

**A node that is gone** leaves its last report behind. As long as nobody else owns its partitions, they are as it
said: an idle one has nothing to do, and one that was not idle keeps the crawl open. As soon as others have reported
all of them, in later epochs, the report of the dead is passed over, and with it the pages that it was allowed. A
report of no partitions at all is passed over when it has not changed for two sessions.

**Two coordinators** may believe in themselves for a moment, while partition 0 moves. Each says in which epoch it
owns it, and nobody listens to an earlier one any more once a later one is on the board, which gives all writes one
order. The later one says so first, reads the board up to there, and only then begins to decide.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from gossamer.clock import Clock
from gossamer.cluster.kafka.board import Board
from gossamer.node.report import Allowance, Decisions, Ended, NodeReport, counts_of
from gossamer.supervisor.coordinator import Coordinator, Heard

SESSIONS = 2.0


class ClusterCoordinator:
    def __init__(
        self,
        node: str,
        epoch: int,
        board: Board,
        clock: Clock,
        partitions: int,
        pages_max: int | None,
        session_s: float,
        ends: Callable[[], Awaitable[Mapping[int, int]]],
        *,
        is_endless: bool,
    ) -> None:
        """`ends`: of the logs of all partitions, as they are when it is called. `is_endless`: the crawl goes on when
        there is nothing new."""
        self.epoch = epoch
        self._is_endless = is_endless
        self._decisions = Decisions(node, epoch)
        self._board = board
        self._clock = clock
        self._partitions = partitions
        self._pages_max = pages_max
        self._session_s = session_s
        self._ends = ends
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
        coordinator: Coordinator[str, NodeReport] = Coordinator(self._partitions, self._pages_max, lambda _: -1)
        coordinator.damaged = {number: text for report in reports.values() for number, text in report.damage.items()}
        for name, report in reports.items():
            coordinator.hear(name, Heard(report, report.outside, report.allowed), self._allowed(report))
        if not coordinator.is_everything_covered or self._board.get("ending") is not None:
            return
        pages = sum(each.pages for report in reports.values() for each in report.partitions.values())
        if coordinator.is_at_limit(pages):
            await self._end("pages")
        elif coordinator.are_all_idle(outside):
            if self._is_endless:
                return
            ends = await self._ends()
            if coordinator.is_complete(outside, lambda partition: ends[partition]):
                await self._end(how_complete(reports))
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

    async def _end(self, why: str) -> None:
        await self._put("ending", Ended(why, self._clock.now(), self._decisions.node))

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
        now, found = self._clock.now(), {}
        for key in self._board.keys("node/"):
            entry = self._board.get(key)
            if entry is None:
                continue
            if self._changed.get(key, (-1, 0.0))[0] != entry.offset:
                self._changed[key] = (entry.offset, now)
            report = msgspec.json.decode(entry.value, type=NodeReport)
            if report.partitions or now - self._changed[key][1] < SESSIONS * self._session_s:
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
