"""Where fetchers join a crawl (`fetchers.listen`): who gives jobs here, and reports that come beside a stream.

Bodies do not pass here: each fetcher has a stream to each worker. A report is handed on to the worker that owns its
URL, which knows whether there is such a lease; a wrong one changes nothing (fetchers/jobs.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gossamer.access.keys import Keys
from gossamer.clock import Clock
from gossamer.folder import CrawlFolder
from gossamer.settings import Tree
from gossamer.supervisor.worker_pool import WorkerPool


class FetchersJoin:
    """Use as `async with`. Without `fetchers.listen` it does nothing."""

    def __init__(
        self, folder: CrawlFolder, config: Tree, pool: WorkerPool, clock: Clock, say: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._config = config
        self._pool = pool
        self._clock = clock
        self._say = say
        self._server: Any = None

    async def __aenter__(self) -> FetchersJoin:
        if not self._config.fetchers.listen:
            return self
        from gossamer.fetchers.crawler import CrawlerService  # noqa: PLC0415 - of an extra
        from gossamer.fetchers.fetchers_pb2 import DESCRIPTOR  # noqa: PLC0415 - of an extra
        from gossamer.rpc.server import RpcServer, Service  # noqa: PLC0415 - of an extra

        servicer = CrawlerService(self._folder.path.name, self._ports, self._pool.report)
        service = Service(DESCRIPTOR.services_by_name["Crawler"], servicer, fetches=frozenset({"Workers", "Report"}))
        keys = Keys(self._folder.path)
        self._server = RpcServer([service], self._config.fetchers.listen, self._config.rpc, keys, self._clock)
        self._say(f"fetchers join at {await self._server.start()}")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            await self._server.stop(0.0)

    def _ports(self) -> list[int]:
        reports = (member.report for member in self._pool.members.values() if member.is_ready)
        return [report.fetchers.port for report in reports if report is not None and report.fetchers.port]
