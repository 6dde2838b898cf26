"""The supervisor: one crawl on this machine, from lock to summary.

It opens the worker, shows what it does, and answers signals: the first Ctrl-C (or SIGTERM) drains, which means that
nothing more is leased and what is in flight is finished; the second stops at once, which is as safe as `kill -9`.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TextIO

from gossamer.archive.warc import ArchiveFull
from gossamer.clock import Clock
from gossamer.config import Configuration
from gossamer.control.progress import Progress, total
from gossamer.control.terminal import Terminal
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.tables import Totals
from gossamer.records import Url
from gossamer.worker import Worker

ENDINGS = {
    "complete": "complete: every URL that was found is done",
    "pages": "stopped at the limit of pages",
    "time": "stopped at the limit of time",
    "interrupted": "stopped as asked",
}


@dataclass(frozen=True)
class Ending:
    """How a crawl ended, and what it did."""

    why: str  # a key of ENDINGS
    totals: Totals
    pages: int  # this time; totals are from the crawl's first start on
    bytes: int
    elapsed_s: float


async def run_crawl(
    folder: CrawlFolder, configuration: Configuration, seeds: Iterable[Url], clock: Clock, out: TextIO
) -> Ending:
    """Crawl in a folder until the work, a limit or the user ends it."""
    progress = Progress(clock)
    all_seeds = folder.add_seeds(seeds)
    configuration.save(folder.path)
    tree = configuration.tree
    async with Worker(folder, tree, all_seeds, clock, progress.watch) as worker:
        terminal = Terminal(worker, progress, clock, out)
        showing = asyncio.create_task(terminal.show())
        stop = Stop(worker, terminal)
        try:
            await worker.run()
        except* ArchiveFull as full:
            raise FolderError(f"{full.exceptions[0]}. Nothing is lost: the same command goes on") from full
        finally:
            stop.forget()
            showing.cancel()
            await asyncio.wait([showing])
        totals = total(frontier.totals for frontier in worker.frontiers.values())
        if stop.was_asked:
            why = "interrupted"
        elif worker.crawl.is_complete:
            why = "complete"
        else:
            why = "pages" if worker.crawl.is_at_limit else "time"
    return Ending(why, totals, progress.pages, progress.bytes, progress.elapsed_s)


class Stop:
    """Signals: once drains, twice stops at once."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, worker: Worker, terminal: Terminal) -> None:
        self._worker = worker
        self._terminal = terminal
        self.was_asked = False
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        for number in self.SIGNALS:
            self._loop.add_signal_handler(number, self._ask)

    def _ask(self) -> None:
        if self.was_asked and self._task is not None:
            self._task.cancel()
        self.was_asked = True
        self._terminal.is_stopping = True
        self._worker.stop()

    def forget(self) -> None:
        for number in self.SIGNALS:
            self._loop.remove_signal_handler(number)
