"""`gossamer policy`: see or set what holds for hosts and sites, also while the crawl runs.

A registrable domain means the whole site, a longer name that host; `--host` and `--site` say it where the name would
mean the other, and of a URL the host is taken. The control API and the dashboard tell them apart in the same way.

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
from itertools import islice
from pathlib import Path
from typing import get_args

import msgspec

from gossamer import config
from gossamer.commands.verb import host_name, must_be_whole, number, say, whole
from gossamer.config import UsageError
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.frontier.rules.policy import NONE
from gossamer.frontier.rules.priority import with_start
from gossamer.inspect.view import CrawlView, bracketed
from gossamer.maintenance import operator_changes
from gossamer.rendered import When
from gossamer.settings import FrontierSettings, kinds
from gossamer.text import meant
from gossamer.url.site import host_of
from gossamer.url.typed import PRIORITIES, NotASeed, priority_in, url_in

EXAMPLES = """
gossamer policy crawl-example.com www.example.com --delay 5s --max-pages 1000
gossamer policy crawl-example.com example.com --pause
gossamer policy crawl-example.com
"""

KEYS = ("delay_s", "crawl_rate", "max_pages", "priority", "paused", "blocked", "trusted", "region", "render", "proxy")
CRAWL_KEYS = ("requests_per_s", "bytes_per_s")
HOSTS_LOOKED_AT = 100_000  # to tell whether a site is known, and which name was meant: a second
ROWS_MAX = 100_000  # every worker holds them in memory: some 20 MB


def run(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    changes = {key: value for key, value in vars(arguments).items() if key in KEYS and value is not None}
    limits = {key: value for key, value in vars(arguments).items() if key in CRAWL_KEYS and value is not None}
    if changes or limits or arguments.clear or arguments.file is not None:
        must_be_whole(folder, "policy")
    if arguments.file is not None:
        if changes or arguments.name or arguments.clear:
            raise UsageError("--file gives authorities to many; give names and other flags in a call of their own")
        authorities = dict(read_authorities(arguments.file, config.load(folder.path).tree.frontier))
        operator_changes.set_authorities(folder, authorities)
        say(f"{len(authorities):,} authorities are set")
        return
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
        name, is_site = named(arguments.name, arguments.is_site)
        try:
            operator_changes.set_policy(folder, name, changes, is_site=is_site)
        except ValueError as fault:
            raise UsageError(f"this policy makes no sense: {fault}") from fault
        warn_if_unknown(folder, name, is_site=is_site)
    policies = folder.policies()
    if arguments.json:
        print(msgspec.json.encode(policies).decode())
    else:
        print("\n".join(operator_changes.policy_lines(policies)) or "no policies")


def named(text: str, is_site: bool | None) -> tuple[str, bool]:
    """What a policy is for, and whether that is a whole site. Of a URL it is the host."""
    name = text
    if "/" in text:
        try:
            name = host_of(url_in(text))
        except NotASeed as fault:
            raise UsageError(fault) from None
        is_site = bool(is_site)
        say(f"a policy is for a host or a site: taking the host of {text}, {name}")
    name = host_in(name)
    if is_site is None:
        is_site = operator_changes.is_site(name)
    elif is_site and not operator_changes.is_site(name):
        raise UsageError(f"{name} is no site: a site is named by its registrable domain, as in example.com")
    return name, is_site


def host_in(text: str) -> str:
    try:
        return host_name(text)
    except argparse.ArgumentTypeError as fault:
        raise UsageError(fault) from None


def warn_if_unknown(folder: CrawlFolder, name: str, *, is_site: bool) -> None:
    """It is no mistake to speak of a host before the crawl has met it, but often it is a slip."""
    try:
        with CrawlView(folder.path) as view:
            if not is_site and view.host(f"http://{bracketed(name)}/", name) is not None:
                return
            known = {host.site if is_site else host.name for host in islice(view.hosts(), HOSTS_LOOKED_AT)}
    except (StoreDamaged, OSError):  # or not begun yet; the policy is kept all the same
        return
    if name not in known:
        noun = "no host of the site" if is_site else "no host"
        say(f"the crawl knows {noun} {name} so far: {meant(name, known)}the policy is kept for when it does")


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
    """`domain,authority`, `rank,host` and the like: words, and no name with a dot."""
    return (
        len(row) == 2
        and all(cell.strip().isalpha() for cell in row)
        and not PRIORITIES.keys() & {cell.strip() for cell in row}
    )


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
        return kinds.seconds(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from fault


def bytes_in(text: str) -> int:
    try:
        return kinds.size(text)
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
        "--crawl-rate", type=number, metavar="N", help="requests a second at most; of a site all its hosts together"
    )
    verb.add_argument("--max-pages", type=whole(1), metavar="N", help="its budget of pages")
    verb.add_argument("--priority", type=priority, metavar="X", help="its authority: high, medium, low or 0 to 1")
    verb.add_argument("--region", metavar="R", help="only fetchers of this region ask there")
    verb.add_argument("--render", choices=get_args(When), help="instead of render.when: what a browser shows there")
    verb.add_argument(
        "--proxy", metavar="P", help="go there through this proxy instead of fetch.proxy; direct: through none"
    )
    for flag, key, value, text in (
        ("--pause", "paused", True, "ask nothing for now"),
        ("--resume", "paused", False, "go on"),
        ("--block", "blocked", True, "ask nothing more, and refuse what is queued"),
        ("--unblock", "blocked", False, "let it in again"),
        ("--trust", "trusted", True, "what looks like a trap there is none"),
        ("--distrust", "trusted", False, "look for traps there again"),
    ):
        verb.add_argument(flag, dest=key, action="store_const", const=value, help=text)
    verb.add_argument("--requests-per-s", type=number, metavar="N", help="of the whole crawl, without a NAME; 0: any")
    verb.add_argument("--bytes-per-s", type=bytes_in, metavar="SIZE", help="the same: 500KiB, 10MiB; 0: any")
    verb.add_argument(
        "--file", metavar="F", help="authorities of many: NAME,X or PLACE,NAME a line; - for standard input"
    )
    verb.add_argument("--clear", action="store_true", help="forget what was set")
    verb.add_argument("--json", action="store_true", help="all policies as one JSON object")
