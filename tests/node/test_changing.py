"""What an operator changes at the stores of a cluster, by the command: once for each partition, whoever owns it."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from gossamer.schedule.recrawl_plan import RecrawlPlan
from tests.crawl.command import gossamer, until
from tests.node.cluster import PARTITIONS, Cluster, cluster

HOSTS, PAGES = 6, 10


def missing(made: Cluster) -> Counter[str]:
    """Pages that are not there, and how often each was asked for."""
    asked = (entry for entry in made.log if entry.status == 404 and entry.path != "/robots.txt")
    return Counter(f"{entry.host}{entry.path}" for entry in asked)


async def test_a_retry_that_nobody_could_carry_out_is_carried_out_once_by_whoever_comes_next(folder: Path) -> None:
    async with cluster(folder, hosts=HOSTS, pages=PAGES, not_found=0.2) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await made.ended("n1", "n2")
        first = missing(made)
        assert first and set(first.values()) == {1}
        ran = await made.run("retry", made.file, "--reason", "gone")
        assert ran.code == 0 and "no node is up" in ran.err, ran.err
        status = await made.status()
        assert status["ended"] == ""  # there is something to do again
        await made.start("n3")  # of another name, and with another disk
        await made.ended("n3")
        assert missing(made) == Counter(dict.fromkeys(first, 2))
        before = len(made.log)
        await made.start("n4")
        await made.ended("n4")
        assert len(made.log) == before  # nobody does it a second time
        made.judge()


async def test_a_crawl_of_two_nodes_is_planned_ranked_and_tried_again_as_a_whole(folder: Path) -> None:
    settings: Any = {"schedule__shortest_s": 2, "schedule__visits_a_day": 86_400, "schedule__first_guess_s": 10}
    async with cluster(folder, hosts=HOSTS, pages=PAGES, not_found=0.2, **settings) as made:
        await made.crawl("--forever")
        await made.start("n1", "n2")
        await until(lambda: len({(entry.host, entry.path) for entry in made.log}) >= HOSTS * PAGES, 90)

        def plan_of(node: str) -> RecrawlPlan:
            path = made.folder / node / "course.json"
            return msgspec.json.decode(path.read_bytes(), type=RecrawlPlan) if path.exists() else RecrawlPlan()

        # Each node alone would know its own pages, and spend the whole budget on them.
        nodes = ("n1", "n2")
        await until(lambda: all(plan_of(node).pages >= HOSTS * PAGES for node in nodes), 60)
        for plan in map(plan_of, nodes):
            assert set(plan.cashes) == set(range(PARTITIONS))
            assert plan.budget_per_s == 1.0 and plan.wanted_per_s <= 1.1
        await until(lambda: max(Counter((entry.host, entry.path) for entry in made.log).values()) > 1, 60)

        first = missing(made)
        ran = await made.run("retry", made.file, "--reason", "gone", timeout_s=120)
        assert ran.code == 0 and ran.out == f"{len(first)} URLs queued again\n", ran
        await until(lambda: all(count == 2 for count in missing(made).values()), 60)
        ran = await made.run("quarantine", made.file, "--release", made.web.url(0), timeout_s=120)
        assert ran.code == 1 and "is not in quarantine" in ran.err, ran.err
        assert (await made.run("quarantine", made.file)).out == ""
        own, url = made.folder / "n1", made.web.url(0)
        for words in (("retry", own), ("quarantine", own, "--release", url), ("seeds", "add", own, url)):
            ran = await gossamer(*words, timeout_s=20)  # it has other nodes' partitions to wait for
            assert ran.code == 2 and "cluster.toml" in ran.err, ran.err

        ran = await made.run("rank", made.file, "--top", 3, timeout_s=120)
        assert ran.code == 0 and "best pages" in ran.out, ran.err
        ranks = (made.folder / "cluster.look" / "ranks").read_bytes()
        await until(lambda: all((made.folder / node / "ranks").exists() for node in nodes), 30)
        assert all((made.folder / node / "ranks").read_bytes() == ranks for node in nodes)

        await made.kill("n1", with_disk=True)  # what it had carried out is known to whoever has its partitions next
        async with asyncio.timeout(60):
            while [node["node"] for node in (await made.status())["nodes"]] != ["n2"]:  # noqa: ASYNC110
                await asyncio.sleep(0.5)
        await asyncio.sleep(3)
        assert set(missing(made).values()) == {2}
        made.judge()
        for verb in ("compact", "rebuild"):
            ran = await made.run(verb, made.file, *(["--partition", 0] if verb == "rebuild" else []))
            assert ran.code == 2 and "cannot be done for a cluster" in ran.err
