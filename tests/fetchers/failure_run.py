"""The failure run of fetchers: two of them in networks of their own, and every some seconds something happens to one.

    unshare --net python -m tests.fetchers.failure_run --seconds 120

A fetcher is killed and started again, frozen for longer than a job lasts, cut off from its crawl while it can still
ask the web (the dangerous one), or from everything; or a worker of the crawl is killed. At the end the crawl has to
be what the same command makes without fetchers: the same pages, each archived once. And the web's access log says
that no host was asked twice at once, or too soon, and each only from the address of its region.

What happens is drawn from a seed, in rounds in which each kind happens once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from gossamer.local_servers.process import children
from gossamer.synthetic_web.access_log import Entry, gaps_below
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start
from tests.crawl.judge import as_the_client_saw_it, requests_at_once
from tests.node.cluster import listen
from tests.node.failure_run import OF_A_LINK, OF_A_PAGE, OF_A_URL, chosen, differences, min_gap
from tests.node.network import Network

REGIONS = ("eu", "us")
KINDS = ("kill", "freeze", "cut servers", "cut all", "worker")
TIMEOUT_S, ASK_S, MARGIN_S = 2.0, 2.0, 1.0
JOB_S = TIMEOUT_S + ASK_S + MARGIN_S
LONGER_S = JOB_S + 3.0
JOIN = "127.0.0.1:7400"


class Crawl:
    """A crawl whose hosts belong to two regions, and the two fetchers that ask them."""

    def __init__(self, folder: Path, web: Server, network: Network, delay_s: float, flags: Sequence[str]) -> None:
        self.folder = folder
        self.web = web
        self._network = network
        self._flags = flags
        self.region_of: dict[str, str] = {}
        self.crawl: asyncio.subprocess.Process
        self.fetchers: dict[str, asyncio.subprocess.Process] = {}
        self.said: list[bytes] = []
        self._listening: list[asyncio.Task[None]] = []
        countries = folder / "countries.csv"
        with countries.open("w") as file:
            for number in range(web.web.options.hosts):
                host = web.url(number).split("/")[2].partition(":")[0]
                self.region_of[host] = REGIONS[number % 2]
                file.write(f"{host}/32,{('DE', 'US')[number % 2]}\n")
        self.settings = quick_settings(politeness__delay_s=delay_s, fetch__timeout_s=TIMEOUT_S)
        self._rules = [
            *("--fetchers", JOIN, "--set", f"fetchers.ask_s={ASK_S}", "--set", f"fetchers.margin_s={MARGIN_S}"),
            *("--set", f"fetchers.country_file={countries}"),
            *("--set", "fetchers.countries=DE=eu,US=us"),
        ]

    async def start(self) -> None:
        seeds = [self.web.url(index) for index in range(2)]
        words = ("crawl", *seeds, "--dir", self.folder / "c", "--allow-private", "--scope", "any", "--workers", 2)
        self.crawl = await start(*words, *self._rules, *self.settings)
        self._hear(self.crawl)

    async def join(self, region: str) -> None:
        words = ("fetcher", "--join", JOIN, "--region", region, "--name", region, "--allow-private", *self._flags)
        self.fetchers[region] = await start(*words, inside=self._network.inside(region))
        self._hear(self.fetchers[region])

    def _hear(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None and process.stderr is not None
        self._listening += [
            asyncio.ensure_future(listen(pipe, self.said)) for pipe in (process.stdout, process.stderr)
        ]

    async def happen(self, kind: str, region: str) -> None:
        fetcher = self.fetchers[region]
        match kind:
            case "kill":
                fetcher.kill()
                await fetcher.wait()
                await asyncio.sleep(1)
                await self.join(region)
            case "freeze":
                fetcher.send_signal(signal.SIGSTOP)
                await asyncio.sleep(LONGER_S)
                fetcher.send_signal(signal.SIGCONT)
            case "worker":
                with suppress(ProcessLookupError):
                    os.kill(max(children(self.crawl.pid)), signal.SIGKILL)
            case _:
                ways = ("servers",) if kind == "cut servers" else ("servers", "web")
                for way in ways:
                    self._network.cut(region, way)
                await asyncio.sleep(LONGER_S)
                for way in ways:
                    self._network.mend(region, way)

    async def close(self) -> None:
        for process in (self.crawl, *self.fetchers.values()):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGCONT)
                    process.kill()
                await process.wait()
        for task in self._listening:
            await task


def deck(chance: random.Random, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
    while True:
        for kind in chance.sample(kinds, len(kinds)):
            yield kind, chance.choice(REGIONS)


async def failure_run(
    folder: Path,
    seconds: float,
    seed: int,
    hosts: int,
    pages: int,
    delay_s: float,
    kinds: Sequence[str],
    flags: Sequence[str],
) -> dict[str, Any]:
    # Half of the pages take their time, so that what happens to a fetcher meets requests that are under way.
    options = replace(
        WebOptions.plain(hosts=hosts, pages_per_host=pages, page_bytes=4_000),
        redirects=0.02,
        not_found=0.02,
        slow=0.5,
        slow_s=0.8,
        dripping=0.1,
        drip_s=0.8,
    )
    with Network(REGIONS) as network:
        async with serve(Web(options), any_interface=True, log_file=folder / "access.jsonl") as web:
            made = Crawl(folder, web, network, delay_s, flags)
            try:
                await made.start()
                for region in REGIONS:
                    await made.join(region)
                happened: Counter[str] = Counter()
                began, drawn = time.monotonic(), deck(random.Random(seed), kinds)
                await asyncio.sleep(4)
                while time.monotonic() - began < seconds and made.crawl.returncode is None:
                    kind, region = next(drawn)
                    at = f"{time.monotonic() - began:5.0f} s"
                    print(f"{at}: {kind} {region} ({len(web.log.entries)} requests)", file=sys.stderr, flush=True)
                    await made.happen(kind, region)
                    happened[kind] += 1
                    await asyncio.sleep(1.5)
                async with asyncio.timeout(300):
                    code = await made.crawl.wait()
                assert code == 0, b"".join(made.said).decode()[-3000:]
                entries = list(web.log.entries)
                return await judged(made, entries, delay_s) | {"faults": dict(happened)}
            finally:
                await made.close()
                (folder / "said.log").write_bytes(b"".join(made.said))


async def judged(made: Crawl, entries: list[Entry], delay_s: float) -> dict[str, Any]:
    """Everything that is wrong, under `wrong`."""
    alone = made.folder / "alone"
    seeds = [made.web.url(index) for index in range(2)]
    words = ("crawl", *seeds, "--dir", alone, "--allow-private", "--scope", "any")
    ran = await gossamer(*words, *made.settings, timeout_s=600)
    assert ran.code == 0, ran.err
    wanted, found = await described(alone), await described(made.folder / "c")
    seen = as_the_client_saw_it(entries, TIMEOUT_S)
    clients = {host: {entry.client for entry in entries if entry.host == host} for host in made.region_of}
    addresses = {
        region: {address for host, each in clients.items() if made.region_of[host] == region for address in each}
        for region in REGIONS
    }
    wrong: dict[str, Sequence[object]] = {
        "two requests to a host at once": requests_at_once(entries, TIMEOUT_S),
        "asked too soon": gaps_below(seen, lambda host: delay_s),
        "asked from elsewhere": [addresses] if any(len(each) != 1 for each in addresses.values()) else [],
        "regions that are one": [addresses] if addresses["eu"] == addresses["us"] else [],
        "archived twice": [url for url, times in Counter(found["archived"]).items() if times > 1],
        **{what: differences(wanted[what], found[what]) for what in wanted},
    }
    asked = Counter((entry.host, entry.path) for entry in entries)
    return {
        "pages": len(found["pages"]),
        "requests": len(entries),
        "asked_again": sum(times - 1 for times in asked.values()),
        "shortest_gap_s": round(min_gap(seen), 3),
        "addresses": {region: sorted(each) for region, each in addresses.items()},
        "wrong": {what: list(map(str, faults[:5])) for what, faults in wrong.items() if faults},
    }


async def described(crawl: Path) -> dict[str, list[str]]:
    asked = {"urls": await gossamer("pages", crawl, "--json")}
    for form in ("jsonl", "cdxj", "links"):
        asked[form] = await gossamer("export", crawl, "--to", form)
    for ran in asked.values():
        assert ran.code == 0, ran.err
    return {
        "urls": chosen(asked["urls"], OF_A_URL),
        "pages": chosen(asked["jsonl"], OF_A_PAGE),
        "links": chosen(asked["links"], OF_A_LINK),
        "archived": sorted(json.loads(line.split(" ", 2)[2])["url"] for line in asked["cdxj"].out.splitlines()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--pages", type=int, default=60, help="of each host")
    parser.add_argument("--delay", type=float, default=0.5)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--process", action="store_true", help="the fetchers read pages, too")
    parser.add_argument("--dir", type=Path)
    given = parser.parse_args()
    folder = given.dir or Path(tempfile.mkdtemp(prefix="fetchers-run-"))
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    flags = ["--process"] if given.process else []
    rest = (given.seconds, given.seed, given.hosts, given.pages, given.delay, given.kinds.split(","), flags)
    result = asyncio.run(failure_run(folder, *rest))
    print(json.dumps(result, indent=1))
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
