"""The command. Verbs are small: read flags, do it, print facts; with --json the facts alone.

Exit codes: 0 done; 1 the world was in the way (disk, damage, a crawl in use); 2 the call was wrong; 130 stopped
at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gossamer import __version__, config, settings
from gossamer.archive.shelf import ArchiveDamaged
from gossamer.bench import verbs as bench_verbs
from gossamer.clock import RealClock
from gossamer.config import ConfigError
from gossamer.control import compact, export, keys, rank, serve
from gossamer.control.verb import UsageError, add_verb
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.policy import NONE
from gossamer.frontier.store import StoreDamaged
from gossamer.interfaces import OtherIndex
from gossamer.records import Url
from gossamer.url.canonical import canonicalize, choose_for
from gossamer.url.filters import Filters
from gossamer.url.site import host_of

T = TypeVar("T")

HOST_AND_PATH = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?(/\S*)?")


POLICY_KEYS = ("delay_s", "max_pages", "priority", "paused", "blocked", "trusted")


def main(argv: Sequence[str] | None = None) -> None:
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    arguments = parser().parse_args(argv)
    try:
        return int(arguments.verb(arguments) or 0)
    except (UsageError, ConfigError) as fault:
        return _complain(fault, 2)
    except (FolderError, StoreDamaged, ArchiveDamaged, OtherIndex) as fault:
        return _complain(fault, 1)
    except OSError as fault:
        if isinstance(fault, BrokenPipeError):  # `gossamer pages D | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        where = f"{fault.filename}: " if fault.filename else ""
        return _complain(f"{where}{fault.strerror or fault}. Nothing is lost: the same command goes on", 1)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _complain("stopped at once; the same command goes on", 130)


def _complain(text: object, code: int) -> int:
    print(f"gossamer: {text}", file=sys.stderr)
    return code


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop  # noqa: PLC0415 - where it exists
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)


# ---- the verbs -------------------------------------------------------------------------------------------


def crawl(arguments: argparse.Namespace) -> int:
    from gossamer.control.summary import summary_text  # noqa: PLC0415 - other verbs start faster without
    from gossamer.fetch.protocols import makers  # noqa: PLC0415
    from gossamer.process.media_types import load_own  # noqa: PLC0415
    from gossamer.supervisor import run_crawl  # noqa: PLC0415

    path = Path(arguments.dir) if arguments.dir else None
    configuration = config.load(path, arguments.config, _flags(arguments))
    makers(configuration.tree.fetch.schemes)  # found out now, and not by each worker
    load_own()
    _choose_urls(configuration.tree)
    seeds = [_seed(text) for text in [*arguments.urls, *_lines(arguments.file)]]
    if path is None:
        path = _default_dir(seeds)
        configuration = config.load(path, arguments.config, _flags(arguments))
    folder = CrawlFolder(path)
    if not seeds and not folder.is_crawl:
        raise UsageError(f"{path} is not a crawl yet: give at least one URL to start from, or --file with a list")
    say = _say
    if not configuration.tree.crawl.contact and not configuration.tree.crawl.allow_private:
        say("no --contact given: those who run the sites cannot reach you; a mail address or a page would help")
    folder.create()
    with folder.locked():
        say(f"{'going on with' if folder.seeds() else 'crawling into'} {path}")
        with serve.served(folder, configuration, say) if arguments.is_served else nullcontext():
            ending = in_loop(run_crawl(folder, configuration, seeds, RealClock(), sys.stderr))
    print(summary_text(ending, folder))
    return 0


def demo(arguments: argparse.Namespace) -> int:
    from gossamer.demo import run_demo  # noqa: PLC0415

    return in_loop(run_demo(Path(arguments.dir), sys.stderr))


def status(arguments: argparse.Namespace) -> None:
    from gossamer.control import live, report, talk  # noqa: PLC0415
    from gossamer.control.view import CrawlView  # noqa: PLC0415

    with CrawlView(Path(arguments.dir)) as view:
        facts = report.status_facts(view, talk.ask(view.folder, live.AskNow(), live.Now))
    print(json.dumps(facts) if arguments.json else report.status_text(facts))


def pages(arguments: argparse.Namespace) -> None:
    from gossamer.control import report  # noqa: PLC0415
    from gossamer.control.view import CrawlView  # noqa: PLC0415

    with CrawlView(Path(arguments.dir)) as view:
        for known in islice(view.asked(), arguments.limit):
            print(json.dumps(report.page_facts(known)) if arguments.json else report.page_line(known))


def hosts(arguments: argparse.Namespace) -> None:
    from gossamer.control import report  # noqa: PLC0415
    from gossamer.control.view import CrawlView  # noqa: PLC0415

    now = RealClock().now()
    with CrawlView(Path(arguments.dir)) as view:
        if not arguments.json:
            print(report.HOST_HEAD)
        for host in islice(view.hosts(), arguments.limit):
            facts = report.host_facts(host, now)
            print(json.dumps(facts) if arguments.json else report.host_line(facts))


def why(arguments: argparse.Namespace) -> None:
    from gossamer.control import report  # noqa: PLC0415
    from gossamer.control.view import CrawlView  # noqa: PLC0415

    with CrawlView(Path(arguments.dir)) as view:
        facts = report.why_facts(view, arguments.url, RealClock())
    print(json.dumps(facts) if arguments.json else report.why_text(facts))


def robots(arguments: argparse.Namespace) -> None:
    from gossamer.control import robots as report  # noqa: PLC0415

    path = Path(arguments.dir) if arguments.dir else None
    if path is not None:
        CrawlFolder(path).must_be_crawl()
    tree = config.load(path, arguments.config, _flags(arguments)).tree
    _choose_urls(tree)
    url = _seed(arguments.url)
    facts = report.stored(path, url) if path is not None else in_loop(report.asked_now(url, tree))
    print(json.dumps(facts) if arguments.json else report.text_of(facts))


def policy(arguments: argparse.Namespace) -> None:
    from gossamer.control import steering  # noqa: PLC0415

    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    changes = {key: value for key, value in vars(arguments).items() if key in POLICY_KEYS and value is not None}
    if changes and arguments.name is None:
        raise UsageError("which host or site? `gossamer policy D HOST --pause`, or `--site` for a whole site")
    if arguments.clear:
        changes = msgspec.structs.asdict(NONE) | changes
    if changes:
        try:
            steering.set_policy(folder, arguments.name, changes, is_site=arguments.site)
        except ValueError as fault:
            raise UsageError(f"this policy makes no sense: {fault}") from fault
    policies = folder.policies()
    if arguments.json:
        print(msgspec.json.encode(policies).decode())
    else:
        print("\n".join(steering.policy_lines(policies)) or "no policies")


def quarantine(arguments: argparse.Namespace) -> int:
    from gossamer.control import report, steering  # noqa: PLC0415
    from gossamer.control.view import CrawlView  # noqa: PLC0415

    path = Path(arguments.dir)
    if arguments.release or arguments.drop:
        folder = CrawlFolder(path)
        folder.must_be_crawl()
        url = _seed(arguments.release or arguments.drop)
        tree = config.load(path, environment={}).tree
        if not steering.pardon_anywhere(folder, tree, RealClock(), url, drop=bool(arguments.drop)):
            raise FolderError(f"{url} is not in quarantine")
        _say(f"{url} is {'dropped' if arguments.drop else 'queued again'}")
        return 0
    with CrawlView(path) as view:
        for known in view.quarantined():
            print(json.dumps(report.page_facts(known)) if arguments.json else steering.quarantine_line(known))
    return 0


def web(arguments: argparse.Namespace) -> None:
    from gossamer.synthetic_web.command import run_web  # noqa: PLC0415
    from gossamer.synthetic_web.options import WebOptions  # noqa: PLC0415

    make = WebOptions.plain if arguments.kind == "plain" else WebOptions.everything
    options = make(seed=arguments.seed, hosts=arguments.hosts, pages_per_host=arguments.pages)
    in_loop(run_web(options, log_file=arguments.log, port=arguments.port))


def show_config(arguments: argparse.Namespace) -> None:
    path = Path(arguments.dir) if arguments.dir else None
    if path is not None:
        CrawlFolder(path).must_be_crawl()
    configuration = config.load(path, arguments.config, _flags(arguments))
    rows = configuration.rows()
    if arguments.json:
        print(json.dumps({row.key: {"value": row.value, "origin": row.origin} for row in rows}, default=list))
        return
    for row in rows:
        print(f"{row.key + ' = ' + config.as_toml(row.value):<52} # {row.meaning} [{row.origin}]")


# ---- reading the call ------------------------------------------------------------------------------------


def _choose_urls(tree: settings.Tree) -> None:
    """What a URL is to this crawl. A filter that means nothing is found out now, and not by each worker."""
    choose_for(tree)
    try:
        Filters((), prefixes=tree.crawl.prefixes, hosts_excluded=tree.crawl.hosts_excluded)
    except ValueError as fault:
        raise ConfigError(f"crawl: {fault}") from None


def _seed(text: str) -> Url:
    url = canonicalize(text)
    if url is None and HOST_AND_PATH.fullmatch(text):
        url = canonicalize(f"https://{text}")  # what people type
    if url is None:
        raise UsageError(f"{text!r} is not a URL that can be crawled: it needs http:// or https:// and a host")
    return url


def _lines(file: str | None) -> Iterable[str]:
    if file is None:
        return
    try:
        with sys.stdin if file == "-" else Path(file).open(encoding="utf-8") as lines:
            for line in lines:
                text = line.partition(" #")[0].strip()
                if text and not text.startswith("#"):
                    yield text
    except OSError as fault:
        raise UsageError(f"the list of seeds {file} cannot be read: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        raise UsageError(f"the list of seeds {file} is not UTF-8 text") from fault


def _default_dir(seeds: Sequence[Url]) -> Path:
    if not seeds:
        raise UsageError("nothing to do: give at least one URL to start from, or --dir with a crawl to go on with")
    return Path(f"crawl-{host_of(seeds[0]).strip('[]').replace(':', '-')}")


def _flags(arguments: argparse.Namespace) -> dict[str, object]:
    """Flags by the names of their settings: those with a name of their own, and --set KEY=VALUE for all others."""
    flags = {key: value for key, value in vars(arguments).items() if "." in key and value not in (None, [])}
    for pair in arguments.set:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set {pair}: wanted KEY=VALUE, as in --set fetch.timeout_s=30")
        flags[key.strip()] = value.strip()
    return flags


def _seconds(text: str) -> float:
    try:
        return settings.seconds(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from fault


def _say(text: str) -> None:
    print(f"gossamer: {text}", file=sys.stderr, flush=True)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="gossamer",
        description="A polite, crash-safe web crawler that grows from a laptop to the whole web.",
        epilog="Start with `gossamer demo`: everything at work in half a minute, without a network.",
    )
    top.add_argument("--version", action="version", version=f"gossamer {__version__}")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", required=True)

    _crawl_verb(verbs)
    _demo_verb(verbs)
    _looking_verbs(verbs)
    _robots_verb(verbs)
    _steering_verbs(verbs)
    _config_verb(verbs)
    _web_verb(verbs)
    compact.add_verbs(verbs)
    export.add_verbs(verbs)
    rank.add_verbs(verbs)
    serve.add_verbs(verbs)
    keys.add_verbs(verbs)
    bench_verbs.add_verbs(verbs)
    return top


def _crawl_verb(verbs: Any) -> None:
    verb = add_verb(verbs, "crawl", crawl, "start a crawl, or go on with the one in --dir")
    verb.add_argument("urls", nargs="*", metavar="URL", help="where to start")
    verb.add_argument("--dir", metavar="D", help="the crawl's folder (default: crawl-HOST of the first URL)")
    verb.add_argument("--file", metavar="F", help="a list of URLs to start from, one a line; - for standard input")
    _setting(verb, "--max-pages", "crawl.max_pages", "N", "stop after so many pages, earlier runs included")
    _setting(verb, "--max-depth", "crawl.max_depth", "N", "follow links so far from a seed")
    _setting(verb, "--max-time", "crawl.max_time_s", "TIME", "stop after this long: 90, 10m, 2h")
    verb.add_argument(
        "--forever",
        dest="crawl.forever",
        action="store_const",
        const=True,
        help="when nothing new is left, go on visiting pages again until stopped",
    )
    _setting(
        verb, "--scope", "crawl.scope", "WHERE", "host, site or any: how far from the seeds' hosts (default: host)"
    )
    _setting(verb, "--include", "crawl.include", "RE", "only URLs in which this pattern is found; may be repeated")
    _setting(verb, "--exclude", "crawl.exclude", "RE", "no URLs in which this pattern is found; may be repeated")
    _setting(verb, "--delay", "politeness.delay_s", "TIME", "wait after each answer of a host (default: 1 s)")
    _setting(verb, "--workers", "crawl.workers", "N", "worker processes (default: one a core)")
    _setting(verb, "--contact", "crawl.contact", "WHO", "mail address or URL, for those who run the sites")
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
        action=serve.ServeAt,
        metavar="HOST:PORT",
        help="with the control API and the dashboard (default: 127.0.0.1:8080)",
    )
    _config_flags(verb)


def _demo_verb(verbs: Any) -> None:
    verb = add_verb(verbs, "demo", demo, "the whole thing offline in half a minute")
    verb.add_argument("--dir", metavar="D", default="demo", help="where to put the crawl (default: demo)")


def _looking_verbs(verbs: Any) -> None:
    for name, run_verb, text in (
        ("status", status, "how far a crawl is, running or not"),
        ("pages", pages, "every URL that was asked for, and what came of it"),
        ("hosts", hosts, "every host, its delay and why"),
        ("why", why, "the state of any URL, and the reason"),
    ):
        verb = add_verb(verbs, name, run_verb, text)
        verb.add_argument("dir", metavar="D", help="the crawl's folder")
        if name == "why":
            verb.add_argument("url", metavar="URL")
        if name in ("pages", "hosts"):
            verb.add_argument("--limit", type=int, metavar="N", help="no more than so many")
        verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def _robots_verb(verbs: Any) -> None:
    verb = add_verb(verbs, "robots", robots, "what robots.txt says about a URL, and which line says so")
    verb.add_argument("url", metavar="URL")
    verb.add_argument("--dir", metavar="D", help="as a crawl knows it; without, the server is asked now")
    verb.add_argument("--json", action="store_true", help="facts as one JSON object")
    _setting(verb, "--contact", "crawl.contact", "WHO", "mail address or URL, for those who run the site")
    verb.add_argument(
        "--allow-private", dest="crawl.allow_private", action="store_const", const=True, help="ask private hosts too"
    )
    _config_flags(verb)


def _steering_verbs(verbs: Any) -> None:
    verb = add_verb(verbs, "policy", policy, "see or set what holds for a host or a site, also while the crawl runs")
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("name", nargs="?", metavar="HOST", help="a host, or with --site a site; none: show all")
    verb.add_argument("--site", action="store_true", help="HOST is a site: it holds for all its hosts")
    verb.add_argument("--delay", dest="delay_s", type=_seconds, metavar="TIME", help="wait after each answer")
    verb.add_argument("--max-pages", type=int, metavar="N", help="its budget of pages")
    verb.add_argument("--priority", type=float, metavar="X", help="its authority, from 0 to 1")
    for flag, key, value, text in (
        ("--pause", "paused", True, "ask nothing for now"),
        ("--resume", "paused", False, "go on"),
        ("--block", "blocked", True, "ask nothing more, and refuse what is queued"),
        ("--unblock", "blocked", False, "let it in again"),
        ("--trust", "trusted", True, "what looks like a trap there is none"),
        ("--distrust", "trusted", False, "look for traps there again"),
    ):
        verb.add_argument(flag, dest=key, action="store_const", const=value, help=text)
    verb.add_argument("--clear", action="store_true", help="forget what was set")
    verb.add_argument("--json", action="store_true", help="all policies as one JSON object")

    verb = add_verb(verbs, "quarantine", quarantine, "URLs that killed their workers: list, release or drop them")
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--release", metavar="URL", help="try it again")
    verb.add_argument("--drop", metavar="URL", help="never ask for it again")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def _config_verb(verbs: Any) -> None:
    verb = add_verb(verbs, "config", show_config, "the configuration in force, and where each value comes from")
    verb.add_argument("dir", nargs="?", metavar="D", help="a crawl's folder")
    verb.add_argument("--json", action="store_true", help="as one JSON object")
    _config_flags(verb)


def _web_verb(verbs: Any) -> None:
    verb = add_verb(verbs, "web", web, "serve a synthetic web on loopback addresses, to try crawlers on")
    verb.add_argument("--hosts", type=int, default=50, metavar="N")
    verb.add_argument("--pages", type=int, default=40, metavar="N", help="pages a host")
    verb.add_argument("--seed", type=int, default=1, metavar="N", help="the same seed gives the same web")
    verb.add_argument("--kind", choices=("plain", "everything"), default="everything")
    verb.add_argument("--port", type=int, default=8081)
    verb.add_argument("--log", type=Path, metavar="F", help="write the access log here, as JSON lines")


def _setting(verb: argparse.ArgumentParser, flag: str, key: str, metavar: str, text: str) -> None:
    action = "append" if key in ("crawl.include", "crawl.exclude") else "store"
    verb.add_argument(flag, dest=key, metavar=metavar, action=action, help=text)


def _config_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--config", type=Path, metavar="F", help="a TOML file with settings (see `gossamer config`)")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any setting, by its name")
