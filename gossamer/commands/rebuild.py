"""`gossamer rebuild`: make the store of a lost or damaged partition anew from the archive."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from gossamer.clock import RealClock
from gossamer.commands.verb import must_be_whole, whole
from gossamer.export.positions import ExportsFault
from gossamer.folder import CrawlFolder, FolderError
from gossamer.maintenance.rebuild import rebuilt, text_of

EXAMPLES = "gossamer rebuild crawl-example.com --partition 3"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder; the crawl has to be stopped")
    verb.add_argument("--partition", type=whole(0), required=True, metavar="N", help="which one")
    verb.add_argument("--json", action="store_true", help="the figures as one JSON object")


def run(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    must_be_whole(folder, "rebuild")
    try:
        summary = rebuilt(folder, arguments.partition, RealClock())
    except ExportsFault as fault:
        raise FolderError(str(fault)) from fault
    print(msgspec.json.encode(summary).decode() if arguments.json else text_of(summary))
