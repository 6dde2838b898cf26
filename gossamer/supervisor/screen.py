"""A terminal's whole window, borrowed: drawn over again and again, and given back as it was.

The alternate screen is what editors and pagers use: whatever is drawn there, at whatever size of the window, nothing
of it stays behind. Lines are cut and not wrapped, and each picture is written whole: what else gets onto the screen,
such as the `^C` that the system echoes, is gone with the next one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.text import Text

SIZE = (80, 24)  # where the terminal does not tell
# The alternate screen (with the cursor's place), the cursor, wrapping of long lines.
ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"
LEAVE = "\x1b[2J\x1b[?7h\x1b[?25h\x1b[?1049l"  # cleared: tmux keeps rows of a window that was resized meanwhile
BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"  # a picture: terminals that know this show it when it is whole
HOME, CLEAR, REST_OF_LINE = "\x1b[H", "\x1b[2J", "\x1b[K"


class Screen:
    def __init__(self, out: TextIO) -> None:
        self.is_entered = False
        self._out = out
        self._console = Console(file=out, force_terminal=True, highlight=False)
        self._drawn: os.terminal_size | None = None  # the size of what is on it

    @property
    def is_window(self) -> bool:
        """Whether there is one at all: neither a pipe nor a file, nor a terminal that only prints."""
        return self._out.isatty() and not self._console.is_dumb_terminal

    @property
    def is_foreground(self) -> bool:
        """Whether the window is ours. A job in the background leaves it to the shell."""
        try:
            return os.tcgetpgrp(self._out.fileno()) == os.getpgrp()
        except OSError:
            return True  # no shell that minds

    @property
    def size(self) -> os.terminal_size:
        try:
            found = os.get_terminal_size(self._out.fileno())
        except OSError:
            found = os.terminal_size((0, 0))
        return found if found.columns and found.lines else os.terminal_size(SIZE)

    def enter(self) -> None:
        if not self.is_entered:
            self.is_entered, self._drawn = True, None
            self._write(ENTER)

    def leave(self) -> None:
        if self.is_entered:
            self.is_entered = False
            self._write(LEAVE)

    def draw(self, rows: Sequence[Text], size: os.terminal_size) -> None:
        """Rows from the top on; made for a window of this size."""
        rows = rows[: size.lines]
        for row in rows:
            row.truncate(size.columns, overflow="ellipsis")
        with self._console.capture() as capture:
            self._console.print(Text("\n").join(rows), end="", soft_wrap=True)
        # Behind a full row the cursor stands on its last character, which must stay.
        lines = [
            line + (REST_OF_LINE if row.cell_len < size.columns else "")
            for line, row in zip(capture.get().split("\n"), rows, strict=True)
        ]
        lines += [REST_OF_LINE] * (size.lines - len(lines))
        start = HOME if size == self._drawn else CLEAR + HOME
        self._drawn = size
        self._write(BEGIN + start + "\r\n".join(lines) + HOME + END)

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
