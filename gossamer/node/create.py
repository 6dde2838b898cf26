"""`gossamer crawl --cluster`: create a crawl that nodes share, or go on with it, and add seeds.

What a crawl is stands on its board, as it stands in the folder of a crawl on one machine: the same settings in the
same layers, the list of public suffixes that it began with. It is put together in a temporary folder, by the same
code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gossamer import config
from gossamer.clock import Clock
from gossamer.folder import CrawlFolder
from gossamer.node.mirror import FILES, Mirror
from gossamer.node.operating import ClusterClient, check_settings, create_topics
from gossamer.records import Seed
from gossamer.settings import Tree
from gossamer.url.canonical import choose_for


class Created(NamedTuple):
    tree: Tree
    is_new: bool
    seeds: int
    nodes: int  # that are up


async def create_crawl(
    file: Path,
    flags: Mapping[str, object],
    typed: Callable[[], Iterable[Seed]],
    clock: Clock,
    say: Callable[[str], None],
) -> Created:
    """`typed`: the seeds, read when it is known what a URL is to this crawl."""
    tree = config.load(None, file, flags).tree
    check_settings(tree)
    for warning in await create_topics(tree, clock):
        say(warning)
    with TemporaryDirectory(prefix="gossamer-") as temporary:
        folder = CrawlFolder(Path(temporary))
        async with ClusterClient.connected(tree.cluster, clock) as client:
            is_new = client.board.get("crawl") is None
            Mirror(client.board, folder).write_files()
            configuration = config.load(folder.path, file, flags)
            folder.keep_format()
            configuration.save(folder.path)
            choose_for(configuration.tree)
            # A node that waits begins with `crawl`, so it comes last, and when the seeds can follow at once.
            kept = sorted(FILES.keys() - {"policies"}, key="crawl".__eq__)
            made = {key: (folder.path / FILES[key]).read_bytes() for key in kept}
            chosen = typed()
            await client.write(made)
            seeds = await client.add_seeds(chosen)
            await client.go_on()
            return Created(configuration.tree, is_new, seeds, len(client.reports()))
