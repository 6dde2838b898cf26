"""Looking into a cluster: its whole state as a folder, so that every verb that looks into a folder works.

Beside the cluster's file there is a folder for that (`cluster.look` for `cluster.toml`). Each look brings it up to
what is in the journals at that moment, from snapshots where that is shorter; what the look before left is not read
again. Nobody owns anything for it, no node is asked, and none has to be up. It is as large as the state of the crawl.

One process looks at a time; another one waits for it. A server that stays (`gossamer serve`) looks again and again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from gossamer import config
from gossamer.archive.bucket import open_state
from gossamer.clock import Clock
from gossamer.cluster.kafka.journal import Journal
from gossamer.cluster.kafka.topics import Topics
from gossamer.cluster.ownership import Ownerships
from gossamer.folder import CrawlFolder, FolderError
from gossamer.node import ranks
from gossamer.node.mirror import Mirror
from gossamer.node.operating import ClusterClient, check_settings
from gossamer.settings import Tree
from gossamer.worker.restore import Restore

AT_ONCE = 4  # partitions
OTHERS_S, OTHERS_LOOK_S = 600.0, 0.1  # another process may be looking: a first look takes minutes


def folder_of(file: Path) -> CrawlFolder:
    return CrawlFolder(file.with_suffix(".look"))


async def look(file: Path, clock: Clock, say: Callable[[str], None]) -> CrawlFolder:
    """The folder, with the state of the cluster as it is now."""
    cluster = config.load(None, file).tree
    check_settings(cluster)
    folder = folder_of(file)
    folder.create()
    async with ClusterClient.connected(cluster.cluster, clock) as client, to_ourselves(folder, clock):
        await bring_up(client, folder, mirrored(client, folder, file), clock, say)
    return folder


def mirrored(client: ClusterClient, folder: CrawlFolder, file: Path) -> Tree:
    """All that is on the board is in the folder; the settings that follow."""
    if client.board.get("crawl") is None:
        raise FolderError(f"{file} has no crawl yet: `gossamer crawl --cluster {file} URL`")
    mirror = Mirror(client.board, folder)
    mirror.write_files()
    tree = config.load(folder.path, file).tree
    mirror.write(tree.crawl.scope)
    folder.go_by_format()
    return tree


async def bring_up(
    client: ClusterClient, folder: CrawlFolder, tree: Tree, clock: Clock, say: Callable[[str], None]
) -> None:
    """The stores of all partitions, up to the ends of the journals of now."""
    kafka = (tree.cluster.kafka, tree.cluster.kafka_options)
    journal = Journal(Topics(tree.cluster.name).journal, client.appender, *kafka)
    objects = open_state(tree.archive)
    restore = Restore(objects, Ownerships(objects, journal), journal, clock, say)
    some = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with some:
            await restore.look(number, await journal.mark(number, "look"), folder.partition(number))

    await asyncio.gather(*map(one, range(tree.crawl.partitions)))
    if (ranked := client.board.get(ranks.KEY)) is not None:
        await asyncio.to_thread(ranks.fetch, ranked.value.decode(), objects, folder)


@asynccontextmanager
async def to_ourselves(folder: CrawlFolder, clock: Clock) -> AsyncIterator[None]:
    until = clock.awake() + OTHERS_S
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(folder.locked())
                break
            except FolderError:
                if clock.awake() > until:
                    raise
                await clock.sleep(OTHERS_LOOK_S)
        yield
