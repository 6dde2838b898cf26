"""`gossamer fetch`: one URL fetched and read as a crawl would, with every decision, and nothing stored."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from gossamer import config
from gossamer.commands.verb import add_config_flags, add_setting, choose_urls, flags_of, say, show, url_of
from gossamer.inspect.trial import Trial
from gossamer.inspect.trial_text import trial_text
from gossamer.inspect.view import CrawlView
from gossamer.records import Url
from gossamer.runtime.event_loop import in_loop
from gossamer.settings import Tree

EXAMPLES = """
gossamer fetch https://example.com/ --contact you@example.org
gossamer fetch https://example.com/news --dir crawl-example.com
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("url", metavar="URL", help="any URL; it is made canonical first")
    verb.add_argument("--dir", metavar="D", help="as this crawl would; without, as one that begins with the URL")
    verb.add_argument("--whole", action="store_true", help="all links and all of the text, not only their beginning")
    verb.add_argument("--json", action="store_true", help="facts as one JSON object")
    add_setting(verb, "crawl.contact", "WHO", "mail address or URL, for those who run the site")
    add_setting(verb, "politeness.delay_s", "TIME", "wait after each answer of a host (default: 1 s)")
    verb.add_argument(
        "--allow-private", dest="crawl.allow_private", action="store_const", const=True, help="ask private hosts too"
    )
    add_config_flags(verb)


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.dir) if arguments.dir else None
    with ExitStack() as opened:
        view = opened.enter_context(CrawlView(path)) if path is not None else None
        tree = config.load(path, arguments.config, flags_of(arguments)).tree
        choose_urls(tree)
        facts = in_loop(tried(url_of(arguments.url), tree, view))
    facts = {"asked": arguments.url} | facts
    show(json.dumps(facts) if arguments.json else trial_text(facts, whole=arguments.whole))


async def tried(url: Url, tree: Tree, view: CrawlView | None) -> dict[str, Any]:
    async with Trial(tree, view, say) as trial:
        return await trial.run(url)
