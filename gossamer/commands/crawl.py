"""`gossamer crawl`: start a crawl, or resume the one in a folder."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack, closing
from hashlib import blake2b
from importlib import import_module
from itertools import islice
from pathlib import Path

from gossamer import config
from gossamer.api.child import served
from gossamer.clock import RealClock
from gossamer.commands.seeds import typed_seeds
from gossamer.commands.verb import (
    add_config_flags,
    add_serve_flag,
    add_setting,
    choose_urls,
    extra,
    flags_of,
    say,
    show,
)
from gossamer.config import ConfigError, UsageError
from gossamer.fetch.protocols import makers
from gossamer.folder import CrawlFolder
from gossamer.frontier.rules.limits import told
from gossamer.process.media_types import load_own
from gossamer.records import Seed
from gossamer.runtime.event_loop import in_loop
from gossamer.runtime.log import opened
from gossamer.runtime.memory import steady_heap
from gossamer.seeds import SeedList, Spooled
from gossamer.settings import Tree
from gossamer.supervisor.summary import summary_text
from gossamer.supervisor.supervisor import run_crawl, workers_of
from gossamer.supervisor.worker_process import forked
from gossamer.text import COMMAND, counted
from gossamer.url.site import host_of, origin_of
from gossamer.visitor import credentials, identity, proxies

EXAMPLES = """
gossamer crawl https://example.com --max-pages 500 --contact you@example.org
gossamer crawl --file seeds.txt --dir news --scope site --max-depth 3
gossamer crawl --dir news
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("urls", nargs="*", metavar="URL", help="where to start")
    verb.add_argument("--dir", metavar="D", help="the crawl's folder (default: crawl-HOST, by the seeds)")
    verb.add_argument("--file", metavar="F", help="a list of URLs to start from, one a line; - for standard input")
    verb.add_argument("--cluster", metavar="FILE", type=Path, help="on the nodes of a cluster: where its servers are")
    add_setting(verb, "crawl.max_pages", "N", "of the crawl: stop after N pages, all runs together; can be raised")
    add_setting(verb, "crawl.max_depth", "N", "of the crawl: follow at most N links from a seed; can be raised")
    add_setting(verb, "crawl.max_time_s", "TIME", "of this run alone: stop after this long: 90, 10m, 2h")
    verb.add_argument(
        "--wait",
        dest="crawl.wait",
        action="store_const",
        const=True,
        help="do not end before the later tries of what failed: they take up to three hours",
    )
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
    add_setting(verb, "fetchers.listen", "HOST:PORT", "let fetchers fetch, which join here (`gossamer fetcher`)")
    add_setting(verb, "crawl.contact", "WHO", "mail address or URL, for those who run the sites")
    verb.add_argument(
        "--allow-private",
        dest="crawl.allow_private",
        action="store_const",
        const=True,
        help="go to loopback, private and link-local addresses too",
    )
    add_serve_flag(verb)
    add_config_flags(verb)


def check_credentials(tree: Tree) -> None:
    """Found out now, and not by each worker."""
    proxies.read(tree.fetch.proxy)
    identity.load(tree.fetch.identity_key, tree.fetch.identity_url)
    found = credentials.load(tree.fetch.credentials)
    if found.have_logins and tree.fetchers.listen:
        raise ConfigError("fetch.credentials: a login by form is not possible where fetchers fetch")


