"""`gossamer why`: the state of any URL, and the reason."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gossamer.clock import RealClock
from gossamer.commands.verb import show
from gossamer.inspect.view import CrawlView
from gossamer.inspect.why_facts import why_facts, why_text

EXAMPLES = "gossamer why crawl-example.com https://example.com/private"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("url", metavar="URL", help="any URL; it is made canonical first")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    with CrawlView(Path(arguments.dir)) as view:
        facts = why_facts(view, arguments.url, RealClock())
    show(json.dumps(facts) if arguments.json else why_text(facts))
