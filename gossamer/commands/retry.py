"""`gossamer retry`: bring back what failed or was refused for a reason that can pass, and end the rests of hosts."""

from __future__ import annotations

import argparse
from pathlib import Path

from gossamer import config
from gossamer.clock import RealClock
from gossamer.commands.verb import OneOf, host_name, must_be_whole, say
from gossamer.config import UsageError
from gossamer.folder import CrawlFolder
from gossamer.frontier.retry import CAN_PASS
from gossamer.maintenance import operator_changes, stored_links
from gossamer.records import Reason
from gossamer.text import COMMAND, counted
from gossamer.url.canonical import choose_for

EXAMPLES = """
gossamer retry crawl-example.com
gossamer retry crawl-example.com --host www.example.com --reason robots
gossamer retry crawl-example.com --links
"""


def run(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    must_be_whole(folder, "retry")
    tree = config.load(folder.path, environment={}).tree
    choose_for(tree)
    reason = Reason(arguments.reason) if arguments.reason is not None else None
    if arguments.links:
        if arguments.host or reason:
            raise UsageError("--links reads all stored pages: give it without --host and --reason")
        found = stored_links.send_again(folder, RealClock())
        print(f"{counted(found, 'URL')} found in stored pages; `{COMMAND} crawl --dir {folder.path}` crawls them")
        return
    count = operator_changes.retry_anywhere(folder, tree, RealClock(), arguments.host, reason, say)
    going_on = "" if folder.is_locked else f"; `{COMMAND} crawl --dir {folder.path}` crawls them"
    print(f"{counted(count, 'URL')} queued again{going_on}")


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder, running or not")
    verb.add_argument("--host", type=host_name, metavar="H", help="only what this host has")
    verb.add_argument(
        "--reason",
        type=OneOf(*sorted(CAN_PASS)),
        metavar="R",
        help="only, or also, what failed or was refused for this reason",
    )
    verb.add_argument(
        "--links",
        action="store_true",
        help="links of stored pages that were rejected, and are accepted now; not while it runs",
    )
