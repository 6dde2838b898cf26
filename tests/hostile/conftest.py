from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.clock import RealClock
from gossamer.fetch.dns import Dns
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.settings import DnsSettings, FetchSettings
from tests.hostile.behaviours.secure import AUTHORITY
from tests.hostile.limits import LIMITS, PATIENT


@pytest.fixture(scope="session")
def ca_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("authority") / "ca.pem"
    file.write_bytes(AUTHORITY.pem)
    return file


@asynccontextmanager
async def http_within(limits: FetchSettings, ca_file: Path) -> AsyncIterator[Http]:
    """Allowed on loopback, trusting the tests' own authority."""
    clock = RealClock()
    dns = Dns(clock, DnsSettings())
    transfers = Transfers(dns, clock, replace(limits, ca_file=str(ca_file)), allow_private=True)
    yield Http(transfers, "gossamer/0 (+test@example.org)")
    await transfers.close()
    await dns.close()


@pytest.fixture
async def http(ca_file: Path) -> AsyncIterator[Http]:
    async with http_within(LIMITS, ca_file) as http:
        yield http


@pytest.fixture
async def patient_http(ca_file: Path) -> AsyncIterator[Http]:
    async with http_within(PATIENT, ca_file) as http:
        yield http
