"""`gossamer keys`: the keys of a crawl's control API: list, make or remove them."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from gossamer.access.keys import Keys, Name
from gossamer.api.many.crawls import crawls_in
from gossamer.commands.verb import OneOf
from gossamer.config import UsageError
from gossamer.folder import CrawlFolder
from gossamer.urlfrontier.frontier_folder import FrontierFolder

EXAMPLES = """
gossamer keys crawl-example.com --add anna --scope control
gossamer keys crawl-example.com
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder, one with several crawls in it, or a frontier's")
    verb.add_argument("--add", metavar="NAME", help="make a key and show it, once")
    verb.add_argument(
        "--scope",
        type=OneOf("read", "control", "fetch"),
        default="read",
        metavar="S",
        help="read, control, or fetch for fetchers (read)",
    )
    verb.add_argument("--remove", metavar="NAME", help="the key of this name is refused from now on")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    is_frontier = FrontierFolder(folder.path).is_frontier
    if not is_frontier and (folder.is_crawl or not crawls_in(folder.path)):
        folder.must_be_crawl()
    keys = Keys(folder.path)
    if arguments.remove is not None:
        keys.remove(arguments.remove)
    if arguments.add is not None:
        try:
            name = msgspec.convert(arguments.add, Name)
        except msgspec.ValidationError:
            raise UsageError(f"{arguments.add!r}: a name has letters, digits and . _ @ -, 64 at most") from None
        key = keys.add(name, arguments.scope)
        facts = {"name": name, "scope": arguments.scope, "key": key}
        print(msgspec.json.encode(facts).decode() if arguments.json else key)
        return
    for name, known in sorted(keys.all().items()):
        facts = {"name": name, "scope": known.scope, "made_at": known.made_at}
        print(
            msgspec.json.encode(facts).decode() if arguments.json else f"{name:<30} {known.scope:<8} {known.made_at}"
        )
