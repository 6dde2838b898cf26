"""`gossamer bench`: measure this machine, with other crawlers beside us on the same pages (bench/)."""

from __future__ import annotations

import argparse
from pathlib import Path

from gossamer.bench import cores, disk, mix
from gossamer.bench.command import PAGE_BYTES, PEERS, REAL_PAGES, bench
from gossamer.commands.verb import number, whole

EXAMPLES = """
gossamer bench --quick
gossamer bench --rounds 5 --save report.json
gossamer bench --against ../before --page-bytes 100000
gossamer bench --mix real --crawlers gossamer,scrapy,colly
"""

CACHE = Path("~/.cache/gossamer/bench")


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--hosts", type=whole(1), metavar="N", help="hosts (default: 400)")
    verb.add_argument(
        "--pages", type=whole(1), metavar="N", help=f"pages a host (default: 50; {REAL_PAGES} of --mix real)"
    )
    verb.add_argument("--page-bytes", type=whole(1), metavar="N", help=f"of each page (default: {PAGE_BYTES})")
    verb.add_argument(
        "--mix",
        choices=mix.KINDS,
        default=mix.KINDS[0],
        help="even: pages of one size (default); real: sizes and markup as on the web, over https, packed by gzip",
    )
    verb.add_argument("--tls", action="store_true", help="pages over https")
    verb.add_argument("--rounds", type=whole(1), metavar="N", help="runs of each crawler, in turn (default: 5)")
    verb.add_argument("--seconds", type=number, metavar="S", help="longest run (default: 30)")
    verb.add_argument("--quick", action="store_true", help="40 hosts, 25 pages each, one round: to see that it works")
    verb.add_argument(
        "--crawlers", metavar="LIST", help=f"default: {PEERS}; gossamer=PATH is the version in that checkout"
    )
    verb.add_argument(
        "--against", action="append", metavar="PATH", help="compare with the version of Gossamer in this checkout"
    )
    verb.add_argument(
        "--cores",
        choices=cores.WAYS,
        default=cores.WAYS[0],
        help="apart: nginx has a core of its own, crawlers the others (default); server: only nginx; shared: nobody",
    )
    verb.add_argument(
        "--ram-disk",
        choices=disk.WAYS,
        default=disk.WAYS[0],
        help="crawl folders in /dev/shm; auto: where the disk would be the limit and there is room (default: auto)",
    )
    verb.add_argument("--profile", action="store_true", help="also a crawl that is looked into, stage by stage")
    verb.add_argument("--picture", type=Path, metavar="F", help="draw the result into this SVG file")
    verb.add_argument("--save", type=Path, metavar="F", help="write the report as JSON into this file, too")
    verb.add_argument("--cache", type=Path, default=CACHE, metavar="D", help=f"pages and peers (default: {CACHE})")
    verb.add_argument("--port", type=whole(1, 65_535), default=18_080, metavar="N", help="of the web server")
    verb.add_argument("--json", action="store_true", help="the report as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    return bench(arguments)
