"""Shared state in Valkey where it differs from that of one machine: many nodes, and a server that comes and goes."""

from __future__ import annotations

import asyncio
from time import monotonic

import msgspec
import pytest
from redis.asyncio import Redis

from gossamer.clock import VirtualClock
from gossamer.cluster.pace import CrawlPace
from gossamer.cluster.valkey import meanwhile
from gossamer.cluster.valkey.meanwhile import Meanwhile
from gossamer.cluster.valkey.shared import LIMIT_S
from gossamer.records import ORIGINAL, Reason, Verdict
from tests.cluster.valkey_nodes import PRINT, A, B, C, claim, kinds, nodes, until
from tests.servers import valkey
from tests.servers.valkey import Valkey

# ---- several nodes ---------------------------------------------------------------------------------------


async def test_of_the_same_content_on_many_nodes_at_once_one_is_the_original() -> None:
    async with nodes(valkey.server(), 4) as all_of_them:
        claims = [[claim(f"http://{node}.test/{page}", page) for page in range(150)] for node in range(4)]
        asked = [kinds(node, *some) for node, some in zip(all_of_them, claims, strict=True)]
        verdicts = await asyncio.gather(*asked)
        for page in range(150):
            assert sorted(str(each[page]) for each in verdicts) == ["None", "None", "None", "original"]


async def test_of_near_pages_on_many_nodes_at_once_nobody_waits_in_a_circle() -> None:
    async with nodes(valkey.server(), 4) as all_of_them:
        left = {node: [claim(f"http://{node}.test/", node, PRINT ^ 1 << node)] for node in range(4)}
        found: list[Verdict] = []
        for _ in range(10):
            asked = [all_of_them[node].judge(claims) for node, claims in left.items()]
            verdicts = dict(zip(left, await asyncio.gather(*asked), strict=True))
            for node, (verdict,) in verdicts.items():
                if verdict is not None:
                    found.append(verdict)
                    if verdict.is_original:
                        await all_of_them[node].settle(left[node])
                    del left[node]
        assert not left
        assert sorted(verdict.kind for verdict in found) == ["near", "near", "near", "original"]


async def test_a_holder_that_died_leaves_nobody_waiting_for_long() -> None:
    async with nodes(valkey.server(), claim_s=0.3) as (first, second):
        assert await kinds(first, claim(A, 0, PRINT)) == ["original"]
        same, near = claim(B, 0, PRINT), claim(C, 1, PRINT ^ 1)
        assert await kinds(second, same, near) == [None, None]
        await first.close()
        async with asyncio.timeout(10):
            while await kinds(second, same) == [None]:  # noqa: ASYNC110 - as the loop asks again
                await asyncio.sleep(0.02)
        assert await second.judge([same]) == [ORIGINAL]


async def test_near_copies_leave_nothing_behind() -> None:
    server = valkey.server()
    async with nodes(server) as (first, second), Redis.from_url(server.url) as client:
        await first.judge([claim(A, 0, PRINT)])
        await first.settle([claim(A, 0, PRINT)])
        prefix = first._claims.prefix
        before = sorted([key async for key in client.scan_iter(f"{prefix}[cn]*")])
        sizes = [await client.strlen(key) for key in before]
        many = [claim(f"{B}{number}", number + 1, PRINT ^ 1 << number % 3) for number in range(50)]
        assert await kinds(second, *many) == ["near"] * 50
        assert sorted([key async for key in client.scan_iter(f"{prefix}[cn]*")]) == before
        assert [await client.strlen(key) for key in before] == sizes


async def test_the_versions_of_one_page_take_one_place() -> None:
    server = valkey.server()
    async with nodes(server) as (first, second), Redis.from_url(server.url) as client:
        for version in range(300):
            assert await first.judge([claim(A, version, PRINT)]) == [ORIGINAL]
            await first.settle([claim(A, version, PRINT)])
        rows = [await client.strlen(key) async for key in client.scan_iter(f"{first._claims.prefix}n*")]
        assert rows == [48, 48]
        assert await kinds(second, claim(B, 1000, PRINT)) == ["near"]


async def test_an_epoch_that_fell_out_comes_back_with_the_next_claim() -> None:
    server = valkey.server()
    late, now = (msgspec.structs.replace(claim(A), partition=3, epoch=epoch) for epoch in (5, 6))
    async with nodes(server) as (first, second), Redis.from_url(server.url) as client:
        await first.begin(3, 6)
        assert await second.judge([late]) == [None]
        await client.delete(f"{first._claims.prefix}epochs")
        assert await first.judge([now]) == [ORIGINAL]
        assert await second.judge([msgspec.structs.replace(late, url=B, content_hash="ab" * 32)]) == [None]
        await second.settle([late])
        assert await second.judge([claim(C)]) == [None]  # the present owner has claimed it, and not settled it


