"""The coordinator: what the reports of all workers say together. Is the crawl complete, and who may fetch how much?

It works on the last report of each worker, and these need not be of the same moment: one may be late with its report,
and partitions move while the others report. Nothing here waits for anybody.

**When is the crawl complete?** When the last reports cover every partition once, all of them say idle, with the
positions up to which their partitions have read their logs, and a look at the ends of all logs, later than all
reports, finds just these positions. Proof: suppose that somebody was not idle at that look, and take the worker that
ceased to be first after its report. Only links can wake an idle worker, and not its own: all its partitions were
idle. So they came through a log, and whoever appended them did so before its own report, because nobody had been
woken after one yet; and after the report of the worker that they woke, which had read its logs up to the reported
positions. Then that log ends behind the position in the report that covers it, and the look has found another end.
Seeds, and what operators want, do not come through a log: nothing of that may have begun or ended since the reports
were asked for.

**The limit of pages is exact.** A worker finishes no more pages than it was allowed (bounds/page_limit.py). What it
may still finish is in its report, and what it was given since is added: an old report promises too much, never too
little. What nobody has is handed out, and collected again where one runs out and another does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Reported(Protocol):
    """What is needed of a report, of a worker or of a node with all its workers."""

    @property
    def totals(self) -> Mapping[int, object]: ...  # of each partition that it owns
    @property
    def positions(self) -> Mapping[int, int]: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def is_idle(self) -> bool: ...
    @property
    def pages_left(self) -> int: ...
    @property
    def pages_spare(self) -> int: ...


Who = TypeVar("Who", bound=Hashable)
R = TypeVar("R", bound=Reported)


@dataclass(frozen=True)
class Heard(Generic[R]):
    report: R
    outside: object  # what had been done from outside when it was asked for; None: something was under way
    allowed: int  # pages that its worker had been given by then


class Coordinator(Generic[Who, R]):
    def __init__(self, partitions: int, pages_max: int | None, log_end: Callable[[int], int]) -> None:
        self.partitions: Collection[int] = range(partitions)  # that somebody should own
        self.damaged: Mapping[int, object] = {}  # partitions that nobody can own
        self.wants_back = False  # pages that were allowed: some have run out of them, others need none
        self._pages_max = pages_max
        self._log_end = log_end
        self._heard: dict[Who, Heard[R]] = {}  # by worker
        self._allowed: dict[Who, int] = {}  # pages, since it lives

    # ---- reports -----------------------------------------------------------------------------------------

    def allowed(self, worker: Who) -> int:
        return self._allowed.get(worker, 0)

    def hear(self, worker: Who, heard: Heard[R], allowed: int | None = None) -> None:
        """`allowed`: pages since it lives, where somebody else has counted them."""
        self._heard[worker] = heard
        if allowed is not None:
            self._allowed[worker] = allowed

    def allow(self, worker: Who, pages: int) -> None:
        self._allowed[worker] = self.allowed(worker) + pages

    def held(self) -> int:
        """Pages that all of them may still finish."""
        given = sum(self.allowed(worker) - heard.allowed for worker, heard in self._heard.items())
        return given + sum(heard.report.pages_left for heard in self._heard.values())

    def forget_all_but(self, workers: Mapping[Who, object]) -> None:
        """The others are gone, and their partitions come back in the reports of whoever opens them."""
        for gone in self._heard.keys() - workers.keys():
            del self._heard[gone]
            self._allowed.pop(gone, None)

    @property
    def reports(self) -> dict[Who, R]:
        return {worker: heard.report for worker, heard in self._heard.items()}

    @property
    def outsides(self) -> list[object]:
        """What had been done from outside when each of the reports was asked for."""
        return [heard.outside for heard in self._heard.values()]

    @property
    def is_everything_covered(self) -> bool:
        """Otherwise some partition is on its way to an owner: nobody knows what is in it."""
        reported = sorted(number for heard in self._heard.values() for number in heard.report.totals)
        return reported == self.covered

    @property
    def covered(self) -> list[int]:
        """The partitions that somebody can own."""
        return sorted(number for number in self.partitions if number not in self.damaged)

    @property
    def has_in_flight(self) -> bool:
        return any(heard.report.in_flight for heard in self._heard.values())

    # ---- what they say together --------------------------------------------------------------------------

    def are_all_idle(self, outside: object) -> bool:
        """`outside`: what has been done from outside by now; None: something is under way."""
        if outside is None or not self.is_everything_covered:
            return False
        return all(heard.report.is_idle and heard.outside == outside for heard in self._heard.values())

    def is_complete(self, outside: object, log_end: Callable[[int], int] | None = None) -> bool:
        """`log_end`: of a partition's log, looked at after all reports; else it is looked at here."""
        if not self.are_all_idle(outside):
            return False
        end = log_end or self._log_end
        positions = [place for heard in self._heard.values() for place in heard.report.positions.items()]
        return all(end(partition) == position for partition, position in positions)

    def is_at_limit(self, pages: int) -> bool:
        return self._pages_max is not None and pages >= self._pages_max

    def allowances(self, pages: int) -> dict[Who, int]:
        """How many pages more each worker may fetch; `pages`: fetched so far, by the same reports."""
        if self._pages_max is None or not self.is_everything_covered:
            return {}
        given = {worker: self.allowed(worker) - heard.allowed for worker, heard in self._heard.items()}
        held = {worker: heard.report.pages_left + given[worker] for worker, heard in self._heard.items()}
        spare = {worker: heard.report.pages_spare + given[worker] for worker, heard in self._heard.items()}
        left = self._pages_max - pages - sum(held.values())
        busy = [worker for worker, heard in self._heard.items() if not heard.report.is_idle]
        shares = {worker: left // len(busy) + (place < left % len(busy)) for place, worker in enumerate(busy)}
        shares = {worker: share for worker, share in shares.items() if share > 0}
        for worker, share in shares.items():
            self.allow(worker, share)
        has_run_out = left <= 0 and any(spare[worker] == 0 for worker in busy)
        self.wants_back = has_run_out and any(spare.values())
        return shares
