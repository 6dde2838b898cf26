"""`gossamer quarantine`: URLs that killed their workers: list, release or drop them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gossamer import config
from gossamer.clock import RealClock
from gossamer.commands.verb import must_be_whole, say, show, url_of
from gossamer.folder import CrawlFolder, FolderError
from gossamer.inspect.page_facts import page_facts
from gossamer.inspect.view import CrawlView
from gossamer.maintenance.operator_changes import quarantine_line, release_url_anywhere

EXAMPLES = """
gossamer quarantine crawl-example.com
gossamer quarantine crawl-example.com --release https://example.com/huge.pdf
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--release", metavar="URL", help="try it again")
    verb.add_argument("--drop", metavar="URL", help="never ask for it again")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.dir)
    if arguments.release or arguments.drop:
        folder = CrawlFolder(path)
        folder.must_be_crawl()
        must_be_whole(folder, "quarantine")
        url = url_of(arguments.release or arguments.drop)
        tree = config.load(path, environment={}).tree
        if not release_url_anywhere(folder, tree, RealClock(), url, drop=bool(arguments.drop)):
            raise FolderError(f"{url} is not in quarantine")
        say(f"{url} is {'dropped' if arguments.drop else 'queued again'}")
        return
    with CrawlView(path) as view:
        for known in view.quarantined():
            show(json.dumps(page_facts(known)) if arguments.json else quarantine_line(known))
