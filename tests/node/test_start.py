"""Machines start in any order: a node waits for brokers, and for somebody to create the crawl."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.crawl.command import until
from tests.node.cluster import cluster
from tests.servers.kafka import Kafka, needed


async def test_a_node_waits_for_brokers_and_for_the_crawl(folder: Path) -> None:
    needed()
    brokers = Kafka()
    async with cluster(folder, hosts=3, pages=4, brokers=brokers) as made:
        await made.start("n1")
        await until(lambda: "does not answer" in made.said("n1"), 60)
        assert made.nodes["n1"].returncode is None
        with brokers:
            await until(lambda: "there is no crawl yet" in made.said("n1"), 60)
            assert made.said("n1").count("there is no crawl yet") == 1
            await made.crawl()
            await made.ended("n1")
            assert made.log


async def test_a_node_whose_keys_the_object_store_refuses_says_so_in_a_line_and_ends(folder: Path) -> None:
    async with cluster(folder, hosts=3, pages=4) as made:
        ran = await made.run("status", made.file)
        assert ran.code == 1 and "there is no crawl called" in ran.err and "crawl --cluster" in ran.err, ran.err
        await made.crawl()
        await made.start("n1", environment={"AWS_SECRET_ACCESS_KEY": "wrong"})
        assert await asyncio.wait_for(made.nodes["n1"].wait(), 60) == 1
        said = made.said("n1")
        assert "is refused: status 403" in said and "see AWS_ACCESS_KEY_ID" in said and "Traceback" not in said, said
        await made.start("n1")
        await made.ended("n1")
        assert (await made.status())["pages"] == 3 * 4
