"""Machines start in any order: a node waits for brokers, and for somebody to create the crawl."""

from __future__ import annotations

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
