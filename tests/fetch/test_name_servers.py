"""What is asked of name servers and what is taken from their answers, good and bad, over real sockets on loopback."""

from __future__ import annotations

import asyncio
import ipaddress
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from gossamer.clock import VirtualClock
from gossamer.fetch.name_servers import ADDRESSES_MAX, Answer, NameServers
from gossamer.settings import DnsSettings
from tests.fetch.dns_server import (
    EMPTY,
    FORMERR,
    NOTIMP,
    NXDOMAIN,
    REFUSED,
    SERVFAIL,
    SILENCE,
    DnsServer,
    Query,
    Record,
    Say,
    addresses,
    alias,
    dns_server,
)

ONE, TWO = "192.0.2.1", "192.0.2.2"
NONE: Answer = ([], 0.0)


@asynccontextmanager
async def servers_at(*addresses: str, timeout_s: float = 5.0) -> AsyncIterator[NameServers]:
    servers = NameServers(VirtualClock(), DnsSettings(servers=addresses, query_timeout_s=timeout_s))
    try:
        yield servers
    finally:
        await servers.close()


@pytest.fixture
async def server() -> AsyncIterator[DnsServer]:
    async with dns_server() as server:
        yield server


@pytest.fixture
async def servers(server: DnsServer) -> AsyncIterator[NameServers]:
    async with servers_at(server.address) as servers:
        yield servers


async def fault_of(asking: Awaitable[object]) -> str:
    with pytest.raises(OSError, match=r".") as caught:
        await asking
    return str(caught.value)


# --- What is asked ---


async def test_ipv6_is_asked_for_only_where_there_is_no_ipv4(servers: NameServers, server: DnsServer) -> None:
    server.says("both.test", addresses(ONE, "2001:db8::1"))
    server.says("new.test", addresses("2001:db8::1", "2001:db8::2"))
    assert await servers.ask("both.test") == ([ONE], 300)
    assert await servers.ask("new.test") == (["2001:db8::1", "2001:db8::2"], 300)
    assert (server.asked("both.test"), server.asked("new.test")) == (["A"], ["A", "AAAA"])


@pytest.mark.parametrize(("answer", "kinds"), [(NXDOMAIN, ["A"]), (EMPTY, ["A", "AAAA"])])
async def test_a_name_that_does_not_exist_has_no_address_of_any_kind(
    servers: NameServers, server: DnsServer, answer: Say, kinds: list[str]
) -> None:
    server.says("none.test", answer)
    assert await servers.ask("none.test") == NONE
    assert server.asked("none.test") == kinds


async def test_a_name_is_looked_up_as_it_is(
    servers: NameServers, server: DnsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "search.test")  # what resolv.conf calls "search"
    for name in ("single", "localhost", "a.test"):  # localhost is in /etc/hosts
        assert await servers.ask(name) == NONE
    assert {query.name for query in server.queries} == {"single", "localhost", "a.test"}


@pytest.mark.parametrize(
    "name",
    ["", "a..test", "a" * 64 + ".test", ".".join(["a" * 60] * 5), "a\0.test", "a\\065.test", "ü.test", "a b"],
)
async def test_what_cannot_be_a_name_is_not_asked_for(servers: NameServers, server: DnsServer, name: str) -> None:
    server.otherwise = lambda query: addresses(ONE)
    assert await servers.ask(name) == NONE
    assert server.queries == []


async def test_nobody_can_guess_the_next_query(servers: NameServers, server: DnsServer) -> None:
    server.otherwise = lambda query: addresses(ONE)
    for n in range(40):
        await servers.ask(f"{n}.test")
    assert len({query.id for query in server.queries}) > 35
    assert len({query.port for query in server.queries}) > 20


async def test_a_server_that_is_silent_is_helped_out_by_the_next(server: DnsServer) -> None:
    server.says("a.test", addresses(ONE))
    async with dns_server() as silent, servers_at(silent.address, server.address, timeout_s=0.3) as servers:
        silent.otherwise = lambda query: SILENCE
        assert await servers.ask("a.test") == ([ONE], 300)
        assert silent.asked("a.test") == server.asked("a.test") == ["A"]


# --- What is taken from the answer ---


async def test_aliases_are_followed_and_the_shortest_ttl_on_the_way_counts(
    servers: NameServers, server: DnsServer
) -> None:
    end = addresses(ONE, TWO, ttl=900, owner="End.test")
    server.says("start.test", alias("middle.test", alias("end.test", end, ttl=100, owner="MIDDLE.test"), ttl=500))
    assert await servers.ask("start.test") == ([ONE, TWO], 100)


@pytest.mark.parametrize(
    "answer",
    [alias("loop.test"), alias("other.test", alias("loop.test", owner="other.test"))],
    ids=["itself", "two"],
)
async def test_aliases_in_a_circle_lead_nowhere(servers: NameServers, server: DnsServer, answer: Say) -> None:
    server.says("loop.test", answer)
    assert await servers.ask("loop.test") == NONE


async def test_an_alias_of_nothing_has_no_address(servers: NameServers, server: DnsServer) -> None:
    server.says("dangling.test", alias("nowhere.test"))
    assert await servers.ask("dangling.test") == NONE


