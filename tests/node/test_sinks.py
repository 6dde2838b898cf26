"""Nodes feed a topic and a database: what a node had handed on survives it with its disk, and nothing is left out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.export.sinks.following import messages, new_database, new_topic, query, rows
from tests.node.cluster import Cluster, cluster
from tests.node.test_servers_away import asked
from tests.servers.kafka import kafka
from tests.servers.postgres import ENVIRONMENT


def latest(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {message["url"]: message for message in sorted(found, key=lambda one: str(one["fetched_at"]))}


async def must_have_all(made: Cluster, topic: str, database: str) -> None:
    """Both say of each page what `gossamer pages` says, and of no other."""
    pages = {page["url"]: page for page in await made.pages() if page["archive"]}
    found = messages(topic)
    told, table = latest(found), await rows(database, made.name)
    assert told.keys() == pages.keys() == table.keys()
    for url, page in pages.items():
        place, message, row = page["archive"], told[url], table[url]
        wanted = (page["content_hash"], page["status"], place["offset"], place["length"])
        path = f"{made.archive}/{place['file']}"
        of_message = (
            message["content_hash"],
            message["status"],
            message["content_offset"],
            message["content_length"],
        )
        of_row = (row["content_hash"], row["status_code"], row["content_offset"], row["content_length"])
        assert (of_message, message["content_path"]) == (wanted, path)
        assert (of_row, row["content_path"]) == (wanted, path)
        assert {message["crawl"], row["crawl"]} == {made.name}
    hosts = await query(database, "SELECT sum(page_count) AS pages FROM domains WHERE crawl = $1", made.name)
    assert hosts[0]["pages"] == len(pages)
    by_id = {message["id"]: message for message in found}
    assert len({(message["url"], message["fetched_at"]) for message in found}) == len(by_id)


async def test_topic_and_tables_have_every_page_though_a_node_died_with_its_disk(folder: Path) -> None:
    topic, database = new_topic(), new_database()
    settings: dict[str, Any] = {"sinks__topic": topic, "sinks__postgres": database, "environment": ENVIRONMENT}
    async with cluster(folder, pages=40, politeness__delay_s=0.5, sinks__kafka=kafka().bootstrap, **settings) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await asked(made, 50)
        async with asyncio.timeout(60):
            while not await query(database, "SELECT 1 FROM pages") or not messages(topic):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        before = len(made.log)
        await made.kill("n1", with_disk=True)
        await made.ended("n2")
        made.judge()
        assert len(made.log) > before + 50  # much of it came later
        await must_have_all(made, topic, database)
        # Whoever looks in from outside goes on where the nodes came to.
        again = await made.run("export", made.file, "--to", "postgres", "--json")
        assert again.code == 0 and again.lines()[0]["visits"] == 0, again.err


async def test_partitions_that_move_in_order_are_gone_on_with(folder: Path) -> None:
    topic, database = new_topic(), new_database()
    settings: dict[str, Any] = {"sinks__topic": topic, "sinks__postgres": database, "environment": ENVIRONMENT}
    async with cluster(folder, pages=16, politeness__delay_s=0.5, sinks__kafka=kafka().bootstrap, **settings) as made:
        await made.crawl()
        await made.start("n1")
        await asked(made, 40)
        await made.start("n2")
        await asked(made, 80)
        assert (await made.run("stop", made.folder / "n1")).code == 0
        await made.ended("n1")
        await made.ended("n2")
        made.judge()
        await must_have_all(made, topic, database)
        found = messages(topic)
        assert len(found) < 1.5 * len({message["id"] for message in found}), "everything came again with each owner"
