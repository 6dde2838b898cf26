"""The pages that this node may finish, where a crawl has a limit (`crawl.max_pages`).

The coordinator counts what it has allowed, and what each report says is left. So a node must not go on with pages
that the coordinator counts no more: it passes over the report of a node whose partitions others have, and that of a
node without partitions that has been silent for two sessions. Both begin anew before that can matter: the first when
the group says that its partitions are lost; any when none of its reports has reached the board for one session,
counted from the sending of the last one that did, on a clock that runs while the machine sleeps. From then on its
allowance is void, what the workers hold of it is taken back before they may ask for anything, and it is another life
(`started_at`), for which nothing was allowed yet.
"""

from __future__ import annotations

from collections.abc import Collection

from gossamer.clock import Clock
from gossamer.messages.worker_messages import Report
from gossamer.node.report import Allowance
from gossamer.supervisor.coordinator import Coordinator


class OwnAllowance:
    def __init__(self, clock: Clock, session_s: float) -> None:
        self.started_at = clock.now()
        self.allowed = 0
        self.to_hand_out = 0  # pages that no worker has
        self._clock = clock
        self._session_s = session_s
        self._is_void = False  # what the workers may still finish
        self._wants_back = False
        self._told_at: float | None = (
            None  # when the last report was sent that is on the board; None: none, in this life
        )

    @property
    def wants_back(self) -> bool:
        return self._is_void or self._wants_back

    def begin_anew(self) -> None:
        """Others may have been allowed our pages: those that are left are nobody's."""
        self.started_at, self.allowed, self.to_hand_out = self._clock.now(), 0, 0
        self._is_void, self._told_at = True, None

    def told(self, sent_at: float, started_at: float) -> None:
        """A report that was sent then (`Clock.boottime`) is on the board."""
        if started_at == self.started_at:
            self._told_at = sent_at

    def look(self) -> None:
        """Before the workers are asked, and told how long they may go on."""
        if self._told_at is not None and self._clock.boottime() - self._told_at > self._session_s:
            self.begin_anew()

    def hear(self, allowance: Allowance, epoch: int) -> None:
        """In the order of the board. `epoch`: of the present coordinator; one before it is not listened to."""
        is_ours = allowance.started_at == self.started_at and allowance.epoch >= epoch
        if is_ours and allowance.pages > self.allowed:
            self.to_hand_out += allowance.pages - self.allowed
            self.allowed = allowance.pages

    def hand_out(self, coordinator: Coordinator[int, Report], *, are_wanted_back: bool) -> dict[int, int]:
        """How many pages each worker may finish more. `are_wanted_back`: by the coordinator of all nodes."""
        if self._is_void:
            self.to_hand_out, self._is_void = 0, coordinator.held() > 0
            return {}
        busy = [worker for worker, report in coordinator.reports.items() if not report.is_idle]
        spare = {worker: report.pages_spare for worker, report in coordinator.reports.items()}
        has_run_out = self.to_hand_out == 0 and any(spare[worker] == 0 for worker in busy) and any(spare.values())
        self._wants_back = are_wanted_back or has_run_out
        if are_wanted_back:
            self.to_hand_out = 0  # with the next report they are nobody's
            return {}
        return self._shares(coordinator, busy)

    def _shares(self, coordinator: Coordinator[int, Report], busy: Collection[int]) -> dict[int, int]:
        if not busy:
            return {}
        share, more = divmod(self.to_hand_out, len(busy))
        shares = {worker: share + (place < more) for place, worker in enumerate(busy)}
        self.to_hand_out = 0
        for worker, pages in shares.items():
            coordinator.allow(worker, pages)
        return {worker: pages for worker, pages in shares.items() if pages}