async def test_addresses_of_other_names_in_an_answer_are_not_taken(servers: NameServers, server: DnsServer) -> None:
    server.says("a.test", Say((Record("A", ONE), Record("A", TWO, owner="victim.test"))))
    assert await servers.ask("a.test") == ([ONE], 300)


async def test_an_answer_too_long_for_udp_comes_over_tcp_and_not_all_of_it_is_taken(
    servers: NameServers, server: DnsServer
) -> None:
    server.says("many.test", addresses(*(f"192.0.2.{n}" for n in range(200))))
    assert await servers.ask("many.test") == ([f"192.0.2.{n}" for n in range(ADDRESSES_MAX)], 300)
    assert [query.over for query in server.queries] == ["udp", "tcp"]


async def test_distrust_brings_a_new_answer_where_c_ares_has_an_old_one(
    servers: NameServers, server: DnsServer
) -> None:
    server.says("a.test", addresses(ONE), addresses(TWO))
    assert (await servers.ask("a.test"))[0] == [ONE]
    assert (await servers.ask("a.test"))[0] == [ONE]  # c-ares; where this fails, its cache can be turned off at last
    servers.distrust()
    assert (await servers.ask("a.test"))[0] == [TWO]


# --- Servers that answer badly ---


def spoilt(spoil: Callable[[bytes], bytes]) -> Say:
    return Say(addresses(ONE).records, spoilt=spoil)


FAULTS = {
    "servfail": SERVFAIL,
    "refused": REFUSED,
    "formerr": FORMERR,
    "notimp": NOTIMP,
    "silence": SILENCE,
    "garbage": spoilt(lambda packet: b"garbage"),
    "garbage behind the id": spoilt(lambda packet: packet[:2] + bytes(range(60))),
    "nothing": spoilt(lambda packet: b""),
    "cut in the header": spoilt(lambda packet: packet[:11]),
    "cut in the record": spoilt(lambda packet: packet[:-3]),
    "wrong id": spoilt(lambda packet: bytes([packet[0] ^ 1]) + packet[1:]),
    "another question": spoilt(lambda packet: packet[:13] + b"x" + packet[14:]),
    "more records than there are": spoilt(lambda packet: packet[:6] + b"\xff\xff" + packet[8:]),
    "a name that points to itself": spoilt(lambda packet: packet[:12] + b"\xc0\x0c" + packet[14:]),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_where_nobody_could_tell_that_is_said(server: DnsServer, fault: str) -> None:
    server.says("bad.test", FAULTS[fault])
    async with servers_at(server.address, timeout_s=0.05) as servers:
        assert "DNS" in await fault_of(servers.ask("bad.test"))
    # Two tries, and two more alone where the answer was broken.
    assert server.asked("bad.test") in (["A"] * 2, ["A"] * 4)


async def test_where_one_kind_is_missing_and_the_other_fails_nobody_could_tell(
    servers: NameServers, server: DnsServer
) -> None:
    server.otherwise = lambda query: EMPTY if query.kind == "A" else SERVFAIL
    assert "failure" in await fault_of(servers.ask("half.test"))


async def test_a_broken_answer_for_one_name_does_not_hurt_the_others(servers: NameServers, server: DnsServer) -> None:
    garbage = FAULTS["garbage behind the id"]
    server.otherwise = lambda query: garbage if query.name == "bad.test" else addresses(ONE)
    server.hold()
    names = [f"{n}.test" for n in range(100)]
    asking = asyncio.gather(fault_of(servers.ask("bad.test")), *map(servers.ask, names))
    await server.until_asked(101)
    server.release()
    _, *good = await asking
    assert good == [([ONE], 300)] * 100


async def test_a_server_that_is_not_there_is_a_failure() -> None:
    async with dns_server() as gone:
        pass
    async with servers_at(gone.address, timeout_s=0.2) as servers:
        assert await fault_of(servers.ask("a.test"))


async def test_whatever_a_server_sends_the_outcome_is_addresses_or_oserror(server: DnsServer) -> None:
    chance = random.Random(20)

    def damaged(packet: bytes) -> bytes:
        wreck = bytearray(packet)
        for _ in range(chance.choice([1, 1, 2, 8])):
            wreck[chance.randrange(len(wreck))] = chance.randrange(256)
        return bytes(wreck[: chance.randrange(len(wreck))]) if chance.random() < 0.2 else bytes(wreck)

    def answer(query: Query) -> Say:
        plain = alias("x.test", addresses(ONE, TWO, "2001:db8::1", owner="x.test"))
        return Say(plain.records, code=chance.choice([0, 0, 0, 3]), spoilt=damaged)

    server.otherwise = answer
    async with servers_at(server.address, timeout_s=1.0) as servers:
        found = await asyncio.gather(*(servers.ask(f"{n}.test") for n in range(200)), return_exceptions=True)
    assert all(isinstance(one, OSError | tuple) for one in found)
    taken = [one for one in found if isinstance(one, tuple)]
    assert len(taken) > 20
    assert all(ipaddress.ip_address(ip) for ips, _ in taken for ip in ips)
