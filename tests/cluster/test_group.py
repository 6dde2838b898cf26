"""Membership of nodes in a group, on a real broker: who owns what, and who might have asked for it when."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.clock import RealClock
from gossamer.cluster.kafka import group as group_module
from gossamer.cluster.kafka.group import members_of, rest_s
from gossamer.settings import ClusterSettings
from tests.cluster.gate import GatedKafka, create_topic, gated_kafka
from tests.cluster.group_member import Member, Span

ROOT = Path(__file__).parent.parent.parent
PARTITIONS = 12
SESSION_S, HEARTBEAT_S, MARGIN_S = 4.0, 0.5, 1.5
boottime = RealClock().boottime


class Stage:
    """A topic, members in this process and in others; at the end no two of them could have asked at once."""

    def __init__(self, broker: GatedKafka) -> None:
        self.broker = broker
        self.settings = ClusterSettings(
            name=f"crawl-{uuid.uuid4().hex[:8]}",
            kafka=broker.bootstrap,
            copies=1,
            session_s=SESSION_S,
            heartbeat_s=HEARTBEAT_S,
            margin_s=MARGIN_S,
            hand_over_s=1.0,
        )
        create_topic(broker.bootstrap, f"{self.settings.name}.links", PARTITIONS)
        self.members: dict[str, Member] = {}
        self.former: list[tuple[str, list[Span]]] = []  # of members that ended
        self.processes: list[MemberProcess] = []

    def join(self, node: str, *, gated: bool = False, hand_over_s: float = 0.0, **changed: float) -> Member:
        servers = self.broker.through_the_gate if gated else self.broker.bootstrap
        settings = msgspec.structs.replace(self.settings, kafka=servers, **changed)
        self.members[node] = member = Member(settings, node, hand_over_s)
        return member

    def start(self, node: str) -> MemberProcess:
        process = MemberProcess(self.settings, node)
        self.processes.append(process)
        return process

    async def leave(self, node: str) -> None:
        member = self.members.pop(node)
        await member.leave()
        self.former.append((node, member.spans))

    async def close(self, node: str) -> None:
        member = self.members.pop(node)
        await member.close()
        self.former.append((node, member.spans))

    @property
    def owners(self) -> dict[int, str]:
        """Who may ask for each partition now."""
        found = [(number, node) for node, member in self.members.items() for number in member.may_ask]
        assert len(found) == len(dict(found)), found
        return dict(found)

    async def settled(self, seconds: float = 25) -> dict[int, str]:
        """Once all partitions may be asked for by members of this process, each with its fair share."""

        def is_settled() -> bool:
            counts = Counter(self.owners.values())
            return sum(counts.values()) == PARTITIONS and set(counts) == set(self.members) and spread(counts) <= 1

        await until(is_settled, seconds)
        return self.owners

    async def end(self) -> None:
        for process in self.processes:
            process.kill()
        await asyncio.gather(*(member.close() for member in self.members.values()))
        spans = self.former + [(member.node, member.spans) for member in self.members.values()]
        spans += [(process.node, process.spans) for process in self.processes]
        assert_never_two_at_once(spans)


class MemberProcess:
    def __init__(self, settings: ClusterSettings, node: str) -> None:
        self.node = node
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.group_member", msgspec.json.encode(settings).decode(), node],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._read, self._lines = b"", list[dict[str, Any]]()
        self._ended_at: float | None = None

    @property
    def lines(self) -> list[dict[str, Any]]:
        assert self._process.stdout is not None
        if not self._process.stdout.closed:
            self._read += self._process.stdout.read() or b""
        *whole, self._read = self._read.split(b"\n")
        self._lines += map(json.loads, whole)
        return self._lines

    def of(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    @property
    def spans(self) -> list[Span]:
        """What was open when it was killed may have been asked for until then."""
        spans = [Span(*line["span"]) for line in self.of("span")]
        last = [line for line in self.lines if line["event"] in ("may ask", "span", "woke")][-1:]
        if last and last[0]["event"] == "may ask" and self._ended_at is not None:
            spans += [Span(number, last[0]["at"], self._ended_at) for number in last[0]["partitions"]]
        return spans

    def signal(self, what: signal.Signals) -> None:
        self._process.send_signal(what)

    def kill(self) -> None:
        if self._ended_at is None:
            self._process.kill()
            self._process.wait()
            self._ended_at = boottime()
            assert self._process.stdout is not None and self.lines is not None
            self._process.stdout.close()


def spread(counts: Counter[str]) -> int:
    return max(counts.values()) - min(counts.values())


def assert_never_two_at_once(of_nodes: list[tuple[str, list[Span]]]) -> None:
    spans = sorted((span.partition, span.since, span.until, node) for node, spans in of_nodes for span in spans)
    for (number, _, until_, node), (other, since, _, next_) in pairwise(spans):
        assert other != number or since >= until_, f"{number}: {node} until {until_:.3f}, {next_} from {since:.3f}"


async def until(is_so: Callable[[], bool], seconds: float = 25) -> float:
    """The moment at which it was so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)
    return boottime()


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage(gated_kafka())
    yield stage
    await stage.end()


