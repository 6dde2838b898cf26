"""Names to addresses, against a real name server on loopback. Time is virtual where a TTL has to pass.

Longer than 400 lines: all of it needs the same name server.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gossamer.clock import Clock, RealClock, VirtualClock
from gossamer.fetch.dns import Dns, NameBlocked, NameServersRest
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.records import Reason, Refused
from gossamer.settings import DnsSettings, FetchSettings
from tests.fetch.dns_server import (
    EMPTY,
    NXDOMAIN,
    REFUSED,
    SERVFAIL,
    SILENCE,
    DnsServer,
    Say,
    addresses,
    dns_server,
)
from tests.fetch.raw_server import raw_server

FLOOR_S, CAP_S, FAILURE_S = 60.0, 3600.0, 10.0
ONE, TWO, THREE = "192.0.2.1", "192.0.2.2", "192.0.2.3"


@pytest.fixture
async def server() -> AsyncIterator[DnsServer]:
    async with dns_server() as server:
        yield server


@asynccontextmanager
async def resolver(server: DnsServer, clock: Clock, **settings: Any) -> AsyncIterator[Dns]:
    dns = Dns(clock, DnsSettings(servers=(server.address,), failure_s=FAILURE_S, **settings))
    try:
        yield dns
    finally:
        await dns.close()


@pytest.fixture
async def dns(server: DnsServer, clock: VirtualClock) -> AsyncIterator[Dns]:
    async with resolver(server, clock) as dns:
        yield dns


async def fault_of(asking: Awaitable[object]) -> OSError:
    with pytest.raises(OSError) as caught:
        await asking
    return caught.value


async def wait_of(asking: Awaitable[object]) -> float:
    """How long the name servers still rest; 0 where they were asked, and failed."""
    fault = await fault_of(asking)
    return fault.wait_s if isinstance(fault, NameServersRest) else 0.0


# --- How long an answer is kept ---


@pytest.mark.parametrize(
    ("ttl", "kept_s"),
    [(300, 300), (0, FLOOR_S), (1, FLOOR_S), (86_400, CAP_S), (2**31 - 1, CAP_S), (2**32 - 1, FLOOR_S)],
)
async def test_an_answer_is_kept_for_its_ttl_between_the_floor_and_the_cap(
    dns: Dns, server: DnsServer, clock: VirtualClock, ttl: int, kept_s: float
) -> None:
    server.says("a.test", addresses(ONE, ttl=ttl), addresses(TWO, ttl=ttl))
    assert await dns.resolve("a.test") == [ONE]
    clock.advance(kept_s - 0.001)
    assert await dns.resolve("a.test") == [ONE]
    assert server.asked("a.test") == ["A"]
    clock.advance(0.001)
    assert await dns.resolve("a.test") == [TWO]


@pytest.mark.parametrize(("answer", "kinds"), [(NXDOMAIN, ["A"]), (EMPTY, ["A", "AAAA"])])
async def test_that_a_name_has_no_address_is_remembered_for_the_floor(
    dns: Dns, server: DnsServer, clock: VirtualClock, answer: Say, kinds: list[str]
) -> None:
    server.says("none.test", answer, addresses(ONE))
    assert await dns.resolve("none.test") == []
    clock.advance(FLOOR_S - 0.001)
    assert await dns.resolve("none.test") == []
    assert server.asked("none.test") == kinds
    clock.advance(0.001)
    assert await dns.resolve("none.test") == [ONE]


async def test_the_longest_unused_name_is_forgotten_first(server: DnsServer, clock: VirtualClock) -> None:
    server.otherwise = lambda query: addresses(ONE)
    async with resolver(server, clock, names_max=2, ttl_s_min=0.0) as dns:
        for name in ("a.test", "b.test", "a.test", "c.test", "a.test"):
            await dns.resolve(name)
        assert dns.counts.names == 2
        assert [query.name for query in server.queries] == ["a.test", "b.test", "c.test"]
        await dns.resolve("b.test")
        assert server.asked("b.test") == ["A", "A"]


async def test_ten_thousand_names_take_no_more_room_than_the_cache_has(
    server: DnsServer, clock: VirtualClock
) -> None:
    server.otherwise = lambda query: addresses(ONE) if len(query.name) % 2 else NXDOMAIN
    async with resolver(server, clock, names_max=500, query_timeout_s=60) as dns:
        for batch in range(50):
            names = [f"www{'w' * (n % 2)}.site-{batch}-{n}.test" for n in range(200)]
            for some in range(0, 200, 50):  # more at once, and a busy machine drops a datagram
                await asyncio.gather(*map(dns.resolve, names[some : some + 50]))
            if batch == 10:
                bytes_before, open_before = memory_bytes(), len(open_files())
            server.queries.clear()
            clock.advance(20)  # so that clients come and go
        assert (dns.counts.asked, dns.counts.queries) == (10_000, 10_000)
        assert dns.counts.names == 500
        assert memory_bytes() - bytes_before < 4 * 1024**2
        await until(lambda: len(open_files()) <= open_before)


def memory_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def open_files() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


async def until(holds: Callable[[], bool]) -> None:
    """The library closes in a thread of its own that tells nobody: all that can be done is to look again."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


