"""What the verbs of the command share: flags that are settings, types of arguments, and how facts are printed.

A verb is a file of this folder. `EXAMPLES` has calls of it for its help, `add_arguments` describes its flags, `run`
gets the parsed arguments and returns an exit code, or nothing for 0. cli.py has the table of all verbs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gossamer import config
from gossamer.clock import RealClock
from gossamer.config import ConfigError, UsageError
from gossamer.folder import CrawlFolder
from gossamer.records import Url
from gossamer.settings import Tree, kinds
from gossamer.text import COMMAND, meant, printable
from gossamer.url.canonical import canonicalize, choose_for
from gossamer.url.link_filter import LinkFilter
from gossamer.url.site import host_of
from gossamer.url.typed import NotASeed, url_in

WHOLE_MAX = 10**15


def show(text: str) -> None:
    """A fact, on standard output."""
    print(printable(text))


def say(text: str) -> None:
    """What goes on, on standard error."""
    print(printable(f"gossamer: {text}"), file=sys.stderr, flush=True)


@contextmanager
def extra(name: str) -> Iterator[None]:
    """What is imported here comes with an extra of the package, which may not be installed."""
    try:
        yield
    except ModuleNotFoundError as fault:
        if fault.name is None or fault.name.startswith("gossamer"):
            raise
        raise UsageError(
            f"this needs the package {fault.name}, which is not installed: pip install 'gossamer[{name}]'"
        ) from None


def url_of(text: str) -> Url:
    try:
        return url_in(text)
    except NotASeed as fault:
        raise UsageError(fault) from None


def must_be_whole(folder: CrawlFolder, verb: str) -> None:
    """What a verb changes in the folder of a node would be told to no other node, and stand in no journal."""
    if folder.is_of_node:
        raise UsageError(
            f"{folder.path} is the folder of one node of a cluster, and {verb} is for all of them: give it the "
            f"cluster's file, as in `{COMMAND} {verb} cluster.toml`"
        )


def choose_urls(tree: Tree) -> None:
    """What a URL is to this crawl. A filter that means nothing is found out now, and not by each worker."""
    choose_for(tree)
    try:
        LinkFilter((), prefixes=tree.crawl.prefixes, hosts_excluded=tree.crawl.hosts_excluded)
    except ValueError as fault:
        raise ConfigError(f"crawl: {fault}") from None


# ---- types of arguments: each says in its own words what would be right --------------------------------------


class OneOf:
    """One of some words. Shell completion offers them."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, text: str) -> str:
        if text not in self.words:
            hint = meant(text, self.words)
            raise argparse.ArgumentTypeError(f"{text!r} is not known: {hint}wanted one of {', '.join(self.words)}")
        return text


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """A whole number between two; None: as large as counters go."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not low <= int(text[:19]) <= (high or WHOLE_MAX):
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number from {low} {f'to {high}' if high else 'on'}"
            )
        return int(text)

    return read


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e18:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 10e9 or 0.5")
    return value


def since(text: str) -> float:
    """A moment: so long ago (`2h`), or a date with or without a time, in UTC where no zone is given."""
    try:
        return RealClock().now() - kinds.seconds(text)
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        wanted = "30m, 2h or 7d for so long ago, or a date like 2026-07-01 or 2026-07-01T12:00Z"
        raise argparse.ArgumentTypeError(f"{text!r} is no moment: wanted {wanted}") from None


def host_name(text: str) -> str:
    """The name of a host or site, as it stands in records."""
    url = canonicalize(f"http://{text}/") if not set(text) & set("/?#@ ") else None
    if url is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a host")
    return host_of(url)


# ---- flags that are settings -------------------------------------------------------------------------------


def add_setting(verb: argparse.ArgumentParser, key: str, metavar: str, text: str) -> None:
    action = "append" if key in ("crawl.include", "crawl.exclude") else "store"
    verb.add_argument(config.FLAGS[key], dest=key, metavar=metavar, action=action, help=text)


def add_config_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--config", type=Path, metavar="F", help="a TOML file with settings (see `gossamer config`)")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any setting, by its name")


def add_serve_flag(verb: argparse.ArgumentParser) -> None:
    verb.set_defaults(is_served=False)
    verb.add_argument(
        "--serve",
        nargs="?",
        action=ServeAt,
        metavar="HOST:PORT",
        help="with the control API and the dashboard (default: 127.0.0.1:8080)",
    )


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


def flags_of(arguments: argparse.Namespace) -> dict[str, object]:
    """Flags by the names of their settings: those with a name of their own, and --set KEY=VALUE for all others."""
    flags = {key: value for key, value in vars(arguments).items() if "." in key and value not in (None, [])}
    for pair in arguments.set:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set {pair}: wanted KEY=VALUE, as in --set fetch.timeout_s=30")
        flags[key.strip()] = value.strip()
    return flags
