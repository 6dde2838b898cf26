"""A verb for a cluster: its file stood where a crawl's folder would."""

from __future__ import annotations

import argparse
from contextlib import ExitStack, closing
from pathlib import Path

from gossamer.commands.seeds import typed_seeds
from gossamer.commands.verb import extra, say, show
from gossamer.seeds import Spooled


def run_on_cluster(arguments: argparse.Namespace, file: Path) -> int:
    with extra("cluster"):
        from gossamer.node import verbs  # noqa: PLC0415 - of an extra
        from gossamer.node.operating import faults_told  # noqa: PLC0415 - of an extra
    with ExitStack() as opened:

        def typed() -> Spooled:
            urls = [*arguments.words[2:], *arguments.urls]
            return opened.enter_context(closing(typed_seeds(urls, arguments.file)))

        with faults_told():
            return verbs.run_on_cluster(arguments, file, typed, say, show)
