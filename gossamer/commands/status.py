"""`gossamer status`: how far a crawl is, running or not; or what a frontier holds."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gossamer.commands.verb import show
from gossamer.inspect.status_facts import status_facts, status_text
from gossamer.inspect.view import CrawlView
from gossamer.messages import control_client
from gossamer.messages.control_messages import AskNow, Now
from gossamer.urlfrontier.frontier_folder import FrontierFolder
from gossamer.urlfrontier.status import frontier_facts, frontier_text

EXAMPLES = """
gossamer status crawl-example.com
gossamer status crawl-example.com --json
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder, or a frontier's")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.dir)
    if FrontierFolder(path).is_frontier:
        found = frontier_facts(path)
        show(json.dumps(found) if arguments.json else frontier_text(found))
        return
    with CrawlView(path) as view:
        facts = status_facts(view, control_client.ask(view.folder, AskNow(), Now))
    show(json.dumps(facts) if arguments.json else status_text(facts))
