"""What does a page cost where all processes share what they know: on one machine, and in Valkey?

    python -m benchmarks.shared_state [--pages 20_000] [--at-once 40] [--rounds 5] [--json]

New pages with SimHashes and sketches drawn by chance are judged and settled, and the pace of an address is asked for
each of them, so many at once as a worker has in one commit. `judge`, `settle` and `pace` are microseconds of CPU
time a page in the process that asks; `server` is Valkey's own (its threads for files included), and `wall` is what
passes by the clock meanwhile. The two take turns, and what is shown is the median of the rounds. `memory` is what
Valkey needs for a page when all are in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from random import Random
from statistics import median

from redis.asyncio import Redis

from benchmarks.reference import took_once_ms
from gossamer.clock import RealClock
from gossamer.cluster.pace import Pace
from gossamer.cluster.shared import LocalShared
from gossamer.cluster.valkey.shared import ValkeyShared
from gossamer.frontier.disk.store import RocksStore
from gossamer.interfaces import SharedState
from gossamer.process.fingerprints.duplicates import TABLES, Duplicates
from gossamer.records import Claim
from tests.servers.valkey import Valkey

PER_S, BURST = 1e6, 1000  # nobody waits here


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--at-once", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    shown = asyncio.run(measure(asked.pages, asked.at_once, asked.rounds))
    if asked.json:
        print(json.dumps(shown))
        return
    for name, row in shown.items():
        print(f"{name:10}", "  ".join(f"{what} {figure:.1f}" for what, figure in row.items()))


async def measure(pages: int, at_once: int, rounds: int) -> dict[str, dict[str, float]]:
    chance = Random(1)
    with tempfile.TemporaryDirectory() as folder, Valkey() as server:
        store = RocksStore(Path(folder, "fingerprints"), TABLES)
        judge = Duplicates(store, store.folder)
        alone = LocalShared(judge, Pace(RealClock(), PER_S, BURST))
        node = ValkeyShared(server.url, "crawl", RealClock(), per_s=PER_S, burst=BURST)
        figures: dict[str, defaultdict[str, list[float]]] = {
            "local": defaultdict(list),
            "valkey": defaultdict(list),
            "machine": defaultdict(list),
        }
        async with Redis.from_url(server.url) as client:
            empty = (await client.info())["used_memory"]
            for number in range(rounds):
                claims = [made(chance, number * pages + page) for page in range(pages)]
                await take(alone, claims, at_once, figures["local"])
                before = server_cpu_s(server.pid)
                await take(node, claims, at_once, figures["valkey"])
                figures["valkey"]["server"].append((server_cpu_s(server.pid) - before) / pages * 1e6)
                figures["machine"]["reference_ms"].append(took_once_ms())
            used = (await client.info())["used_memory"] - empty
        assert not node.away
        await node.close()
        judge.close()
        store.close()
    shown = {name: {what: median(taken) for what, taken in row.items()} for name, row in figures.items()}
    shown["valkey"]["memory"] = used / (rounds * pages)
    return shown


def made(chance: Random, number: int) -> Claim:
    url = f"http://www.site{number % 1000}.test/some/path/of/a/page-{number:012}.html"
    return Claim(chance.randbytes(32).hex(), url, 1e9, chance.getrandbits(64), chance.randbytes(132))


async def take(
    shared: SharedState, claims: list[Claim], at_once: int, figures: defaultdict[str, list[float]]
) -> None:
    spent: defaultdict[str, float] = defaultdict(float)
    began = time.perf_counter()
    for start in range(0, len(claims), at_once):
        some = claims[start : start + at_once]
        moments = [time.process_time()]
        await shared.judge(some)
        moments.append(time.process_time())
        await shared.settle(some)
        moments.append(time.process_time())
        await asyncio.gather(*(shared.pace(f"10.0.{start % 200}.{place}") for place in range(len(some))))
        moments.append(time.process_time())
        for name, before, after in zip(("judge", "settle", "pace"), moments, moments[1:], strict=False):
            spent[name] += after - before
    spent["wall"] = time.perf_counter() - began
    for name, seconds in spent.items():
        figures[name].append(seconds / len(claims) * 1e6)


def server_cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