# --- Many askers ---


async def test_however_many_ask_there_is_one_query(dns: Dns, server: DnsServer) -> None:
    server.says("a.test", addresses(ONE))
    server.hold()
    askers = [asyncio.create_task(dns.resolve("a.test")) for _ in range(100)]
    await server.until_asked(1)
    server.release()
    assert await asyncio.gather(*askers) == [[ONE]] * 100
    assert server.asked("a.test") == ["A"]


async def test_all_who_asked_learn_that_nobody_could_tell(dns: Dns, server: DnsServer) -> None:
    server.says("a.test", SERVFAIL)
    found = await asyncio.gather(*(dns.resolve("a.test") for _ in range(100)), return_exceptions=True)
    assert {type(fault) for fault in found} == {OSError}
    assert dns.counts.queries == 1


async def test_an_asker_who_is_cancelled_takes_nothing_from_the_others(dns: Dns, server: DnsServer) -> None:
    server.says("a.test", addresses(ONE))
    server.hold()
    first, second = (asyncio.create_task(dns.resolve("a.test")) for _ in range(2))
    await server.until_asked(1)
    first.cancel()
    await asyncio.wait([first])
    server.release()
    assert await second == [ONE]
    assert first.cancelled()


async def test_an_answer_that_nobody_waits_for_any_more_is_kept(dns: Dns, server: DnsServer) -> None:
    server.says("a.test", addresses(ONE))
    server.hold()
    asker = asyncio.create_task(dns.resolve("a.test"))
    await server.until_asked(1)
    asker.cancel()
    await asyncio.wait([asker])
    server.release()
    assert await dns.resolve("a.test") == [ONE]
    assert server.asked("a.test") == ["A"]


async def test_nobody_can_change_what_the_others_get(dns: Dns, server: DnsServer) -> None:
    server.says("a.test", addresses(ONE))
    (await dns.resolve("a.test")).append("127.0.0.1")
    assert await dns.resolve("a.test") == [ONE]


# --- Connections that fail ---


async def test_after_three_failed_connections_in_a_row_a_name_is_asked_for_again(dns: Dns, server: DnsServer) -> None:
    server.says("moved.test", addresses(ONE), addresses(TWO))
    for _ in range(3):
        assert await dns.resolve("moved.test") == [ONE]
        dns.failed("moved.test", ONE)
    assert await dns.resolve("moved.test") == [TWO]
    assert server.asked("moved.test") == ["A", "A"]


async def test_a_connection_that_stands_starts_the_count_anew(dns: Dns, server: DnsServer) -> None:
    server.says("shaky.test", addresses(ONE))
    await dns.resolve("shaky.test")
    for _ in range(10):
        dns.failed("shaky.test", ONE)
        dns.failed("shaky.test", ONE)
        dns.worked("shaky.test")
    await dns.resolve("shaky.test")
    assert server.asked("shaky.test") == ["A"]


async def test_the_next_connection_goes_to_the_next_address(dns: Dns, server: DnsServer) -> None:
    server.says("three.test", addresses(ONE, TWO, THREE))
    await dns.resolve("three.test")
    dns.failed("three.test", ONE)
    assert await dns.resolve("three.test") == [TWO, THREE, ONE]
    dns.failed("three.test", TWO)
    assert await dns.resolve("three.test") == [THREE, ONE, TWO]


async def test_a_failure_at_an_address_from_an_older_answer_counts_nothing(dns: Dns, server: DnsServer) -> None:
    server.says("a.test", addresses(ONE))
    await dns.resolve("a.test")
    for _ in range(3):
        dns.failed("a.test", TWO)
        dns.failed("unknown.test", ONE)
        dns.worked("unknown.test")
    await dns.resolve("a.test")
    assert server.asked("a.test") == ["A"]


# --- Name servers that fail ---


GARBAGE = Say(spoilt=lambda packet: packet[:2] + b"garbage")


