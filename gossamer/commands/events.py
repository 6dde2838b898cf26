"""`gossamer events`: what a running crawl does: the last few events, or all as they happen."""

from __future__ import annotations

import argparse
import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from gossamer.commands.verb import say, show
from gossamer.folder import CrawlFolder, FolderError
from gossamer.messages.control_client import connect_to_crawl
from gossamer.messages.control_messages import Event, EventBatch, Watch
from gossamer.runtime.event_loop import in_loop
from gossamer.text import moment, size

EXAMPLES = """
gossamer events crawl-example.com
gossamer events crawl-example.com --follow
gossamer events crawl-example.com --follow --json
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the folder of a crawl that is running")
    verb.add_argument("--follow", action="store_true", help="go on until the crawl ends, or Ctrl-C")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        in_loop(watch(folder, is_following=arguments.follow, as_json=arguments.json))


async def watch(folder: CrawlFolder, *, is_following: bool, as_json: bool) -> None:
    heard = asyncio.Event()
    trouble: list[OSError] = []

    def hear(batch: EventBatch) -> None:
        try:
            for event in batch.events:
                show(json.dumps(event_facts(event)) if as_json else event_line(event))
            print(end="", flush=True)
        except OSError as fault:  # nobody reads any more, or the disk is full
            trouble.append(fault)
            heard.set()
        if batch.left_out and not as_json:
            say(f"{batch.left_out:,} more than can be shown were left out")
        if not is_following:
            heard.set()

    peer = await connect_to_crawl(folder, asyncio.create_task, hear)
    if peer is None:
        raise FolderError(f"{folder.path} is not running, so nothing happens; `gossamer status` tells how it stands")
    peer.when_closed.append(heard.set)
    peer.mention(Watch(recent=True))
    await heard.wait()
    was_ended = peer.closed.is_set()
    peer.close()
    if trouble:
        raise trouble[0]
    if was_ended:
        say(f"{folder.path}: the crawl has ended")


def event_facts(event: Event) -> dict[str, Any]:
    """The same fields as in the control API."""
    return {
        "at": moment(event.at),
        "kind": event.kind,
        "url": event.url,
        "status": event.status,
        "reason": event.reason,
        "bytes": event.bytes,
        "took_s": round(event.took_s, 4),
        "note": event.note,
    }


def event_line(event: Event) -> str:
    time = (moment(event.at) or "")[11:23]
    if event.kind == "said":
        return f"{time} said: {event.note}"
    status = event.status if event.status is not None else "-"
    why = f"  {event.reason}" if event.reason else ""
    note = f"  {event.note}" if event.note else ""
    return f"{time} {event.kind:<8} {status:>4} {size(event.bytes):>9} {event.took_s:>6.2f} s  {event.url}{why}{note}"
