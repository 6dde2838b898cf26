"""What the supervisor of a node asks of the cluster that it is a part of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from gossamer.messages.node_messages import ClusterNow
from gossamer.messages.worker_messages import Report
from gossamer.records import Place
from gossamer.supervisor.coordinator import Coordinator
from gossamer.supervisor.recrawl_coordinator import Recrawl
from gossamer.supervisor.status import CrawlStatus
from gossamer.supervisor.worker_pool import WorkerPool


class Cluster(Protocol):
    """Implemented by `node/node.py`. `wants_back`: workers are to give back pages that they do not need. `outside`:
    the last that an operator wrote and that workers find in the folder. `before_round`: before they are asked."""

    name: str
    identity: str  # its name, and which folder that is

    @property
    def wants_back(self) -> bool: ...
    @property
    def outside(self) -> int: ...
    @property
    def recrawl(self) -> Recrawl: ...
    @property
    def owned_until(self) -> float: ...
    @property
    def held_up(self) -> str: ...
    async def begin(self, partition: int) -> int: ...
    def join(self, pool: WorkerPool, say: Callable[[str], None]) -> None: ...
    async def leave(self) -> None: ...
    def ending(self) -> str: ...
    def links_read(self) -> dict[int, int] | None: ...
    def sink_positions(self) -> dict[str, dict[int, Place]]: ...
    def note_sink(self, target: str, positions: Mapping[int, Place]) -> Awaitable[object]: ...
    def now(self, status: CrawlStatus) -> ClusterNow: ...
    def meanwhile(self, coordinator: Coordinator[int, Report], pool: WorkerPool, status: CrawlStatus) -> None:
        """In the place of `round`, while some of our partitions are not open yet."""

    def before_round(self) -> None: ...
    def round(
        self,
        coordinator: Coordinator[int, Report],
        reports: Mapping[int, Report],
        pool: WorkerPool,
        status: CrawlStatus,
    ) -> dict[int, int]: ...
