"""The server of the control API as a child of a crawl: `crawl --serve`.

The server is always a process of its own. This starts one with the settings that the crawl has saved in its folder,
and ends it with the crawl, however that ends: a child whose standard input ends knows that its parent is gone.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gossamer.folder import CrawlFolder, FolderError

STOP_S = 10.0


@contextmanager
def served(folder: CrawlFolder, say: Callable[[str], None]) -> Iterator[str]:
    """A server for this crawl, for as long as this lasts, and its address. It reads its settings in the folder."""
    child = subprocess.Popen(
        [sys.executable, "-m", "gossamer", "serve", str(folder.path), "--child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the crawl, which may go on for a while
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    try:
        where = child.stdout.readline().strip()
        if not where:
            raise FolderError("the server of --serve did not start")
        say(where)
        yield where.rpartition(" ")[2]
    finally:
        child.terminate()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdin.close()
        child.stdout.close()
