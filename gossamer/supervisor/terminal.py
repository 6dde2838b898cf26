"""The crawl on a terminal: a picture of it that fills the window while it runs, plain lines where nobody watches.

The window is borrowed (screen.py) and given back however the crawl ends, also while it is stopped by Ctrl-Z. What is
told meanwhile stands in the picture, and is printed when the window is back, because it would be gone otherwise.

A line for nobody comes when something has changed, and once a minute where nothing has.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from gossamer.clock import Clock
from gossamer.settings import CrawlSettings
from gossamer.supervisor.picture import Scene, picture
from gossamer.supervisor.screen import Screen
from gossamer.supervisor.standstill import why_nothing
from gossamer.supervisor.status import CrawlStatus
from gossamer.text import printable

REFRESH_S = 0.4
LINE_S = 5.0  # between two lines at least
SAME_LINE_S = 60.0  # until a line is repeated
SAID_MAX = 100  # lines that are printed when the window is back


class Terminal:
    """Shows a crawl's progress until it is cancelled."""

    def __init__(
        self,
        folder: Path,
        limits: CrawlSettings,
        status: CrawlStatus,
        clock: Clock,
        out: TextIO = sys.stderr,
        served_at: str = "",
    ) -> None:
        self._title = " · ".join(filter(None, (str(folder), served_at)))
        self._limits = limits
        self._status = status
        self._clock = clock
        self._out = out
        self._said: deque[tuple[float, str]] = deque(maxlen=SAID_MAX)
        self._untold: deque[str] = deque(maxlen=SAID_MAX)
        self._wake = asyncio.Event()
        self._screen = screen if (screen := Screen(out)).is_window else None

    async def show(self) -> None:
        with suppress(OSError):  # the terminal or the pipe is gone: the crawl goes on for its folder
            if self._screen is not None:
                await self._draw_often(self._screen)
            else:
                await self._print_often()

    def say(self, text: str) -> None:
        """One line of ours."""
        self._said.append((self._clock.now(), text))
        if self._screen is not None and self._screen.is_entered:
            self._untold.append(text)
            self._wake.set()
        else:
            self._print(text)

    def _print(self, text: str) -> None:
        with suppress(OSError):
            print(f"gossamer: {printable(text)}", file=self._out, flush=True)

    # ---- a window ----------------------------------------------------------------------------------------

    async def _draw_often(self, screen: Screen) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self._wake.set)
        loop.add_signal_handler(signal.SIGTSTP, self._pause_process)
        try:
            while True:
                self._wake.clear()
                if screen.is_foreground:
                    screen.enter()
                    size = screen.size
                    screen.draw(picture(self._scene(), *size), size)
                await self._clock.wait(self._wake, self._clock.now() + REFRESH_S)
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)
            loop.remove_signal_handler(signal.SIGTSTP)
            self._leave()

    def _scene(self) -> Scene:
        status = self._status
        points, events = status.recent().points, status.progress.events
        return Scene(status.now(), points, events, self._said, self._limits, self._title)

    def _leave(self) -> None:
        if self._screen is not None:
            self._screen.leave()
        while self._untold:
            self._print(self._untold.popleft())

    def _pause_process(self) -> None:
        """Ctrl-Z: the shell gets its window back, until we are in the foreground again."""
        self._leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._wake.set()

    # ---- lines -------------------------------------------------------------------------------------------

    async def _print_often(self) -> None:
        line, printed_at = "", self._clock.now()
        while True:
            await self._clock.sleep(LINE_S)
            before, line, now = line, self._line(), self._clock.now()
            if line != before or now - printed_at >= SAME_LINE_S:
                self._print(line)
                printed_at = now

    def _line(self) -> str:
        now = self._status.now()
        totals = now.totals
        fields = (
            f"pages={totals.pages} pages_per_s={now.pages_per_s:.1f} bytes_per_s={now.bytes_per_s:.0f}"
            f" queued={totals.queued} waiting={totals.waiting} in_flight={now.under_way} hosts={totals.hosts}"
            f" workers={sum(worker.state != 'starting' for worker in now.workers)}"
        )
        errors = "".join(f" {reason}={count}" for reason, count in sorted(now.errors.items()))
        why = why_nothing(now) if now.pages_per_s == 0 or now.paused or now.is_draining else ""
        return f"{fields}{errors}{why and f'; {why}'}"
