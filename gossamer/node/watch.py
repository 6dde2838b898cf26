"""Watching a cluster: all its nodes as one crawl, from what each of them writes on the board once a second.

A node puts there what it answers to whoever asks it (`Now`), with the totals of each of its partitions. Here they are
put together again: rates and caches are added up, totals are those of each partition's last owner, so that none is
counted twice while it moves. How far links are behind is the end of their topic, asked of the brokers, less the
position that the owner has told. No node is asked directly, and none has to be up.

Clocks of machines differ. So whoever watches for longer goes by when a word of a node came, not by what it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import astuple, replace

from gossamer.clock import Clock
from gossamer.cluster.kafka.ends import Ends, LinkEnds
from gossamer.fetch.dns import DnsCounts
from gossamer.fetch.robots import RobotsCounts
from gossamer.frontier.disk.tables import Totals
from gossamer.messages.control_messages import Now
from gossamer.messages.node_messages import SILENT_S, ClusterNow, NodeNow, PartitionNow, PartitionTotals, owners
from gossamer.node.operating import ClusterClient
from gossamer.node.report import Decisions, Ended, NodeReport
from gossamer.rendered import RenderCounts
from gossamer.settings import ClusterSettings
from gossamer.supervisor.status import proxies_in
from gossamer.worker.progress import added_up, slowest, total

HOSTS_TOLD = 8  # that are slow or rest
ENDS_S = 2.0  # between two questions to the brokers


class Watched(NamedTuple):
    now: Now | None  # of all nodes together; None: no node is at work
    cluster: ClusterNow
    ended: Ended | None
    paused: str  # why an operator wants nothing to be fetched


class Watch:
    def __init__(self, client: ClusterClient, settings: ClusterSettings, clock: Clock) -> None:
        self.client = client
        self._name = settings.name
        self._clock = clock
        self._ends = LinkEnds(settings)
        self._asked_at = -ENDS_S
        self._answer: Ends | None = None
        self._heard: dict[str, tuple[int, float | None]] = {}  # offset of the last word; when it came, if we saw that

    async def look(self) -> Watched:
        board = self.client.board
        if self._clock.awake() - self._asked_at >= ENDS_S:
            self._answer = await self._ends.ask()
            self._asked_at = self._clock.awake()
        reports = self.client.reports()
        nows = {name: now for name in reports if (now := self._now_of(name)) is not None}
        nodes = [self._node(report, nows.get(name)) for name, report in reports.items()]
        coordinator = board.get("coordinator")
        cluster = ClusterNow(
            self._name,
            self._clock.now(),
            self._partitions(reports.values()),
            # Whoever has nothing and says nothing is gone.
            tuple(node for node in nodes if node.partitions or node.silent_s <= SILENT_S),
            msgspec.json.decode(coordinator.value, type=Decisions).node if coordinator is not None else "",
            self._answer.dead if self._answer is not None else None,
            is_whole=True,
            trouble=board.held_up,
        )
        entry, ended = board.get("paused"), self.client.ending()
        paused = entry.value.decode() if entry is not None else ""
        alive = {node.name for node in cluster.nodes if node.silent_s <= SILENT_S}
        if ended is not None:  # who has given up everything has said so
            alive = {name for name in alive if reports[name].in_flight}
        at_work = {name: now for name, now in nows.items() if name in alive}
        return Watched(together(at_work, cluster, paused, ended), cluster, ended, paused)

    def _partitions(self, reports: Iterable[NodeReport]) -> int:
        if self._answer is not None:
            return len(self._answer.links)
        return max((number + 1 for report in reports for number in report.partitions), default=0)

    def _now_of(self, name: str) -> Now | None:
        entry = self.client.board.get(f"now/{name}")
        if entry is None:
            return None
        try:
            return msgspec.msgpack.decode(entry.value, type=Now)
        except msgspec.MsgspecError:  # a node of another version: its report has to do
            return None

    def _node(self, report: NodeReport, now: Now | None) -> NodeNow:
        node = now.cluster.nodes[0] if now is not None and now.cluster is not None else of_report(report)
        partitions = tuple(self._with_end(each) for each in node.partitions)
        silent_s = self._silent_s(report)
        if silent_s > SILENT_S:  # it is not known what it does
            node = replace(node, pages_per_s=0.0, in_flight=0, held_up="", shared_away="")
        owned_for_s = max(0.0, node.owned_for_s - silent_s)
        return replace(node, partitions=partitions, silent_s=silent_s, owned_for_s=owned_for_s)

    def _with_end(self, partition: PartitionNow) -> PartitionNow:
        if self._answer is None:
            return partition
        behind = max(0, self._answer.links[partition.number] - partition.position)
        return replace(partition, kept=replace(partition.kept, behind=behind))

    def _silent_s(self, report: NodeReport) -> float:
        entry = self.client.board.get(f"node/{report.node}")
        offset = entry.offset if entry is not None else -1
        seen, came_at = self._heard.get(report.node, (offset, None))
        if offset != seen:
            came_at = self._clock.awake()
        self._heard[report.node] = (offset, came_at)
        return self._clock.awake() - came_at if came_at is not None else max(0.0, self._clock.now() - report.at)


def of_report(report: NodeReport) -> NodeNow:
    """As much as every version tells."""
    partitions = (
        PartitionNow(number, each.epoch, each.position, PartitionTotals(pages=each.pages, queued=each.queued))
        for number, each in sorted(report.partitions.items())
    )
    return NodeNow(
        report.node,
        report.at,
        report.started_at,
        tuple(partitions),
        workers=report.workers,
        memory_bytes=report.memory_bytes,
        pages_per_s=report.pages_per_s,
        in_flight=report.in_flight,
        held_up=report.held_up,
        damage=report.damage,
        version=report.version,
    )


def packed(totals: Totals) -> PartitionTotals:
    return PartitionTotals(*astuple(totals))


def for_board(now: Now) -> Now:
    """Without what is large, or is there by partition."""
    plan = replace(now.recrawl_plan, cashes={}, given={})
    few = {"slow": now.slow[:HOSTS_TOLD], "resting": now.resting[:HOSTS_TOLD]}
    return replace(now, totals=Totals(), totals_at_start=Totals(), recrawl_plan=plan, sinks=(), **few)


def totals_of(cluster: ClusterNow) -> Totals:
    return total(each.totals for _, each in owners(cluster.nodes).values())


def together(nows: Mapping[str, Now], cluster: ClusterNow, paused: str, ended: Ended | None) -> Now | None:
    """As if they were one crawl on one machine; None: there are none."""
    if not nows:
        return None
    each, totals = list(nows.values()), totals_of(cluster)
    held_up = [now.paused for now in each]
    waits = [now.wait for now in each if now.wait is not None]
    return Now(
        at=cluster.at,
        started_at=min(now.started_at for now in each),
        totals=totals,
        totals_at_start=totals,
        pages_today=0,
        pages_per_s=sum(now.pages_per_s for now in each),
        bytes_per_s=sum(now.bytes_per_s for now in each),
        errors_per_s=sum(now.errors_per_s for now in each),
        errors=counted(now.errors for now in each),
        in_flight=sum(now.in_flight for now in each),
        active_hosts=sum(now.active_hosts for now in each),
        queue_levels=columns([now.queue_levels for now in each]),
        dns=added_up((now.dns for now in each), DnsCounts()),
        robots=added_up((now.robots for now in each), RobotsCounts()),
        render=added_up((now.render for now in each), RenderCounts()),
        fetch_s=columns([now.fetch_s for now in each]),
        workers=[replace(worker, node=name) for name, now in nows.items() for worker in now.workers],
        memory_bytes=sum(now.memory_bytes for now in each),
        disk_free_bytes=min(now.disk_free_bytes for now in each),
        paused=paused or (held_up[0] if all(held_up) else ""),
        is_draining=ended is not None,
        fetch_s_sum=sum(now.fetch_s_sum for now in each),
        recrawl_plan=max((now.recrawl_plan for now in each), key=lambda plan: plan.pages),  # one for all: the newest
        under_way=sum(now.under_way for now in each),
        statuses=counted(now.statuses for now in each),
        unanswered=counted(now.unanswered for now in each),
        slow=tuple(slowest(host for now in each for host in now.slow)),
        resting=tuple(sorted((host for now in each for host in now.resting), key=lambda host: host.until)),
        wait=min(waits, key=lambda wait: wait.at) if len(waits) == len(each) else None,
        cluster=cluster,
        proxies=proxies_in(now.proxies for now in each),
    )


Word = TypeVar("Word", str, int)


def counted(counts: Iterable[Mapping[Word, int]]) -> dict[Word, int]:
    whole: Counter[Word] = Counter()
    for some in counts:
        whole.update(some)
    return dict(whole)


def columns(rows: Sequence[Sequence[int]]) -> list[int]:
    longest = max((len(row) for row in rows), default=0)
    return [sum(row[place] for row in rows if place < len(row)) for place in range(longest)]
