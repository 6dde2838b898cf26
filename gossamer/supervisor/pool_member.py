"""A member of the worker pool: one worker process, as the supervisor sees it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from gossamer.cluster.wire import Peer
from gossamer.messages import worker_messages
from gossamer.supervisor.worker_process import WorkerProcess


@dataclass(eq=False)
class Member:
    number: int
    process: WorkerProcess
    peer: Peer | None = None
    is_ready: bool = False
    report: worker_messages.Report | None = None
    asking: asyncio.Task[worker_messages.Report | None] | None = None  # it owes us a report
    asked_at: float = 0.0
    asked: tuple[object, int] = (None, 0)  # when it was asked: what was done from outside, pages it was allowed
    is_excused: bool = False  # it said why it ends, and nobody is to blame
    said: bytes = b""
    watching: asyncio.Task[None] | None = None  # until its process has ended

    def __str__(self) -> str:
        return f"worker {self.number} (process {self.process.pid})"
