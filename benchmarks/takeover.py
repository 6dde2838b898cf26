"""How long is a host left unasked when its node dies, with or without its disk, comes back, or ends in order?

    python -m benchmarks.takeover [--urls 1_000_000] [--session-s 45] [--heartbeat-s 3] [--cases killed,...] [--json]

Partition 0 gets so many known URLs before any node is up: by the frontier's own `add`, with journal and a snapshot as
a worker makes them, the last tenth in the journal only. They are pages of the synthetic web, so nodes go on to crawl
them, and its access log is the judge. One case after the other; for each a node joins that has an empty disk, and
the one that owns partition 0 is hit:

    killed            SIGKILL to all its processes; its disk stays behind, where the other node cannot read it
    killed with disk  the same, and its folder is deleted
    back at once      SIGKILL, and started again under its name on its disk, within the session
    orderly           SIGTERM: it finishes what is in flight and hands over

For each host of partition 0 the longest silence around that moment is found; told are the seconds from the moment
to the end of those silences, for the first and the last host. Hosts have the delay of the defaults (1 s), which the
new owner keeps from its own start on. `target` is session + heartbeat + 5 s after a death, and 5 s in order.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from pathlib import Path

from benchmarks.cluster import Cluster, servers
from benchmarks.reference import took_once_ms
from benchmarks.restore import Builder, Row, tell, told
from gossamer.archive.bucket import BucketStorage
from gossamer.clock import RealClock
from gossamer.cluster.kafka.client import Appender
from gossamer.cluster.kafka.journal import Journal
from gossamer.cluster.kafka.topics import Topics
from gossamer.cluster.partitions import partition_of
from gossamer.local_servers.process import free_port, kill_with_children
from gossamer.local_servers.seaweedfs import BUCKET, SECRETS
from gossamer.records import Link
from gossamer.runtime.memory import steady_memory
from gossamer.synthetic_web.access_log import Entry
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web

NAME = "takeover"
HOSTS, PARTITIONS = 32, 4
CASES = ("killed", "killed with disk", "back at once", "orderly")
TAIL_SHARE = 0.1  # of the URLs are in the journal only
LOOK_S = 0.1
LIMIT_S = 600.0
AGAIN_S = 5.0  # a host that is crawled is asked again within this


class Bench:
    def __init__(self, folder: Path, cluster: Cluster, web: Web, log: list[Entry]) -> None:
        self._folder = folder
        self._cluster = cluster
        self._web = web
        self._log = log
        self._names = (f"n{number}" for number in count(1))

    def hosts(self) -> set[str]:
        """Of partition 0."""
        return {self._web.atlas.address(host) for host in hosts_of_zero(self._web)}

    async def first(self) -> Row:
        began = time.time()
        await asyncio.to_thread(self._cluster.start, next(self._names))
        await self._all_asked_since(began)
        silences = self._asked_again(began)
        return {"case": "first start", "first host s": silences[0], "last host s": silences[-1]}

    async def case(self, what: str, target_s: float) -> Row:
        await asyncio.to_thread(self._cluster.start, next(self._names))
        await asyncio.to_thread(self._cluster.until_dealt, PARTITIONS)
        await self._all_asked_since(time.time())
        shares = await asyncio.to_thread(self._cluster.shares)
        victim = next(node for node, has in shares.items() if 0 in has)
        process, folder = self._cluster.nodes[victim], self._cluster.folder / victim
        moment = time.time()
        if what == "orderly":
            process.send_signal(signal.SIGTERM)
        else:
            kill_with_children(process)
        del self._cluster.nodes[victim]
        if what == "killed with disk":
            await asyncio.to_thread(shutil.rmtree, folder)
        if what == "back at once":
            await asyncio.to_thread(self._cluster.start, victim)
        await self._until(lambda: self._is_over(moment))
        silences = self._asked_again(moment)
        if what == "orderly":
            await asyncio.to_thread(process.wait, 60)
        return {
            "case": what,
            "first host s": silences[0],
            "last host s": silences[-1],
            "target s": target_s,
            "hosts": len(silences),
        }

    def _is_over(self, moment: float) -> bool:
        """Every host is asked again and again, as before."""
        now = time.time()
        if now < moment + AGAIN_S:
            return False
        lately: defaultdict[str, int] = defaultdict(int)
        for entry in reversed(self._log):
            if entry.time_in < max(moment, now - AGAIN_S):
                break
            lately[entry.host] += 1
        return all(lately[host] >= 2 for host in self.hosts())

    def _asked_again(self, moment: float) -> list[float]:
        """The end of each host's longest silence that was not over at this moment, in order."""
        ends = []
        for host in self.hosts():
            times = sorted(entry.time_in for entry in self._log if entry.host == host)
            before = [at for at in times if at <= moment][-1:] or [moment]
            _, end = max(pairwise(before + [at for at in times if at > moment]), key=lambda gap: gap[1] - gap[0])
            ends.append(end - moment)
        return sorted(ends)

    async def _all_asked_since(self, moment: float) -> None:
        await self._until(lambda: self.hosts() <= {entry.host for entry in self._log if entry.time_in > moment})

    async def _until(self, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + LIMIT_S
        while not is_so():
            self._cluster.check(until)
            await asyncio.sleep(LOOK_S)


def hosts_of_zero(web: Web) -> list[int]:
    return [host for host in web.all_hosts() if partition_of(web.url(host), PARTITIONS) == 0]


def links_to(web: Web) -> Iterator[Link]:
    """To the pages of partition 0, runs of one host as pages bring them."""
    hosts = hosts_of_zero(web)
    for page in count(1, 10):
        for host in hosts:
            for number in range(page, page + 10):
                yield Link(web.url(host, f"/p/{number}"), "read on", "", web.url(host), 1 + number % 5, worth=1 << 20)


async def build(folder: Path, cluster: Cluster, web: Web, urls: int) -> None:
    clock, on = RealClock(seed=1), cluster.on
    appender = Appender(on.kafka.bootstrap, {}, clock)
    journal = Journal(Topics(NAME).journal, appender, on.kafka.bootstrap, {})
    objects = BucketStorage(f"s3://{BUCKET}/{NAME}-state", on.s3.options | SECRETS | {"timeout": "60s"})
    builder, links = Builder("builder", folder, objects, journal, clock), links_to(web)
    await builder.own(0)
    builder.open()
    began = time.perf_counter()
    await builder.add(links, int(urls * (1 - TAIL_SHARE)))
    snapshot = await builder.snapshot()
    await builder.add(links, urls)
    await builder.end()
    appender.close()
    tell(f"{urls:,} URLs in {time.perf_counter() - began:.0f} s, snapshot of {snapshot:,} bytes")
    shutil.rmtree(folder)


async def run(folder: Path, web: Web, cluster: Cluster, cases: list[str], targets: dict[str, float]) -> list[Row]:
    rows = []
    async with serve(web) as server:
        bench = Bench(folder, cluster, web, server.log.entries)
        try:
            rows.append(await bench.first())
            tell(str(rows[-1]))
            for what in cases:
                rows.append(await bench.case(what, targets[what]))
                tell(str(rows[-1]))
        finally:
            cluster.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--session-s", type=float, default=45.0)
    parser.add_argument("--heartbeat-s", type=float, default=3.0)
    parser.add_argument("--cases", default=",".join(CASES), help="default: all of them")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    cases = [case for case in asked.cases.split(",") if case]
    if unknown := set(cases) - set(CASES):
        parser.error(f"--cases {', '.join(unknown)}: known are {', '.join(CASES)}")
    steady_memory()  # as a worker does
    death_s = asked.session_s + asked.heartbeat_s + 5
    targets = dict.fromkeys(CASES, death_s) | {"orderly": 5.0, "back at once": 10.0}
    options = WebOptions.plain(hosts=HOSTS, pages_per_host=10**7, page_bytes=4_000, port=free_port())
    web = Web(options)
    folder = Path(tempfile.mkdtemp(prefix="gossamer-takeover-"))
    settings: dict[str, object] = {
        "cluster.session_s": asked.session_s,
        "cluster.heartbeat_s": asked.heartbeat_s,
        "cluster.margin_s": min(10.0, asked.session_s / 3),
        "crawl.allow_private": True,
        "crawl.scope": "any",
        "crawl.partitions": PARTITIONS,
        "crawl.workers": max(1, (os.cpu_count() or 2) // 2),
    }
    try:
        with servers(folder / "servers") as on:
            cluster = Cluster(NAME, folder / "cluster", on, settings)
            cluster.run("crawl", "--cluster", cluster.file, *(web.url(host) for host in range(HOSTS)))
            asyncio.run(build(folder / "builder", cluster, web, asked.urls))
            rows = asyncio.run(run(folder, web, cluster, cases, targets))
            stored = cluster.snapshot_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if asked.json:
        print(
            json.dumps({"urls": asked.urls, "snapshot_bytes": stored, "cases": rows, "reference_ms": took_once_ms()})
        )
        return
    print(f"{asked.urls:,} known URLs; reference {took_once_ms():.2f} ms")
    print("  ".join(f"{name:>16}" for name in rows[-1]))
    for row in rows:
        print("  ".join(f"{told(row.get(name, '')):>16}" for name in rows[-1]))


if __name__ == "__main__":
    main()
