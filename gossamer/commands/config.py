"""`gossamer config`: the configuration in force, and where each value comes from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gossamer import config
from gossamer.commands.verb import add_config_flags, flags_of
from gossamer.folder import CrawlFolder

EXAMPLES = """
gossamer config
gossamer config crawl-example.com --json
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", nargs="?", metavar="D", help="a crawl's folder")
    verb.add_argument("--json", action="store_true", help="as one JSON object")
    add_config_flags(verb)


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.dir) if arguments.dir else None
    if path is not None:
        CrawlFolder(path).must_be_crawl()
    configuration = config.load(path, arguments.config, flags_of(arguments))
    rows = configuration.rows()
    if arguments.json:
        print(json.dumps({row.key: {"value": row.value, "origin": row.origin} for row in rows}, default=list))
        return
    for row in rows:
        print(f"{row.key + ' = ' + config.as_toml(row.value):<52} # {row.meaning} [{row.origin}]")
