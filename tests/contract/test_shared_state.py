"""One suite over every `SharedState`: in this process, over the wire, and in Valkey."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import pytest
from redis.asyncio import Redis

from gossamer.clock import RealClock, VirtualClock
from gossamer.cluster.pace import Pace
from gossamer.cluster.shared import CLAIMS_AT_ONCE, LocalShared, Question, RemoteShared, Reply
from gossamer.cluster.valkey.shared import ValkeyShared
from gossamer.cluster.wire import Peer, connect, listen
from gossamer.frontier.disk.store import RocksStore
from gossamer.interfaces import SharedState
from gossamer.process.fingerprints import duplicates
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.records import ORIGINAL, Claim, Verdict
from tests.servers import valkey

A, B = "http://a.test/", "http://b.test/"
CONTENT = "ab" * 32
PRINT = 0x0123456789ABCDEF


SAID = sketch_of(words_in("what all of them say"))


def claim(url: str, content: str = CONTENT, simhash: int | None = None) -> Claim:
    return Claim(content, url, 1000.0, simhash, SAID)


@dataclass
class Shared:
    """The state as two workers see it."""

    first: SharedState
    second: SharedState
    lapse: Callable[[], Awaitable[None]]  # whoever has claimed something is gone, and unsettled claims with it
    elapse: Callable[[float], Awaitable[None]]  # so many seconds, for the clock that it goes by
    token_s: float = 0.5  # between two requests to an address
    early_s: float = 0.0  # a clock that cannot be stopped goes on meanwhile


@dataclass
class SharedHere(Shared):
    local: LocalShared = field(kw_only=True)


@asynccontextmanager
async def in_process(folder: Path, clock: VirtualClock) -> AsyncIterator[SharedHere]:
    store = RocksStore(folder / "fingerprints", duplicates.TABLES)
    claims = Duplicates(store, store.folder)
    local = LocalShared(claims, Pace(clock, per_s=2, burst=3, addresses_max=100))

    async def lapse() -> None:
        for holder in range(3):
            local.release(holder)

    async def elapse(seconds: float) -> None:
        clock.advance(seconds)

    yield SharedHere(local, local, lapse, elapse, local=local)
    claims.close()
    store.close()


@asynccontextmanager
async def over_the_wire(folder: Path, clock: VirtualClock) -> AsyncIterator[SharedHere]:
    met: list[Peer] = []

    async with in_process(folder, clock) as shared, asyncio.TaskGroup() as tasks:

        def meet(peer: Peer) -> None:
            met.append(peer)
            holder = len(met)
            peer.answer = lambda question: shared.local.answer(question, holder)

        server = await listen(folder / "s", Question, tasks.create_task, pytest.fail, meet)
        peers = [await connect(folder / "s", Reply, tasks.create_task, pytest.fail) for _ in range(2)]
        yield replace(shared, first=RemoteShared(peers[0]), second=RemoteShared(peers[1]))
        for peer in [*peers, *met]:
            peer.close()
        server.close()


@asynccontextmanager
async def in_valkey(folder: Path, clock: VirtualClock) -> AsyncIterator[Shared]:
    server = valkey.server()
    name = server.new_name()
    first, second = (ValkeyShared(server.url, name, RealClock(), per_s=0.01, burst=3, limit_s=20) for _ in range(2))

    async def lapse() -> None:
        """All at once what takes a minute: the time of unsettled claims is over."""
        async with Redis.from_url(server.url) as client:
            for key in [key async for key in client.scan_iter(f"{{{name}}}:c*")]:
                if await client.getrange(key, 0, 0) == b"?":
                    await client.pexpire(key, 0)

    async def elapse(seconds: float) -> None:
        """The server's clock cannot be set: what was counted is counted as long ago."""
        async with Redis.from_url(server.url) as client:
            for key in [key async for key in client.scan_iter(f"{{{name}}}:p*")]:
                kept = await client.getrange(key, 0, -1)
                assert isinstance(kept, bytes)
                tokens, counted_at = struct.unpack(">dd", kept)
                await client.set(key, struct.pack(">dd", tokens, counted_at - seconds), keepttl=True)

    yield Shared(first, second, lapse, elapse, token_s=100.0, early_s=30.0)
    assert not first.away and not second.away
    for each in (first, second):
        await each.close()


@pytest.fixture(params=[in_process, over_the_wire, in_valkey])
async def shared(request: pytest.FixtureRequest, folder: Path, clock: VirtualClock) -> AsyncIterator[Shared]:
    async with request.param(folder, clock) as state:
        yield state


async def judge(shared: SharedState, *claims: Claim) -> list[str | None]:
    return [verdict.kind if verdict is not None else None for verdict in await shared.judge(claims)]


async def test_the_first_url_with_a_content_is_the_original(shared: Shared) -> None:
    assert await shared.first.judge([claim(A)]) == [ORIGINAL]
    await shared.first.settle([claim(A)])
    other = claim(B, "cd" * 32)
    assert await shared.second.judge([claim(B), other]) == [Verdict("same", of=A, at=1000.0), ORIGINAL]


async def test_a_near_copy_waits_for_the_page_that_it_is_near_to(shared: Shared) -> None:
    largest = (1 << 64) - 1  # as far as a number can go over the wire
    assert await shared.first.judge([claim(A, simhash=largest)]) == [ORIGINAL]
    near, far = claim(B, "cd" * 32, largest ^ 0b101), claim(B, "ef" * 32, PRINT)
    assert await shared.second.judge([near, far]) == [None, ORIGINAL]
    await shared.first.settle([claim(A, simhash=largest)])
    assert await shared.second.judge([near]) == [Verdict("near", of=A, at=1000.0, distance=2, resemblance=1.0)]