def run(arguments: argparse.Namespace) -> int:
    if arguments.cluster is not None:
        return run_on_nodes(arguments)
    path = Path(arguments.dir) if arguments.dir else None
    configuration = config.load(path, arguments.config, flags_of(arguments))
    makers(configuration.tree.fetch.schemes)  # found out now, and not by each worker
    load_own()
    choose_urls(configuration.tree)
    check_credentials(configuration.tree)
    with closing(typed_seeds(arguments.urls, arguments.file)) as seeds:
        if path is None:
            path = default_dir(seeds)
            arguments.dir = str(path)
            configuration = config.load(path, arguments.config, flags_of(arguments))
            if seeds.first is not None:
                _must_be_the_crawl_of(seeds.first, CrawlFolder(path), configuration.tree)
        folder, tree = CrawlFolder(path), configuration.tree
        if tree.cluster.kafka:
            raise UsageError(
                f"{path} belongs to a cluster ({tree.cluster.name}): `crawl --cluster FILE` goes on with it"
            )
        if seeds.first is None and not folder.is_crawl:
            raise UsageError(f"{path} is not a crawl yet: give at least one URL to start from, or --file with a list")
        if tree.fetchers.listen:
            with extra("services"):
                import_module("grpc")  # found out now, and not by each worker
        folder.create()
        if not tree.crawl.contact and not tree.crawl.allow_private:
            say("no --contact given: those who run the sites cannot reach you; a mail address or a page would help")
        for notice in configuration.notices:
            say(notice)
        with ExitStack() as serving:
            server = None
            kept = config.load(path, environment={}).tree.crawl.max_pages if folder.is_crawl else tree.crawl.max_pages
            with folder.locked(), configuration.tried(path) as started:
                say(f"{'resuming' if SeedList(path).bytes else 'crawling into'} {path}")
                if kept != tree.crawl.max_pages:
                    say(f"{told('crawl.max_pages', kept, tree.crawl.max_pages)}, pages of earlier runs included")
                if arguments.is_served:
                    server = serving.enter_context(served(folder, say))
                address = server.address if server is not None else ""
                log_fd = opened(tree.log, sys.stderr)
                steady_heap()
                workers = forked(workers_of(tree), log_fd)  # before there is an event loop
                ending = in_loop(
                    run_crawl(folder, tree, seeds, RealClock(), sys.stderr, started, address, log_fd, workers)
                )
            show(summary_text(ending, folder, tree.archive))
            if server is not None and ending.why != "interrupted":
                server.stay()
    return 1 if ending.damage or ending.why == "nothing" else 0


def run_on_nodes(arguments: argparse.Namespace) -> int:
    """Create the crawl, or go on with it, and leave the rest to the nodes."""
    for flag, value in (("--dir", arguments.dir), ("--serve", arguments.is_served), ("--config", arguments.config)):
        if value:
            raise UsageError(f"{flag} and --cluster do not go together: each node has a folder of its own")
    with extra("cluster"):
        from gossamer.node.create import create_crawl  # noqa: PLC0415 - of an extra
        from gossamer.node.operating import faults_told  # noqa: PLC0415 - of an extra
    with ExitStack() as opened, faults_told():

        def typed() -> Spooled:
            return opened.enter_context(closing(typed_seeds(arguments.urls, arguments.file)))

        made = in_loop(create_crawl(arguments.cluster, flags_of(arguments), typed, RealClock(), say))
    if not made.tree.crawl.contact and not made.tree.crawl.allow_private:
        say("no --contact given: those who run the sites cannot reach you; a mail address or a page would help")
    name, seeds = made.tree.cluster.name, counted(made.seeds, "seed")
    say(f"{name}: {'a new crawl' if made.is_new else 'goes on'}, {seeds}; {counted(made.nodes, 'node')} at work")
    if not made.nodes:
        say(f"start nodes with `{COMMAND} node --cluster {arguments.cluster}`, on as many machines as you like")
    return 0


def default_dir(seeds: Spooled) -> Path:
    """Named after the host whose home page is the only seed, otherwise after the first host and all seeds: the same
    command finds its folder again, and other seeds have another."""
    if seeds.first is None:
        raise UsageError("nothing to do: give at least one URL to start from, or --dir with a crawl to resume")
    first = seeds.first.url
    name = f"crawl-{host_of(first).strip('[]').replace(':', '-')}"
    if [seed.url for seed in islice(seeds, 2)] == [f"{origin_of(first)}/"]:
        return Path(name)
    # A sum, because the order in which seeds are given means nothing.
    total = sum(int.from_bytes(blake2b(seed.url.encode(), digest_size=8).digest()) for seed in seeds)
    return Path(f"{name}-{total % 16**6:06x}")


def _must_be_the_crawl_of(seed: Seed, folder: CrawlFolder, tree: Tree) -> None:
    """Nobody named the folder, so whatever crawl is in it has to be that of the same seeds."""
    if folder.is_crawl and not SeedList(folder.path).index(tree.crawl.scope).has(seed.url):
        raise UsageError(
            f"{folder.path} holds a crawl of other seeds: name a folder with --dir (--dir {folder.path} adds "
            f"{seed.url} to that crawl)"
        )