# ---- a memory with bounds --------------------------------------------------------------------------------


async def test_what_falls_out_of_a_small_memory_is_an_original_again() -> None:
    with Valkey(maxmemory="3mb", maxmemory_policy="allkeys-lru", appendonly="no") as server:
        async with nodes(server) as (first, second), Redis.from_url(server.url) as client:
            for start in range(0, 10_000, 200):
                numbers = range(start, start + 200)
                some = [claim(f"{A}{number}", number, number * 0x9E3779B97F4A7C15 % 2**64) for number in numbers]
                assert set(await kinds(first, *some)) == {"original"}
                await first.settle(some)
            told = await client.info()
            assert told["evicted_keys"] > 5_000 and told["used_memory"] < 5 << 20
            oldest = [claim(f"{B}{number}", number) for number in range(500)]
            newest = [claim(f"{B}{number}", number) for number in range(9_900, 10_000)]
            assert (await kinds(second, *newest)).count("same") > 50
            assert (await kinds(second, *oldest)).count("original") > 400
            assert not first.away and not second.away


# ---- pace ------------------------------------------------------------------------------------------------


async def server_s(client: Redis) -> float:
    seconds, micros = await client.time()
    return float(seconds + micros / 1e6)


async def test_two_nodes_together_never_ask_an_address_faster_than_its_rate() -> None:
    server = valkey.server()
    async with nodes(server, per_s=30) as both, Redis.from_url(server.url) as client:
        began, granted, ended = await server_s(client), 0, 0.0
        while ended - began < 1.0:
            pauses = await asyncio.gather(*(each.pace("192.0.2.1") for each in both for _ in range(4)))
            granted += sum(pause.wait_s == 0 for pause in pauses)
            ended = await server_s(client)
            assert granted <= 3 + 30 * (ended - began)
        assert granted > 5


async def test_two_nodes_together_keep_to_the_pace_of_the_crawl() -> None:
    """As `CrawlPace` does within one process, on a clock that stands still."""
    clock = VirtualClock()
    alone = CrawlPace(clock, requests_per_s=10)
    async with nodes(valkey.server(), requests_per_s=10, per_s=1000) as both:
        began = monotonic()
        for number in range(130):
            pause, wanted = await both[number % 2].pace(f"192.0.2.{number}"), alone.pause()
            early_s = monotonic() - began
            if wanted.wait_s:  # the server's clock goes on: it may have room for a few more
                assert pause.wait_s <= wanted.wait_s + 1e-6
            else:
                assert pause.wait_s == 0 and wanted.hold_s - early_s - 1e-6 <= pause.hold_s <= wanted.hold_s + 1e-6
        assert pause.reason is Reason.CRAWL_PACE and pause.wait_s > 5 - early_s


async def test_bytes_are_charged_by_what_others_brought() -> None:
    async with nodes(valkey.server(), bytes_per_s=100_000, per_s=1000) as (first, second):
        began = monotonic()
        pause = await first.pace("192.0.2.1")
        assert (pause.charged_bytes, pause.hold_s) == (20_000, 0.0)
        pause = await second.pace("192.0.2.2", surplus_bytes=80_000)  # what it brought beyond its charge
        assert pause.charged_bytes == 24_000
        assert 0.8 - (monotonic() - began) <= pause.hold_s <= 0.8 + 1e-6  # 1 s of bytes, but for the burst
        pause = await first.pace("192.0.2.3", surplus_bytes=2_000_000)
        assert pause.wait_s > 10 and pause.reason is Reason.CRAWL_PACE


async def test_a_new_limit_of_the_crawl_begins_at_once() -> None:
    async with nodes(valkey.server(), requests_per_s=0.01, per_s=1000) as both:
        await both[0].pace("192.0.2.1")
        assert (await both[1].pace("192.0.2.2")).wait_s > 10
        for each in both:
            each.limit(1000, None)
        assert (await both[1].pace("192.0.2.2")).wait_s == 0


# ---- when it is away -------------------------------------------------------------------------------------


async def test_a_crawl_goes_on_without_the_server_and_tells_it_afterwards() -> None:
    with Valkey() as server:
        async with nodes(server) as (first, second):
            await first.begin(3, 6)
            await first.judge([claim(A)])
            await first.settle([claim(A)])
            await first.judge([claim(A, 1)])
            server.kill()
            assert await first.judge([claim(B), claim(B, 2)]) == [ORIGINAL, ORIGINAL]  # nobody knows better
            assert await first.judge([claim(C, 2)]) == [None]  # but for what is known here
            await first.settle([claim(A, 1), claim(B), claim(B, 2)])
            assert await first.judge([claim(C, 2)]) == [Verdict("same", of=B, at=1000.0)]
            await first.begin(4, 9)
            assert "does not answer since" in first.away and "copies on other nodes are not noticed" in first.away
            server.start()
            await until(lambda: not first.away)
            assert await kinds(second, claim(C), claim(C, 1), claim(C, 2)) == ["same"] * 3
            assert await kinds(first, claim(C), claim(C, 1), claim(C, 2)) == ["same"] * 3
            late = msgspec.structs.replace(claim(C, 9), partition=4, epoch=8)
            assert await second.judge([late]) == [None]


