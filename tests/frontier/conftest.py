from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.records import Link, Reason
from gossamer.settings import FrontierSettings, PolitenessSettings

MAX_DEPTH = 5


def link_filter(link: Link) -> Reason | None:
    if "/forbidden" in link.url:
        return Reason.EXCLUDED
    return Reason.MAX_DEPTH if link.depth > MAX_DEPTH else None


class Reopened:
    """A frontier that can be closed and opened again, as after a crash or a restart."""

    def __init__(self, folder: Path, clock: VirtualClock) -> None:
        self._folder = folder
        self._clock = clock
        self._store: RocksStore | None = None

    def __call__(self, **limits: object) -> Frontier:
        self.close()
        self._store = RocksStore(self._folder / "partition", TABLES)
        settings = FrontierSettings(**limits)  # type: ignore[arg-type]
        return Frontier.open(
            self._store, self._store.folder, self._clock, link_filter, settings, PolitenessSettings()
        )

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


@pytest.fixture
def reopen(folder: Path, clock: VirtualClock) -> Iterator[Callable[..., Frontier]]:
    reopened = Reopened(folder, clock)
    yield reopened
    reopened.close()


@pytest.fixture
def frontier(reopen: Callable[..., Frontier]) -> Frontier:
    return reopen()
