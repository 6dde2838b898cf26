"""`gossamer verify`: check all that is stored: stores, archive records and their digests."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from gossamer.folder import CrawlFolder
from gossamer.inspect.verify import lines_of, verified

EXAMPLES = "gossamer verify crawl-example.com"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--json", action="store_true", help="the findings as one JSON object; exit code 1: damage")


def run(arguments: argparse.Namespace) -> int:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    found = verified(folder)
    print(msgspec.json.encode(found).decode() if arguments.json else "\n".join(lines_of(found)))
    return 1 if found.damage else 0
