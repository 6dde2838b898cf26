"""`gossamer robots`: what robots.txt says about a URL, and which line says so."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gossamer import config
from gossamer.commands.verb import add_config_flags, add_setting, choose_urls, flags_of, show, url_of
from gossamer.folder import CrawlFolder
from gossamer.inspect.robots_facts import asked_now, stored, text_of
from gossamer.runtime.event_loop import in_loop

EXAMPLES = """
gossamer robots https://example.com/search --contact you@example.org
gossamer robots https://example.com/search --dir crawl-example.com
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("url", metavar="URL", help="any URL; it is made canonical first")
    verb.add_argument("--dir", metavar="D", help="as a crawl knows it; without, the server is asked now")
    verb.add_argument("--json", action="store_true", help="facts as one JSON object")
    add_setting(verb, "crawl.contact", "WHO", "mail address or URL, for those who run the site")
    verb.add_argument(
        "--allow-private", dest="crawl.allow_private", action="store_const", const=True, help="ask private hosts too"
    )
    add_config_flags(verb)


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.dir) if arguments.dir else None
    if path is not None:
        CrawlFolder(path).must_be_crawl()
    tree = config.load(path, arguments.config, flags_of(arguments)).tree
    choose_urls(tree)
    url = url_of(arguments.url)
    facts = stored(path, url) if path is not None else in_loop(asked_now(url, tree))
    show(json.dumps(facts) if arguments.json else text_of(facts))
