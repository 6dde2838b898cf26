"""Signals: the first drains, the second stops at once."""

from __future__ import annotations

import asyncio
import signal
from typing import Protocol

from gossamer.supervisor.status import CrawlStatus


class Stoppable(Protocol):
    status: CrawlStatus

    def stop(self, why: str) -> None: ...


class Stop:
    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, supervisor: Stoppable) -> None:
        self._supervisor = supervisor
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        for number in self.SIGNALS:
            self._loop.add_signal_handler(number, self._ask)

    def _ask(self) -> None:
        if self._supervisor.status.is_draining and self._task is not None:
            self._task.cancel()
        self._supervisor.stop("interrupted")

    def forget(self) -> None:
        for number in self.SIGNALS:
            self._loop.remove_signal_handler(number)
