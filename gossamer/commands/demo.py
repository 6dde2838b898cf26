"""`gossamer demo`: the whole thing offline (gossamer/demo/)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gossamer.commands.verb import extra, say, show, whole
from gossamer.config import UsageError
from gossamer.demo.one_machine import run_demo
from gossamer.runtime.event_loop import in_loop

EXAMPLES = """
gossamer demo
gossamer demo --cluster
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--dir", metavar="D", help="where to put it (default: demo, or demo-cluster)")
    verb.add_argument(
        "--cluster",
        action="store_true",
        help="three nodes with Kafka, SeaweedFS and Valkey on this machine; one node dies in the middle",
    )
    verb.add_argument("--hosts", type=whole(3, 1000), metavar="N", help="of the web, with --cluster (default: 24)")
    verb.add_argument("--pages", type=whole(5, 10_000), metavar="N", help="of a host, with --cluster (default: 40)")


def run(arguments: argparse.Namespace) -> int:
    if not arguments.cluster:
        if arguments.hosts or arguments.pages:
            raise UsageError("demo: --hosts and --pages are for --cluster; the other demo has a web of its own")
        return in_loop(run_demo(Path(arguments.dir or "demo"), sys.stderr))
    with extra("cluster"):
        from gossamer.demo.cluster import HOSTS, PAGES, run_cluster_demo  # noqa: PLC0415 - of an extra
    path = Path(arguments.dir or "demo-cluster")
    return run_cluster_demo(path, arguments.hosts or HOSTS, arguments.pages or PAGES, say, show)
