"""Nodes whose clocks differ by seconds: the new owner of a host asks it no sooner, whatever the old one noted.

Each node is a real one in which `time.time` is wrong, in its supervisor and its workers; servers and web have the
right time. The delay of a host is longer than a session, so that a host that was asked just before its node died has
to be left alone by the next owner for longer than the change of owners takes.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

from gossamer.synthetic_web.access_log import gaps_below
from tests.crawl.command import gossamer, until
from tests.crawl.judge import as_the_client_saw_it, requests_at_once
from tests.crawl.test_clock import python_with
from tests.node.cluster import PARTITIONS, SESSION_S, Cluster, cluster
from tests.node.test_cluster import found, wanted_pages
from tests.servers.valkey import Valkey

HOSTS, PAGES = 18, 3
DELAY_S = 2 * SESSION_S
TIMEOUT_S = 5.0
AHEAD_S = {"n1": 7.0, "n2": -5.0, "n3": 0.0}
WRONG = """
import time
wall = time.time
time.time = lambda: wall() + {ahead_s}
"""


def clocks(folder: Path) -> dict[str, dict[str, str]]:
    return {
        name: python_with(folder / f"clock-{name}", WRONG.format(ahead_s=ahead_s))
        for name, ahead_s in AHEAD_S.items()
    }


def called(name: str) -> tuple[str, str]:
    """So that the web knows who asks."""
    return "--set", f"crawl.contact={name}@example.org"


def hosts_of(made: Cluster) -> set[str]:
    return {entry.host for entry in made.log}


async def partitions_of(made: Cluster) -> dict[str, int]:
    return {node["node"]: len(node["partitions"]) for node in (await made.status())["nodes"]}


async def owned_by(made: Cluster, *names: str) -> None:
    """All partitions, and each of these nodes has some."""
    async with asyncio.timeout(60):
        while True:
            owned = {name: count for name, count in (await partitions_of(made)).items() if count}
            if owned.keys() == set(names) and sum(owned.values()) == PARTITIONS:
                return
            await asyncio.sleep(0.2)


async def test_no_host_is_asked_too_soon_by_an_owner_whose_clock_differs(folder: Path) -> None:
    with Valkey() as valkey:
        settings: Any = {"politeness__delay_s": DELAY_S, "cluster__redis": valkey.url}
        async with cluster(folder, hosts=HOSTS, pages=PAGES, **settings) as made:
            wrong = clocks(folder)
            await made.crawl()
            for name in AHEAD_S:
                await made.start(name, environment=wrong[name], flags=called(name))
            await owned_by(made, *AHEAD_S)
            await until(lambda: len(made.log) >= HOSTS * 1.5, 90)
            # Whoever is behind dies: to the others all its hosts seem to have waited long enough.
            await made.kill("n2", with_disk=True)
            await owned_by(made, "n1", "n3")
            await until(lambda: len(made.log) >= HOSTS * 2, 90)
            # Another one gives up in order: whoever is ahead has its hosts a second later.
            made.nodes["n3"].send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(made.nodes.pop("n3").wait(), 30) == 0, made.said("n3")
            await owned_by(made, "n1")
            # And to whoever is behind all moments that it is given are far ahead.
            await made.start("n2", environment=wrong["n2"], flags=called("n2"))
            await owned_by(made, "n1", "n2")
            await made.ended("n1", "n2", timeout_s=180)
            seen = as_the_client_saw_it(made.log, TIMEOUT_S)
            assert requests_at_once(made.log, TIMEOUT_S) == []
            assert gaps_below(seen, lambda host: DELAY_S) == []
            asked_by = {host: {each.user_agent for each in made.log if each.host == host} for host in hosts_of(made)}
            assert sum(len(nodes) > 1 for nodes in asked_by.values()) >= HOSTS / 3  # they did change hands
            assert found(await made.pages()) == await wanted_pages(made, folder)
            assert (await made.run("verify", made.file)).code == 0


async def test_a_node_whose_clock_is_behind_that_of_whoever_looks_is_not_missed(folder: Path) -> None:
    ahead = python_with(folder / "ahead", WRONG.format(ahead_s=30.0))
    async with cluster(folder, hosts=2, pages=100, politeness__delay_s=0.5) as made:
        await made.crawl()
        await made.start("n1")
        await until(lambda: len(made.log) > 3, 60)
        ran = await gossamer("status", made.file, environment={**made.environment, **ahead})
        assert ran.code == 0 and "n1: 6 partitions" in ran.out and "not heard of" not in ran.out, ran.out
        await made.kill("n1")
        await asyncio.sleep(11)  # after ten seconds it is missed, by whatever clock
        ran = await made.run("status", made.file)
        assert "not heard of" in ran.out, ran.out