async def test_a_claim_made_meanwhile_is_settled_after_the_return() -> None:
    with Valkey() as server:
        async with nodes(server) as (first, second):
            server.kill()
            assert await first.judge([claim(A)]) == [ORIGINAL]
            server.start()
            await until(lambda: not first.away)
            assert await first.judge([claim(B)]) == [None]
            assert await first.judge([claim(A)]) == [ORIGINAL]
            await first.settle([claim(A)])
            assert await kinds(second, claim(B)) == ["same"]
            assert await kinds(first, claim(B)) == ["same"]


async def test_a_server_that_hangs_is_waited_for_once() -> None:
    with Valkey() as server:
        async with nodes(server, limit_s=LIMIT_S) as (first, second):
            await first.judge([claim(A)])
            await first.settle([claim(A)])
            server.freeze()
            began = monotonic()
            verdicts, pause, _ = await asyncio.gather(
                first.judge([claim(B)]), first.pace("192.0.2.1"), first.settle([claim(C, 1)])
            )
            waited_s = monotonic() - began
            assert (verdicts, pause.wait_s) == ([ORIGINAL], 0)
            assert LIMIT_S * 0.9 < waited_s < LIMIT_S + 1.0 and "no answer within 1 s" in first.away
            began = monotonic()
            for number in range(100):
                await first.judge([claim(B, number + 10)])
                await first.settle([claim(B, number + 10)])
                await first.pace(f"192.0.2.{number + 2}")
            assert monotonic() - began < 10 * LIMIT_S  # 300 calls
            # One of two processes: half of two requests a second, and no burst of three.
            assert 0.5 < (await first.pace("192.0.2.1")).wait_s <= 1.0
            server.thaw()
            await until(lambda: not first.away)
            assert await kinds(second, *(claim(C, number + 10) for number in range(100))) == ["same"] * 100
            assert await kinds(first, claim(C), claim(C, 10)) == [None, "same"]  # the former is not settled yet


async def test_a_server_that_may_only_be_read_is_away() -> None:
    with Valkey() as server:
        async with nodes(server) as (first, _), Redis.from_url(server.url) as client:
            await client.replicaof("127.0.0.1", 1)  # as after a failover, when another one took over
            assert await first.judge([claim(A)]) == [ORIGINAL]
            assert "read only replica" in first.away
            await client.replicaof("NO", "ONE")
            await until(lambda: not first.away)


async def test_a_server_that_is_full_is_away() -> None:
    with Valkey(maxmemory="1", maxmemory_policy="noeviction") as server:
        async with nodes(server) as (first, _), Redis.from_url(server.url) as client:
            assert await first.judge([claim(A)]) == [ORIGINAL]
            assert "maxmemory" in first.away
            await client.config_set("maxmemory", "100mb")
            await until(lambda: not first.away)
            assert await first.judge([claim(A)]) == [ORIGINAL]


async def test_one_that_loads_its_data_is_away_until_it_has() -> None:
    with Valkey(appendonly="no", key_load_delay="2000", loading_process_events_interval_bytes="1024") as server:
        async with nodes(server) as (first, _), Redis.from_url(server.url) as client:
            for start in range(0, 500, 100):
                await first.settle([claim(f"{A}{number}", number) for number in range(start, start + 100)])
            await client.save()
            server.kill()
            server.launch()
            assert await first.judge([claim(B, 7)]) == [ORIGINAL]
            assert first.away
            await until(lambda: not first.away)
            assert await kinds(first, claim(C, 8)) == ["same"]


def test_what_is_kept_to_be_told_has_bounds(monkeypatch: pytest.MonkeyPatch, clock: VirtualClock) -> None:
    monkeypatch.setattr(meanwhile, "SETTLED_MAX", 3)
    kept = Meanwhile(clock, claim_s=10)
    kept.settle([claim(f"{A}{number}", number) for number in range(5)])
    assert [each.url for each in kept.untold(10)] == [f"{A}{number}" for number in (2, 3, 4)]
    assert kept.judge([claim(B, 0)]) == [ORIGINAL]
    assert kept.judge([claim(C, 0)]) == [None]
    clock.advance(11)
    assert kept.judge([claim(C, 0)]) == [ORIGINAL]
    kept.told(kept.untold(10))
    assert kept.untold(10) == [] and not kept.knows(claim(B, 4))
