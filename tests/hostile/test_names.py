"""Names: those that do not exist, those whose servers fail, and those that lead where a crawler must not go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gossamer.clock import RealClock, VirtualClock
from gossamer.fetch.dns import Dns
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.records import Failed, Fetched, Moved, Postponed, Reason, Refused, RobotsRead
from gossamer.settings import DnsSettings
from tests.fetch.dns_server import NXDOMAIN, SERVFAIL, SILENCE, DnsServer, Say, addresses, dns_server
from tests.hostile.asking import Asking
from tests.hostile.limits import LIMITS
from tests.hostile.server import answer, playing, says

WELCOME = says(answer(b"welcome"))


def settings_for(names: DnsServer) -> DnsSettings:
    return DnsSettings(servers=(names.address,), query_timeout_s=0.5, tries=1, ttl_s_min=60.0)


@asynccontextmanager
async def http_with(
    names: DnsServer, *, allow_private: bool, clock: VirtualClock | None = None
) -> AsyncIterator[Http]:
    dns = Dns(clock or RealClock(), settings_for(names))
    transfers = Transfers(dns, RealClock(), LIMITS, allow_private=allow_private)
    try:
        yield Http(transfers, "gossamer/0")
    finally:
        await transfers.close()
        await dns.close()


async def test_a_name_that_does_not_exist_has_no_robots_txt_either() -> None:
    async with dns_server() as names:
        names.says("missing.test", NXDOMAIN)
        async with http_with(names, allow_private=True) as http:
            result = await http.fetch("http://missing.test/")
            assert isinstance(result, Failed) and result.reason is Reason.DNS
            read = await Asking(http).fetch("http://missing.test/")
            assert isinstance(read, RobotsRead)
            assert read.robots.status is None and read.wait_s > 0  # unreachable: closed, and tried again


@pytest.mark.parametrize("fault", [SERVFAIL, SILENCE], ids=["fails", "silent"])
async def test_a_name_server_that_fails_or_is_silent_holds_up_nobody_else(fault: Say) -> None:
    async with dns_server() as names, playing(WELCOME) as stage:
        names.says("friend.test", addresses("127.0.0.1"))
        names.says("www.lost.test", fault)
        async with http_with(names, allow_private=True) as http:
            lost = asyncio.create_task(http.fetch("http://www.lost.test/"))
            await names.until_asked(1)
            for _ in range(10):
                assert isinstance(await http.fetch(stage.url(host="friend.test")), Fetched)
            result = await asyncio.wait_for(lost, 5)
            assert isinstance(result, Failed) and result.reason is Reason.DNS
            again = await http.fetch("http://www.lost.test/")
            assert isinstance(again, Postponed)  # its name servers rest; the URL has lost nothing


@pytest.mark.parametrize(
    "inside", ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "::1", "fe80::1", "::ffff:127.0.0.1"]
)
async def test_a_name_that_leads_inside_is_refused_unconnected(inside: str) -> None:
    async with dns_server() as names, playing(WELCOME) as stage:
        names.says("sneaky.test", addresses(inside))
        async with http_with(names, allow_private=False) as http:
            result = await http.fetch(stage.url(host="sneaky.test"))
            assert isinstance(result, Refused) and result.reason is Reason.PRIVATE_ADDRESS
        assert stage.connections == 0


async def test_a_name_that_changes_its_address_is_checked_where_it_is_connected_to(clock: VirtualClock) -> None:
    async with dns_server() as names, playing(WELCOME) as stage:
        names.says("rebinding.test", addresses("93.184.216.34", ttl=0), addresses("127.0.0.1", ttl=0))
        dns = Dns(clock, settings_for(names))
        transfers = Transfers(dns, clock, LIMITS, allow_private=False)
        assert await dns.resolve("rebinding.test") == ["93.184.216.34"]  # whoever looked at it only now was content
        clock.advance(61)
        result = await Http(transfers, "gossamer/0").fetch(stage.url(host="rebinding.test"))
        assert isinstance(result, Refused) and result.reason is Reason.PRIVATE_ADDRESS
        assert stage.connections == 0
        await transfers.close()
        await dns.close()


@pytest.mark.parametrize("inside", ["http://127.0.0.1:{port}/", "http://0x7f.1:{port}/", "http://[::1]:{port}/"])
async def test_a_redirect_that_leads_inside_is_refused(http: Http, inside: str) -> None:
    """The target re-enters as a URL of its own, so it meets the same check as any other."""
    async with dns_server() as names, playing(WELCOME) as target:
        location = f"Location: {inside.format(port=target.port)}"
        async with playing(says(answer(b"", location, status="302 Found"))) as stage:
            moved = await http.fetch(stage.url())  # a public server would be asked by the strict one, below
            assert isinstance(moved, Moved)
        async with http_with(names, allow_private=False) as strict:
            result = await strict.fetch(moved.target)
            assert isinstance(result, Refused) and result.reason is Reason.PRIVATE_ADDRESS
        assert target.connections == 0
