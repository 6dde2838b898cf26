"""A fetcher as the crawl has it, with robots.txt, remembering only in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gossamer.clock import RealClock
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.http import Http
from gossamer.fetch.robots import RobotsCache
from gossamer.records import Answer, Lease, Link, Result, RobotsCopy, RobotsRead
from gossamer.settings import RobotsSettings
from gossamer.url.site import host_of

SETTINGS = RobotsSettings(retry_s=(10.0, 20.0))


class Asking:
    def __init__(self, http: Http) -> None:
        self.turns: list[str] = []  # of other hosts
        copies: dict[str, RobotsCopy] = {}
        modules = {"http": http, "https": http}
        self._fetcher = Fetcher(modules, RobotsCache(copies.get), self._booking_of, RealClock(), SETTINGS, "gossamer")

    async def fetch(self, url: str) -> Result:
        """One turn of the URL's host."""
        return await self._fetcher.fetch(Lease(Link(url), host_of(url), RealClock().now() + 60))

    async def read(self, url: str, turns: int = 1) -> RobotsCopy:
        """So many turns, which all go into robots.txt; what is known of it then."""
        copies: list[RobotsCopy] = []
        for _ in range(turns):
            result = await self.fetch(url)
            assert isinstance(result, RobotsRead), result
            copies.append(result.robots)
        return copies[-1]

    @asynccontextmanager
    async def _booking_of(self, url: str) -> AsyncIterator[Callable[[Answer], None]]:
        self.turns.append(host_of(url))
        yield lambda answer: None
