"""`gossamer web`: serve a synthetic web on loopback addresses, to try crawlers on."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from gossamer.commands.verb import OneOf, whole
from gossamer.folder import FolderError
from gossamer.runtime.event_loop import in_loop
from gossamer.synthetic_web.command import run_web
from gossamer.synthetic_web.options import WebOptions

EXAMPLES = "gossamer web --hosts 50 --pages 40 --port 8081"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--hosts", type=whole(1, 60_000), default=50, metavar="N", help="default: 50")
    verb.add_argument("--pages", type=whole(1, 10**6), default=40, metavar="N", help="pages a host")
    verb.add_argument("--seed", type=whole(0), default=1, metavar="N", help="the same seed gives the same web")
    kinds = "world: sites with every habit; everything: with traps on all of them; plain: without habits; "
    kinds += "scripted: with sites that need a browser"
    known = OneOf("world", "everything", "plain", "scripted")
    verb.add_argument("--kind", type=known, default="world", metavar="K", help=kinds)
    verb.add_argument(
        "--port", type=whole(0, 65_535), default=8081, metavar="N", help="default: 8081; 0: any that is free"
    )
    verb.add_argument("--log", type=Path, metavar="F", help="write the access log here, as JSON lines")


def run(arguments: argparse.Namespace) -> None:
    make: Any = getattr(WebOptions, arguments.kind)
    options = make(seed=arguments.seed, hosts=arguments.hosts, pages_per_host=arguments.pages)
    try:
        in_loop(run_web(options, log_file=arguments.log, port=arguments.port))
    except OSError as fault:
        if fault.filename:
            raise
        why = os.strerror(fault.errno) if fault.errno else fault
        raise FolderError(f"cannot listen on port {arguments.port}: {why}; choose another with --port") from None
