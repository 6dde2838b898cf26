"""A terminal's window, as far as this program knows terminals: whatever else is sent to it is a fault.

`Window` keeps what a person would see, on the ordinary screen and on the alternate one; `in_window` runs the command
in one, on a real pseudo-terminal, where keys can be pressed and the size changes.
"""

from __future__ import annotations

import asyncio
import codecs
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.crawl.command import ROOT, until

COMMAND = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Size(NamedTuple):
    columns: int
    lines: int


class Window:
    def __init__(self, size: Size) -> None:
        self.size = size
        self.screens = {False: self._empty(), True: self._empty()}  # the ordinary and the alternate one
        self.modes = {7: True, 25: True, 1049: False, 2026: False}
        self.scrolled = 0  # lines that went out of the alternate screen
        self._row = self._column = 0
        self._saved = (0, 0)
        self._rest = ""

    def _empty(self) -> list[str]:
        return [""] * self.size.lines

    @property
    def is_borrowed(self) -> bool:
        return self.modes[1049]

    @property
    def has_cursor(self) -> bool:
        return self.modes[25]

    @property
    def rows(self) -> list[str]:
        return self.screens[self.is_borrowed]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    def resize(self, size: Size) -> None:
        """The alternate screen is cut, or gets more room; the ordinary one keeps what it has."""
        self.size = size
        rows = self.screens[True]
        rows[:] = [row[: size.columns] for row in rows[: size.lines]] + [""] * (size.lines - len(rows))
        self._row, self._column = min(self._row, size.lines - 1), min(self._column, size.columns - 1)

    def feed(self, text: str) -> None:
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = COMMAND.match(text, at)
                if found is None:
                    assert len(text) - at < 12, f"not a command: {text[at : at + 20]!r}"
                    self._rest = text[at:]
                    return
                self._obey(*found.groups())
                at = found.end()
            else:
                self._put(text[at])
                at += 1

    def _obey(self, private: str, numbers: str, letter: str) -> None:
        rows = self.rows
        match private, letter, numbers:
            case "?", "h" | "l", _:
                mode = int(numbers)
                assert mode in self.modes, f"mode {mode}"
                if mode == 1049:
                    self._borrow(letter == "h")
                self.modes[mode] = letter == "h"
            case "", "m", _:
                pass
            case "", "H", "":
                self._row = self._column = 0
            case "", "J", "2":
                rows[:] = self._empty()
            case "", "K", "":
                rows[self._row] = rows[self._row][: self._column]
            case _:
                raise AssertionError(f"a command that it does not know: {private}{numbers}{letter}")

    def _borrow(self, is_borrowed: bool) -> None:
        assert is_borrowed != self.is_borrowed, "twice"
        if is_borrowed:
            self._saved = (self._row, self._column)
            self.screens[True] = self._empty()
        else:
            self._row, self._column = self._saved

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._down()
        else:
            assert character.isprintable(), repr(character)
            if self._column == self.size.columns:
                if not self.modes[7]:
                    self._column -= 1
                else:
                    self._column = 0
                    self._down()
            row = self.rows[self._row].ljust(self._column)
            self.rows[self._row] = row[: self._column] + character + row[self._column + 1 :]
            self._column += 1

    def _down(self) -> None:
        if self._row < self.size.lines - 1:
            self._row += 1
            return
        self.scrolled += self.is_borrowed
        del self.rows[0]
        self.rows.append("")


class Terminal:
    """A command that runs in a window."""

    def __init__(self, window: Window, process: asyncio.subprocess.Process, keyboard: int) -> None:
        self.window = window
        self.process = process
        self._keyboard = keyboard

    def press(self, keys: bytes) -> None:
        os.write(self._keyboard, keys)

    def resize(self, columns: int, lines: int) -> None:
        self.window.resize(Size(columns, lines))
        set_size(self._keyboard, self.window.size)

    async def shows(self, *patterns: str, timeout_s: float = 40) -> None:
        try:
            await until(lambda: all(re.search(each, self.window.text) for each in patterns), timeout_s)
        except TimeoutError:
            raise AssertionError(f"{patterns} is not in\n{self.window.text}") from None

    async def end(self, timeout_s: float = 60) -> int:
        return await asyncio.wait_for(self.process.wait(), timeout_s)


def set_size(terminal: int, size: Size) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size.lines, size.columns, 0, 0))


@asynccontextmanager
async def in_window(
    *arguments: object, columns: int = 80, lines: int = 24, cwd: Path = ROOT
) -> AsyncIterator[Terminal]:
    window = Window(Size(columns, lines))
    master, slave = pty.openpty()
    set_size(slave, window.size)
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("GOSSAMER_", "COLUMNS", "LINES"))
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gossamer", *map(str, arguments)),
        cwd=cwd,
        env=clean | {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # its keys become signals
    )
    os.close(slave)
    decoder = codecs.getincrementaldecoder("utf-8")()
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # Linux: everybody has closed the other end
            chunk = b""
        if chunk:
            window.feed(decoder.decode(chunk))
        else:
            loop.remove_reader(master)

    loop.add_reader(master, read)
    try:
        yield Terminal(window, process, master)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        loop.remove_reader(master)
        os.close(master)
