"""`gossamer serve` and `crawl --serve`: starting the server of the control API (api/server.py).

The server is always a process of its own. `crawl --serve` starts one as its child, with the settings that the crawl
has saved in its folder, and ends it with the crawl, however that ends: a child whose standard input ends knows that
its parent is gone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gossamer import config
from gossamer.control.verb import add_verb
from gossamer.folder import CrawlFolder, FolderError

STOP_S = 10.0


def add_verbs(verbs: Any) -> None:
    verb = add_verb(verbs, "serve", serve_verb, "the control API and the dashboard of a crawl, running or not")
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--host", dest="serve.host", metavar="H", help="the address to listen on (127.0.0.1)")
    verb.add_argument("--port", dest="serve.port", metavar="N", help="its port (8080); 0: any that is free")
    verb.add_argument("--config", type=Path, metavar="F", help="a TOML file with settings (see `gossamer config`)")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any setting, by its name")
    verb.add_argument("--child", action="store_true", help=argparse.SUPPRESS)


def serve_verb(arguments: argparse.Namespace) -> None:
    from gossamer.cli import _flags, in_loop  # noqa: PLC0415 - which names this module
    from gossamer.control.api.server import serve  # noqa: PLC0415 - other verbs start faster without

    path = Path(arguments.dir)
    CrawlFolder(path).must_be_crawl()
    tree = config.load(path, arguments.config, _flags(arguments)).tree
    in_loop(serve(path, tree, is_child=arguments.child))


# ---- beside a crawl ------------------------------------------------------------------------------------------


class ServeAt(argparse.Action):
    """`--serve [HOST:PORT]`: sets what `serve.host` and `serve.port` would."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, value: Any, option: str | None = None) -> None:
        namespace.is_served = True
        host, colon, port = (value or "").rpartition(":")
        if not value:
            return
        if not colon or not host or not port.isdecimal():
            parser.error(f"--serve {value}: wanted HOST:PORT, or nothing; before a URL write --serve=HOST:PORT")
        setattr(namespace, "serve.host", host.strip("[]"))
        setattr(namespace, "serve.port", port)


@contextmanager
def served(folder: CrawlFolder, configuration: config.Configuration, say: Callable[[str], None]) -> Iterator[None]:
    """A server for this crawl, for as long as this lasts."""
    configuration.save(folder.path)  # the server reads it there
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
        yield
    finally:
        child.terminate()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdin.close()
        child.stdout.close()
