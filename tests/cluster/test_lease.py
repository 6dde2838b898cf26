"""The lease clock on pictures of a connection, one for each way in which an answer proves nothing."""

from __future__ import annotations

import pytest

from gossamer.clock import VirtualClock
from gossamer.cluster.kafka.lease import Connection, LeaseClock, Member, Statistics

LEASE_S = 35.0


class Client:
    """A member's connection, and the pictures of it that its statistics would have."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.lease = LeaseClock(LEASE_S, 5.0, clock)
        self.requests = {"ApiVersion": 1, "Metadata": 1, "JoinGroup": 1, "SyncGroup": 1, "Heartbeat": 0}
        self.sent_at = self.received_at = clock.awake()
        self.connection, self.state, self.joined = "UP", "up", "steady"
        self.state_since = clock.awake() - 10
        self.clock.advance(1)
        self.picture()

    def ask(self, kind: str = "Heartbeat", answered: bool = True) -> float:
        """When it was sent, as all processes of the machine would say."""
        self.clock.advance(0.1)
        self.requests[kind] += 1
        self.sent_at = self.clock.awake()
        sent_at = self.clock.boottime()
        self.clock.advance(0.01)
        if answered:
            self.received_at = self.clock.awake()
        return sent_at

    def picture(self, *, waiting: int | None = None, begun_s_ago: float = 0.0) -> Statistics:
        begun_at = self.clock.awake() - begun_s_ago
        connection = Connection(
            self.connection,
            txidle=max(0, round((begun_at - self.sent_at) * 1e6)),
            rxidle=max(0, round((begun_at - self.received_at) * 1e6)),
            outbuf_cnt=0,
            waitresp_cnt=int(self.received_at < self.sent_at) if waiting is None else waiting,
            req=dict(self.requests),
        )
        age_ms = int((begun_at - self.state_since) * 1e3)
        member = Member(self.state, age_ms, self.joined, rebalance_cnt=1, rebalance_reason="")
        told = Statistics(round(begun_at * 1e6), {"GroupCoordinator": connection}, member)
        self.lease.learn(told)
        return told

    def pictures(self, count: int = 2) -> None:
        for _ in range(count):
            self.clock.advance(1)
            self.picture()


@pytest.fixture
def client(clock: VirtualClock) -> Client:
    return Client(clock)


def test_the_lease_counts_from_where_an_answered_heartbeat_was_sent(client: Client) -> None:
    sent_at = client.ask()
    client.pictures()
    assert client.lease.until == pytest.approx(sent_at + LEASE_S, abs=1e-3)
    sent_at = client.ask()
    client.pictures()
    assert client.lease.until == pytest.approx(sent_at + LEASE_S, abs=1e-3)


def test_one_picture_is_not_enough_for_the_answer_may_be_a_refusal(client: Client) -> None:
    client.ask()
    client.pictures(1)
    assert client.lease.until == 0
    client.joined = "wait-unassign-call"  # the refusal was understood
    client.pictures()
    assert client.lease.until == 0


def test_a_loss_between_two_pictures_takes_the_proof_away(client: Client) -> None:
    client.ask()
    client.pictures(1)
    client.lease.forget()
    client.pictures(3)
    assert client.lease.until == 0
    client.ask()
    client.pictures()
    assert client.lease.until > 0


def test_a_request_without_an_answer_proves_nothing(client: Client) -> None:
    first = client.ask()
    client.pictures()
    client.ask(answered=False)
    client.pictures(4)
    assert client.lease.until == pytest.approx(first + LEASE_S, abs=1e-3)


def test_the_answer_to_an_earlier_request_does_not_prove_the_last(client: Client) -> None:
    client.ask(answered=False)
    client.ask(answered=False)
    client.received_at = client.clock.awake()
    for _ in range(2):
        client.clock.advance(1)
        client.picture(waiting=1)
    assert client.lease.until == 0


@pytest.mark.parametrize("kind", ["ApiVersion", "Metadata"])
def test_what_a_new_connection_asks_first_is_no_heartbeat(client: Client, kind: str) -> None:
    client.ask(kind)
    client.pictures(3)
    assert client.lease.until == 0
    sent_at = client.ask()
    client.pictures()
    assert client.lease.until == pytest.approx(sent_at + LEASE_S, abs=1e-3)


def test_nothing_is_proven_over_a_connection_that_is_not_up(client: Client) -> None:
    client.ask()
    client.connection = "APIVERSION_QUERY"
    client.pictures()
    assert client.lease.until == 0


def test_an_answer_of_a_former_coordinator_proves_nothing(client: Client) -> None:
    client.ask()
    client.pictures(1)
    client.state_since = client.clock.awake()  # it was not the coordinator any more; another was found since
    client.pictures()
    assert client.lease.until == 0


def test_without_a_coordinator_nothing_is_proven(client: Client) -> None:
    client.state = "wait-coord"
    client.ask()
    client.pictures()
    assert client.lease.until == 0


def test_a_picture_that_was_begun_before_the_request_proves_nothing(client: Client) -> None:
    client.clock.advance(2)
    client.ask()
    client.picture(begun_s_ago=0.5)  # idle times cannot be below 0: it is not known which came first
    client.picture(begun_s_ago=0.4)
    assert client.lease.until == 0
    client.pictures()
    assert client.lease.until > 0


def test_a_request_that_is_on_its_way_into_the_socket_proves_nothing(client: Client) -> None:
    client.ask(answered=False)
    for _ in range(2):
        client.clock.advance(1)
        client.picture(waiting=0)  # it is counted as unanswered a moment after it was sent
    assert client.lease.until == 0


def test_a_late_picture_makes_the_lease_no_longer(client: Client) -> None:
    sent_at = client.ask()
    client.clock.advance(1)
    told = client.picture()
    client.clock.advance(4)  # the thread that polls had no turn
    told.ts += 1_000_000
    told.brokers["GroupCoordinator"].txidle += 1_000_000
    told.brokers["GroupCoordinator"].rxidle += 1_000_000
    told.cgrp.stateage += 1000
    client.lease.learn(told)
    assert client.lease.until == pytest.approx(sent_at + LEASE_S, abs=1e-3)


def test_a_heartbeat_sent_before_the_machine_slept_proves_nothing_afterwards(client: Client) -> None:
    client.ask()
    client.pictures(1)
    client.clock.jump(60)  # no timer has run, and the client's own clock stood still
    client.pictures(1)
    assert client.lease.until == 0
    sent_at = client.ask()
    client.pictures()
    assert client.lease.until == pytest.approx(sent_at + LEASE_S, abs=1e-3)
