"""The failure run: three nodes and three brokers, and every some seconds something dies, freezes or is cut off.

    unshare --net python -m tests.node.failure_run --seconds 600

At the end the crawl has to be what one undisturbed machine makes of the same web: the same pages, each archived
once, no URL lost, every claim settled, exports equal; and the web's access log says that no host was asked twice at
once, or too soon, by whomever.

What happens is drawn from a seed, in rounds in which each kind happens once. Each fault is cured before the next one
comes. It prints a line for each, and at the end one JSON object; its exit code says whether all is as it should be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from redis import Redis

from gossamer.local_servers.kafka import Kafka
from gossamer.local_servers.seaweedfs import SeaweedFS
from gossamer.local_servers.valkey import Valkey
from gossamer.synthetic_web.access_log import gaps_below
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import Ran, gossamer, quick_settings
from tests.crawl.judge import as_the_client_saw_it, requests_at_once
from tests.node.cluster import Cluster
from tests.node.network import Network

NODES = ("n1", "n2", "n3")
SESSION_S = 10.0  # longer than the election of a broker takes
LONGER_S = 14.0  # than the session
AWAY_S = 5.0  # a server
TIMEOUT_S = 5.0  # of a request
END_S = 300.0  # the crawl may take so long after the last fault
# What does not depend on when, by whom and from where a page was found.
OF_A_URL = ("url", "status", "state", "reason", "content_hash", "moved_to")
OF_A_PAGE = (
    *("url", "fetch_status", "content_digest", "content_mime_type", "content_languages", "title"),
    *("simhash", "verdict", "is_latest", "body_bytes", "out_links", "noindex"),
)
OF_A_LINK = ("source_url", "target_url", "anchor", "rel", "position")


class Faults:
    """What may happen, each with its cure."""

    def __init__(self, made: Cluster, network: Network, kafka: Kafka, objects: SeaweedFS, valkey: Valkey) -> None:
        self._made, self._network = made, network
        self._kafka, self._servers = kafka, {"s3": objects, "valkey": valkey}

    def deck(self, chance: random.Random) -> Iterator[tuple[str, str]]:
        """What happens, and to whom; without an end."""
        while True:
            kinds = ["node", "disk", "freeze", "cut servers", "cut all", "broker", "valkey", "s3"]
            chance.shuffle(kinds)
            for kind in kinds:
                whom = {"broker": "123", "valkey": ("",), "s3": ("",)}.get(kind, NODES)
                yield kind, chance.choice(whom)

    async def happen(self, kind: str, whom: str) -> None:
        made = self._made
        match kind:
            case "node" | "disk":
                await made.kill(whom, with_disk=kind == "disk")
                await asyncio.sleep(AWAY_S if kind == "node" else LONGER_S)
                await made.start(whom)
            case "freeze":
                made.signal(whom, signal.SIGSTOP)
                await asyncio.sleep(LONGER_S)
                made.signal(whom, signal.SIGCONT)
            case "cut servers" | "cut all":
                ways = ("servers",) if kind == "cut servers" else ("servers", "web")
                for way in ways:
                    self._network.cut(whom, way)
                await asyncio.sleep(LONGER_S)
                for way in ways:
                    self._network.mend(whom, way)
            case "broker":
                self._kafka.kill(int(whom))
                await asyncio.sleep(AWAY_S)
                await asyncio.to_thread(self._kafka.start, int(whom))
            case _:
                self._servers[kind].kill()
                await asyncio.sleep(AWAY_S)
                await asyncio.to_thread(self._servers[kind].start)


async def failure_run(
    folder: Path, seconds: float, every_s: float, seed: int, hosts: int, pages: int, delay_s: float
) -> dict[str, Any]:
    options = replace(
        WebOptions.plain(hosts=hosts, pages_per_host=pages, page_bytes=4_000), redirects=0.02, not_found=0.02
    )
    with ExitStack() as opened:
        network = opened.enter_context(Network(NODES))
        kafka = opened.enter_context(Kafka(brokers=3))
        objects = opened.enter_context(SeaweedFS())
        valkey = opened.enter_context(Valkey(folder / "valkey", protected_mode="no"))
        async with serve(Web(options), any_interface=True, log_file=folder / "access.jsonl") as web:
            settings = {
                "crawl.partitions": 12,
                "cluster.copies": 3,
                "cluster.session_s": SESSION_S,
                "cluster.margin_s": 3,
                "cluster.snapshot_s": 15,
                "cluster.redis": valkey.url,
                "archive.options": objects.options,
                "politeness.delay_s": delay_s,
                "fetch.timeout_s": TIMEOUT_S,
            }
            made = Cluster(folder, web, kafka, settings, inside=network.inside)
            faults = Faults(made, network, kafka, objects, valkey)
            try:
                await made.crawl()
                await made.start(*NODES)
                happened = await disturb(made, faults, random.Random(seed), seconds, every_s)
                ended_s = await end_of(made)
                return await judge(made, valkey, folder, delay_s) | {"faults": happened, "ended_after_s": ended_s}
            finally:
                for name in NODES:
                    (folder / f"{name}.log").write_text(made.said(name))
                await made.close()


async def disturb(
    made: Cluster, faults: Faults, chance: random.Random, seconds: float, every_s: float
) -> dict[str, int]:
    """Until the time is over, or the crawl."""
    began, deck, happened = time.monotonic(), faults.deck(chance), Counter[str]()
    await asyncio.sleep(every_s / 2)
    while (now := time.monotonic()) - began < seconds and not is_over(made):
        kind, whom = next(deck)
        tell(made, f"{now - began:5.0f} s: {kind} {whom}")
        await faults.happen(kind, whom)
        happened[kind] += 1
        await asyncio.sleep(max(0.0, now + every_s - time.monotonic()))
    return dict(happened)


def is_over(made: Cluster) -> bool:
    return any(node.returncode == 0 for node in made.nodes.values())


async def end_of(made: Cluster) -> float:
    """All nodes end by themselves: the crawl is complete. Returns how long that took after the last fault."""
    began = time.monotonic()
    tell(made, "no more faults")
    await made.ended(*made.nodes, timeout_s=END_S)
    return round(time.monotonic() - began, 1)


def tell(made: Cluster, text: str) -> None:
    print(f"{time.time():.1f} {text} ({len(made.log)} requests so far)", file=sys.stderr, flush=True)


# ---- what is to be the same --------------------------------------------------------------------------------


async def judge(made: Cluster, valkey: Valkey, folder: Path, delay_s: float) -> dict[str, Any]:
    """Everything that is wrong, under `wrong`; empty lists are good."""
    entries = made.log
    seen = as_the_client_saw_it(entries, TIMEOUT_S)
    alone, flags = (
        folder / "alone",
        ["--allow-private", "--scope", "any", *quick_settings(fetch__timeout_s=TIMEOUT_S)],
    )
    seeds = [made.web.url(index) for index in range(2)]
    ran = await gossamer("crawl", *seeds, "--dir", alone, *flags, timeout_s=900)
    assert ran.code == 0, ran.err
    wanted, found = await described(made, alone), await described(made, made.file)
    verified = await made.run("verify", made.file, timeout_s=300)
    wrong: dict[str, Sequence[object]] = {
        "two requests to a host at once": requests_at_once(entries, TIMEOUT_S),
        "asked too soon": gaps_below(seen, lambda host: delay_s),
        **{what: differences(wanted[what], found[what]) for what in wanted},
        "archived twice": [url for url, times in Counter(found["archived"]).items() if times > 1],
        "claims that are not settled": unsettled(valkey),
        "verify": [] if verified.code == 0 else [verified.out[-2000:] + verified.err[-2000:]],
    }
    asked = Counter((entry.host, entry.path) for entry in entries)
    return {
        "pages": len(found["pages"]),
        "requests": len(entries),
        "asked_again": sum(times - 1 for times in asked.values()),
        "shortest_gap_s": round(min_gap(seen), 3),
        "wrong": {what: list(map(str, faults[:5])) for what, faults in wrong.items() if faults},
    }


async def described(made: Cluster, crawl: Path) -> dict[str, list[str]]:
    """What a crawl found, by `pages` and by its exports."""
    asked = {"urls": await made.run("pages", crawl, "--json", timeout_s=300)}
    for form in ("jsonl", "cdxj", "links"):
        asked[form] = await made.run("export", crawl, "--to", form, timeout_s=300)
    for ran in asked.values():
        assert ran.code == 0, ran.err
    return {
        "urls": chosen(asked["urls"], OF_A_URL),
        "pages": chosen(asked["jsonl"], OF_A_PAGE),
        "links": chosen(asked["links"], OF_A_LINK),
        "archived": sorted(json.loads(line.split(" ", 2)[2])["url"] for line in asked["cdxj"].out.splitlines()),
    }


def chosen(ran: Ran, names: Sequence[str]) -> list[str]:
    return sorted(json.dumps({name: line[name] for name in names}) for line in ran.lines())


def differences(wanted: Sequence[str], found: Sequence[str]) -> list[str]:
    missing, more = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    return [*(f"missing: {each}" for each in missing), *(f"too many: {each}" for each in more)]


def unsettled(valkey: Valkey) -> list[str]:
    with Redis(port=valkey.port) as client:
        keys = [key for key in client.scan_iter(b"*:c*") if client.type(key) == b"string"]
        rows = ((key, client.get(key)) for key in keys)
        return [key.hex() for key, row in rows if isinstance(row, bytes) and row.startswith(b"?")]


def min_gap(entries: Sequence[Any]) -> float:
    last: dict[str, float] = {}
    gaps = []
    for entry in sorted(entries):
        if entry.host in last:
            gaps.append(entry.time_in - last[entry.host])
        last[entry.host] = max(entry.time_out, last.get(entry.host, 0.0))
    return min(gaps, default=0.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--every", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=24)
    parser.add_argument("--pages", type=int, default=400, help="of each host")
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--dir", type=Path)
    given = parser.parse_args()
    folder = given.dir or Path(tempfile.mkdtemp(prefix="failure-run-"))
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # nodes and servers end with us
    result = asyncio.run(
        failure_run(folder, given.seconds, given.every, given.seed, given.hosts, given.pages, given.delay)
    )
    print(json.dumps(result, indent=1))
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
