"""Nodes whose servers go away and come back: what waits, what goes on, and that nothing is lost. Short
outages of Kafka are in test_cluster.py."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.crawl.command import until, until_quiet
from tests.node.cluster import Cluster, cluster
from tests.node.test_cluster import found, wanted_pages
from tests.s3.server import server as s3
from tests.servers.kafka import Kafka
from tests.servers.valkey import Valkey

# Kafka's clients wait 120 s until something is delivered, 120 s to be polled, and 30 s for a topic that nobody knows.
LONG_S = 150.0


async def asked(made: Cluster, count: int) -> None:
    """So many requests in all; if not, what the nodes said meanwhile."""
    try:
        await until(lambda: len(made.log) >= count, 120)
    except TimeoutError:
        said = "\n".join(f"{name}:\n{made.said(name)[-1500:]}" for name in made.nodes)
        raise AssertionError(f"{len(made.log)} requests of {count}:\n{said}") from None


async def test_without_the_object_store_nobody_asks_and_who_dies_meanwhile_is_replaced_later(folder: Path) -> None:
    async with cluster(folder) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await asked(made, 30)
        s3().kill()
        try:
            await until(lambda: all("does not answer" in made.said(name) for name in made.nodes), 60)
            await until_quiet(lambda: len(made.log))
            before = len(made.log)
            await made.kill("n1", with_disk=True)
            await until(lambda: "cannot be opened yet" in made.said("n2"), 60)
            assert len(made.log) == before, "asked though nothing can be saved"
            assert made.nodes["n2"].returncode is None
        finally:
            s3().start()  # in this thread: it ends with the one that started it
        await made.ended("n2")
        made.judge()
        assert found(await made.pages()) == await wanted_pages(made, folder)
        assert (await made.run("verify", made.file)).code == 0


async def test_the_crawl_goes_on_while_valkey_is_away(folder: Path) -> None:
    with Valkey() as valkey:
        async with cluster(folder, cluster__redis=valkey.url) as made:
            await made.crawl()
            await made.start("n1", "n2")
            await asked(made, 30)
            valkey.kill()
            await asked(made, len(made.log) + 20)
            await until(
                lambda: any("copies on other nodes are not noticed" in made.said(name) for name in made.nodes)
            )
            valkey.start()  # in this thread, too
            await made.ended("n1", "n2")
            made.judge()
            assert found(await made.pages()) == await wanted_pages(made, folder)


@pytest.mark.long
async def test_after_minutes_without_any_broker_nodes_go_on_where_they_were(folder: Path) -> None:
    with Kafka(brokers=3) as brokers:
        async with cluster(folder, brokers=brokers, cluster__copies=3, politeness__delay_s=0.3) as made:
            await made.crawl()
            await made.start("n1", "n2")
            await asked(made, 40)
            for number in (1, 2, 3):
                brokers.kill(number)
            await until(lambda: all("not sure any more" in made.said(name) for name in made.nodes), 60)
            await until_quiet(lambda: len(made.log))
            before = len(made.log)
            await asyncio.sleep(LONG_S)
            assert len(made.log) == before, "asked though nobody can know who owns what"
            assert all(node.returncode is None for node in made.nodes.values())
            for number in (1, 2, 3):
                brokers.launch(number)
            for number in (1, 2, 3):
                await asyncio.to_thread(brokers.wait, number)
            await asked(made, before + 20)
            await made.ended("n1", "n2", timeout_s=180)
            made.judge()
            assert found(await made.pages()) == await wanted_pages(made, folder)
            assert (await made.run("verify", made.file)).code == 0
