"""`gossamer policy`: see or set what holds for hosts and sites, also while the crawl runs.

A registrable domain means the whole site, a longer name that host; `--host` and `--site` say it where the name would
mean the other. The control API and the dashboard tell them apart in the same way.

`--file` gives authority in bulk, from lists of the kind that others publish. One a line, with or without a heading:

    example.org,0.9        a number from 0 to 1, or high, medium, low
    1,example.org          a place in a list: the first has 1, and the farther down the nearer to where all start
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from gossamer import config, settings
from gossamer.config import UsageError
from gossamer.folder import CrawlFolder
from gossamer.frontier.rules.policy import NONE
from gossamer.frontier.rules.priority import with_start
from gossamer.maintenance import operator_changes
from gossamer.settings import FrontierSettings
from gossamer.url.canonical import canonicalize
from gossamer.url.site import host_of
from gossamer.url.typed import priority_in

KEYS = ("delay_s", "crawl_rate", "max_pages", "priority", "paused", "blocked", "trusted")
CRAWL_KEYS = ("requests_per_s", "bytes_per_s")
ROWS_MAX = 100_000  # every worker holds them in memory: some 20 MB


def run(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    changes = {key: value for key, value in vars(arguments).items() if key in KEYS and value is not None}
    if arguments.file is not None:
        if changes or arguments.name or arguments.clear:
            raise UsageError("--file gives authorities to many; give names and other flags in a call of their own")
        authorities = dict(read_authorities(arguments.file, config.load(folder.path).tree.frontier))
        operator_changes.set_authorities(folder, authorities)
        print(f"gossamer: {len(authorities):,} authorities are set", file=sys.stderr)
        return
    limits = {key: value for key, value in vars(arguments).items() if key in CRAWL_KEYS and value is not None}
    if limits:
        if changes or arguments.name or arguments.clear:
            raise UsageError("--requests-per-s and --bytes-per-s are of the whole crawl: give them without a NAME")
        try:
            operator_changes.set_limits(folder, limits)
        except ValueError as fault:
            raise UsageError(f"this limit makes no sense: {fault}") from fault
    elif (changes or arguments.clear) and arguments.name is None:
        raise UsageError("which host or site? `gossamer policy D NAME --pause`; a registrable domain is a whole site")
    if arguments.clear:
        changes = msgspec.structs.asdict(NONE) | changes
    if changes:
        name = host_in(arguments.name)
        is_site = arguments.is_site if arguments.is_site is not None else operator_changes.is_site(name)
        if is_site and not operator_changes.is_site(name):
            raise UsageError(f"{name} is no site: a site is named by its registrable domain, as in example.com")
        try:
            operator_changes.set_policy(folder, name, changes, is_site=is_site)
        except ValueError as fault:
            raise UsageError(f"this policy makes no sense: {fault}") from fault
    policies = folder.policies()
    if arguments.json:
        print(msgspec.json.encode(policies).decode())
    else:
        print("\n".join(operator_changes.policy_lines(policies)) or "no policies")


def host_in(text: str) -> str:
    """The name of a host or site, as it stands in records."""
    url = canonicalize(f"http://{text}/") if not set(text) & set("/?#@ ") else None
    if url is None:
        raise UsageError(f"{text!r} is not the name of a host or a site")
    return host_of(url)


def read_authorities(file: str, settings: FrontierSettings) -> Iterator[tuple[str, float]]:
    with ExitStack() as stack:
        try:
            lines: Iterable[str] = sys.stdin
            if file != "-":
                lines = stack.enter_context(Path(file).open(encoding="utf-8-sig", newline=""))
            for number, row in enumerate(csv.reader(lines), 1):
                if number > ROWS_MAX:
                    raise UsageError(f"{file} has more than {ROWS_MAX:,} lines: give the best of them")
                if not row or row[0].startswith("#") or (number == 1 and is_heading(row)):
                    continue
                try:
                    yield authority_in([cell.strip() for cell in row], settings)
                except (UsageError, ValueError) as fault:
                    raise UsageError(f"{file}, line {number}: {fault}") from None
        except OSError as fault:
            raise UsageError(f"{file} cannot be read: {fault.strerror}") from fault
        except UnicodeDecodeError:
            raise UsageError(f"{file} is not UTF-8 text") from None


def is_heading(row: list[str]) -> bool:
    return not any(cell.strip()[:1].isdecimal() for cell in row) and not set(map(str.strip, row)) & {"high", "low"}


def authority_in(row: list[str], settings: FrontierSettings) -> tuple[str, float]:
    if len(row) != 2:
        raise ValueError("wanted NAME,AUTHORITY or PLACE,NAME")
    if row[0].isdecimal():
        place = int(row[0])
        if place < 1:
            raise ValueError("places are counted from 1")
        # By Zipf the share of the n-th is about 1/n; the scale is that of credit (schedule/importance.importance).
        return host_in(row[1]), round(with_start(max(0.0, 1 - math.log10(place) / 9), settings), 4)
    return host_in(row[0]), priority_in(row[1])


def seconds(text: str) -> float:
    try:
        return settings.seconds(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from fault


def bytes_in(text: str) -> int:
    try:
        return settings.size(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from fault


def priority(text: str) -> float:
    try:
        return priority_in(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from fault


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument(
        "name", nargs="?", metavar="NAME", help="a registrable domain: the whole site; a longer name: that host"
    )
    verb.set_defaults(is_site=None)
    kind = verb.add_mutually_exclusive_group()
    kind.add_argument(
        "--site", dest="is_site", action="store_true", help="NAME is a site: it holds for all its hosts"
    )
    kind.add_argument("--host", dest="is_site", action="store_false", help="NAME is a host: it holds for it alone")
    verb.add_argument("--delay", dest="delay_s", type=seconds, metavar="TIME", help="wait after each answer")
    verb.add_argument(
        "--crawl-rate", type=float, metavar="N", help="requests a second at most; of a site all its hosts together"
    )
    verb.add_argument("--max-pages", type=int, metavar="N", help="its budget of pages")
    verb.add_argument("--priority", type=priority, metavar="X", help="its authority: high, medium, low or 0 to 1")
    for flag, key, value, text in (
        ("--pause", "paused", True, "ask nothing for now"),
        ("--resume", "paused", False, "go on"),
        ("--block", "blocked", True, "ask nothing more, and refuse what is queued"),
        ("--unblock", "blocked", False, "let it in again"),
        ("--trust", "trusted", True, "what looks like a trap there is none"),
        ("--distrust", "trusted", False, "look for traps there again"),
    ):
        verb.add_argument(flag, dest=key, action="store_const", const=value, help=text)
    verb.add_argument("--requests-per-s", type=float, metavar="N", help="of the whole crawl, without a NAME; 0: any")
    verb.add_argument("--bytes-per-s", type=bytes_in, metavar="SIZE", help="the same: 500KiB, 10MiB; 0: any")
    verb.add_argument(
        "--file", metavar="F", help="authorities of many: NAME,X or PLACE,NAME a line; - for standard input"
    )
    verb.add_argument("--clear", action="store_true", help="forget what was set")
    verb.add_argument("--json", action="store_true", help="all policies as one JSON object")