async def test_a_page_repeated_after_a_crash_is_still_the_original(shared: Shared) -> None:
    for _ in range(2):
        assert await shared.first.judge([claim(A)]) == [ORIGINAL]
    await shared.first.settle([claim(A)])
    assert await shared.second.judge([claim(A)]) == [ORIGINAL]


async def test_others_wait_until_a_claim_is_settled(shared: Shared) -> None:
    await shared.first.judge([claim(A)])
    for _ in range(2):
        assert await judge(shared.second, claim(B), claim(B, "cd" * 32)) == [None, "original"]
    await shared.first.settle([claim(A)])
    assert await judge(shared.second, claim(B)) == ["same"]


async def test_one_of_many_that_wait_gets_a_claim_that_is_given_back(shared: Shared) -> None:
    await shared.first.judge([claim(A)])
    others = [claim(f"http://c{number}.test/") for number in range(5)]
    assert await judge(shared.second, *others) == [None] * 5
    await shared.lapse()
    assert await judge(shared.second, *others) == ["original", None, None, None, None]
    await shared.second.settle(others[:1])
    assert await judge(shared.second, *others[1:]) == ["same"] * 4


async def test_settling_nothing_and_settling_twice_change_nothing(shared: Shared) -> None:
    await shared.first.settle([])
    for _ in range(2):
        await shared.first.settle([claim(A)])
    assert await shared.second.judge([]) == []
    assert await judge(shared.second, claim(B)) == ["same"]


async def test_as_many_as_one_likes_are_judged_and_settled_at_once(shared: Shared) -> None:
    many = [claim(f"{A}{number}", f"{number:064x}") for number in range(2 * CLAIMS_AT_ONCE + 1)]
    assert await judge(shared.first, *many) == ["original"] * len(many)
    await shared.first.settle(many)
    copies = [claim(f"{B}{number}", f"{number:064x}") for number in range(len(many))]
    assert [verdict and verdict.of for verdict in await shared.second.judge(copies)] == [each.url for each in many]


async def test_the_pace_of_an_address(shared: Shared) -> None:
    def is_about(wait_s: float, wanted_s: float) -> bool:
        return wanted_s - shared.early_s - 1e-6 < wait_s <= wanted_s + 1e-6

    ip, token_s = "192.0.2.1", shared.token_s
    assert [(await shared.first.pace(ip)).wait_s for _ in range(3)] == [0, 0, 0]  # the burst
    assert is_about((await shared.second.pace(ip)).wait_s, token_s)
    assert (await shared.second.pace("192.0.2.2")).wait_s == 0
    await shared.elapse(token_s / 2)
    assert is_about((await shared.first.pace(ip)).wait_s, token_s / 2)  # asking costs nothing
    await shared.elapse(token_s / 2)
    assert (await shared.first.pace(ip)).wait_s == 0
    assert (await shared.second.pace(ip)).wait_s > 0


@pytest.mark.parametrize("shared", [in_process, over_the_wire], indirect=True)  # Valkey forgets what is full
async def test_many_addresses_are_forgotten_from_the_oldest_on(shared: Shared) -> None:
    for _ in range(3):
        await shared.first.pace("192.0.2.1")
    for number in range(100):
        await shared.first.pace(f"198.51.100.{number}")
    assert (await shared.first.pace("192.0.2.1")).wait_s == 0


async def test_a_claim_belongs_to_whoever_repeats_the_page(folder: Path, clock: VirtualClock) -> None:
    async with over_the_wire(folder, clock) as shared:
        await shared.first.judge([claim(A)])
        await shared.second.judge([claim(A)])  # its partition has moved
        shared.local.release(1)
        assert await judge(shared.first, claim(B)) == [None]
        await shared.second.settle([claim(A)])
        assert await judge(shared.first, claim(B)) == ["same"]


async def test_what_was_claimed_for_a_partition_that_is_another_nodes_holds_up_nobody(
    folder: Path, clock: VirtualClock
) -> None:
    async with over_the_wire(folder, clock) as shared:
        lost, ours = (
            msgspec.structs.replace(claim(url), partition=place, epoch=5) for url, place in ((A, 3), (B, 4))
        )
        assert await judge(shared.first, lost) == ["original"]
        shared.local.lose(3, 5)  # its page is never finished here, and the worker lives on
        assert await judge(shared.first, lost) == [None]  # it has not heard of that yet
        assert await judge(shared.second, ours) == ["original"]
        again = msgspec.structs.replace(lost, epoch=6)
        assert await judge(shared.first, again) == [None]  # ours once more, and it waits like anybody


async def test_what_an_earlier_owner_claims_or_settles_changes_nothing(shared: Shared) -> None:
    late, now = (msgspec.structs.replace(claim(url), partition=3, epoch=epoch) for url, epoch in ((A, 5), (B, 6)))
    await shared.first.begin(3, 5)
    assert await shared.first.judge([late]) == [ORIGINAL]
    await shared.lapse()  # it died, as far as anybody knows
    await shared.second.begin(3, 6)
    assert await shared.first.judge([late, now]) == [None, ORIGINAL]
    await shared.first.settle([late])
    await shared.second.settle([now])
    assert await shared.second.judge([claim("http://c.test/")]) == [Verdict("same", of=B, at=1000.0)]
