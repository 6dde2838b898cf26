"""`gossamer export`: hand a crawl's result on, whole at first and then what is new, also while the crawl runs.

    parquet      a folder with pages/, links/ and hosts/
    markdown     a folder with a file for each page (export/markdown.py)
    jsonl        a row of `pages` a line                                 all four: a file, or standard output
    cdxj         the index to replay the archive by
    links        a link a line
    hostgraph    source host, target host, number of links
    kafka        what a crawl's sinks have not got yet: they are set by `sinks.kafka` and `sinks.postgres`, and a
    postgres     crawl feeds them by itself while it runs (export/sinks/)

What a target has already is noted in the crawl's folder (export/positions.py). What is new is all between there and
the end of the archive as it was last committed. The order makes a crash harmless: note the target, write the files,
move its positions.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from gossamer import config
from gossamer.clock import RealClock
from gossamer.commands.verb import OneOf
from gossamer.config import UsageError
from gossamer.export import positions
from gossamer.export.formats import LINE_FORMATS, ExportView, Source, to_parquet
from gossamer.export.markdown import FILES_MAX, to_markdown
from gossamer.export.positions import Export, ExportsFault
from gossamer.export.rows import MARKDOWN, TEXT
from gossamer.export.sinks.feed import Feed, alone, sink_of
from gossamer.export.sinks.sink import PACKAGES, SinkAway, SinkRefused, wanted
from gossamer.export.stored import Addition, StoredPages
from gossamer.export.targets import LAYOUTS, BucketTarget, LocalTarget, Target
from gossamer.folder import CrawlFolder, FolderError
from gossamer.runtime.event_loop import in_loop
from gossamer.runtime.temporary import temporary_folder
from gossamer.settings import Tree
from gossamer.text import counted

EXAMPLES = """
gossamer export crawl-example.com --to parquet --out tables
gossamer export crawl-example.com --to markdown --out texts
gossamer export crawl-example.com --to jsonl --text | head
gossamer export crawl-example.com --to cdxj --out s3://bucket/index.cdxj
"""

FORMATS = ("parquet", "markdown", "jsonl", "cdxj", "links", "hostgraph", *PACKAGES)
FLAGS = ("text", "markdown", "with_noindex", "with_noarchive")


def run(arguments: argparse.Namespace) -> None:
    crawl = Path(arguments.dir)
    CrawlFolder(crawl).must_be_crawl()
    check(arguments)
    try:
        if arguments.to is None and arguments.forget is None:
            show(crawl, as_json=arguments.json)
            return
        is_printed = arguments.out in (None, "-") and arguments.to not in PACKAGES
        with positions.locked(crawl, only_reading=arguments.forget is None and is_printed):
            if arguments.forget is not None:
                forget(crawl, arguments.forget)
            elif arguments.to in PACKAGES:
                with alone(crawl):
                    in_loop(feed(crawl, arguments))
            else:
                hand_on(crawl, arguments)
    except ExportsFault as fault:
        raise FolderError(str(fault)) from fault


def check(arguments: argparse.Namespace) -> None:
    to, out = arguments.to, arguments.out
    given = [f"--{flag.replace('_', '-')}" for flag in ("full", *FLAGS) if getattr(arguments, flag)]
    if to is None and (out is not None or given):
        what = f"--out {out}" if out is not None else given[0]
        raise UsageError(f"{what}: as what? Give --to as well: {', '.join(FORMATS)}")
    if to in PACKAGES:
        if any(getattr(arguments, flag) for flag in FLAGS):
            raise UsageError(
                f"{given[-1]} is not for --to {to}: its records have no text, and say what a page asks for"
            )
        return
    if to in LAYOUTS and out in (None, "-"):
        raise UsageError(f"--to {to} needs a folder: name one with --out")
    if to == "parquet" and find_spec("pyarrow") is None:
        raise UsageError(
            "--to parquet needs pyarrow, which is not installed: pip install pyarrow (with pipx: pipx inject "
            "gossamer pyarrow), or install gossamer[parquet]; --to jsonl has the same rows and needs nothing"
        )
    if out is None or out == "-":
        return
    if "://" in out:
        where = urlsplit(out)
        if where.scheme not in ("s3", "s3a") or not where.netloc or set(where.netloc) & set(":@"):
            raise UsageError(f"--out {out}: wanted s3://BUCKET/NAME; keys come from the environment (AWS_...)")
        if to not in LAYOUTS and not where.path.strip("/"):
            raise UsageError(
                f"--out {out}: --to {to} needs the name of an object, as in {out.rstrip('/')}/pages.{to}"
            )
    elif to in LAYOUTS and Path(out).is_file():
        raise UsageError(f"--out {out} is a file; --to {to} needs a folder")
    elif to not in LAYOUTS and Path(out).is_dir():
        raise UsageError(f"--out {out} is a folder; --to {to} needs a file, or no --out for standard output")


def hand_on(crawl: Path, arguments: argparse.Namespace) -> None:
    wanted = Export(arguments.to, [flag for flag in FLAGS if getattr(arguments, flag)])
    with ExitStack() as open_things:
        view = ExportView(crawl)
        open_things.enter_context(view)
        tree = view.configuration.tree
        target = target_of(arguments, tree, open_things)
        before = begun(crawl, target, wanted, is_full=arguments.full) if target else wanted
        source = Source(
            view,
            before.positions,
            view.archive_ends(),
            arguments.with_noindex,
            arguments.with_noarchive,
            additions(arguments, tree, open_things),
        )
        if arguments.to == "parquet" and target is not None:
            to_parquet(source, target.path)
        elif arguments.to == "markdown" and target is not None:
            pages = open_things.enter_context(StoredPages(tree, as_markdown=True))
            to_markdown(source, target.path, pages, FILES_MAX if isinstance(target, LocalTarget) else None)
        else:
            LINE_FORMATS[arguments.to](source, target.path if target else None)
        if target is not None:
            target.finish()
            end = Export(wanted.to, wanted.options, dict(source.until), target.left_as())
            positions.note(crawl, target.name, end)
    said = report(arguments, source)
    print(said, file=sys.stdout if target else sys.stderr)


async def feed(crawl: Path, arguments: argparse.Namespace) -> None:
    """What a sink has not got yet."""
    key = f"sinks.{arguments.to}"
    tree, clock = config.load(crawl, flags={key: arguments.out}).tree, RealClock()
    if arguments.to not in wanted(tree.sinks):
        raise UsageError(f"--to {arguments.to}: {crawl} has no {key}: say where with --out")
    sink = Feed(crawl, sink_of(arguments.to, tree, clock), clock)
    try:
        await sink.open(is_full=arguments.full)
        await sink.catch_up()
    except SinkRefused as fault:
        raise UsageError(str(fault)) from fault
    except SinkAway as fault:
        raise FolderError(f"{fault}; what it has not got waits in the archive") from fault
    finally:
        await sink.close()
    facts = {"target": sink.sink.target, "to": arguments.to, "visits": sink.handed_on}
    print(json.dumps(facts) if arguments.json else f"{sink.sink.target}: {counted(sink.handed_on, 'new visit')}")


def additions(arguments: argparse.Namespace, tree: Tree, open_things: ExitStack) -> list[Addition]:
    """What rows of pages have besides."""
    wanted = {TEXT: arguments.text, MARKDOWN: arguments.markdown}
    return [
        open_things.enter_context(StoredPages(tree, as_markdown=column == MARKDOWN)).addition(column)
        for column, is_wanted in wanted.items()
        if is_wanted and arguments.to in ("parquet", "jsonl")
    ]


def target_of(arguments: argparse.Namespace, tree: Tree, open_things: ExitStack) -> Target | None:
    """None: standard output."""
    layout = LAYOUTS.get(arguments.to)
    if arguments.out is None or arguments.out == "-":
        return None
    if "://" not in arguments.out:
        return LocalTarget(Path(arguments.out).resolve(), layout)
    work = open_things.enter_context(temporary_folder())
    return BucketTarget(arguments.out, tree.archive.options, work, layout)


def begun(crawl: Path, target: Target, wanted: Export, *, is_full: bool) -> Export:
    """What is noted of a target before anything is written to it. Without positions, it is made from nothing."""
    known = before = positions.read(crawl).get(target.name)
    is_there = target.is_there
    if not is_full:
        if before is None and is_there:
            raise UsageError(
                f"{target.name} is there already, and not from this crawl: take another --out, "
                "or replace it with --full"
            )
        if before is not None and (before.to, before.options) != (wanted.to, wanted.options):
            raise UsageError(
                f"{target.name} was exported as {described(before)}, and now it would be {described(wanted)}: "
                "take another --out, or begin it anew with --full"
            )
    if is_full or before is None or not is_there or before.left_as != target.left_as():
        before = wanted
    positions.note(crawl, target.name, before)
    try:
        target.prepare(keep=bool(before.positions))
    except OSError as fault:
        if known is None:
            positions.note(crawl, target.name, None)  # compaction would wait for it
        if fault.strerror is None:  # it says all of it itself
            raise
        raise FolderError(f"{target.name} cannot be written to: {fault.strerror}") from fault
    return before


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
        print("\n".join(lines) or "nothing was exported so far: give --to, and --out where it is not to be printed")


def described(export: Export) -> str:
    return " ".join([export.to, *(f"--{flag.replace('_', '-')}" for flag in export.options)])


def report(arguments: argparse.Namespace, source: Source) -> str:
    is_full = not source.since
    where = arguments.out or "-"
    facts = {
        "target": where,
        "to": arguments.to,
        "is_full": is_full,
        "visits": source.handed_on,
        "left_out": source.left_out,
    }
    if arguments.json:
        return json.dumps(facts)
    text = f"{where}: {counted(source.handed_on, 'visit' if is_full else 'new visit')}"
    return f"{text}, {source.left_out:,} left out that do not want to be indexed" if source.left_out else text


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument(
        "--to",
        type=OneOf(*FORMATS),
        metavar="FORMAT",
        help=f"{', '.join(FORMATS)}; without it, all targets are listed",
    )
    verb.add_argument(
        "--out",
        metavar="TARGET",
        help="a folder for parquet and markdown, else a file (.gz packs it), here or at s3://BUCKET/NAME; without, "
        "it is printed; for a sink its servers, where the crawl has no setting",
    )
    verb.add_argument("--full", action="store_true", help="everything once more, in place of what the target has")
    verb.add_argument("--text", action="store_true", help="with the text of every page (parquet and jsonl)")
    verb.add_argument("--markdown", action="store_true", help="the same as Markdown (parquet and jsonl)")
    verb.add_argument("--with-noindex", action="store_true", help="also pages that do not want to be indexed")
    verb.add_argument("--with-noarchive", action="store_true", help="also the text of pages that forbid copies")
    verb.add_argument("--forget", metavar="TARGET", help="fill this target no more; its files stay")
    verb.add_argument("--json", action="store_true", help="facts as one JSON object")
