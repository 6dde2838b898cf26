"""`gossamer frontier`: a URLFrontier service for crawlers of others."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from gossamer import config
from gossamer.clock import RealClock
from gossamer.commands.verb import add_config_flags, extra, flags_of, say
from gossamer.runtime.event_loop import in_loop
from gossamer.settings import Tree

EXAMPLES = """
gossamer frontier --dir frontier
gossamer frontier --dir frontier --listen 0.0.0.0:7071 --set rpc.certificate_file=c.pem --set rpc.key_file=k.pem
gossamer frontier --dir frontier --import urls.jsonl
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--dir", metavar="D", required=True, help="the frontier's folder; made where it is not there")
    verb.add_argument(
        *("--listen",), metavar="H:P", default="127.0.0.1:7071", help="where it listens (127.0.0.1:7071); port 0: any"
    )
    verb.add_argument(
        "--metrics", metavar="H:P", default="", help="where it tells its figures to Prometheus (nowhere)"
    )
    verb.add_argument(
        "--import", dest="source", metavar="F", help="take the URLs of a file in, and end; -: of a pipe"
    )
    verb.add_argument("--export", dest="target", metavar="F", help="write all URLs to a file, and end; -: to a pipe")
    add_config_flags(verb)


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.dir)
    tree = config.load(None, arguments.config, flags_of(arguments)).tree
    with extra("services"):
        from gossamer.urlfrontier.server import serve  # noqa: PLC0415 - of an extra
    if arguments.source is None and arguments.target is None:
        in_loop(serve(path, tree, arguments.listen, arguments.metrics))
        return
    transfer(path, tree, arguments.source, arguments.target)


def transfer(path: Path, tree: Tree, source: str | None, target: str | None) -> None:
    from gossamer.urlfrontier.frontier import Frontier  # noqa: PLC0415 - of an extra
    from gossamer.urlfrontier.frontier_folder import FrontierFolder  # noqa: PLC0415 - of an extra
    from gossamer.urlfrontier.transfer import exported, imported  # noqa: PLC0415 - of an extra

    folder = FrontierFolder(path)
    if source is None:
        folder.must_be_frontier()
    with folder.opened():
        frontier = Frontier(path, tree.frontier, RealClock())
        try:
            if source is not None:
                with nullcontext(sys.stdin.buffer) if source == "-" else Path(source).open("rb") as lines:
                    taken, passed_over = imported(frontier, lines, source)
                say(f"{taken} URLs taken, {passed_over} passed over: they were known, or are no URLs")
            if target is not None:
                with nullcontext(sys.stdout.buffer) if target == "-" else Path(target).open("wb") as file:
                    file.writelines(exported(frontier))
        finally:
            frontier.close()
