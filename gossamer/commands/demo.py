"""`gossamer demo`: the whole thing offline (gossamer/demo.py)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gossamer.demo import run_demo
from gossamer.runtime.event_loop import in_loop

EXAMPLES = "gossamer demo"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--dir", metavar="D", default="demo", help="where to put the crawl (default: demo)")


def run(arguments: argparse.Namespace) -> int:
    return in_loop(run_demo(Path(arguments.dir), sys.stderr))
