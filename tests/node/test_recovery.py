"""Partitions of which something is lost for good: left out until a person says to go on, and then gone on with."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from gossamer import config
from gossamer.archive.bucket import open_state
from gossamer.clock import RealClock
from gossamer.cluster.kafka.topics import Topics
from gossamer.cluster.partitions import partition_of
from gossamer.node.operating import ClusterClient
from gossamer.records import Link
from tests.crawl.command import until
from tests.node.cluster import PARTITIONS, Cluster, cluster
from tests.node.test_cluster import found, wanted_pages
from tests.s3.server import ENVIRONMENT


async def delete_records(made: Cluster, topic: str, partition: int) -> int:
    """All that the topic has of a partition; how many that were."""
    admin = AdminClient({"bootstrap.servers": config.load(None, made.file).tree.cluster.kafka})

    def delete() -> int:
        which = TopicPartition(topic, partition)
        end = admin.list_offsets({which: OffsetSpec.latest()})[which].result().offset
        for answer in admin.delete_records([TopicPartition(topic, partition, end)]).values():
            answer.result()
        return int(end)

    return await asyncio.to_thread(delete)


async def test_a_partition_whose_unread_links_are_gone_goes_on_without_them_when_told_to(folder: Path) -> None:
    async with cluster(folder, hosts=4, pages=6) as made:
        await made.crawl()
        await made.start("n1")
        await made.ended("n1")
        tree = config.load(None, made.file).tree
        lost = Link(made.web.url(0) + "lost", "", "", None, 0)
        number = partition_of(lost.url, PARTITIONS)
        async with ClusterClient.connected(tree.cluster, RealClock()) as client:
            await client.append_links([{number: [lost]}], PARTITIONS)
        assert await delete_records(made, Topics(tree.cluster.name).links, number)
        await made.start("n1")
        assert await asyncio.wait_for(made.nodes["n1"].wait(), 60) == 1  # the others have nothing to do
        assert "links that nobody had read are gone" in made.said("n1"), made.said("n1")
        assert f"DAMAGE: partition {number}" in (await made.run("status", made.file)).out
        ran = await made.run("recover", made.file, "--partition", number)
        assert ran.code == 0 and "no node is up" in ran.err, ran.err
        await made.start("n1")
        await made.ended("n1")
        assert not [entry for entry in made.log if entry.path == "/lost"]
        assert found(await made.pages()) == await wanted_pages(made, folder)
        made.judge()
        # The word was for that loss alone.
        async with ClusterClient.connected(tree.cluster, RealClock()) as client:
            assert client.board.keys("accept/") == []


async def test_a_partition_whose_journal_is_gone_goes_on_from_its_last_snapshot_when_told_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    async with cluster(folder, hosts=6, pages=50, politeness__delay_s=0.4, cluster__snapshot_s=3) as made:
        await made.crawl()
        await made.start("n1")
        tree = config.load(None, made.file).tree
        objects = open_state(tree.archive)
        busy = partition_of(made.web.url(0), PARTITIONS)
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(lambda: list(objects.names(f"snapshots/{busy:03d}/"))):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        asked = len(made.log)
        await until(lambda: len(made.log) > asked + 20, 60)  # which no snapshot may have
        await made.kill("n1", with_disk=True)
        assert await delete_records(made, Topics(tree.cluster.name).journal, busy)
        await made.start("n2")
        await until(lambda: f"partition {busy} cannot be restored" in made.said("n2"), 90)
        ran = await made.run("recover", made.file, "--partition", busy, timeout_s=120)
        assert ran.code == 0 and f"partition {busy} goes on" in ran.err, ran.err
        await made.ended("n2", timeout_s=180)
        made.judge()
        # Links that other partitions had handed over since then are in the pages that are stored.
        ran = await made.run("retry", made.file, "--links", timeout_s=120)
        assert ran.code == 0 and "found in stored pages" in ran.out, ran.err
        await made.start("n3")
        await made.ended("n3", timeout_s=180)
        made.judge()
        assert found(await made.pages()) == await wanted_pages(made, folder)
        shutil.rmtree(made.folder / "cluster.look")
        assert (await made.run("verify", made.file)).code == 0
