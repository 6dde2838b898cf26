"""`gossamer serve cluster.toml`: the API of a whole cluster, and what of a cluster its metrics tell."""

from __future__ import annotations

import asyncio
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from gossamer import config
from gossamer.cluster.kafka.topics import Topics
from tests.api.serving import Api
from tests.api.test_metrics import parsed
from tests.crawl.command import start, until, until_quiet
from tests.node.cluster import PARTITIONS, Cluster, cluster
from tests.node.test_changing import missing
from tests.s3.server import ENVIRONMENT
from tests.servers.valkey import Valkey


def long_crawl(folder: Path, **settings: Any) -> AbstractAsyncContextManager[Cluster]:
    """It lasts as long as a test looks at it."""
    return cluster(folder, hosts=6, pages=200, politeness__delay_s=0.2, **settings)


@asynccontextmanager
async def served(what: Path) -> AsyncIterator[Api]:
    server = await start("serve", what, "--port", 0, environment=ENVIRONMENT)
    assert server.stdout is not None
    line = (await asyncio.wait_for(server.stdout.readline(), 60)).decode()
    assert line, (await server.communicate())[1].decode()
    try:
        yield Api(line.split()[-1])
    finally:
        server.send_signal(signal.SIGTERM)
        _, said = await asyncio.wait_for(server.communicate(), 30)
        assert server.returncode == 0 and b"Traceback" not in said, said.decode()


async def sooner_or_later(look: Callable[[], Any]) -> Any:
    """What the API answers, once it is what is wanted."""
    async with asyncio.timeout(90):
        while not (found := await asyncio.to_thread(look)):  # noqa: ASYNC110 - another process cannot set our events
            await asyncio.sleep(0.1)
        return found


def all_owned(api: Api) -> Any:
    nodes = api.get("/nodes")
    return nodes if all(each["owner"] for each in nodes["partitions"]) else None


async def under_way(made: Cluster, *flags: object) -> None:
    await made.crawl()
    await made.start("n1", "n2", flags=flags)
    await until(lambda: len(made.log) > 20, 60)


async def test_the_api_of_a_cluster_tells_the_whole_and_steers_all_nodes(folder: Path) -> None:
    async with long_crawl(folder) as made:
        await under_way(made)
        async with served(made.file) as api:
            await tells_the_whole(api, made)
            await steers_all(api, made)
            figures = parsed((await asyncio.to_thread(api.ask, "GET", "/metrics")).text)
            assert figures["gossamer_nodes"] == {'state="working"': 2, **{f'state="{s}"': 0 for s in OTHERS}}
            assert sum(figures["gossamer_node_partitions"].values()) == PARTITIONS
            assert figures["gossamer_partitions_unowned"] == {"": 0}
            assert figures["gossamer_node_restores_total"].keys() == {'node="n1"', 'node="n2"'}
            assert (await asyncio.to_thread(api.tell, "POST", "/drain")).status_code == 200
            await made.ended("n1", "n2", timeout_s=60)
            last = (await made.status())["pages"]  # as on the board; the stores are looked at once more
            await sooner_or_later(lambda: figures_of(api) == ("stopped", last))
        made.judge()


def figures_of(api: Api) -> tuple[str, int]:
    status = api.get("/status")
    return status["state"], status["pages"]


async def tells_the_whole(api: Api, made: Cluster) -> None:
    nodes = await sooner_or_later(lambda: all_owned(api))
    assert [node["name"] for node in nodes["nodes"]] == ["n1", "n2"]
    assert {each["partition"] for each in nodes["partitions"]} == set(range(PARTITIONS))
    assert {each["owner"] for each in nodes["partitions"]} == {"n1", "n2"}
    assert nodes["coordinator"] == nodes["partitions"][0]["owner"]
    assert nodes["links_dead"] == 0 and nodes["is_whole"] and nodes["trouble"] is None
    for node in nodes["nodes"]:
        assert node["state"] == "working" and node["rebalances"] > 0 and node["restores"] > 0, node
        assert node["owned_for_s"] > 0 and node["workers"] == 1 and node["memory_bytes"] > 0, node
    status = await asyncio.to_thread(api.get, "/status")
    assert status["state"] == "running" and status["dir"] == str(made.file) and status["is_whole_cluster"]
    assert {worker["node"] for worker in status["workers"]} == {"n1", "n2"}
    assert status["pages"] > 10 and status["queued"] > 0
    assert len((await asyncio.to_thread(api.get, "/hosts"))["hosts"]) == 6
    assert (await asyncio.to_thread(api.get, "/why", url=made.web.url(0)))["state"] == "done"
    assert (await asyncio.to_thread(api.get, "/status"))["look_age_s"] is not None


async def steers_all(api: Api, made: Cluster) -> None:
    paused = await asyncio.to_thread(api.tell, "POST", "/pause")
    assert paused.json() == {"state": "paused"}
    assert (await made.status())["paused"] == "as asked"  # what the command would have made of it
    await until_quiet(lambda: len(made.log))  # what was under way has ended
    before = len(made.log)
    await asyncio.sleep(2)
    assert len(made.log) == before
    # Seeds and policies go to all nodes.
    added = await asyncio.to_thread(api.tell, "POST", "/seeds", {"urls": [made.web.url(3), made.web.url(0)]})
    assert (added.json()["added"], added.json()["duplicates_skipped"]) == (1, 1), added.text
    blocked = made.log[-1].host
    policy = await asyncio.to_thread(api.tell, "PUT", f"/hosts/{blocked}/policy", {"blocked": True})
    assert policy.status_code == 200, policy.text
    resumed = await asyncio.to_thread(api.tell, "POST", "/resume")
    assert resumed.json() == {"state": "running"}
    await until(lambda: len(made.log) > before + 20, 60)
    assert blocked not in {entry.host for entry in made.log[before:]}


