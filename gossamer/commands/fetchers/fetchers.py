"""`gossamer fetchers`: the fetchers of a running crawl, and how to send one away."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

import msgspec

from gossamer.cluster.wire import Disconnected
from gossamer.commands.verb import say, show
from gossamer.config import UsageError
from gossamer.folder import CrawlFolder, FolderError
from gossamer.inspect.status_facts import fetchers_text
from gossamer.messages import control_client
from gossamer.messages.control_messages import AskNow, DrainFetcher, Now
from gossamer.runtime.event_loop import in_loop

EXAMPLES = """
gossamer fetchers crawl-example.com
gossamer fetchers crawl-example.com --drain frankfurt-2
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--drain", metavar="NAME", help="this one gets no more jobs, answers what it has, and ends")
    verb.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    now = control_client.ask(folder, AskNow(), Now)
    if now is None:
        raise FolderError(f"the crawl in {folder.path} is not running, so it has no fetchers")
    if arguments.drain is not None:
        if arguments.drain not in {each.name for each in now.fetchers}:
            raise UsageError(f"no fetcher is named {arguments.drain}; `gossamer fetchers {folder.path}` lists them")
        in_loop(drain(folder, arguments.drain))
        say(f"{arguments.drain} gets no more jobs, and ends")
        return
    facts = [msgspec.to_builtins(each) for each in now.fetchers]
    show("\n".join(map(json.dumps, facts) if arguments.json else fetchers_text(facts) or ["no fetchers"]))


async def drain(folder: CrawlFolder, name: str) -> None:
    peer = await control_client.connect_to_crawl(folder, asyncio.create_task)
    try:
        if peer is not None:
            await peer.tell(DrainFetcher(name))
    except Disconnected:
        pass  # it ended just now, and with it all streams
    finally:
        if peer is not None:
            peer.close()
