"""What the verbs of the command share: flags that are settings, and how facts and complaints are printed.

A verb is a file of this folder with two functions: `add_arguments` describes its flags, `run` gets the parsed
arguments and returns an exit code, or nothing for 0. cli.py has the table of all verbs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gossamer import config, settings
from gossamer.config import ConfigError, UsageError
from gossamer.records import Url
from gossamer.text import printable
from gossamer.url.canonical import choose_for
from gossamer.url.link_filter import LinkFilter
from gossamer.url.typed import NotASeed, url_in


def show(text: str) -> None:
    """A fact, on standard output."""
    print(printable(text))


def say(text: str) -> None:
    """What goes on, on standard error."""
    print(f"gossamer: {text}", file=sys.stderr, flush=True)


def url_of(text: str) -> Url:
    try:
        return url_in(text)
    except NotASeed as fault:
        raise UsageError(fault) from None


def choose_urls(tree: settings.Tree) -> None:
    """What a URL is to this crawl. A filter that means nothing is found out now, and not by each worker."""
    choose_for(tree)
    try:
        LinkFilter((), prefixes=tree.crawl.prefixes, hosts_excluded=tree.crawl.hosts_excluded)
    except ValueError as fault:
        raise ConfigError(f"crawl: {fault}") from None


# ---- flags that are settings -------------------------------------------------------------------------------


def add_setting(verb: argparse.ArgumentParser, key: str, metavar: str, text: str) -> None:
    action = "append" if key in ("crawl.include", "crawl.exclude") else "store"
    verb.add_argument(config.FLAGS[key], dest=key, metavar=metavar, action=action, help=text)


def add_config_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--config", type=Path, metavar="F", help="a TOML file with settings (see `gossamer config`)")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any setting, by its name")


def flags_of(arguments: argparse.Namespace) -> dict[str, object]:
    """Flags by the names of their settings: those with a name of their own, and --set KEY=VALUE for all others."""
    flags = {key: value for key, value in vars(arguments).items() if "." in key and value not in (None, [])}
    for pair in arguments.set:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set {pair}: wanted KEY=VALUE, as in --set fetch.timeout_s=30")
        flags[key.strip()] = value.strip()
    return flags
