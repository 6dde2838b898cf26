"""The server: puts the parts of the API together and listens, until it is told to stop.

It looks at one crawl's folder, and talks to the crawl in it whenever one runs there. It may be started and stopped at
any time without the crawl noticing. Of a folder of crawls it shows all of them (many/).

Where it may listen is decided before it does: on loopback always, elsewhere only with a key (`gossamer keys`), and
with TLS where certificate files are set. A key that goes over the network without TLS can be read there; it says so.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
import uvicorn

from gossamer.access.callers import is_loopback
from gossamer.access.keys import Keys
from gossamer.api.app import App, Served
from gossamer.api.connections import CONNECTIONS_MAX, Connection
from gossamer.api.context import Context
from gossamer.api.crawl_client import CrawlClient
from gossamer.api.guard import Guard
from gossamer.api.many import routes as many
from gossamer.api.many.beside import Beside
from gossamer.api.many.crawls import Crawls
from gossamer.api.many.routes import ManyContext
from gossamer.api.route import NoAnswer, Route
from gossamer.api.routes.status import status
from gossamer.api.table import ROUTES
from gossamer.api.views import Views
from gossamer.archive.opening import open_storage
from gossamer.clock import Clock, RealClock
from gossamer.config import ConfigError, UsageError
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.settings import ServeSettings, Tree
from gossamer.url.canonical import choose_for

STOP_S = 3  # for answers that are under way
HEAD_BYTES_MAX = 128 << 10  # the longest URL in a parameter, each of its characters as four escaped bytes


async def serve(path: Path, tree: Tree, *, is_child: bool = False, at: Path | None = None) -> None:
    """Until SIGINT or SIGTERM; a child also until its standard input ends, as it does when its parent is gone.
    `at`: a socket instead of an address, for a server in front of this one.

    A child tells whoever looks on the last figures, and takes another port where its own is in use: the crawl that
    has started it goes on either way."""
    folder, clock, settings = CrawlFolder(path), RealClock(), tree.serve
    keys = Keys(path)
    choose_for(tree)
    if at is None:
        check(settings, keys)
        listener = bound(settings, may_move=is_child and is_loopback(settings.host))
        where = address(settings, listener)
    else:
        listener, where = bound_at(at), str(at)
    async with asyncio.TaskGroup() as tasks:
        crawl = CrawlClient(folder, clock, tasks.create_task)
        views = Views(path, clock)
        guard = guard_of(settings, keys, clock, is_behind=at is not None)
        context = Context(folder, tree, clock, views, crawl, guard, open_storage(tree.archive, folder.archive))
        server = CrawlServer(context, settings)
        if is_child:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), lambda: tasks.create_task(server.end()))
        watching = tasks.create_task(crawl.watch())
        print(f"serving {path} at {where}", flush=True)
        try:
            await server.serve([listener])
        finally:
            watching.cancel()
            crawl.close()
            views.close()
            listener.close()


async def serve_many(path: Path, tree: Tree) -> None:
    """All crawls in a folder, until SIGINT or SIGTERM."""
    clock, settings, keys = RealClock(), tree.serve, Keys(path)
    check(settings, keys)
    listener = bound(settings, may_move=False)
    beside = Beside()
    print(f"serving the crawls in {path} at {address(settings, listener)}", flush=True)
    try:
        context = ManyContext(guard_of(settings, keys, clock), Crawls(path, clock), beside)
        await Server(context, settings, many.ROUTES).serve([listener])
    finally:
        beside.close()
        listener.close()


def guard_of(settings: ServeSettings, keys: Keys, clock: Clock, *, is_behind: bool = False) -> Guard:
    is_local = is_loopback(settings.host)
    return Guard(keys, clock, is_local=is_local, failures_a_minute=settings.failures_a_minute, is_behind=is_behind)


def check(settings: ServeSettings, keys: Keys) -> None:
    """Whether it may listen there at all; raises with what to do about it."""
    if not is_loopback(settings.host) and not keys.all():
        raise UsageError(
            f"serve.host is {settings.host}, which others can reach, and there is no key: make one with "
            f"`gossamer keys {keys.path.parent} --add NAME --scope control`, or listen on 127.0.0.1"
        )
    if bool(settings.certificate_file) != bool(settings.key_file):
        raise ConfigError("serve.certificate_file and serve.key_file belong together: set both, or none")
    if settings.certificate_file:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.certificate_file, settings.key_file)
        except (OSError, ssl.SSLError) as fault:
            raise ConfigError(
                f"serve.certificate_file {settings.certificate_file} and serve.key_file cannot be used: {fault}"
            ) from None
    elif not is_loopback(settings.host):
        print("gossamer: without TLS (serve.certificate_file) keys can be read on their way", file=sys.stderr)


def bound(settings: ServeSettings, *, may_move: bool) -> socket.socket:
    """`may_move`: to any port that is free, where this one is in use."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, where = found[0]
        with ExitStack() as undo:
            listener = undo.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(where)
            listener.listen()  # from here on nobody is turned away: its address is printed next
            undo.pop_all()
    except OSError as fault:
        if may_move and fault.errno == errno.EADDRINUSE:
            print(f"gossamer: port {settings.port} is in use: taking another one", file=sys.stderr)
            return bound(msgspec.structs.replace(settings, port=0), may_move=False)
        raise FolderError(
            f"cannot listen on {settings.host} port {settings.port}: {fault.strerror}; choose another with --port"
        ) from None
    return listener


def bound_at(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def address(settings: ServeSettings, listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"{'https' if settings.certificate_file else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/"


class Server(uvicorn.Server):
    def __init__(self, context: Served, settings: ServeSettings, routes: Sequence[Route]) -> None:
        self._context = context
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what matters is said by app.py
        super().__init__(
            uvicorn.Config(
                App(context, routes, body_bytes_max=settings.body_bytes_max),
                lifespan="off",
                http=Connection,
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                h11_max_incomplete_event_size=HEAD_BYTES_MAX,
                proxy_headers=False,  # whoever asks could claim any address with them
                timeout_graceful_shutdown=STOP_S,
                limit_concurrency=2 * CONNECTIONS_MAX,  # those that go are still counted for a moment
                ssl_certfile=settings.certificate_file or None,
                ssl_keyfile=settings.key_file or None,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Instead of uvicorn's, which sends itself the signal again at the end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        self._context.is_stopping = True
        self._context.close()
        self.should_exit = True


LOOK_S, LOOKS_MAX = 0.1, 30  # until a crawl that has just ended is seen to have


class CrawlServer(Server):
    def __init__(self, context: Context, settings: ServeSettings) -> None:
        super().__init__(context, settings, ROUTES)
        self._crawl = context

    async def end(self) -> None:
        """The crawl that has started this server is over: whoever looks on keeps its last figures."""
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        with suppress(FolderError, StoreDamaged, OSError, NoAnswer):
            last = await status(self._crawl)
            for _ in range(LOOKS_MAX):  # what is known of a running crawl may be a moment old
                if not last.running:
                    break
                await self._crawl.clock.sleep(LOOK_S)
                last = await status(self._crawl)
            self._crawl.views.outdate()
            self._crawl.crawl.publish("ended", await status(self._crawl))
        self.stop()