@pytest.mark.parametrize(
    "fault", [SERVFAIL, REFUSED, SILENCE, GARBAGE], ids=["servfail", "refused", "silence", "garbage"]
)
async def test_where_nobody_could_tell_that_is_said_and_the_site_rests(
    server: DnsServer, clock: VirtualClock, fault: Say
) -> None:
    server.says("www.bad.test", fault)
    server.says("other.bad.test", addresses(TWO))
    server.says("good.test", addresses(THREE))
    async with resolver(server, clock, query_timeout_s=0.2) as dns:
        raised = await fault_of(dns.resolve("www.bad.test"))
        assert type(raised) is OSError
        assert str(raised).startswith("www.bad.test: ")
        server.queries.clear()
        for host in ("www.bad.test", "other.bad.test", "bad.test"):
            assert await wait_of(dns.resolve(host)) == FAILURE_S
        assert server.queries == []
        assert await dns.resolve("good.test") == [THREE]
        clock.advance(FAILURE_S)
        server.says("www.bad.test", addresses(ONE))
        assert await dns.resolve("www.bad.test") == [ONE]
        assert await dns.resolve("other.bad.test") == [TWO]


async def test_a_rest_doubles_up_to_the_cap_and_one_success_ends_it(
    dns: Dns, server: DnsServer, clock: VirtualClock
) -> None:
    server.says("a.bad.test", SERVFAIL)
    waits_s = []
    for _ in range(11):
        assert await wait_of(dns.resolve("a.bad.test")) == 0
        waits_s.append(round(await wait_of(dns.resolve("b.bad.test")), 3))
        clock.advance(waits_s[-1])
    assert waits_s == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, CAP_S, CAP_S]
    assert await dns.resolve("b.bad.test") == []  # there is no such name: an answer
    assert await wait_of(dns.resolve("a.bad.test")) == 0
    assert await wait_of(dns.resolve("a.bad.test")) == FAILURE_S


async def test_hosts_that_fail_together_make_the_rest_no_longer(dns: Dns, server: DnsServer) -> None:
    server.otherwise = lambda query: SERVFAIL
    server.hold()
    askers = [asyncio.create_task(fault_of(dns.resolve(f"{n}.bad.test"))) for n in range(50)]
    await server.until_asked(4)
    server.release()
    await asyncio.gather(*askers)
    assert await wait_of(dns.resolve("bad.test")) == FAILURE_S


async def test_a_crowd_of_hosts_on_dead_servers_is_not_asked_for_one_by_one(dns: Dns, server: DnsServer) -> None:
    server.otherwise = lambda query: SERVFAIL
    faults = await asyncio.gather(*(fault_of(dns.resolve(f"{n}.bad.test")) for n in range(1000)))
    assert {type(fault) for fault in faults} == {OSError}
    assert dns.counts.queries <= 8


async def test_when_a_rest_is_over_one_tries_for_all(dns: Dns, server: DnsServer, clock: VirtualClock) -> None:
    server.says("a.bad.test", SERVFAIL, SERVFAIL, addresses(ONE))
    server.says("b.bad.test", addresses(TWO))
    await fault_of(dns.resolve("a.bad.test"))
    clock.advance(FAILURE_S)
    server.hold()
    trying = [asyncio.create_task(dns.resolve("a.bad.test")) for _ in range(2)]
    await server.until_asked(3)
    assert await wait_of(dns.resolve("b.bad.test")) == FAILURE_S
    server.release()
    assert await asyncio.gather(*trying) == [[ONE]] * 2
    assert await dns.resolve("b.bad.test") == [TWO]


async def test_what_is_in_the_cache_needs_no_server(dns: Dns, server: DnsServer) -> None:
    server.says("known.bad.test", addresses(ONE))
    server.says("new.bad.test", SERVFAIL)
    await dns.resolve("known.bad.test")
    await fault_of(dns.resolve("new.bad.test"))
    assert await dns.resolve("known.bad.test") == [ONE]


async def test_suffixes_are_no_sites(dns: Dns, server: DnsServer) -> None:
    server.says("bad.co.uk", SERVFAIL)
    server.says("good.co.uk", addresses(ONE))
    await fault_of(dns.resolve("bad.co.uk"))
    assert await dns.resolve("good.co.uk") == [ONE]


async def test_the_sites_that_rest_are_bounded_too(server: DnsServer, clock: VirtualClock) -> None:
    server.otherwise = lambda query: SERVFAIL
    async with resolver(server, clock, names_max=2) as dns:
        for name in ("a.test", "b.test", "c.test"):
            await fault_of(dns.resolve(name))
        waits_s = [await wait_of(dns.resolve(name)) for name in ("b.test", "c.test", "a.test")]
        assert waits_s == [FAILURE_S, FAILURE_S, 0]


async def test_a_dot_at_the_end_names_the_same_host(dns: Dns, server: DnsServer) -> None:
    server.says("a.test", addresses(ONE))
    assert await dns.resolve("a.test.") == await dns.resolve("a.test") == [ONE]
    assert server.asked("a.test") == ["A"]


