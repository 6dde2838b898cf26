"""A server that is away: nothing is lost, the command says why, and `retry` brings it back."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from pathlib import Path

from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start, until

HOSTS, PAGES = 2, 5


def free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.1.0.1", 0))
        port: int = some.getsockname()[1]
        return port


async def test_an_outage_costs_nothing_and_is_told_with_its_cause(folder: Path) -> None:
    port, crawl = free_port(), folder / "crawl"
    web = Web(WebOptions.plain(hosts=HOSTS, pages_per_host=PAGES, port=port))
    url = web.url(0)
    flags = ["--dir", crawl, "--allow-private", "--scope", "any", "--workers", 1, *quick_settings()]
    ran = await gossamer("crawl", url, *flags)
    assert ran.code == 1 and "Complete" not in ran.out, ran.out
    assert "Nothing was fetched.\n" in ran.out and f"  {url}: robots.txt could not be fetched" in ran.out
    assert "1 URL never fetched" in ran.out and "connect" in ran.out and f"./run retry {crawl}" in ran.out
    assert "no server has answered so far" in ran.err and "onnect" in ran.err, ran.err

    status, hosts, why = await asyncio.gather(
        gossamer("status", crawl, "--json"), gossamer("hosts", crawl), gossamer("why", crawl, url)
    )
    facts = json.loads(status.out)
    assert (facts["complete"], facts["resting"], facts["resting_hosts"]) == (False, 1, {"connect": 1})
    assert "connect" in hosts.out and "rests" in hosts.out
    assert "waiting: robots.txt could not be fetched" in why.out and "robots.txt: connect: " in why.out

    again = await start("crawl", *flags, "--forever")
    try:
        async with serve(web) as server:
            await until(lambda: (crawl / "crawl.lock").read_text().count("\n"))
            assert (await gossamer("retry", crawl, "--reason", "scope")).code == 2
            retried = await gossamer("retry", crawl, "--host", "127.1.0.1")
            assert retried.out.startswith("1 URL queued again"), retried
            await until(lambda: len({entry.url for entry in server.log.entries}) >= HOSTS * (PAGES + 1))
    finally:
        again.send_signal(signal.SIGINT)
        await again.communicate()
    assert json.loads((await gossamer("status", crawl, "--json")).out)["complete"]
