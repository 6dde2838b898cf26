"""Instructions: what an operator wants done at the stores of a cluster, by whoever owns them (`retry`, `quarantine`).

An instruction is an entry on the board, and its offset is its number. Every owner carries it out for its partition,
one after the other, and the partition's store remembers the last ones (`Meta.instructed`), in the batch that ends
each: so a new owner goes on with what the one before had not done, and repeats nothing. Only a walk over many URLs
that is cut off begins anew, which changes nothing about those that were brought back already.

Reports say how far each partition is; whoever gave the instruction waits for that. It stays on the board: entries of
some hundred bytes, and a partition that has nothing yet passes over them when it gets its first link.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from gossamer.cluster.kafka.board import Board
from gossamer.cluster.partitions import partition_of
from gossamer.messages.control_messages import ReleaseUrl, Retry
from gossamer.messages.worker_messages import Instruct, Report
from gossamer.node.report import NodeReport, PartitionReport
from gossamer.supervisor.worker_pool import WorkerPool

INSTRUCTIONS = "instructions/"
What = Retry | ReleaseUrl

decode = msgspec.json.Decoder(What).decode


def concerned(what: What, partitions: int) -> int | None:
    """The only partition that it is for; None: for all."""
    match what:
        case ReleaseUrl(url=url):
            return partition_of(url, partitions)
        case Retry(host=str(host)):
            return partition_of(f"http://{host}/", partitions)
    return None


class Instructions:
    """A node's part: hands to each partition of its own what comes next."""

    def __init__(self, board: Board, partitions: int) -> None:
        self._board = board
        self._partitions = partitions
        self._given: dict[int, What] = {}  # by number, in order
        self._under_way: dict[int, asyncio.Task[int | None]] = {}  # by partition

    @property
    def last(self) -> int:
        return max(self._given, default=0)

    def read(self) -> None:
        """All of them, at the start, or when there is another one."""
        entries = (self._board.get(key) for key in self._board.keys(INSTRUCTIONS))
        numbered = {entry.offset: entry.value for entry in entries if entry is not None}
        self._given = {number: decode(numbered[number]) for number in sorted(numbered)}

    def round(self, reports: Mapping[int, Report], pool: WorkerPool) -> None:
        """After the workers have reported."""
        for partition in [number for number, task in self._under_way.items() if task.done()]:
            self._under_way.pop(partition).result()
        for report in reports.values():
            for partition, done in report.instructed.items():
                if partition not in self._under_way and (following := self._after(last_of(done))) is not None:
                    what = self._given[following]
                    is_for_it = concerned(what, self._partitions) in (None, partition)
                    instruct = Instruct(partition, following, what if is_for_it else None)
                    self._under_way[partition] = asyncio.ensure_future(pool.order(partition, instruct))

    def _after(self, number: int) -> int | None:
        return next((each for each in self._given if each > number), None)

    def are_done(self, report: Report) -> bool:
        """Whether the partitions of a worker had carried out all of them when it made this report."""
        return all(last_of(done) >= self.last for done in report.instructed.values())

    def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()


def last_of(done: list[tuple[int, int]]) -> int:
    return done[-1][0] if done else 0


def carried_out(reports: Mapping[str, NodeReport], number: int, partitions: int) -> tuple[set[int], int]:
    """The partitions that have not carried out an instruction yet, and how many URLs it concerned in the others.
    Those that nobody can open are not waited for."""
    newest: dict[int, PartitionReport] = {}
    for report in reports.values():
        for partition, each in report.partitions.items():
            if partition not in newest or each.epoch > newest[partition].epoch:
                newest[partition] = each
    damaged = {partition for report in reports.values() for partition in report.damage}
    missing = {n for n in range(partitions) if n not in newest or last_of(newest[n].instructed) < number}
    urls = sum(count for each in newest.values() for which, count in each.instructed if which == number)
    return missing - damaged, urls