def moved(before: dict[int, str], after: dict[int, str]) -> list[int]:
    return [number for number in before if before[number] != after[number]]


# --- Coming and going ---


async def test_every_partition_has_one_owner_and_few_move_when_nodes_come_and_go(stage: Stage) -> None:
    for node in ("a", "b"):
        stage.join(node)
    two = await stage.settled()
    stage.join("c")
    three = await stage.settled()
    assert await members_of(stage.settings) == {node: member.mine for node, member in stage.members.items()}
    assert len(moved(two, three)) == PARTITIONS // 3
    started = time.monotonic()
    await stage.leave("b")
    orphans = {number for number, node in three.items() if node == "b"}
    after = await stage.settled()
    assert set(moved(three, after)) == orphans
    assert time.monotonic() - started < SESSION_S - 1  # nobody waited for the session to end
    assert not any(what == "lost" for member in stage.members.values() for what, _, _ in member.events)


async def test_a_node_that_is_closed_and_comes_back_has_its_own_and_nobody_elses_moves(stage: Stage) -> None:
    for node in ("a", "b", "c"):
        stage.join(node)
    before = await stage.settled()
    events = {node: len(stage.members[node].events) for node in ("a", "c")}
    await stage.close("b")
    stage.join("b")
    started = time.monotonic()
    assert await stage.settled() == before
    assert time.monotonic() - started < SESSION_S - 1
    assert events == {node: len(stage.members[node].events) for node in ("a", "c")}


