"""`gossamer serve`: the control API and the dashboard of a crawl, running or not (api/server.py)."""

from __future__ import annotations

import argparse
from pathlib import Path

from gossamer import config
from gossamer.api.server import serve
from gossamer.commands.verb import add_config_flags, flags_of, whole
from gossamer.folder import CrawlFolder
from gossamer.runtime.event_loop import in_loop

EXAMPLES = "gossamer serve crawl-example.com --port 8090"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--host", dest="serve.host", metavar="H", help="the address to listen on (127.0.0.1)")
    verb.add_argument(
        "--port", dest="serve.port", type=whole(0, 65_535), metavar="N", help="its port (8080); 0: any that is free"
    )
    add_config_flags(verb)
    verb.add_argument("--child", action="store_true", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.dir)
    CrawlFolder(path).must_be_crawl()
    tree = config.load(path, arguments.config, flags_of(arguments)).tree
    in_loop(serve(path, tree, is_child=arguments.child))
