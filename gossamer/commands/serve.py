"""`gossamer serve`: the control API and the dashboard of a crawl, running or not, or of all crawls in a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from gossamer import config
from gossamer.api.many.crawls import crawls_in
from gossamer.api.server import serve, serve_many
from gossamer.commands.verb import add_config_flags, flags_of, whole
from gossamer.folder import CrawlFolder
from gossamer.runtime.event_loop import in_loop

EXAMPLES = """
gossamer serve crawl-example.com --port 8090
gossamer serve cluster.toml
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "dir", metavar="D", help="the crawl's folder, one with several crawls in it, or the file of a cluster"
    )
    verb.add_argument("--host", dest="serve.host", metavar="H", help="the address to listen on (127.0.0.1)")
    verb.add_argument(
        "--port", dest="serve.port", type=whole(0, 65_535), metavar="N", help="its port (8080); 0: any that is free"
    )
    add_config_flags(verb)
    verb.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    verb.add_argument("--socket", type=Path, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.dir)
    if not CrawlFolder(path).is_crawl and crawls_in(path):
        in_loop(serve_many(path, config.load(None, arguments.config, flags_of(arguments)).tree))
        return
    CrawlFolder(path).must_be_crawl()
    tree = config.load(path, arguments.config, flags_of(arguments)).tree
    in_loop(serve(path, tree, is_child=arguments.child, at=arguments.socket))
