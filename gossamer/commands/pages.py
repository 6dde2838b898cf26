"""`gossamer pages`: every URL that was requested, and the result."""

from __future__ import annotations

import argparse
import json
from itertools import islice
from pathlib import Path

from gossamer.commands.verb import show
from gossamer.inspect.page_facts import page_facts, page_line
from gossamer.inspect.view import CrawlView


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--limit", type=int, metavar="N", help="at most N")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    with CrawlView(Path(arguments.dir)) as view:
        for known in islice(view.asked(), arguments.limit):
            show(json.dumps(page_facts(known)) if arguments.json else page_line(known))
