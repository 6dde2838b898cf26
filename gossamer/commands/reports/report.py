"""`gossamer report`: a crawl in tables: status codes, media types, languages, hosts, failures over time."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gossamer.commands.verb import host_name, show, since, whole
from gossamer.inspect.report_facts import report_facts, report_lines
from gossamer.inspect.selection import PageFilter
from gossamer.inspect.view import CrawlView

EXAMPLES = """
gossamer report crawl-example.com
gossamer report crawl-example.com --since 7d --host www.example.com
gossamer report crawl-example.com --limit 50 --json
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--host", type=host_name, metavar="H", help="only URLs of this host")
    verb.add_argument("--since", type=since, metavar="TIME", help="only those fetched since: 2h, 7d, 2026-07-01")
    verb.add_argument("--limit", type=whole(1), default=10, metavar="N", help="at most N rows a table (default: 10)")
    verb.add_argument("--json", action="store_true", help="facts as one JSON object")


def run(arguments: argparse.Namespace) -> None:
    with CrawlView(Path(arguments.dir)) as view:
        rows = view.asked() if arguments.host is None else view.known(arguments.host)
        wanted = PageFilter(since=arguments.since)
        asked = (known for known in rows if known.fetched_at is not None and wanted(known))
        facts = report_facts(asked, arguments.limit)
    if arguments.json:
        show(json.dumps(facts))
        return
    for line in report_lines(facts):
        show(line)
