"""A verb for a cluster: its file stood where a crawl's folder would."""

from __future__ import annotations

import argparse
from contextlib import ExitStack, closing
from pathlib import Path

from gossamer.commands.seeds import typed_seeds
from gossamer.commands.verb import extra, flags_of, say, show
from gossamer.runtime.event_loop import in_loop
from gossamer.seeds import Spooled


def run_on_cluster(arguments: argparse.Namespace, file: Path) -> int:
    with extra("cluster"):
        from gossamer.node import verbs  # noqa: PLC0415 - of an extra
        from gossamer.node.operating import faults_told  # noqa: PLC0415 - of an extra
    if arguments.verb == "serve":
        with extra("cluster"):
            from gossamer.api.cluster_server import serve_cluster  # noqa: PLC0415 - of an extra
        with faults_told():
            in_loop(serve_cluster(file, flags_of(arguments)))
        return 0
    with ExitStack() as opened:

        def typed() -> Spooled:
            urls = [*arguments.words[2:], *arguments.urls]
            return opened.enter_context(closing(typed_seeds(urls, arguments.file)))

        with faults_told():
            return verbs.run_on_cluster(arguments, file, typed, say, show)
