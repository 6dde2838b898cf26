"""The crawl on a terminal: a live display while it runs, plain lines where nobody watches, a summary at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gossamer import __version__
from gossamer.clock import Clock
from gossamer.control.progress import Progress, total
from gossamer.control.words import size, span
from gossamer.frontier.tables import Totals
from gossamer.worker import Worker

REFRESH_S = 0.25
LOG_EVERY_S = 5.0


class Terminal:
    """Shows a worker's progress until it is told to stop."""

    def __init__(self, worker: Worker, progress: Progress, clock: Clock, out: TextIO = sys.stderr) -> None:
        self._worker = worker
        self._progress = progress
        self._clock = clock
        self._console = Console(file=out, highlight=False)
        self.is_stopping = False

    async def show(self) -> None:
        if self._console.is_terminal:
            with Live(
                get_renderable=self._picture, console=self._console, auto_refresh=False, transient=True
            ) as live:
                while True:
                    live.refresh()
                    await self._clock.sleep(REFRESH_S)
        while True:
            await self._clock.sleep(LOG_EVERY_S)
            print(self._log_line(), file=self._console.file, flush=True)

    def _totals(self) -> Totals:
        return total(frontier.totals for frontier in self._worker.frontiers.values())

    def _log_line(self) -> str:
        totals, (pages_s, bytes_s) = self._totals(), self._progress.rates()
        errors = " ".join(f"{reason}={count}" for reason, count in sorted(self._progress.errors.items()))
        fields = (
            f"pages={totals.pages} pages_per_s={pages_s:.1f} bytes_per_s={bytes_s:.0f} queued={totals.queued}"
            f" waiting={totals.waiting} in_flight={self._worker.crawl.in_flight} hosts={totals.hosts} {errors}"
        )
        return f"gossamer: {fields.strip()}"

    def _picture(self) -> RenderableType:
        totals, (pages_s, bytes_s) = self._totals(), self._progress.rates()
        figures = Table.grid(padding=(0, 3), expand=True)
        for _ in range(4):
            figures.add_column(ratio=1)
        active = sum(frontier.active_hosts for frontier in self._worker.frontiers.values())
        figures.add_row(
            _figure("pages", f"{totals.pages:,}", f"{pages_s:,.1f}/s"),
            _figure("received", size(totals.bytes), f"{size(bytes_s)}/s"),
            _figure("queued", f"{totals.queued:,}", f"{totals.waiting:,} waiting"),
            _figure("hosts", f"{active:,} active", f"{totals.hosts:,} met"),
        )
        parts: list[RenderableType] = [figures, Text()]
        parts += [self._errors(totals), Text()]
        width = self._console.width - 4
        for line in self._progress.lines:
            text = Text(overflow="ellipsis", no_wrap=True)
            text.append(f"{line.mark[:18]:>18} ", style="green" if line.is_good else "yellow")
            text.append(line.url)
            if line.note:
                text.append(f"  {line.note}", style="dim")
            text.truncate(width, overflow="ellipsis")
            parts.append(text)
        return Panel(
            Group(*parts),
            title=f"gossamer {__version__} · {self._worker.folder.path}",
            subtitle=self._subtitle(totals, pages_s),
            padding=(1, 1, 0, 1),
        )

    def _errors(self, totals: Totals) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        counts = self._progress.errors.most_common(5)
        if not counts:
            return text.append("no errors so far", style="dim")
        for reason, count in counts:
            text.append(f"{count:,} ", style="yellow").append(f"{reason}   ")
        return text

    def _subtitle(self, totals: Totals, pages_s: float) -> str:
        elapsed_s = self._progress.elapsed_s
        parts = [span(elapsed_s)]
        limits = self._worker.config.crawl
        left_s = []
        if limits.max_pages is not None and pages_s > 0:
            left_s.append((limits.max_pages - totals.pages) / pages_s)
        if limits.max_time_s is not None:
            left_s.append(limits.max_time_s - elapsed_s)
        if left_s:
            parts.append(f"about {span(min(left_s))} left")
        if self.is_stopping:
            parts.append(f"stopping: {self._worker.crawl.in_flight:,} still in flight, Ctrl-C again stops at once")
        elif totals.queued == 0 and totals.waiting:
            parts.append("only later tries are left; Ctrl-C stops, the same command goes on")
        else:
            parts.append("Ctrl-C stops cleanly")
        return " · ".join(parts)


def _figure(name: str, value: str, beside: str) -> Text:
    return Text.assemble((f"{name}\n", "dim"), (value, "bold"), (f"  {beside}", "dim"))


def say(out: TextIO) -> Callable[[str], None]:
    """One line of ours, marked as such, so that it can be told from what others print."""
    return lambda text: print(f"gossamer: {text}", file=out, flush=True)