async def test_the_api_has_done_at_the_stores_what_the_command_has_done(folder: Path) -> None:
    """`retry` and the quarantine, by whoever owns the partitions; and while nobody does, it is on its way."""
    async with cluster(folder, hosts=6, pages=10, not_found=0.2) as made:
        await made.crawl("--forever")
        await made.start("n1", "n2")
        async with served(made.file) as api:
            status = await sooner_or_later(lambda: all_done(api))
            first = missing(made)
            assert status["failed"] == len(first) > 0 and set(first.values()) == {1}

            def tell(path: str, **body: object) -> tuple[int, dict[str, Any]]:
                answer = api.tell("POST", path, body)
                return answer.status_code, answer.json()

            told = await asyncio.to_thread(tell, "/retry", reason="gone")
            assert told == (200, {"urls": len(first), "partitions_left": 0})
            await until(lambda: missing(made) == Counter(dict.fromkeys(first, 2)), 60)
            await sooner_or_later(lambda: all_done(api))
            host = next(iter(first)).partition("/")[0]
            of_host = [url for url in first if url.startswith(f"{host}/")]
            told = await asyncio.to_thread(tell, "/retry", reason="gone", domain=host)
            assert told == (200, {"urls": len(of_host), "partitions_left": 0})
            await until(lambda: all(missing(made)[url] == 3 for url in of_host), 60)
            assert sum(missing(made).values()) == 2 * len(first) + len(of_host)
            code, refused = await asyncio.to_thread(tell, "/quarantine/release", url=made.web.url(0))
            assert (code, refused["reason"]) == (404, "not_quarantined")
            assert (await made.run("stop", made.file)).code == 0
            await made.ended("n1", "n2", timeout_s=60)
            told = await asyncio.to_thread(tell, "/quarantine/drop", url=made.web.url(0))
            assert told == (200, {"url": made.web.url(0), "done": "on_its_way"})
            code, retried = await asyncio.to_thread(tell, "/retry", reason="gone")
            assert (code, retried["partitions_left"]) == (200, PARTITIONS)
        made.judge()


def all_done(api: Api) -> Any:
    status = api.get("/status")
    left = status["queued"] + status["in_flight"] + status["waiting"]
    return status if status["pages"] == 6 * 10 and not left else None


OTHERS = ("opening", "held up", "spare", "missing")


async def test_a_node_that_dies_is_missed_and_what_it_had_is_restored_elsewhere(folder: Path) -> None:
    async with long_crawl(folder) as made:
        await under_way(made)
        async with served(made.file) as api:
            await sooner_or_later(lambda: all_owned(api))
            spoil(made, 3)
            await made.kill("n1", with_disk=True)

            def taken_over() -> Any:
                nodes = api.get("/nodes")
                return nodes if {each["owner"] for each in nodes["partitions"]} == {"n2"} else None

            nodes = await sooner_or_later(taken_over)
            [node] = nodes["nodes"]
            assert node["name"] == "n2" and node["restores"] == PARTITIONS and node["restored_s"] > 0
            assert nodes["coordinator"] == "n2"
            # What nobody could read was set aside, whoever found it, and is counted.
            await sooner_or_later(lambda: api.get("/nodes")["links_dead"] == 1)
            assert "1 message of links could not be read" in (await made.run("status", made.file)).out
            figures = parsed((await asyncio.to_thread(api.ask, "GET", "/metrics")).text)
            assert figures["gossamer_links_dead_total"] == {"": 1}


async def test_a_node_tells_that_valkey_is_away_and_serves_its_own_figures(folder: Path) -> None:
    with Valkey() as valkey:
        async with long_crawl(folder, cluster__redis=valkey.url) as made:
            await under_way(made, "--serve=127.0.0.1:0")
            await until(lambda: "serving" in made.said("n1"), 30)
            [address] = re.findall(r"serving \S+ at (\S+)", made.said("n1"))
            own = Api(address)
            async with served(made.file) as api:
                await sooner_or_later(lambda: all_owned(api))
                figures = parsed((await asyncio.to_thread(own.ask, "GET", "/metrics")).text)
                assert figures["gossamer_shared_up"] == {'node="n1"': 1}
                assert figures["gossamer_node_partitions"].keys() == {'node="n1"'}
                valkey.kill()
                nodes = await sooner_or_later(lambda: away(api))
                assert "Valkey does not answer" in nodes["nodes"][0]["shared_away"]
                assert all(node["state"] == "working" for node in nodes["nodes"])  # nobody waits for it
                ran = await made.run("status", made.file)
                assert "Valkey does not answer" in ran.out
                figures = parsed((await asyncio.to_thread(own.ask, "GET", "/metrics")).text)
                assert figures["gossamer_shared_up"] == {'node="n1"': 0}
                valkey.start()


def spoil(made: Cluster, partition: int) -> None:
    """A message of links that is none."""
    settings = config.load(None, made.file).tree.cluster
    producer = Producer({"bootstrap.servers": settings.kafka})
    producer.produce(Topics(settings.name).links, b"not links", partition=partition)
    assert producer.flush(30) == 0


def away(api: Api) -> Any:
    nodes = api.get("/nodes")
    return nodes if all(node["shared_away"] for node in nodes["nodes"]) else None
