"""The pace of an address and of the whole crawl holds over all nodes, also where no Valkey counts for all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gossamer.cluster.partitions import partition_of
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.web import Web
from tests.crawl.test_politeness import assert_pace
from tests.node.cluster import PARTITIONS, cluster
from tests.servers.valkey import Valkey

HOSTS, PER_S, BURST = 12, 8.0, 2
PACE: dict[str, Any] = {"politeness__ip_requests_per_s": PER_S, "politeness__ip_burst": BURST}
OPTIONS = replace(
    WebOptions.plain(hosts=HOSTS, pages_per_host=14, page_bytes=2_000, links_per_page=8), link_by_name=True
)


def one_address() -> dict[str, str]:
    """All names on one machine."""
    atlas = Web(OPTIONS).atlas
    return {atlas.name(host): atlas.address(0) for host in range(HOSTS)}


async def crawl_with_two_nodes(folder: Path, *, redis: str = "", **settings: Any) -> list[float]:
    """When each request came."""
    settings |= {"cluster__redis": redis} if redis else {}
    async with cluster(folder, options=OPTIONS, dns__overrides=one_address(), **settings) as made:
        await made.crawl()
        await made.start("n1", "n2")
        await made.ended("n1", "n2", timeout_s=200)
        made.judge()
        assert (await made.status())["pages"] == HOSTS * 14
        names = {partition_of(made.web.url(host), PARTITIONS) for host in range(HOSTS)}
        assert len(names) > PARTITIONS // 2, "one node may have had all of them"
        return sorted(entry.time_in for entry in made.log)


async def test_two_nodes_without_valkey_keep_the_pace_of_an_address_together(folder: Path) -> None:
    assert_pace(await crawl_with_two_nodes(folder, **PACE), PER_S, BURST)


async def test_two_nodes_without_valkey_keep_the_pace_of_the_crawl_together(folder: Path) -> None:
    moments = await crawl_with_two_nodes(folder, politeness__requests_per_s=10.0)
    assert_pace(moments, 10.0, 10)


async def test_while_valkey_is_away_every_worker_keeps_to_its_share(folder: Path) -> None:
    with Valkey() as server:
        url = server.url
    assert_pace(await crawl_with_two_nodes(folder, redis=url, **PACE), PER_S, BURST)
