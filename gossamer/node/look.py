"""Looking into a cluster: its whole state as a folder, so that every verb that looks into a folder works.

Beside the cluster's file there is a folder for that (`cluster.look` for `cluster.toml`). Each look brings it up to
what is in the journals at that moment, from snapshots where that is shorter; what the look before left is not read
again. Nobody owns anything for it, no node is asked, and none has to be up. It is as large as the state of the crawl.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
from gossamer.worker.restore import Restore

AT_ONCE = 4  # partitions


def folder_of(file: Path) -> CrawlFolder:
    return CrawlFolder(file.with_suffix(".look"))


async def look(file: Path, clock: Clock, say: Callable[[str], None]) -> CrawlFolder:
    """The folder, with the state of the cluster as it is now."""
    cluster = config.load(None, file).tree
    check_settings(cluster)
    folder = folder_of(file)
    folder.create()
    with folder.locked():
        async with ClusterClient.connected(cluster.cluster, clock) as client:
            if client.board.get("crawl") is None:
                raise FolderError(f"{cluster.cluster.name} is no crawl yet: `gossamer crawl --cluster {file} URL`")
            mirror = Mirror(client.board, folder)
            mirror.write_files()
            tree = config.load(folder.path, file).tree
            mirror.write(tree.crawl.scope)
            folder.go_by_format()
            kafka = (tree.cluster.kafka, tree.cluster.kafka_options)
            journal = Journal(Topics(tree.cluster.name).journal, client.appender, *kafka)
            objects = open_state(tree.archive)
            restore = Restore(objects, Ownerships(objects, journal), journal, clock, say)
            some = asyncio.Semaphore(AT_ONCE)

            async def bring_up(number: int) -> None:
                async with some:
                    await restore.look(number, await journal.mark(number, "look"), folder.partition(number))

            await asyncio.gather(*map(bring_up, range(tree.crawl.partitions)))
            if (ranked := client.board.get(ranks.KEY)) is not None:
                await asyncio.to_thread(ranks.fetch, ranked.value.decode(), objects, folder)
    return folder
