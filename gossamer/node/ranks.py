"""The ranks of a cluster: made by `gossamer rank cluster.toml` in the folder of a look, used by all workers.

The file (schedule/ranks.py) goes to the object store under the moment at which it was made, and that name to the
board. Each node gets it into its folder, where its workers find it as on one machine. An object is never written
over; the last two are kept, so that somebody who is just reading one can.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from gossamer.atomic import replacing
from gossamer.clock import Clock
from gossamer.cluster.kafka.board import Board
from gossamer.folder import CrawlFolder
from gossamer.interfaces import Objects
from gossamer.schedule.ranks import FILE, Ranks

KEY = "ranks"
OBJECTS = "ranks/"  # below the cluster's state
CHUNK_BYTES = 8 << 20
AGAIN_S = 15.0  # before another try to get them


def name_of(folder: CrawlFolder) -> str:
    """What the ranks in a folder are called; empty: there are none."""
    ranks = Ranks.open(folder.path)
    return f"{OBJECTS}{ranks.made_at:017.6f}" if ranks is not None else ""


async def publish(folder: CrawlFolder, objects: Objects, board: Board) -> None:
    """Hand the ranks in this folder to all nodes."""
    name, size = name_of(folder), (folder.path / FILE).stat().st_size
    before = board.get(KEY)
    await asyncio.to_thread(objects.put, name, _chunks(folder), size)
    await board.put(KEY, name.encode())
    kept = {name, before.value.decode() if before is not None else name}
    names = await asyncio.to_thread(lambda: list(objects.names(OBJECTS)))
    await asyncio.to_thread(objects.remove, [each for each in names if each not in kept])


def _chunks(folder: CrawlFolder) -> Iterator[bytes]:
    with (folder.path / FILE).open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def fetch(name: str, objects: Objects, folder: CrawlFolder) -> None:
    """Have these ranks in this folder. Raises OSError where they cannot be fetched now."""
    if name_of(folder) == name:
        return
    with replacing(folder.path / FILE) as partial, partial.open("wb") as file:
        for chunk in objects.chunks(name):
            file.write(chunk)


class RanksFollower:
    """A node's part: the ranks in its folder are those of the board."""

    def __init__(self, board: Board, objects: Objects, folder: CrawlFolder, clock: Clock) -> None:
        self._board = board
        self._objects = objects
        self._folder = folder
        self._clock = clock
        self._have = ""
        self._try_at = 0.0
        self._fetching: asyncio.Task[str] | None = None

    def look(self, say: Callable[[str], None]) -> None:
        """Now and then; it takes no time."""
        if self._fetching is not None:
            if not self._fetching.done():
                return
            try:
                self._have = self._fetching.result()
            except OSError as fault:
                self._try_at = self._clock.now() + AGAIN_S
                say(f"the ranks cannot be fetched yet: {fault}")
            self._fetching = None
        entry = self._board.get(KEY)
        if entry is not None and entry.value.decode() != self._have and self._clock.now() >= self._try_at:
            self._fetching = asyncio.ensure_future(self._fetch(entry.value.decode()))

    async def _fetch(self, name: str) -> str:
        await asyncio.to_thread(fetch, name, self._objects, self._folder)
        return name

    def close(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
