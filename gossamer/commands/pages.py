"""`gossamer pages`: every URL that was requested, and the result."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from gossamer.commands.verb import OneOf, host_name, show, since, whole
from gossamer.inspect.page_facts import PAGE_HEAD, page_facts, page_line
from gossamer.inspect.selection import PAGE_FIELDS, STATES, VERDICTS, PageFilter, chosen
from gossamer.inspect.view import CrawlView
from gossamer.records import Reason

EXAMPLES = """
gossamer pages crawl-example.com --status 404
gossamer pages crawl-example.com --host www.example.com --since 2h --sort bytes --reverse --limit 10
gossamer pages crawl-example.com --state refused --reason robots --json
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--host", type=host_name, metavar="H", help="only those of this host")
    verb.add_argument("--status", type=statuses, metavar="N", help="only with this status: 404, 4xx, or none")
    verb.add_argument(
        "--state", type=OneOf(*STATES), metavar="S", help=f"{', '.join(STATES)}: also those never requested"
    )
    verb.add_argument(
        "--reason", type=OneOf(*Reason), metavar="R", help="only those that failed or were refused for this reason"
    )
    verb.add_argument("--verdict", type=OneOf(*VERDICTS), metavar="V", help=", ".join(VERDICTS))
    verb.add_argument("--since", type=since, metavar="TIME", help="only those fetched since: 2h, 7d, 2026-07-01")
    verb.add_argument("--sort", type=OneOf(*PAGE_FIELDS), metavar="FIELD", help=f"by {', '.join(PAGE_FIELDS)}")
    verb.add_argument("--reverse", action="store_true", help="the largest or latest first")
    verb.add_argument("--limit", type=whole(0), metavar="N", help="at most N")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    wanted = PageFilter(
        arguments.host, arguments.status, arguments.state, arguments.reason, arguments.verdict, arguments.since
    )
    sort = PAGE_FIELDS[arguments.sort or "url"] if arguments.sort or arguments.reverse else None
    with CrawlView(Path(arguments.dir)) as view:
        if arguments.state:
            rows = view.known(arguments.host)
        elif arguments.host:
            rows = (known for known in view.known(arguments.host) if known.fetched_at is not None)
        else:
            rows = view.asked()
        if not arguments.json:
            print(PAGE_HEAD)
        for known in chosen(rows, wanted, sort, arguments.limit, is_reversed=arguments.reverse):
            show(json.dumps(page_facts(known)) if arguments.json else page_line(known))


def statuses(text: str) -> range:
    if text == "none":
        return range(0)
    if re.fullmatch(r"[1-9]xx", text):
        return range(int(text[0]) * 100, int(text[0]) * 100 + 100)
    if re.fullmatch(r"[1-9][0-9][0-9]", text):
        return range(int(text), int(text) + 1)
    raise argparse.ArgumentTypeError(
        f"{text!r} is no status: wanted 404, 4xx for all of a kind, or none for no answer"
    )
