"""One suite over every `SharedState`: in this process, and over the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from gossamer.clock import VirtualClock
from gossamer.cluster.pace import Pace
from gossamer.cluster.shared import CLAIMS_AT_ONCE, LocalShared, Question, RemoteShared, Reply
from gossamer.cluster.wire import Peer, connect, listen
from gossamer.frontier.disk.store import RocksStore
from gossamer.interfaces import SharedState
from gossamer.process.fingerprints import duplicates
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.records import ORIGINAL, Claim, Verdict

A, B = "http://a.test/", "http://b.test/"
CONTENT = "ab" * 32
PRINT = 0x0123456789ABCDEF


SAID = sketch_of(words_in("what all of them say"))


def claim(url: str, content: str = CONTENT, simhash: int | None = None) -> Claim:
    return Claim(content, url, 1000.0, simhash, SAID)


@dataclass
class Shared:
    """The state as two workers see it, and as its owner does."""

    first: SharedState
    second: SharedState
    local: LocalShared


@asynccontextmanager
async def in_process(folder: Path, clock: VirtualClock) -> AsyncIterator[Shared]:
    store = RocksStore(folder / "fingerprints", duplicates.TABLES)
    claims = Duplicates(store, store.folder)
    local = LocalShared(claims, Pace(clock, per_s=2, burst=3, addresses_max=100))
    yield Shared(local, local, local)
    claims.close()
    store.close()


@asynccontextmanager
async def over_the_wire(folder: Path, clock: VirtualClock) -> AsyncIterator[Shared]:
    met: list[Peer] = []

    async with in_process(folder, clock) as shared, asyncio.TaskGroup() as tasks:

        def meet(peer: Peer) -> None:
            met.append(peer)
            holder = len(met)
            peer.answer = lambda question: shared.local.answer(question, holder)

        server = await listen(folder / "s", Question, tasks.create_task, pytest.fail, meet)
        peers = [await connect(folder / "s", Reply, tasks.create_task, pytest.fail) for _ in range(2)]
        yield Shared(RemoteShared(peers[0]), RemoteShared(peers[1]), shared.local)
        for peer in [*peers, *met]:
            peer.close()
        server.close()


@pytest.fixture(params=[in_process, over_the_wire])
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
    shared.local.release(0)
    shared.local.release(1)
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


async def test_the_pace_of_an_address(shared: Shared, clock: VirtualClock) -> None:
    ip = "192.0.2.1"
    assert [(await shared.first.pace(ip)).wait_s for _ in range(3)] == [0, 0, 0]  # the burst
    assert (await shared.second.pace(ip)).wait_s == pytest.approx(0.5)
    assert (await shared.second.pace("192.0.2.2")).wait_s == 0
    clock.advance(0.25)
    assert (await shared.first.pace(ip)).wait_s == pytest.approx(0.25)  # asking costs nothing
    clock.advance(0.25)
    assert (await shared.first.pace(ip)).wait_s == 0
    assert (await shared.second.pace(ip)).wait_s > 0


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


async def test_what_an_earlier_owner_claims_or_settles_changes_nothing(shared: Shared) -> None:
    late, now = (msgspec.structs.replace(claim(url), partition=3, epoch=epoch) for url, epoch in ((A, 5), (B, 6)))
    await shared.first.begin(3, 5)
    assert await shared.first.judge([late]) == [ORIGINAL]
    shared.local.release(1)  # it died, as far as anybody knows
    shared.local.release(0)
    await shared.second.begin(3, 6)
    assert await shared.first.judge([late, now]) == [None, ORIGINAL]
    await shared.first.settle([late])
    await shared.second.settle([now])
    assert await shared.second.judge([claim("http://c.test/")]) == [Verdict("same", of=B, at=1000.0)]
