"""What a worker waits for: the next moment at which it may ask for something, the hosts that are left alone, or slow
to answer, and what was refused and is looked at again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from gossamer.clock import Clock
from gossamer.fetch.transfer import UnderWay
from gossamer.frontier.frontier import Frontier
from gossamer.messages.control_messages import RestingHost, SlowHost, Wait
from gossamer.messages.worker_messages import Returned
from gossamer.worker.partition import Partition
from gossamer.worker.progress import SLOW_TOLD

HOSTS_TOLD = 8
LOOK_S = 2.0  # between two looks at the hosts that rest: they are on disk


class Waiting:
    def __init__(self, partitions: Mapping[int, Partition], clock: Clock) -> None:
        """`partitions`: of this worker, as they come and go."""
        self._partitions = partitions
        self._clock = clock
        self._resting: list[RestingHost] = []
        self._looked_at = 0.0

    def next(self) -> Wait | None:
        """None: somebody may be asked now, or there is nobody."""
        waits = [wait for partition in self._partitions.values() for wait in _waits(partition.frontier)]
        return min(waits, key=lambda wait: wait.at, default=None)

    def next_try_at(self) -> float | None:
        """Of what failed, or rests."""
        moments = [partition.frontier.next_try_at for partition in self._partitions.values()]
        return min((moment for moment in moments if moment is not None), default=None)

    def resting(self) -> list[RestingHost]:
        now = self._clock.now()
        if now - self._looked_at >= LOOK_S:
            self._looked_at = now
            hosts = [each for one in self._partitions.values() for each in one.frontier.resting(HOSTS_TOLD)]
            told = [
                RestingHost(host.name, until, host.rest_cause or host.waits_for, host.resting or host.queued)
                for until, host in hosts
            ]
            self._resting = sorted(told, key=lambda host: host.until)[:HOSTS_TOLD]
        return self._resting


def returned(partitions: Mapping[int, Partition]) -> tuple[Returned, ...]:
    """What was refused and has come back, since this was asked last."""
    walks = ((number, walk) for number, one in partitions.items() for walk in one.frontier.returned())
    return tuple(Returned(number, walk.key, walk.why, walk.back) for number, walk in walks)


def looking(partitions: Mapping[int, Partition]) -> tuple[tuple[str, int], ...]:
    """What has changed, and how many refused URLs are still looked at because of it."""
    return tuple(each for partition in partitions.values() for each in partition.frontier.lifted.open.items())


def _waits(frontier: Frontier) -> Iterator[Wait]:
    if turn := frontier.next_turn():
        yield Wait(turn[0], "turn", turn[1].name, turn[1].waits_for)
    if frontier.next_try_at is not None:
        yield Wait(frontier.next_try_at, "try")
    if frontier.next_visit_at is not None:
        yield Wait(frontier.next_visit_at, "visit")


def slow_hosts(under_way: Iterable[UnderWay], now: float) -> tuple[SlowHost, ...]:
    """The requests that have been under way for longest."""
    return tuple(
        SlowHost(each.host, now - each.started_at, is_under_way=True) for each in islice(under_way, SLOW_TOLD)
    )
