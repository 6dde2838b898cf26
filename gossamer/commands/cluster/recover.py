"""`gossamer recover`: go on with a partition of a cluster of which something is lost for good."""

from __future__ import annotations

import argparse

from gossamer.commands.verb import whole
from gossamer.config import UsageError
from gossamer.text import COMMAND

EXAMPLES = "gossamer recover cluster.toml --partition 3"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="FILE", help="the cluster's file")
    verb.add_argument("--partition", type=whole(0), required=True, metavar="N", help="which one")


def run(arguments: argparse.Namespace) -> None:
    """Only where it is no cluster's file: node/changing.py has the rest."""
    raise UsageError(
        f"{arguments.dir} is not the file of a cluster: for a crawl on one machine there is "
        f"`{COMMAND} rebuild {arguments.dir} --partition {arguments.partition}`"
    )
