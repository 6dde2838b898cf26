"""The context: all that the functions behind the routes work with."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gossamer.api.crawl_client import CrawlClient
from gossamer.api.guard import Guard
from gossamer.api.route import NoAnswer
from gossamer.api.views import Views
from gossamer.archive.storage import Storage
from gossamer.clock import Clock
from gossamer.folder import CrawlFolder
from gossamer.settings import Tree
from gossamer.text import COMMAND

T = TypeVar("T")

REMEMBERED_MAX = 64
REST = 10  # times what it took, at least, before something dear is made again


@dataclass
class Context:
    folder: CrawlFolder
    tree: Tree  # the crawl's settings
    clock: Clock
    views: Views
    crawl: CrawlClient
    guard: Guard
    storage: Storage  # where the archive lies
    is_stopping: bool = False
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)  # held by whoever changes a file of the crawl
    _remembered: OrderedDict[tuple[Hashable, ...], tuple[float, Any]] = field(default_factory=OrderedDict)
    _making: defaultdict[Hashable, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    def close(self) -> None:
        """Wakes all who wait."""
        self.crawl.close()

    def must_be_whole(self) -> None:
        """Raises where this is one node of several: what is changed here would be told to no other."""
        if self.folder.is_of_node:
            raise NoAnswer(
                409,
                "not_for_a_node",
                "this is one node of a cluster, and that is for all of them: tell it to the server of the whole, "
                f"`{COMMAND} serve cluster.toml`",
            )

    async def remembered(self, what: tuple[Hashable, ...], make: Callable[[], Awaitable[T]], least_s: float) -> T:
        """Something that is dear to make, such as the order of all hosts: again after `least_s`, or ten times what it
        took. So a page that asks every second cannot keep this machine busy, however large the crawl is."""
        async with self._making[what[0]]:
            until, found = self._remembered.get(what, (0.0, None))
            if self.clock.now() < until:
                return found  # type: ignore[no-any-return]  # as it was made
            started_at = self.clock.now()
            made = await make()
            now = self.clock.now()
            self._remembered[what] = (now + max(least_s, REST * (now - started_at)), made)
            self._remembered.move_to_end(what)
            while len(self._remembered) > REMEMBERED_MAX:
                self._remembered.popitem(last=False)
            return made

    def forget(self, *kinds: str) -> None:
        """Something has changed that these show."""
        for what in [what for what in self._remembered if what[0] in kinds]:
            del self._remembered[what]
