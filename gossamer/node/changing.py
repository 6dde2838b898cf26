"""The verbs that change what the owners of partitions have: `retry`, `quarantine`, `rank` and `recover`.

Each is a word on the board, which the owners follow (instructions.py, ranks.py, recovery.py). The verb waits until
they have, where nodes are up; else it is done when some are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from gossamer import config
from gossamer.archive.bucket import open_state
from gossamer.clock import RealClock
from gossamer.config import UsageError
from gossamer.folder import FolderError
from gossamer.maintenance.stored_links import found_again
from gossamer.messages.control_messages import ReleaseUrl, Retry
from gossamer.node import ranks
from gossamer.node.instructions import What
from gossamer.node.look import folder_of, look
from gossamer.node.operating import ClusterClient, Waited, check_settings
from gossamer.records import Reason
from gossamer.settings import Tree
from gossamer.text import COMMAND, counted
from gossamer.url.canonical import choose_for
from gossamer.url.typed import NotASeed, url_in

Say = Callable[[str], None]


async def retry(file: Path, arguments: argparse.Namespace, say: Say, show: Say) -> int:
    if arguments.links:
        if arguments.host or arguments.reason:
            raise UsageError("--links reads all stored pages: give it without --host and --reason")
        return await _send_again(file, say, show)
    reason = Reason(arguments.reason) if arguments.reason is not None else None
    waited, urls = await _instructed(file, Retry(arguments.host, reason), say)
    if waited is not Waited.NOBODY:
        show(f"{counted(urls, 'URL')} queued again")
    return 0 if waited is not Waited.LATE else 1


async def release(file: Path, typed: str, say: Say, *, drop: bool) -> int:
    try:
        url = url_in(typed)
    except NotASeed as fault:
        raise UsageError(fault) from None
    waited, urls = await _instructed(file, ReleaseUrl(url, drop), say)
    if waited is Waited.DONE and not urls:
        raise FolderError(f"{url} is not in quarantine")
    if urls:
        say(f"{url} is {'dropped' if drop else 'queued again'}")
    return 0 if waited is not Waited.LATE else 1


async def _instructed(file: Path, what: What, say: Say) -> tuple[Waited, int]:
    """How far it has come, and how many URLs it concerned so far."""
    async with ClusterClient.connected(_settings(file).cluster, RealClock()) as client:
        partitions = client.crawl(file).crawl.partitions
        waited, done = await client.carried_out(await client.instruct(what), partitions)
        if waited is Waited.LATE:
            say(f"{counted(done.partitions_left, 'partition')} of {partitions} have not done it yet; they will")
        elif waited is Waited.NOBODY:
            say(_when_nodes_are_up(file, client))
        return waited, done.urls


async def _send_again(file: Path, say: Say, show: Say) -> int:
    folder = await look(file, RealClock(), say)
    tree = config.load(folder.path, file).tree
    choose_for(tree)
    async with ClusterClient.connected(tree.cluster, RealClock()) as client:
        found = await client.append_links(found_again(folder, RealClock()), tree.crawl.partitions)
        waited = await client.until(client.is_read_by)
        if waited is Waited.NOBODY:
            say(_when_nodes_are_up(file, client))
    show(f"{counted(found, 'URL')} found in stored pages")
    return 0


async def publish_ranks(file: Path, say: Say) -> None:
    """Those that were just made in the folder of the look."""
    folder = folder_of(file)
    tree = config.load(folder.path, file).tree
    async with ClusterClient.connected(tree.cluster, RealClock()) as client:
        await ranks.publish(folder, open_state(tree.archive), client.board)
    say("told to all nodes")


async def recover(file: Path, partition: int, say: Say) -> int:
    async with ClusterClient.connected(_settings(file).cluster, RealClock()) as client:
        partitions = client.crawl(file).crawl.partitions
        if partition >= partitions:
            raise UsageError(f"--partition {partition}: the crawl has {partitions}, from 0 on")
        await client.accept_loss(partition)
        waited = await client.until(lambda reports: client.is_recovered(partition, reports))
        if waited is Waited.NOBODY:
            say(f"no node is up: whoever gets partition {partition} within a day goes on from what is there")
        elif waited is Waited.LATE:
            say(f"partition {partition} is not open yet; `{COMMAND} status {file}` says why")
        else:
            say(f"partition {partition} goes on")
        return 0 if waited is not Waited.LATE else 1


def _settings(file: Path) -> Tree:
    tree = config.load(None, file).tree
    check_settings(tree)
    return tree


def _when_nodes_are_up(file: Path, client: ClusterClient) -> str:
    end = client.ending()
    going_on = f"; `{COMMAND} crawl --cluster {file}` and nodes go on" if end is not None else ""
    return f"no node is up: it is done when there are nodes again{going_on}"
