"""How much memory transfers take, measured in a process that does nothing else.

    python -m tests.hostile.appetite FRIENDLY_URL HOSTILE_URL...

The friendly URL is fetched first and alone, so that what every transfer needs is not counted; then all the others at
once, with the limits that users have. Printed: by how many bytes the peak grew, and each outcome.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from gossamer.clock import RealClock
from gossamer.fetch.dns import Dns
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.settings import DnsSettings, FetchSettings
from tests.hostile.behaviours.rows import shown


def peak_bytes() -> int:
    """The largest resident size so far. Not `ru_maxrss`, which remembers whoever started this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


async def main(friendly: str, *hostile: str) -> None:
    clock = RealClock()
    dns = Dns(clock, DnsSettings())
    transfers = Transfers(dns, clock, FetchSettings(timeout_s=20.0), allow_private=True)
    http = Http(transfers, "gossamer/0")
    await http.fetch(friendly)
    before = peak_bytes()
    results = await asyncio.gather(*(http.fetch(url) for url in hostile))
    grown = peak_bytes() - before
    outcomes = [shown(result) for result in results]
    print(json.dumps({"grown_bytes": grown, "outcomes": outcomes}))
    results.clear()
    await transfers.close()
    await dns.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
