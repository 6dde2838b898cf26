"""Two machines whose nodes have the same name: the group knows one of them, and nobody asks a host twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.crawl.command import until
from tests.node.cluster import cluster
from tests.node.test_cluster import found, wanted_pages


async def test_of_two_nodes_of_one_name_the_first_ends_and_says_why_and_no_host_is_asked_twice(folder: Path) -> None:
    # The first hears of the second with its next heartbeat: until then both of them believe that all is theirs.
    async with cluster(folder, hosts=4, pages=60, politeness__delay_s=0.3) as made:
        await made.crawl()
        await made.start("here", called="n1")
        await until(lambda: len(made.log) > 20, 60)
        await made.start("there", called="n1")
        assert await asyncio.wait_for(made.nodes["here"].wait(), 60) == 1, made.said("here")
        assert "another node called n1 has joined" in made.said("here")
        await made.ended("there", timeout_s=180)
        assert "another node called n1 owned partitions" in made.said("there")
        made.judge()
        assert found(await made.pages()) == await wanted_pages(made, folder)
        assert (await made.run("verify", made.file)).code == 0
