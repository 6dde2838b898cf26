"""The crawler's client as the TLS tests want it, with a neighbour that must not suffer from what other hosts do.

While one host shows a bad certificate or hangs half-way, the neighbour is asked by the same client, and has to answer
as if nothing were the matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from gossamer.clock import RealClock
from gossamer.fetch.dns import Dns
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.records import Answer, Fetched
from gossamer.settings import DnsSettings, FetchSettings
from tests.fetch.certificates import Authority
from tests.fetch.tls_server import tls_server

CONNECT_S = 0.5
NAMES = ("name.test", "other.test", "a.wild.test", "a.b.wild.test", "good.test")


class Client:
    """The crawler's client, and the neighbour that must not suffer from what the others do."""

    def __init__(self, http: Http, neighbour: str) -> None:
        self._http = http
        self._neighbour = neighbour

    async def fetch(self, url: str) -> Answer:
        """Ask, and ask the neighbour meanwhile."""
        async with asyncio.timeout(10 * CONNECT_S):
            answer, beside = await asyncio.gather(self._http.fetch(url), self._http.fetch(self._neighbour))
        assert isinstance(beside, Fetched)
        return answer

    async def fetch_alone(self, url: str) -> Answer:
        return await self._http.fetch(url)

    async def fetch_beside(self) -> Answer:
        return await self._http.fetch(self._neighbour)


@asynccontextmanager
async def client(
    authority: Authority, ca_file: Path, tls: Literal["verify", "record"] = "verify"
) -> AsyncIterator[Client]:
    clock = RealClock()
    dns = Dns(clock, DnsSettings(overrides=dict.fromkeys(NAMES, "127.0.0.1")))
    settings = FetchSettings(connect_timeout_s=CONNECT_S, timeout_s=3.0, tls=tls, ca_file=str(ca_file))
    transfers = Transfers(dns, clock, settings, allow_private=True)
    async with tls_server(authority.issue("good.test").context()) as neighbour:
        yield Client(Http(transfers, "gossamer/0"), neighbour.url("good.test"))
    await transfers.close()
    await dns.close()
