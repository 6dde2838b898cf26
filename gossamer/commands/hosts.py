"""`gossamer hosts`: every host, its delay and why."""

from __future__ import annotations

import argparse
import json
from itertools import islice
from pathlib import Path

from gossamer.clock import RealClock
from gossamer.commands.verb import OneOf, host_name, show, since, whole
from gossamer.inspect.host_facts import HOST_HEAD, host_line, hosts_facts
from gossamer.inspect.selection import HOST_FIELDS, HOST_STATES, HostFilter, chosen
from gossamer.inspect.view import CrawlView
from gossamer.records import Reason

EXAMPLES = """
gossamer hosts crawl-example.com --sort errors --reverse --limit 10
gossamer hosts crawl-example.com --state resting
gossamer hosts crawl-example.com --host example.com --json
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--host", type=host_name, metavar="H", help="only this host, or the hosts of this site")
    verb.add_argument(
        "--state",
        type=OneOf(*HOST_STATES),
        metavar="S",
        help="queued: has URLs to request; resting: has not answered, and is left alone; done: neither",
    )
    verb.add_argument(
        "--reason", type=OneOf(*Reason), metavar="R", help="only with this last error, or this reason of the delay"
    )
    verb.add_argument("--since", type=since, metavar="TIME", help="only those crawled since: 2h, 7d, 2026-07-01")
    verb.add_argument("--traps", action="store_true", help="only those with URLs that look like a trap")
    verb.add_argument("--sort", type=OneOf(*HOST_FIELDS), metavar="FIELD", help=f"by {', '.join(HOST_FIELDS)}")
    verb.add_argument("--reverse", action="store_true", help="the largest or latest first")
    verb.add_argument("--limit", type=whole(0), metavar="N", help="at most N")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    wanted = HostFilter(arguments.host, arguments.state, arguments.reason, arguments.since)
    sort = HOST_FIELDS[arguments.sort or "host"] if arguments.sort or arguments.reverse else None
    before = None if arguments.traps else arguments.limit  # which hosts have traps is found out last
    with CrawlView(Path(arguments.dir)) as view:
        hosts = chosen(view.hosts(), wanted, sort, before, is_reversed=arguments.reverse)
        rows = (row for row in hosts_facts(view, hosts, RealClock()) if row["traps"] or not arguments.traps)
        if not arguments.json:
            print(HOST_HEAD)
        for facts in islice(rows, arguments.limit):
            show(json.dumps(facts) if arguments.json else host_line(facts))
