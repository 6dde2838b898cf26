"""The server of the control API as a child of a crawl: `crawl --serve`.

The server is always a process of its own. This starts one with the settings that the crawl has saved in its folder,
and ends it with the crawl, however that ends: a child whose standard input ends knows that its parent is gone, tells
whoever looks on the last figures, and goes. At a terminal it stays until Ctrl-C. The crawl is worth more than its
dashboard: where the server cannot start, that is said, and the crawl goes on.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from gossamer.folder import CrawlFolder
from gossamer.text import COMMAND

STOP_S = 10.0


@dataclass(frozen=True)
class Served:
    address: str  # empty: it did not start
    stay: Callable[[], None]  # waits until the user leaves, if there is one at a terminal


@contextmanager
def served(folder: CrawlFolder, say: Callable[[str], None], *flags: str) -> Iterator[Served]:
    """A server for this crawl, for as long as this lasts.

    It reads its settings in the folder; `flags` go before them."""
    child = subprocess.Popen(
        [sys.executable, "-m", "gossamer", "serve", str(folder.path), "--child", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the crawl, which may go on for a while
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    where = child.stdout.readline().strip()
    again = f"`{COMMAND} serve {folder.path}`"
    say(where or f"there is no dashboard, and the crawl goes on without it; {again} starts one at any time")

    def stay() -> None:
        if where and child.poll() is None and sys.stdin.isatty() and sys.stderr.isatty():
            say(f"still {where}; Ctrl-C ends that, and {again} starts it again")
            with suppress(KeyboardInterrupt):
                child.wait()

    try:
        yield Served(where.rpartition(" ")[2], stay)
    finally:
        with suppress(BrokenPipeError):
            child.stdin.close()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()
