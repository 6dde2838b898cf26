"""`gossamer crawl`: start a crawl, or resume the one in a folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from gossamer import config
from gossamer.api.child import served
from gossamer.clock import RealClock
from gossamer.commands.verb import add_config_flags, add_setting, choose_urls, flags_of, say, show
from gossamer.config import UsageError
from gossamer.fetch.protocols import makers
from gossamer.folder import CrawlFolder
from gossamer.process.media_types import load_own
from gossamer.records import Seed
from gossamer.runtime.event_loop import in_loop
from gossamer.seeds import SeedList, Spooled
from gossamer.supervisor.summary import summary_text
from gossamer.supervisor.supervisor import run_crawl
from gossamer.url.site import host_of
from gossamer.url.typed import NotASeed, seed_in, seeds_in


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("urls", nargs="*", metavar="URL", help="where to start")
    verb.add_argument("--dir", metavar="D", help="the crawl's folder (default: crawl-HOST of the first URL)")
    verb.add_argument("--file", metavar="F", help="a list of URLs to start from, one a line; - for standard input")
    add_setting(verb, "crawl.max_pages", "N", "stop after N pages, earlier runs included")
    add_setting(verb, "crawl.max_depth", "N", "follow at most N links from a seed")
    add_setting(verb, "crawl.max_time_s", "TIME", "stop after this long: 90, 10m, 2h")
    verb.add_argument(
        "--forever",
        dest="crawl.forever",
        action="store_const",
        const=True,
        help="when nothing new is left, go on visiting pages again until stopped",
    )
    add_setting(verb, "crawl.scope", "WHERE", "host, site or any: how far from the seeds' hosts (default: host)")
    add_setting(verb, "crawl.include", "RE", "only URLs in which this pattern is found; may be repeated")
    add_setting(verb, "crawl.exclude", "RE", "no URLs in which this pattern is found; may be repeated")
    add_setting(verb, "politeness.delay_s", "TIME", "wait after each answer of a host (default: 1 s)")
    add_setting(verb, "crawl.workers", "N", "worker processes (default: one a core)")
    add_setting(verb, "crawl.contact", "WHO", "mail address or URL, for those who run the sites")
    verb.add_argument(
        "--allow-private",
        dest="crawl.allow_private",
        action="store_const",
        const=True,
        help="go to loopback, private and link-local addresses too",
    )
    verb.set_defaults(is_served=False)
    verb.add_argument(
        "--serve",
        nargs="?",
        action=ServeAt,
        metavar="HOST:PORT",
        help="with the control API and the dashboard (default: 127.0.0.1:8080)",
    )
    add_config_flags(verb)


class ServeAt(argparse.Action):
    """`--serve [HOST:PORT]`: sets what `serve.host` and `serve.port` would."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, value: Any, option: str | None = None) -> None:
        namespace.is_served = True
        host, colon, port = (value or "").rpartition(":")
        if not value:
            return
        if not colon or not host or not port.isdecimal():
            parser.error(f"--serve {value}: wanted HOST:PORT, or nothing; before a URL write --serve=HOST:PORT")
        setattr(namespace, "serve.host", host.strip("[]"))
        setattr(namespace, "serve.port", port)


def run(arguments: argparse.Namespace) -> int:
    path = Path(arguments.dir) if arguments.dir else None
    configuration = config.load(path, arguments.config, flags_of(arguments))
    makers(configuration.tree.fetch.schemes)  # found out now, and not by each worker
    load_own()
    choose_urls(configuration.tree)
    with closing(_typed_seeds(arguments.urls, arguments.file)) as seeds:
        if path is None:
            path = _default_dir(seeds.first)
            configuration = config.load(path, arguments.config, flags_of(arguments))
        folder, tree = CrawlFolder(path), configuration.tree
        if seeds.first is None and not folder.is_crawl:
            raise UsageError(f"{path} is not a crawl yet: give at least one URL to start from, or --file with a list")
        if not tree.crawl.contact and not tree.crawl.allow_private:
            say("no --contact given: those who run the sites cannot reach you; a mail address or a page would help")
        for notice in configuration.notices:
            say(notice)
        folder.create()
        with folder.locked(), configuration.tried(path) as started:
            say(f"{'resuming' if SeedList(path).bytes else 'crawling into'} {path}")
            with served(folder, say) if arguments.is_served else nullcontext("") as served_at:
                ending = in_loop(run_crawl(folder, tree, seeds, RealClock(), sys.stderr, started, served_at))
    show(summary_text(ending, folder, tree.archive))
    return 1 if ending.damage else 0


def _typed_seeds(urls: Sequence[str], file: str | None) -> Spooled:
    """What to start from. A list is read as a stream, and a bad line is found before anything is made."""
    try:
        return Spooled(chain(map(seed_in, urls), seeds_in(_lines(file), f"the list of seeds {file}")))
    except NotASeed as fault:
        raise UsageError(fault) from None
    except OSError as fault:
        raise UsageError(f"the list of seeds {file} cannot be read: {fault.strerror}") from fault


def _lines(file: str | None) -> Iterator[bytes]:
    if file == "-":
        yield from sys.stdin.buffer
    elif file is not None:
        with Path(file).open("rb") as lines:
            yield from lines


def _default_dir(first: Seed | None) -> Path:
    if first is None:
        raise UsageError("nothing to do: give at least one URL to start from, or --dir with a crawl to resume")
    return Path(f"crawl-{host_of(first.url).strip('[]').replace(':', '-')}")
