"""What a restart loses: nothing. The server is killed (`kill -9`) and started again with the same command.

Delays, blocks, limits, the active flag, the clocks of queues and leases are what other servers forget."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest

from gossamer.urlfrontier import urlfrontier_pb2 as messages
from tests.urlfrontier.serving import FAIL, OK, SKIPPED, Served, discovered, known, served

FAR = 4_000_000_000


async def said_and_in_process(frontier: Served) -> None:
    """Six queues, each with something that a restart must not change."""
    hosts = ["leased", "clock", "blocked", "limited", "slow", "done"]
    await frontier.put(*(discovered(f"http://{host}.test/{n}") for host in hosts for n in range(3)))
    await frontier.call.SetDelay(messages.QueueDelayParams(key="slow.test", delay_requestable=3600))
    await frontier.call.SetDelay(messages.QueueDelayParams(key="leased.test", delay_requestable=0))
    await frontier.call.BlockQueueUntil(messages.BlockQueueParams(key="blocked.test", time=FAR))
    await frontier.call.SetCrawlLimit(messages.CrawlLimitParams(key="limited.test", limit=1))
    for host in ("leased", "limited", "slow", "done"):
        await frontier.get("DEFAULT", key=f"{host}.test", max_urls_per_queue=1, delay_requestable=3600)
    await frontier.put(known("http://limited.test/0"), known("http://done.test/0", FAR))


@pytest.mark.parametrize("how", ["killed", "stopped"])
async def test_nothing_that_was_said_or_handed_out_is_forgotten(tmp_path: Path, how: str) -> None:
    async with served(tmp_path / "F") as frontier:
        await said_and_in_process(frontier)
        before = await frontier.stats()
        handed_out = await frontier.get("DEFAULT", key="clock.test", max_urls_per_queue=1)
        at = time.time()
        await (frontier.kill() if how == "killed" else asyncio.sleep(0))
    async with served(tmp_path / "F") as frontier:
        after = await frontier.stats()
        assert (after.size, after.numberOfQueues, after.counts) == (before.size, before.numberOfQueues, before.counts)
        assert after.inProcess == before.inProcess + 1 == 3
        assert handed_out == ["http://clock.test/0"]
        if time.time() - at < 0.9:  # the queue's second is not over, though another process gave the last URL
            assert await frontier.get("DEFAULT", key="clock.test") == []
        assert sorted(await frontier.get("DEFAULT", key="leased.test")) == [
            "http://leased.test/1",
            "http://leased.test/2",
        ]
        for host in ("blocked", "limited", "slow"):
            assert await frontier.get("DEFAULT", key=f"{host}.test") == [], host
        assert sorted(await frontier.queues()) == sorted(
            f"{host}.test" for host in ("leased", "clock", "limited", "slow", "done")
        )
        assert await frontier.put(discovered("http://leased.test/0")) == [SKIPPED]


async def test_a_lease_ends_at_its_time_after_a_kill_and_by_its_client(tmp_path: Path) -> None:
    async with served(tmp_path / "F") as frontier:
        await frontier.call.SetDelay(messages.QueueDelayParams(delay_requestable=0))
        await frontier.put(discovered("http://a.test/1"), discovered("http://b.test/2"))
        ends_at = time.time() + 6
        assert len(await frontier.get(delay_requestable=6)) == 2
        await frontier.kill()
    async with served(tmp_path / "F") as frontier:
        assert (await frontier.stats()).inProcess == 2
        assert await frontier.put(known("http://b.test/2")) == [OK]
        assert (await frontier.stats()).inProcess == 1
        assert await frontier.get() == []
        await asyncio.sleep(max(0.0, ends_at + 0.2 - time.time()))
        assert await frontier.get() == ["http://a.test/1"]  # the default delay of 0 is remembered too


async def test_an_inactive_frontier_is_inactive_after_a_kill(tmp_path: Path) -> None:
    async with served(tmp_path / "F") as frontier:
        await frontier.put(discovered("http://a.test/"))
        await frontier.call.SetActive(messages.Active(state=False))
        await frontier.kill()
    async with served(tmp_path / "F") as frontier:
        assert not (await frontier.call.GetActive(messages.Local())).state
        assert await frontier.get() == []
        await frontier.call.SetActive(messages.Active(state=True))
        assert await frontier.get() == ["http://a.test/"]


async def test_what_was_acknowledged_before_a_kill_is_there_and_comes_once(tmp_path: Path) -> None:
    """Killed in the middle of a stream of batches, while URLs are handed out."""
    acknowledged: set[str] = set()
    got: list[str] = []
    async with served(tmp_path / "F") as frontier:
        await frontier.call.SetDelay(messages.QueueDelayParams(delay_requestable=0))

        sent: dict[str, list[str]] = {}

        async def batches() -> AsyncIterator[messages.DiscoveredBatch]:
            for number in range(150):  # bounded, since all of them are read again below
                sent[str(number)] = urls = [f"http://h{n % 50}.test/{number}/{n}" for n in range(200)]
                yield messages.DiscoveredBatch(ID=str(number), items=[discovered(url).discovered for url in urls])
            await asyncio.Event().wait()  # the stream is open until the server is killed

        async def put() -> None:
            async for ack in frontier.call.PutDiscovered(batches()):
                assert set(ack.statuses) == {OK}
                acknowledged.update(sent[ack.ID])

        putting = asyncio.create_task(put())
        while len(acknowledged) < 10_000 or not got:
            got += await frontier.get(max_queues=5, delay_requestable=3600)
            await asyncio.sleep(0.01)
        await frontier.kill()
        await asyncio.gather(putting, return_exceptions=True)
    assert got
    async with served(tmp_path / "F") as frontier:
        counted = (await frontier.call.CountURLs(messages.CountUrlParams())).value
        rest = await frontier.get(delay_requestable=3600)
        assert len(rest) == len(set(rest))
        assert not set(rest) & set(got), "nobody gets what another has in process"
        assert acknowledged <= set(rest) | set(got) | set(await leased(frontier))
        assert counted == (await frontier.stats()).inProcess


async def leased(frontier: Served) -> list[str]:
    """All of it, also what was handed out when the answer was cut off."""
    found = frontier.call.ListURLs(messages.ListUrlParams(size=1_000_000))
    return [item.known.info.url async for item in found]


async def test_a_deleted_queue_stays_deleted_after_a_kill_and_is_swept_away(tmp_path: Path) -> None:
    async with served(tmp_path / "F") as frontier:
        items = [discovered(f"http://a.test/{n}").discovered for n in range(30_000)]
        batches = [messages.DiscoveredBatch(items=items[at : at + 1000]) for at in range(0, 30_000, 1000)]
        assert len([ack async for ack in frontier.call.PutDiscovered(iter(batches))]) == 30
        await frontier.put(discovered("http://b.test/"))
        assert (await frontier.call.DeleteQueue(messages.QueueWithinCrawlParams(key="a.test"))).value == 30_000
        assert await frontier.put(discovered("http://a.test/7")) == [OK]
        await frontier.kill()
    async with served(tmp_path / "F") as frontier:
        stats = await frontier.stats()
        assert (stats.size, stats.numberOfQueues) == (2, 2)
        assert await frontier.put(discovered("http://a.test/8"), discovered("http://a.test/7")) == [OK, SKIPPED]
        assert sorted(await frontier.get()) == ["http://a.test/7", "http://a.test/8", "http://b.test/"]


async def test_what_finds_no_room_on_the_disk_is_told_and_did_not_happen(tmp_path: Path) -> None:
    async with served(tmp_path / "F", complains="file too large") as frontier:
        await frontier.put(discovered("http://a.test/1"))

        def room(most: int) -> None:
            resource.prlimit(frontier.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

        room(1)
        more = [discovered("http://a.test/2", metadata={"x": ["y" * 10_000]}), known("http://a.test/1")]
        assert await frontier.put(*more) == [FAIL, FAIL]
        with pytest.raises(grpc.aio.AioRpcError) as fault:
            await frontier.get()
        assert fault.value.code() == grpc.StatusCode.UNAVAILABLE
        stats = await frontier.stats()
        assert (stats.size, stats.inProcess, stats.counts["completed"]) == (1, 0, 0)
        room(resource.RLIM_INFINITY)
        assert await frontier.put(*more) == [OK, OK]
        assert await frontier.get() == ["http://a.test/2"]
        await frontier.kill()
    async with served(tmp_path / "F") as frontier:
        stats = await frontier.stats()
        assert (stats.size, stats.inProcess, stats.counts["completed"]) == (1, 1, 1)