# --- Block list and overrides ---


@pytest.mark.parametrize(
    "host", ["ads.test", "www.ads.test", "a.b.ads.test", "ads.test.", "xn--bcher-kva.example", "under.no"]
)
async def test_a_blocked_name_and_all_below_it_are_refused_without_a_query(
    server: DnsServer, clock: VirtualClock, host: str
) -> None:
    async with resolver(server, clock, blocked=("Ads.Test", "bücher.example", "no.")) as dns:
        with pytest.raises(NameBlocked, match=r"is blocked \(dns\.blocked\)"):
            await dns.resolve(host)
        assert await dns.resolve("bads.test") == await dns.resolve("test") == []
        assert {query.name for query in server.queries} == {"bads.test", "test"}


async def test_an_override_is_not_asked_for_and_does_not_lift_a_block(server: DnsServer, clock: VirtualClock) -> None:
    overrides = {"Here.test": "127.0.0.1", "ads.test": "127.0.0.1"}
    async with resolver(server, clock, overrides=overrides, blocked=("ads.test",)) as dns:
        assert await dns.resolve("here.test") == ["127.0.0.1"]
        dns.failed("here.test", "127.0.0.1")
        assert await dns.resolve("here.test") == ["127.0.0.1"]
        with pytest.raises(NameBlocked):
            await dns.resolve("ads.test")
        assert server.queries == []


# --- Figures, and the end ---


async def test_the_counts_tell_what_the_cache_is_worth(server: DnsServer) -> None:
    server.says("a.test", addresses(ONE))
    server.says("bad.example", SERVFAIL)
    async with resolver(server, RealClock()) as dns:
        for name in ("a.test", "a.test", "a.test", "none.test", "none.test"):
            await dns.resolve(name)
        await fault_of(dns.resolve("bad.example"))
        await fault_of(dns.resolve("bad.example"))  # rests
        counts = dns.counts
        assert (counts.asked, counts.hits, counts.queries, counts.failures, counts.names) == (7, 3, 3, 1, 2)
        assert 0 < counts.query_s < 1


async def test_closing_ends_every_query_and_leaves_no_task_and_no_socket(server: DnsServer) -> None:
    open_before, tasks_before = len(open_files()), len(asyncio.all_tasks())
    server.hold()
    async with resolver(server, RealClock(), query_timeout_s=30.0) as dns:
        askers = [asyncio.create_task(fault_of(dns.resolve(f"{n}.test"))) for n in range(300)]  # some wait for a slot
        await server.until_asked(200)
    assert all(type(fault) is OSError for fault in await asyncio.gather(*askers))
    assert type(await fault_of(dns.resolve("late.test"))) is OSError
    assert len(asyncio.all_tasks()) == tasks_before
    await until(lambda: len(open_files()) <= open_before)
    await dns.close()  # twice is once


# --- A name that changes its address ---


@pytest.mark.parametrize("inside", ["127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "10.0.0.1"])
async def test_a_name_that_comes_to_lead_inside_is_refused_before_any_connection(
    dns: Dns, server: DnsServer, clock: VirtualClock, inside: str
) -> None:
    public = "93.184.216.34"
    server.says("rebind.test", addresses(public, ttl=0))
    transfers = Transfers(dns, clock, FetchSettings(timeout_s=2.0), allow_private=False)
    http = Http(transfers, "gossamer/0 (+test@example.org)")
    async with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret") as secret:
        assert await dns.resolve("rebind.test") == [public]
        clock.advance(FLOOR_S)
        server.says("rebind.test", addresses(inside, ttl=0))
        result = await http.fetch(secret.url(host="rebind.test"))
        assert isinstance(result, Refused) and result.reason is Reason.PRIVATE_ADDRESS
        assert secret.connections == 0
    assert await dns.resolve("rebind.test") == [inside]
    await transfers.close()


async def test_of_one_site_a_few_names_are_asked_at_a_time(dns: Dns, server: DnsServer) -> None:
    """Its name servers fail: those who wait hear of it, and do not try for themselves."""
    names = [f"n{number}.a.test" for number in range(200)]
    for name in names:
        server.says(name, SERVFAIL)
    server.says("b.test", addresses(ONE))
    server.hold()
    askers = [asyncio.create_task(dns.resolve(name)) for name in names]
    await server.until_asked(4)
    other = asyncio.create_task(dns.resolve("b.test"))
    await server.until_asked(5)
    assert sum(bool(server.asked(name)) for name in names) == 4
    server.release()
    assert await other == [ONE]
    found = await asyncio.gather(*askers, return_exceptions=True)
    assert all(isinstance(fault, OSError) for fault in found)
    assert sum(bool(server.asked(name)) for name in names) <= 8
