"""`gossamer seeds`: list the URLs that a crawl starts from, or add some, running or not."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

import msgspec

from gossamer import config
from gossamer.clock import RealClock
from gossamer.cluster.wire import Disconnected
from gossamer.commands.verb import choose_urls, must_be_whole, say, show
from gossamer.config import UsageError
from gossamer.folder import CrawlFolder
from gossamer.messages.control_client import connect_to_crawl
from gossamer.messages.control_messages import AddSeeds, SeedsAdded
from gossamer.records import Seed
from gossamer.runtime.event_loop import in_loop
from gossamer.seeds import SeedList, Spooled
from gossamer.supervisor.seeding import add_seeds
from gossamer.text import COMMAND, counted, explained
from gossamer.url.typed import NotASeed, seed_in, seeds_in

EXAMPLES = """
gossamer seeds crawl-example.com
gossamer seeds add crawl-example.com https://example.com/news
gossamer seeds add crawl-example.com "https://example.com/docs priority=high max_depth=2"
gossamer seeds add crawl-example.com --file more.txt
"""
AT_ONCE = 5_000  # seeds of one message: with the longest URLs half of what fits


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.usage = "gossamer seeds D [--json]\n       gossamer seeds add D [URL ...] [--file F] [--json]"
    verb.add_argument("words", nargs="*", metavar="[add] D", help="the crawl's folder, running or not")
    verb.add_argument("urls", nargs="*", metavar="URL", help="with add: where to start, too")
    verb.add_argument("--file", metavar="F", help="with add: a list of URLs, one a line; - for standard input")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> int:
    words = [*arguments.words, *arguments.urls]
    is_adding = words[:1] == ["add"]
    if len(words) == is_adding or (not is_adding and (len(words) > 1 or arguments.file)):
        raise UsageError("seeds: to list, `gossamer seeds D`; to add, `gossamer seeds add D URL` or `... --file F`")
    folder = CrawlFolder(Path(words[is_adding]))
    folder.must_be_crawl()
    if is_adding:
        must_be_whole(folder, "seeds add")
    choose_urls(config.load(folder.path, environment={}).tree)
    if is_adding:
        return add(folder, words[2:], arguments.file, as_json=arguments.json)
    for seed in SeedList(folder.path):
        said = {name: value for name, value in msgspec.structs.asdict(seed).items() if value is not None}
        show(msgspec.json.encode(said).decode() if arguments.json else seed_text(said))
    return 0


def seed_text(said: dict[str, object]) -> str:
    return " ".join([str(said.pop("url")), *(f"{name}={value}" for name, value in said.items())])


def add(folder: CrawlFolder, urls: Sequence[str], file: str | None, *, as_json: bool) -> int:
    with closing(typed_seeds(urls, file)) as seeds:
        if seeds.first is None:
            raise UsageError("seeds add: give at least one URL, or --file with a list")
        added = in_loop(added_running(folder, iter(seeds)))
        is_running = added is not None
        if added is None:
            added = add_seeds(folder, seeds, RealClock())
    if as_json:
        show(msgspec.json.encode(msgspec.to_builtins(added)).decode())
    else:
        for refused in added.refused:
            say(f"refused: {refused.url}: {explained(refused.reason)} [{refused.reason}]")
        known = f", {added.duplicates_skipped:,} known before" if added.duplicates_skipped else ""
        going_on = "" if is_running else f"; `{COMMAND} crawl --dir {folder.path}` begins with them"
        say(f"{folder.path}: {counted(added.added, 'new seed')}{known}{going_on}")
    return 1 if added.refused else 0


async def added_running(folder: CrawlFolder, seeds: Iterator[Seed]) -> SeedsAdded | None:
    """Each part is durable when the next one is sent. None: the crawl is not running."""
    peer = await connect_to_crawl(folder, asyncio.create_task)
    if peer is None:
        return None
    total = SeedsAdded(0, 0, [])
    try:
        while some := list(islice(seeds, AT_ONCE)):
            part = await peer.call(AddSeeds(some), SeedsAdded)
            skipped = total.duplicates_skipped + part.duplicates_skipped
            total = SeedsAdded(total.added + part.added, skipped, total.refused + part.refused)
    except Disconnected:  # it has ended; what was sent before stays, and does no harm twice
        return None
    finally:
        peer.close()
    return total


def typed_seeds(urls: Sequence[str], file: str | None) -> Spooled:
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
