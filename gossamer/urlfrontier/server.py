"""`gossamer frontier`: a folder, served until SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace
from starlette.responses import Response

from gossamer.access.keys import Keys
from gossamer.api.guard import Guard
from gossamer.api.route import Route
from gossamer.api.routes.metrics import MEDIA_TYPE
from gossamer.api.routes.static_files import health
from gossamer.api.server import Server, bound, check, guard_of
from gossamer.clock import Clock, RealClock
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.rpc.server import RpcServer, Service, address_in
from gossamer.settings import ServeSettings, Tree
from gossamer.text import printable
from gossamer.urlfrontier.frontier import Frontier
from gossamer.urlfrontier.frontier_folder import FrontierFolder
from gossamer.urlfrontier.gathering import Gathering
from gossamer.urlfrontier.metrics import Figures, text_of
from gossamer.urlfrontier.service import READS, UrlFrontierService
from gossamer.urlfrontier.urlfrontier_pb2 import DESCRIPTOR

SWEEP_S = 0.01  # between two steps of what can wait
IDLE_S = 0.5


async def serve(path: Path, tree: Tree, listen: str, metrics: str) -> None:
    """`metrics`: where figures are told over HTTP; empty: nowhere."""
    clock, keys = RealClock(), Keys(path)
    address_in(listen)  # before anything is made
    with FrontierFolder(path).opened():
        frontier = Frontier(path, tree.frontier, clock)
        try:
            gathering, figures = Gathering(frontier, clock, _complain), Figures()
            service = UrlFrontierService(frontier, gathering, figures, clock)
            described = Service(DESCRIPTOR.services_by_name["URLFrontier"], service, READS)
            rpc = RpcServer([described], listen, tree.rpc, keys, clock)
            http = _Metrics(frontier, figures, tree, keys, clock, metrics) if metrics else None
            service.address = await rpc.start()
            beside = [gathering.run(), _sweep(frontier, clock), *([http.answer()] if http else [])]
            async with asyncio.TaskGroup() as group:  # a fault of ours in any of them ends the server
                tasks = [group.create_task(each) for each in beside]
                await rpc.until_told(f"serving {path} at {service.address}")
                for task in tasks:
                    task.cancel()
        finally:
            frontier.close()


async def _sweep(frontier: Frontier, clock: Clock) -> None:
    """What deletion and a crash left to do, a little at a time; leases whose time is up; and a sync."""
    while True:
        is_more = False
        try:
            is_more = frontier.end_leases()
            is_more = frontier.sweep() or is_more
            frontier.sync()
        except (OSError, StoreDamaged) as fault:
            _complain(fault)
        await clock.sleep(SWEEP_S if is_more else IDLE_S)


def _complain(fault: object) -> None:
    print(printable(f"gossamer: {fault}"), file=sys.stderr, flush=True)


# ---- figures over HTTP ---------------------------------------------------------------------------------------


@dataclass
class _Context:
    guard: Guard
    frontier: Frontier
    figures: Figures
    is_stopping: bool = False

    def close(self) -> None:
        """Nobody waits here."""


async def _metrics(context: _Context) -> Response:
    return Response(text_of(context.frontier, context.figures), media_type=MEDIA_TYPE)


ROUTES = (
    Route("GET", "/metrics", _metrics, "Figures for Prometheus", media_type="text/plain"),
    Route("GET", "/health", health, "The process lives", scope=None),
)


class _Metrics(Server):
    def __init__(
        self, frontier: Frontier, figures: Figures, tree: Tree, keys: Keys, clock: Clock, where: str
    ) -> None:
        host, port = address_in(where, "--metrics")
        rpc = tree.rpc
        settings = replace(
            ServeSettings(), host=host, port=port, certificate_file=rpc.certificate_file, key_file=rpc.key_file
        )
        check(settings, keys)
        self._listener = bound(settings, may_move=False)
        super().__init__(_Context(guard_of(settings, keys, clock), frontier, figures), settings, ROUTES)
        host, port = self._listener.getsockname()[:2]
        print(f"metrics at http{'s' if rpc.certificate_file else ''}://{host}:{port}/metrics", flush=True)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """It ends with the gRPC server."""
        yield

    async def answer(self) -> None:
        try:
            await self.serve([self._listener])
        finally:
            self._listener.close()
