"""Of all that a host has to wait for, the longest counts, whatever the request was for."""

from __future__ import annotations

import asyncio

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.rules.policy import Policies, Policy
from gossamer.frontier.rules.politeness import next_delay, start_delay
from gossamer.records import Failed, Host, Postponed, Reason
from gossamer.settings import PolitenessSettings
from tests.frontier.stories import exchange, failed, fetched, finish, link, one_lease, robots_read

POLITE = PolitenessSettings()


@pytest.mark.parametrize("asked_s", [1, 30, 10**6])
def test_a_bound_on_retry_after_never_shortens_another_delay(asked_s: int) -> None:
    settings = PolitenessSettings(retry_after_s_max=0.0)
    host = Host("a.test", "a.test", crawl_delay_s=2.0)
    delay = next_delay(host, failed(VirtualClock(1), Reason.OVERLOADED, 429, f"Retry-After: {asked_s}\r\n"), settings)
    assert (delay.seconds, delay.reason) == (4.0, Reason.BACK_OFF)


@pytest.mark.parametrize("reason", [Reason.NO_ROOM, Reason.NO_RESOURCES, Reason.ROBOTS_UNREACHABLE])
def test_what_we_could_not_finish_was_a_request_all_the_same(
    frontier: Frontier, clock: VirtualClock, reason: Reason
) -> None:
    frontier.add([link("http://a.test/")])
    finish(frontier, one_lease(frontier), robots_read(clock, crawl_delay_s=25.0))
    clock.advance(25)
    finish(frontier, one_lease(frontier), Postponed(10.0, reason))
    clock.advance(24.9)
    assert frontier.lease(1) == []
    clock.advance(0.1)
    one_lease(frontier)


def test_a_turn_that_was_put_off_before_any_request_waits_just_so_long() -> None:
    host = Host("a.test", "a.test", ready_at=5.0, crawl_delay_s=25.0)
    start_delay(host, Postponed(0.5, Reason.IP_PACE), POLITE, Policy(), 100.0)
    assert (host.ready_at, host.delay_reason, host.requests) == (100.5, Reason.IP_PACE, 0)
    host.ready_at = 200.0
    start_delay(host, Postponed(0.5, Reason.IP_PACE), POLITE, Policy(), 100.0)
    assert host.ready_at == 200.0


@pytest.mark.parametrize(
    ("headers", "latency_s", "policy", "wait_s"),
    [
        ("Retry-After: 90\r\n", 0.0, Policy(), 90.0),
        ("", 6.0, Policy(), 12.0),
        ("", 0.0, Policy(delay_s=40.0), 40.0),
    ],
)
async def test_a_booked_request_starts_the_delay_of_its_host_like_any_other(
    frontier: Frontier, clock: VirtualClock, headers: str, latency_s: float, policy: Policy, wait_s: float
) -> None:
    frontier.apply_policies(Policies(hosts={"a.test": policy}))
    booking = frontier.book("a.test.")  # the same host
    frontier.lease(0)
    assert booking.done() and booking.result()
    frontier.release("a.test.", Failed(Reason.GONE, exchange(clock, 404, headers, latency_s)))
    frontier.add([link("http://a.test/")])
    clock.advance(wait_s - 0.1)
    assert frontier.lease(1) == []
    clock.advance(0.2)
    one_lease(frontier)


async def test_nobody_gets_a_turn_of_a_host_that_is_blocked(frontier: Frontier) -> None:
    frontier.apply_policies(Policies(hosts={"a.test": Policy(blocked=True)}))
    booking = frontier.book("a.test")
    frontier.lease(0)
    assert await asyncio.wait_for(booking, 1) is False


def test_two_spellings_of_a_host_have_one_queue_and_one_clock(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link("http://a.test./1"), link("http://a.test/1")])
    first = one_lease(frontier)
    assert frontier.lease(10) == [] and first.host == "a.test"
    finish(frontier, first, fetched(clock))
    assert frontier.lease(10) == []
    clock.advance(1)
    assert {first.url, one_lease(frontier).url} == {"http://a.test./1", "http://a.test/1"}


def test_a_host_that_was_picked_gets_no_other_turn_before_this_one_is_spent(
    frontier: Frontier, clock: VirtualClock
) -> None:
    """Whatever is written meanwhile: what it is spent on may be decided after a batch of refusals."""
    frontier.add([link("http://a.test/1"), link("http://a.test/2")])
    frontier.ready()
    parts = frontier._parts
    back = parts.front.pick(clock.now())
    assert back is not None
    frontier.add([link("http://a.test/3")])
    assert back.key not in parts.front.turns and parts.front.pick(clock.now()) is None
    parts.front.put_down(back, clock.now())
    assert one_lease(frontier).url == "http://a.test/1"
