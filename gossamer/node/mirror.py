"""The board as files: what all nodes have to know of a crawl stands on the board, and in the folder of each node.

So everything on a node that reads a crawl's folder, workers before all, works as on one machine: policies hold from
each host's next turn on, a pause is kept over a restart, the list of seeds grows. The way is from the board to the
folder only; whoever wants to change something writes on the board (operating.py).
"""

from __future__ import annotations

import msgspec

from gossamer import atomic
from gossamer.cluster.kafka.board import Board
from gossamer.config import FILE_NAME
from gossamer.folder import CrawlFolder
from gossamer.node.report import OUTSIDE, last_of
from gossamer.records import Seed
from gossamer.seeds import SeedList
from gossamer.url.link_filter import Scope

FILES = {"crawl": FILE_NAME, "suffixes": "suffixes.dat", "format": "format.json", "policies": "policies.json"}


class Mirror:
    def __init__(self, board: Board, folder: CrawlFolder) -> None:
        self.outside = 0  # the last that an operator wrote and that is in the folder
        self._board = board
        self._folder = folder

    def write_files(self) -> None:
        for key in FILES:
            self._write(key)
        self._write("paused")

    def write(self, scope: Scope) -> None:
        """All of it, once at the start: whatever changed while this node was away."""
        self.write_files()
        self._add_seeds(self._board.keys("seeds/"), scope)
        self.outside = last_of(self._board, OUTSIDE)

    def take(self, key: str, scope: Scope) -> None:
        """Something has changed on the board."""
        if not is_outside(key):
            return
        if key.startswith("seeds/"):
            self._add_seeds([key], scope)
        elif key in ("policies", "paused"):  # settings hold from the next start of a node on
            self._write(key)
        entry = self._board.get(key)
        self.outside = max(self.outside, entry.offset if entry is not None else 0)

    def _write(self, key: str) -> None:
        entry = self._board.get(key)
        if key == "paused":
            self._folder.set_paused(entry.value.decode() if entry is not None else "")
        elif entry is not None:
            atomic.replace(self._folder.path / FILES[key], entry.value)

    def _add_seeds(self, keys: list[str], scope: Scope) -> None:
        entries = [entry for key in keys if (entry := self._board.get(key)) is not None]
        seeds = (seed for entry in entries for seed in msgspec.json.decode(entry.value, type=list[Seed]))
        SeedList(self._folder.path).take(seeds, scope)


def is_outside(key: str) -> bool:
    return key.startswith(OUTSIDE)
