"""A robots.txt that redirects to a host of another node: its rules are read by the node that owns that host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from gossamer.cluster.partitions import partition_of
from gossamer.synthetic_web.options import RobotsKind, WebOptions
from tests.node.cluster import PARTITIONS, cluster
from tests.node.test_servers_away import asked

SHARED = "/rules/shared-robots.txt"  # on host 0, where the robots.txt of all others is


async def test_rules_that_a_host_of_another_node_has_are_obeyed_and_that_host_is_asked_politely(folder: Path) -> None:
    plain = WebOptions.plain(hosts=10, pages_per_host=8, page_bytes=4_000)
    options = replace(plain, robots_kinds=(RobotsKind.BORROWED,), forbidden=1 / 4)
    async with cluster(folder, options=options) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await asked(made, 12)  # while both own something
        nodes = {node["node"]: set(node["partitions"]) for node in (await made.status())["nodes"]}
        await made.ended("n1", "n2")
        made.judge()
        lender = partition_of(made.web.url(0), PARTITIONS)
        borrowers = {partition_of(made.web.url(index), PARTITIONS) for index in range(1, 10)}
        across = [node for node, mine in nodes.items() if lender not in mine and borrowers & mine]
        assert across, f"{nodes} and {lender}: nobody had to ask another node"
        pages = await made.pages()
        crawled = {urlsplit(page["url"]).hostname for page in pages if page["state"] == "done"}
        assert len(crawled) == 10, "some host was never crawled"
        lending = urlsplit(made.web.url(0)).hostname  # whose own robots.txt forbids nothing
        assert [entry for entry in made.log if entry.path.startswith("/tmp/") and entry.host != lending] == []
        refused = await made.run("pages", made.file, "--state", "refused", "--reason", "robots", "--json")
        forbidden = {urlsplit(page["url"]) for page in refused.lines()}
        assert len({url.hostname for url in forbidden if url.path.startswith("/tmp/")}) == 9, "rules were not needed"
        # For many hosts at once that is one request, or a few.
        assert 1 <= len([entry for entry in made.log if entry.path == SHARED]) <= 10
