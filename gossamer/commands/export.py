"""`gossamer export`: hand a crawl's result on, whole at first and then what is new, also while the crawl runs.

    parquet      a folder with pages/, links/ and hosts/
    jsonl        a row of `pages` a line                                 all four: a file, or - for standard output
    cdxj         the index to replay the archive by
    links        a link a line
    hostgraph    source host, target host, number of links

What a target has already is noted in the crawl's folder (export/positions.py). What is new is all between there and
the end of the archive as it was last committed. The order makes a crash harmless: note the target, write the files,
move its positions.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec

from gossamer.config import UsageError
from gossamer.export import positions
from gossamer.export.formats import LINE_FORMATS, ExportView, Source, Texts, to_parquet
from gossamer.export.positions import Export, ExportsFault
from gossamer.folder import CrawlFolder, FolderError
from gossamer.text import counted

FORMATS = ("parquet", "jsonl", "cdxj", "links", "hostgraph")
TABLES = ("pages", "links", "hosts")
FLAGS = ("text", "with_noindex", "with_noarchive")


def run(arguments: argparse.Namespace) -> None:
    crawl = Path(arguments.dir)
    CrawlFolder(crawl).must_be_crawl()
    try:
        with positions.locked(crawl):
            if arguments.forget:
                forget(crawl, arguments.forget)
            elif arguments.to is None or arguments.out is None:
                show(crawl, as_json=arguments.json)
            else:
                hand_on(crawl, arguments)
    except ExportsFault as fault:
        raise FolderError(str(fault)) from fault


def hand_on(crawl: Path, arguments: argparse.Namespace) -> None:
    path = None if arguments.out == "-" else Path(arguments.out).resolve()
    check(path, arguments.to)
    wanted = Export(arguments.to, [flag for flag in FLAGS if getattr(arguments, flag)])
    with ExitStack() as open_things:
        view = ExportView(crawl)
        open_things.enter_context(view)
        tree = view.configuration.tree
        before = begun(crawl, path, wanted, is_full=arguments.full) if path else wanted
        source = Source(
            view,
            before.positions,
            view.archive_ends(),
            arguments.with_noindex,
            arguments.with_noarchive,
            open_things.enter_context(Texts(tree)) if arguments.text else None,
        )
        if arguments.to == "parquet" and path is not None:
            to_parquet(source, path)
        else:
            LINE_FORMATS[arguments.to](source, path)
    if path is not None:
        positions.note(crawl, str(path), Export(wanted.to, wanted.options, dict(source.until), left_as(path)))
    said = report(arguments, source)
    print(said, file=sys.stdout if path else sys.stderr)


def check(path: Path | None, to: str) -> None:
    if to == "parquet":
        if path is None or path.is_file():
            raise UsageError("--to parquet needs a folder for --out")
    elif path is not None and path.is_dir():
        raise UsageError(f"{path} is a folder; --to {to} needs a file for --out, or - for standard output")


def begun(crawl: Path, path: Path, wanted: Export, *, is_full: bool) -> Export:
    """What is noted of a target before anything is written to it. Without positions, it is made from nothing."""
    before = positions.read(crawl).get(str(path))
    if not is_full:
        if before is None and (path.is_file() or any(file.is_file() for file in path.rglob("*"))):
            raise UsageError(
                f"{path} is there already, and not from this crawl: take another --out, or replace it with --full"
            )
        if before is not None and (before.to, before.options) != (wanted.to, wanted.options):
            raise UsageError(
                f"{path} was exported as {described(before)}, and now it would be {described(wanted)}: "
                "take another --out, or begin it anew with --full"
            )
    if is_full or before is None or not path.exists() or before.left_as != left_as(path):
        before = wanted
    try:
        for folder in [path / table for table in TABLES] if wanted.to == "parquet" else [path.parent]:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise FolderError(f"{path} cannot be written to: {fault.strerror}") from fault
    positions.note(crawl, str(path), before)
    if not before.positions and path.is_dir():
        # What an export that was cut short has left, or the one that this replaces.
        for file in [file for table in TABLES for file in (path / table).glob("*.parquet")]:
            file.unlink()
    return before


def left_as(path: Path) -> str:
    """Whether a file is as we left it: changed by others, or by us in an export whose end was not noted."""
    if not path.is_file():
        return ""
    found = path.stat()
    return f"{found.st_size} bytes, {found.st_mtime_ns}"


def forget(crawl: Path, target: str) -> None:
    known = positions.read(crawl)
    name = next((name for name in (target, str(Path(target).resolve())) if name in known), None)
    if name is None:
        raise UsageError(f"nothing was exported to {target}; known are: {', '.join(known) or 'none'}")
    positions.note(crawl, name, None)
    print(f"{name} is forgotten: compaction need not wait for it, and its files stay as they are")


def show(crawl: Path, *, as_json: bool) -> None:
    known = positions.read(crawl)
    if as_json:
        print(msgspec.json.encode(known).decode())
    else:
        lines = [f"{target}: {described(export)}" for target, export in known.items()]
        print("\n".join(lines) or "nothing was exported so far: give --to and --out")


def described(export: Export) -> str:
    return " ".join([export.to, *(f"--{flag.replace('_', '-')}" for flag in export.options)])


def report(arguments: argparse.Namespace, source: Source) -> str:
    is_full = not source.since
    facts = {
        "target": arguments.out,
        "to": arguments.to,
        "is_full": is_full,
        "visits": source.handed_on,
        "left_out": source.left_out,
    }
    if arguments.json:
        return json.dumps(facts)
    text = f"{arguments.out}: {counted(source.handed_on, 'visit' if is_full else 'new visit')}"
    return f"{text}, {source.left_out:,} left out that do not want to be indexed" if source.left_out else text


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--to", choices=FORMATS, help="the format; without it, all targets are listed")
    verb.add_argument(
        "--out", metavar="TARGET", help="a folder for parquet, else a file (.gz packs it), or - to print"
    )
    verb.add_argument("--full", action="store_true", help="everything once more, in place of what the target has")
    verb.add_argument("--text", action="store_true", help="with the text of every page (parquet and jsonl)")
    verb.add_argument("--with-noindex", action="store_true", help="also pages that do not want to be indexed")
    verb.add_argument("--with-noarchive", action="store_true", help="also the text of pages that forbid copies")
    verb.add_argument("--forget", metavar="TARGET", help="fill this target no more; its files stay")
    verb.add_argument("--json", action="store_true", help="facts as one JSON object")
