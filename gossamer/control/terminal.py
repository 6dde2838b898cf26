"""The crawl on a terminal: a live display while it runs, plain lines where nobody watches, a summary at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gossamer import __version__
from gossamer.clock import Clock
from gossamer.control.progress import Progress
from gossamer.control.words import size, span
from gossamer.frontier.tables import Totals
from gossamer.settings import CrawlSettings

REFRESH_S = 0.25
LOG_EVERY_S = 5.0


@dataclass(frozen=True)
class Facts:
    """A crawl at this moment, all its workers together."""

    totals: Totals
    in_flight: int
    active_hosts: int
    workers: list[tuple[int, int, int]]  # number, in flight, partitions
    paused: str = ""  # why nothing is leased


class Terminal:
    """Shows a crawl's progress until it is told to stop."""

    def __init__(
        self,
        folder: Path,
        limits: CrawlSettings,
        progress: Progress,
        facts: Callable[[], Facts],
        clock: Clock,
        out: TextIO = sys.stderr,
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._progress = progress
        self._facts = facts
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

    def say(self, text: str) -> None:
        """One line of ours, above the display where there is one."""
        if self._console.is_terminal:
            self._console.print(f"gossamer: {text}", markup=False)
        else:
            print(f"gossamer: {text}", file=self._console.file, flush=True)

    def _log_line(self) -> str:
        facts, (pages_s, bytes_s) = self._facts(), self._progress.rates()
        totals = facts.totals
        errors = " ".join(f"{reason}={count}" for reason, count in sorted(self._progress.errors.items()))
        fields = (
            f"pages={totals.pages} pages_per_s={pages_s:.1f} bytes_per_s={bytes_s:.0f} queued={totals.queued}"
            f" waiting={totals.waiting} in_flight={facts.in_flight} hosts={totals.hosts}"
            f" workers={len(facts.workers)} {errors}"
        )
        return f"gossamer: {f'paused: {facts.paused}; ' if facts.paused else ''}{fields.strip()}"

    def _picture(self) -> RenderableType:
        facts, (pages_s, bytes_s) = self._facts(), self._progress.rates()
        totals = facts.totals
        figures = Table.grid(padding=(0, 3), expand=True)
        for _ in range(4):
            figures.add_column(ratio=1)
        figures.add_row(
            _figure("pages", f"{totals.pages:,}", f"{pages_s:,.1f}/s"),
            _figure("received", size(totals.bytes), f"{size(bytes_s)}/s"),
            _figure("queued", f"{totals.queued:,}", f"{totals.waiting:,} waiting"),
            _figure("hosts", f"{facts.active_hosts:,} active", f"{totals.hosts:,} met"),
        )
        parts: list[RenderableType] = [figures, Text(), self._errors()]
        if len(facts.workers) > 1:
            parts.append(_workers(facts))
        if facts.paused:
            parts.append(Text(f"paused: {facts.paused}; goes on by itself when there is room", style="yellow"))
        parts.append(Text())
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
            title=f"gossamer {__version__} · {self._folder}",
            subtitle=self._subtitle(facts, pages_s),
            padding=(1, 1, 0, 1),
        )

    def _errors(self) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        counts = self._progress.errors.most_common(5)
        if not counts:
            return text.append("no errors so far", style="dim")
        for reason, count in counts:
            text.append(f"{count:,} ", style="yellow").append(f"{reason}   ")
        return text

    def _subtitle(self, facts: Facts, pages_s: float) -> str:
        totals, limits = facts.totals, self._limits
        elapsed_s = self._progress.elapsed_s
        parts = [span(elapsed_s)]
        left_s = []
        if limits.max_pages is not None and pages_s > 0:
            left_s.append((limits.max_pages - totals.pages) / pages_s)
        if limits.max_time_s is not None:
            left_s.append(limits.max_time_s - elapsed_s)
        if left_s:
            parts.append(f"about {span(min(left_s))} left")
        if self.is_stopping:
            parts.append(f"stopping: {facts.in_flight:,} still in flight, Ctrl-C again stops at once")
        elif totals.queued == 0 and totals.waiting:
            parts.append("only later tries are left; Ctrl-C stops, the same command goes on")
        else:
            parts.append("Ctrl-C stops cleanly")
        return " · ".join(parts)


def _figure(name: str, value: str, beside: str) -> Text:
    return Text.assemble((f"{name}\n", "dim"), (value, "bold"), (f"  {beside}", "dim"))


def _workers(facts: Facts) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for number, in_flight, partitions in facts.workers:
        text.append(f"worker {number}: ", style="dim").append(f"{in_flight:,} in flight, {partitions} partitions   ")
    return text
