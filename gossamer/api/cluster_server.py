"""`gossamer serve cluster.toml`: the control API and the dashboard of a whole cluster, from any machine.

Figures and steering go over the board (cluster_client.py); pages, hosts and `why` are read from a folder beside the
file, which is brought up to the state of the cluster when somebody asks (cluster_views.py). No node has to be up.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

from gossamer import config
from gossamer.access.keys import Keys
from gossamer.api.cluster_client import ClusterCrawlClient
from gossamer.api.cluster_views import ClusterViews
from gossamer.api.context import Context
from gossamer.api.server import CrawlServer, address, bound, check, guard_of
from gossamer.archive.opening import open_storage
from gossamer.clock import RealClock
from gossamer.node.look import bring_up, folder_of, mirrored, to_ourselves
from gossamer.node.operating import ClusterClient, check_settings
from gossamer.node.watch import Watch
from gossamer.url.canonical import choose_for


async def serve_cluster(file: Path, flags: Mapping[str, object]) -> None:
    """Until SIGINT or SIGTERM."""
    clock, folder = RealClock(), folder_of(file)
    settings = config.load(None, file, flags).tree
    check_settings(settings)
    folder.create()
    async with ClusterClient.connected(settings.cluster, clock) as client:
        mirrored(client, folder, file)
        tree = config.load(folder.path, file, flags).tree
        choose_for(tree)
        keys = Keys(folder.path)
        check(tree.serve, keys)

        async def look() -> None:
            async with to_ourselves(folder, clock):
                await bring_up(client, folder, mirrored(client, folder, file), clock, say)

        listener = bound(tree.serve, may_move=False)
        crawl = ClusterCrawlClient(file, folder, tree, Watch(client, tree.cluster, clock), clock)
        views = ClusterViews(folder.path, clock, look)
        crawl.when_ended = views.outdate
        storage = open_storage(tree.archive, folder.archive)
        context = Context(folder, tree, clock, views, crawl, guard_of(tree.serve, keys, clock), storage)
        watching = asyncio.ensure_future(crawl.watch())
        print(f"serving {file} at {address(tree.serve, listener)}", flush=True)
        try:
            await CrawlServer(context, tree.serve).serve([listener])
        finally:
            watching.cancel()
            crawl.close()
            views.close()
            listener.close()


def say(text: str) -> None:
    print(f"gossamer: {text}", file=sys.stderr, flush=True)
