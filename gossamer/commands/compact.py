"""`gossamer compact`: join the files of the archive, and drop what `archive.keep_versions` and `keep_s` do not keep.

The crawl has to be stopped, and no export may be under way. What is kept stands in archive/catalogue.py, how it is
done in archive/compaction.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from gossamer.archive.compaction import Summary
from gossamer.commands.verb import must_be_whole
from gossamer.export.positions import ExportsFault
from gossamer.folder import CrawlFolder, FolderError
from gossamer.maintenance.archive_records import compacted
from gossamer.text import counted, size

EXAMPLES = "gossamer compact crawl-example.com --dry-run"


def run(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    must_be_whole(folder, "compact")
    try:
        summary = compacted(folder, dry=arguments.dry_run)
    except ExportsFault as fault:
        raise FolderError(str(fault)) from fault
    if arguments.json:
        print(msgspec.json.encode(summary).decode())
    else:
        print(summary_text(summary, dry=arguments.dry_run))


def summary_text(done: Summary, *, dry: bool) -> str:
    lines = [
        f"{counted(done.files_before, 'file')} of {size(done.bytes_before)} {'would become' if dry else 'became'} "
        f"{done.files_after:,} of {size(done.bytes_after)}",
        f"{counted(done.visits_dropped, 'visit')} {'would be' if dry else 'were'} dropped, {done.versions_dropped:,} "
        "of them versions of pages",
    ]
    if done.files_not_exported:
        lines.append(
            f"{counted(done.files_not_exported, 'file')} left alone: they hold what some export has not handed on "
            "(`gossamer export` shows how far each came)"
        )
    return "\n".join(lines)


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="DIR", help="the crawl's folder; the crawl has to be stopped")
    verb.add_argument("--dry-run", action="store_true", help="only say what would be done")
    verb.add_argument("--json", action="store_true", help="the figures as one JSON object")
