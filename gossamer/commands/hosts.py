"""`gossamer hosts`: every host, its delay and why."""

from __future__ import annotations

import argparse
import json
from itertools import islice
from pathlib import Path

from gossamer.clock import RealClock
from gossamer.commands.verb import show
from gossamer.inspect.host_facts import HOST_HEAD, host_line, hosts_facts
from gossamer.inspect.view import CrawlView


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--limit", type=int, metavar="N", help="at most N")
    verb.add_argument("--traps", action="store_true", help="only those with URLs that look like a trap")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    with CrawlView(Path(arguments.dir)) as view:
        if not arguments.json:
            print(HOST_HEAD)
        rows = hosts_facts(view, RealClock())
        if arguments.traps:
            rows = (facts for facts in rows if facts["traps"])
        for facts in islice(rows, arguments.limit):
            show(json.dumps(facts) if arguments.json else host_line(facts))
