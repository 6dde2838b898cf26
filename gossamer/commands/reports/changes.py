"""`gossamer changes`: pages that are new, changed or gone since a moment."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from gossamer.commands.verb import OneOf, host_name, say, show, since, whole
from gossamer.export.changes import KINDS, Change, change_facts, changes, differences
from gossamer.export.formats import ExportView
from gossamer.text import counted

EXAMPLES = """
gossamer changes crawl-example.com --since 7d
gossamer changes crawl-example.com --since 2026-07-01 --only changed --diff
gossamer changes crawl-example.com --since 24h --json
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--since", type=since, required=True, metavar="TIME", help="2h, 7d, 2026-07-01")
    verb.add_argument("--only", type=OneOf(*KINDS), metavar="KIND", help=", ".join(KINDS))
    verb.add_argument("--host", type=host_name, metavar="H", help="only pages of this host")
    verb.add_argument("--diff", action="store_true", help="of changed pages also the lines of text that differ")
    verb.add_argument("--limit", type=whole(0), metavar="N", help="at most N")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    counts = Counter[str]()
    view = ExportView(Path(arguments.dir))
    with view:
        rows = view.asked() if arguments.host is None else view.known(arguments.host)
        found = (each for each in changes(rows, arguments.since) if arguments.only in (None, each.kind))
        for change, lines in _with_lines(view, islice(found, arguments.limit), arguments):
            counts[change.kind] += 1
            if arguments.json:
                show(json.dumps(change_facts(change) | ({"diff": lines} if arguments.diff else {})))
                continue
            facts = change_facts(change)
            show(f"{change.kind:<8} {facts['at']}  {change.known.url}")
            for line in lines:
                show(f"         {line}")
    if not arguments.json:
        said = ", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind])
        say(f"{counted(counts.total(), 'page')} since then{f': {said}' if said else ''}")


def _with_lines(
    view: ExportView, found: Iterable[Change], arguments: argparse.Namespace
) -> Iterator[tuple[Change, list[str]]]:
    """Those with a difference to show come last: for them the archive is read."""
    changed: list[Change] = []
    for change in found:
        if arguments.diff and change.kind == "changed":
            changed.append(change)
        else:
            yield change, []
    yield from differences(view, changed, arguments.since)
