"""The crawl on a terminal: a live display while it runs, plain lines where nobody watches, a summary at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gossamer import __version__
from gossamer.clock import Clock
from gossamer.messages.control_messages import AS_ASKED, Event, Now
from gossamer.settings import CrawlSettings
from gossamer.supervisor.status import CrawlStatus
from gossamer.text import printable, size, span

REFRESH_S = 0.25
LOG_EVERY_S = 5.0


class Terminal:
    """Shows a crawl's progress until it is told to stop."""

    def __init__(
        self,
        folder: Path,
        limits: CrawlSettings,
        status: CrawlStatus,
        clock: Clock,
        out: TextIO = sys.stderr,
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._status = status
        self._clock = clock
        self._console = Console(file=out, highlight=False)

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
        text = printable(text)
        if self._console.is_terminal:
            self._console.print(f"gossamer: {text}", markup=False)
        else:
            print(f"gossamer: {text}", file=self._console.file, flush=True)

    def _log_line(self) -> str:
        now = self._status.now()
        totals = now.totals
        errors = " ".join(f"{reason}={count}" for reason, count in sorted(now.errors.items()))
        fields = (
            f"pages={totals.pages} pages_per_s={now.pages_per_s:.1f} bytes_per_s={now.bytes_per_s:.0f}"
            f" queued={totals.queued} waiting={totals.waiting} in_flight={now.in_flight} hosts={totals.hosts}"
            f" workers={sum(worker.state != 'starting' for worker in now.workers)} {errors}"
        )
        return f"gossamer: {f'paused: {now.paused}; ' if now.paused else ''}{fields.strip()}"

    def _picture(self) -> RenderableType:
        now = self._status.now()
        totals = now.totals
        figures = Table.grid(padding=(0, 3), expand=True)
        for _ in range(4):
            figures.add_column(ratio=1)
        figures.add_row(
            _figure("pages", f"{totals.pages:,}", f"{now.pages_per_s:,.1f}/s"),
            _figure("received", size(totals.bytes), f"{size(now.bytes_per_s)}/s"),
            _figure("queued", f"{totals.queued:,}", f"{totals.waiting:,} waiting"),
            _figure("hosts", f"{now.active_hosts:,} active", f"{totals.hosts:,} met"),
        )
        parts: list[RenderableType] = [figures, Text(), self._errors()]
        if len(now.workers) > 1:
            parts.append(_workers(now))
        if now.paused:
            hint = "" if now.paused == AS_ASKED else "; it resumes by itself"
            parts.append(Text(f"paused: {now.paused}{hint}", style="yellow"))
        parts.append(Text())
        width = self._console.width - 4
        for line in map(_line, self._status.progress.events):
            line.truncate(width, overflow="ellipsis")
            parts.append(line)
        return Panel(
            Group(*parts),
            title=f"gossamer {__version__} · {self._folder}",
            subtitle=self._subtitle(now),
            padding=(1, 1, 0, 1),
        )

    def _errors(self) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        counts = self._status.progress.errors.most_common(5)
        if not counts:
            return text.append("no errors so far", style="dim")
        for reason, count in counts:
            text.append(f"{count:,} ", style="yellow").append(f"{reason}   ")
        return text

    def _subtitle(self, now: Now) -> str:
        totals, limits, pages_s = now.totals, self._limits, now.pages_per_s
        elapsed_s = now.at - now.started_at
        parts = [span(elapsed_s)]
        left_s = []
        if limits.max_pages is not None and pages_s > 0:
            left_s.append((limits.max_pages - totals.pages) / pages_s)
        if limits.max_time_s is not None:
            left_s.append(limits.max_time_s - elapsed_s)
        if left_s:
            parts.append(f"about {span(min(left_s))} left")
        if now.is_draining:
            parts.append(f"stopping: {now.in_flight:,} still in flight, Ctrl-C again stops at once")
        elif totals.queued == 0 and totals.waiting:
            parts.append("only later tries are left; Ctrl-C stops, the same command resumes it")
        else:
            parts.append("Ctrl-C stops cleanly")
        return " · ".join(parts)


def _figure(name: str, value: str, beside: str) -> Text:
    return Text.assemble((f"{name}\n", "dim"), (value, "bold"), (f"  {beside}", "dim"))


def _line(event: Event) -> Text:
    mark = str(event.status or event.reason or "")
    text = Text(overflow="ellipsis", no_wrap=True)
    text.append(f"{mark[:18]:>18} ", style="green" if event.is_good else "yellow").append(event.url)
    return text.append(f"  {event.note}", style="dim") if event.note else text


def _workers(now: Now) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for worker in now.workers:
        text.append(f"worker {worker.number}: ", style="dim")
        text.append(f"{worker.in_flight:,} in flight, {len(worker.partitions)} partitions   ")
    return text