async def test_others_own_the_partitions_of_a_killed_node_when_its_session_is_over(stage: Stage) -> None:
    stage.join("a")
    victim = stage.start("b")
    await until(lambda: len((victim.of("may ask") or [{"partitions": ()}])[-1]["partitions"]) == PARTITIONS // 2)
    victim.kill()
    killed_at = boottime()
    await stage.settled()
    assert SESSION_S - HEARTBEAT_S - 0.2 < boottime() - killed_at < SESSION_S + 2 * HEARTBEAT_S + 4


async def test_a_killed_node_that_starts_again_at_once_has_its_own_back(stage: Stage) -> None:
    member, victim = stage.join("a"), stage.start("b")
    await until(lambda: len((victim.of("may ask") or [{"partitions": ()}])[-1]["partitions"]) == PARTITIONS // 2)
    its_own, events = set(victim.of("may ask")[-1]["partitions"]), len(member.events)
    victim.kill()
    stage.join("b")
    owners = await stage.settled()
    assert {number for number, node in owners.items() if node == "b"} == its_own
    assert len(member.events) == events


async def test_others_wait_for_a_slow_hand_over(stage: Stage) -> None:
    slow = stage.join("a", hand_over_s=1.5)
    await stage.settled()
    quick = stage.join("b")
    await until(lambda: bool(quick.mine))
    let_go = next(at for what, _, at in slow.events if what == "let go")
    assert quick.events[0][0] == "assigned" and quick.events[0][2] >= let_go
    revoked = next(at for what, _, at in slow.events if what == "revoked")
    assert let_go - revoked >= 1.5


async def test_a_hand_over_that_takes_too_long_is_a_loss(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_module, "LATE_S", 0.5)
    hanging = stage.join("a", hand_over_s=1000)
    await stage.settled()
    quick = stage.join("b")
    await until(lambda: bool(quick.mine))
    assert [what for what, _, _ in hanging.events] == ["assigned", "revoked", "lost"]
    assert quick.events[0][2] >= hanging.events[-1][2] >= hanging.events[1][2] + 1.4


# --- What may not happen ---


async def test_a_node_stopped_for_longer_than_its_session_knows_when_it_wakes_that_it_owns_nothing(
    stage: Stage,
) -> None:
    stage.join("a")
    stopped = stage.start("b")
    await until(lambda: len((stopped.of("may ask") or [{"partitions": ()}])[-1]["partitions"]) == PARTITIONS // 2)
    stopped.signal(signal.SIGSTOP)
    others_at = await until(lambda: len(stage.owners) == PARTITIONS)
    stopped.signal(signal.SIGCONT)
    await until(lambda: bool(stopped.of("woke")))
    woke = stopped.of("woke")[0]
    assert woke["slept_since"] < others_at < woke["at"]
    assert woke["until"] < others_at
    await until(lambda: bool(stopped.of("lost")))
    assert not [line for line in stopped.of("may ask") if woke["at"] <= line["at"] <= stopped.of("lost")[0]["at"]]


async def test_a_node_that_is_cut_off_stops_before_others_own_its_partitions(stage: Stage) -> None:
    cut_off, other = stage.join("a", gated=True), stage.join("b")
    before = await stage.settled()
    stage.broker.gate.is_open.clear()
    cut_at, ends = boottime(), []

    def is_paused() -> bool:
        if (end := cut_off.group.owned_until) > 0:
            ends.append(end)  # by its own clock: a busy machine looks later
        return not cut_off.may_ask

    try:
        await until(is_paused)
        gained_at = await until(lambda: len(other.may_ask) == PARTITIONS)
    finally:
        stage.broker.gate.is_open.set()
    assert ends[-1] - cut_at <= SESSION_S - MARGIN_S + 0.1
    assert gained_at - ends[-1] >= MARGIN_S - 0.2
    after = await stage.settled()  # a share of it comes back, and it survives being refused
    assert cut_off.group.state.losses == 1 and Counter(after.values()) == Counter(before.values())


async def test_all_have_their_own_again_after_an_outage_of_the_broker(stage: Stage) -> None:
    for node in ("a", "b", "c"):
        stage.join(node)
    before = await stage.settled()
    stage.broker.kill(1)
    try:
        killed_at = boottime()
        paused_at = await until(lambda: not stage.owners)
        assert paused_at - killed_at <= SESSION_S - MARGIN_S + 0.1
        await until(lambda: all(member.group.state.losses for member in stage.members.values()))
        assert all(member.group.state.held_up for member in stage.members.values())
    finally:
        stage.broker.start(1)
    assert await stage.settled() == before
    assert not any(member.group.state.held_up for member in stage.members.values())


async def test_a_second_node_of_the_same_name_ends_the_first_which_survives_it(stage: Stage) -> None:
    first = stage.join("a")
    await stage.settled()
    settings = stage.settings
    second = Member(settings, "a")
    try:
        await until(lambda: bool(second.mine))
        await until(lambda: "same name" in first.group.state.held_up)  # told a second before it joins again
        await until(lambda: any(what == "lost" for what, *_ in first.events))
        assert first.group.state.fatal_errors and first.group.is_fenced
    finally:
        await second.close()
    await stage.settled()
    first.spans.clear()  # the same name twice is the one thing that a group cannot protect from


@pytest.mark.long
async def test_a_node_that_loses_its_partitions_a_second_time_stays_away_for_a_session(stage: Stage) -> None:
    cut_off = stage.join("a", gated=True)
    for losses in (1, 2):
        await stage.settled()
        stage.broker.gate.is_open.clear()
        try:
            await until(lambda losses=losses: cut_off.group.state.losses == losses)  # type: ignore[misc]
        finally:
            stage.broker.gate.is_open.set()
    await until(lambda: "2 times in ten minutes" in cut_off.group.state.held_up)
    await stage.settled()
    lost_at = [at for what, _, at in cut_off.events if what == "lost"]
    assert len(lost_at) == 2
    assert (
        min(at for what, _, at in cut_off.events if what == "assigned" and at > lost_at[1]) >= lost_at[1] + SESSION_S
    )


def test_a_node_that_loses_its_partitions_again_and_again_stays_away_for_longer() -> None:
    assert [rest_s(losses, 45) for losses in range(6)] == [0, 0, 45, 90, 120, 120]
    assert rest_s(2, 3) == 3
