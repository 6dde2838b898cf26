"""Nodes that share a crawl, through the command: what they find, and what the web's access log says of them."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.crawl.command import gossamer, quick_settings, until
from tests.node.cluster import PARTITIONS, SESSION_S, Cluster, cluster


async def wanted_pages(made: Cluster, folder: Path) -> dict[str, str]:
    """What one machine finds in the same web, by URL."""
    seeds = [made.web.url(index) for index in range(2)]
    flags = ["--allow-private", "--scope", "any", "--workers", 1, *quick_settings(fetch__timeout_s=5)]
    ran = await gossamer("crawl", *seeds, "--dir", folder / "alone", *flags, timeout_s=120)
    assert ran.code == 0, ran.err
    return found((await gossamer("pages", folder / "alone", "--json")).lines())


def found(pages: list[dict[str, str]]) -> dict[str, str]:
    return {page["url"]: page["content_hash"] for page in pages if page["state"] == "done"}


async def test_two_nodes_find_what_one_machine_finds_and_every_verb_tells_the_whole(folder: Path) -> None:
    async with cluster(folder) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await made.ended("n1", "n2")
        made.judge()
        asked = [(entry.host, entry.path) for entry in made.log]
        assert len(asked) == len(set(asked))  # each once
        pages = await made.pages()
        assert found(pages) == await wanted_pages(made, folder)
        status = await made.status()
        assert (status["pages"], status["ended"], status["queued"]) == (len(pages), "complete", 0)
        assert sum(node["pages"] for node in status["nodes"]) == len(pages)
        assert all(node["pages"] for node in status["nodes"])  # both had their share
        for verb in ("verify", "hosts", "seeds"):
            assert (await made.run(verb, made.file)).code == 0
        why = await made.run("why", made.file, made.web.url(0))
        assert "a seed" in why.out and "stored in s3://" in why.out, why.err
        exported = await made.run("export", made.file, "--to", "jsonl")
        assert len(exported.lines()) == len(pages)


@pytest.mark.parametrize("with_disk", [True, False])
async def test_a_node_that_is_killed_loses_nothing_even_with_its_disk(folder: Path, with_disk: bool) -> None:
    async with cluster(folder) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await until(lambda: len(made.log) > 30, 60)
        await made.kill("n1", with_disk=with_disk)
        if not with_disk:
            await made.start("n1")
        await made.ended(*made.nodes)
        made.judge()
        assert found(await made.pages()) == await wanted_pages(made, folder)
        assert (await made.run("verify", made.file)).code == 0


async def test_a_node_that_is_stopped_for_longer_than_its_session_asks_nothing_when_it_goes_on(folder: Path) -> None:
    async with cluster(folder) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await until(lambda: len(made.log) > 30, 60)
        made.signal("n1", signal.SIGSTOP)
        await asyncio.sleep(SESSION_S * 1.8)
        made.signal("n1", signal.SIGCONT)
        await made.ended("n1", "n2")
        made.judge()
        assert found(await made.pages()) == await wanted_pages(made, folder)


async def test_an_orderly_end_hands_over_at_once_and_a_stop_ends_all(folder: Path) -> None:
    async with cluster(folder, hosts=6, pages=40, politeness__delay_s=0.3) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await until(lambda: len(made.log) > 40, 60)
        made.nodes["n1"].send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(made.nodes["n1"].wait(), 30) == 0, made.said("n1")
        del made.nodes["n1"]

        async def all_at_n2() -> bool:
            nodes = (await made.status())["nodes"]
            return {node["node"]: len(node["partitions"]) for node in nodes}.get("n2") == PARTITIONS

        async with asyncio.timeout(40):
            while not await all_at_n2():  # noqa: ASYNC110 - another process cannot set an event of ours
                await asyncio.sleep(0.2)
        assert (await made.run("stop", made.file)).code == 0
        await made.ended("n2", timeout_s=40)
        made.judge()
        asked = [(entry.host, entry.path) for entry in made.log]
        assert len(asked) == len(set(asked))  # what was in flight was finished
        # The same crawl goes on, with other nodes.
        await made.crawl()
        await made.start("n3")
        await made.ended("n3", timeout_s=150)
        made.judge()
        assert (await made.status())["pages"] == 6 * 40


async def test_the_limit_of_pages_is_exact_over_all_nodes(folder: Path) -> None:
    async with cluster(folder) as made:
        await made.crawl("--max-pages", 41)
        await made.start("n1", "n2", "n3")
        await made.ended("n1", "n2", "n3")
        made.judge()
        status = await made.status()
        assert (status["pages"], status["ended"]) == (41, "pages")
        assert len(found(await made.pages())) == 41


async def test_a_pause_and_a_policy_hold_on_every_node(folder: Path) -> None:
    async with cluster(folder, hosts=4, pages=30, politeness__delay_s=0.2) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await until(lambda: len(made.log) > 20, 60)
        assert (await made.run("pause", made.file)).code == 0
        await asyncio.sleep(3)
        before = len(made.log)
        await asyncio.sleep(3)
        assert len(made.log) == before
        blocked = made.log[-1].host
        assert (await made.run("policy", made.file, blocked, "--host", "--block")).code == 0
        assert (await made.run("resume", made.file)).code == 0
        await made.ended("n1", "n2")
        made.judge()
        assert not [entry for entry in made.log[before + 2 :] if entry.host == blocked]


async def test_all_brokers_away_pauses_the_crawl_and_nothing_is_lost(folder: Path) -> None:
    from tests.servers.kafka import Kafka  # noqa: PLC0415 - a broker of its own, to be killed

    with Kafka() as brokers:
        async with cluster(folder, brokers=brokers) as made:
            await made.crawl()
            await made.start("n1", "n2")
            await until(lambda: len(made.log) > 30, 60)
            brokers.kill(1)
            await asyncio.sleep(SESSION_S + 2)
            before = len(made.log)
            await asyncio.sleep(3)
            assert len(made.log) == before, "asked though nobody can know who owns what"
            await asyncio.to_thread(brokers.start, 1)
            await made.ended("n1", "n2", timeout_s=150)
            made.judge()
            assert found(await made.pages()) == await wanted_pages(made, folder)
