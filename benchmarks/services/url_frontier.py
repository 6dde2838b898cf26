"""What does `gossamer frontier` do in a second, and with how much CPU and memory?

    python -m benchmarks.services.url_frontier [--urls 2_000_000] [--known 0.45] [--queues 10_000] [--batch 500]

The command as users start it, and a client in another process that only sends bytes that were made before: discovered
URLs in batches with so many of them known, hand-outs of 100 URLs from 100 queues, their results put back one by one,
and discovered URLs one by one. CPU is the server's alone: on a machine that others use too, figures a second of CPU
are the ones to look at.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import grpc
import grpc.aio

from gossamer.urlfrontier import urlfrontier_pb2 as messages

ROOT = Path(__file__).parent.parent.parent
PATH = "/urlfrontier.URLFrontier/"
TICKS = os.sysconf("SC_CLK_TCK")
URLS_AT_ONCE = 100_000  # made before the clock runs


class Server:
    def __init__(self, process: asyncio.subprocess.Process, channel: grpc.aio.Channel) -> None:
        self.process = process
        self.channel = channel

    @property
    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def memory_mib(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def urls(chance: random.Random, number: int, known: float, queues: int) -> Iterator[tuple[str, str]]:
    """URL and key; a share of them was there before."""
    new = 0
    while True:
        is_known = new > 0 and chance.random() < known
        at = chance.randrange(new) if is_known else new
        new += not is_known
        host = f"host-{at * 7919 % queues}.example.org"
        yield f"https://{host}/section-{at % 97}/article-{at}.html", host
        if new > number:
            return


def batches(source: Iterator[tuple[str, str]], size: int) -> Iterator[bytes]:
    while True:
        infos = [
            messages.URLInfo(url=url, key=key, crawlID="b")
            for (url, key), _ in zip(source, range(size), strict=False)
        ]
        if not infos:
            return
        items = [messages.DiscoveredURLItem(info=info) for info in infos]
        yield messages.DiscoveredBatch(ID="b", items=items).SerializeToString()


async def put_batches(server: Server, source: Iterator[tuple[str, str]], size: int) -> tuple[int, float, float]:
    """URLs, seconds, CPU seconds."""
    sent, spent_s, cpu_s = 0, 0.0, 0.0
    made = batches(source, size)
    while some := list(islice(made, max(1, URLS_AT_ONCE // size))):
        begun, cpu = time.monotonic(), server.cpu_s
        call = server.channel.stream_stream(f"{PATH}PutDiscovered", None, messages.BatchAck.FromString)
        async for ack in call(iter(some)):
            sent += len(ack.statuses)
        spent_s += time.monotonic() - begun
        cpu_s += server.cpu_s - cpu
    return sent, spent_s, cpu_s


async def put_items(server: Server, items: list[bytes]) -> tuple[int, float, float]:
    begun, cpu = time.monotonic(), server.cpu_s
    acks = 0
    async for _ in server.channel.stream_stream(f"{PATH}PutURLs")(iter(items)):
        acks += 1
    return acks, time.monotonic() - begun, server.cpu_s - cpu


async def hand_outs(server: Server, times: int) -> tuple[int, float, float, list[bytes]]:
    call = server.channel.unary_stream(f"{PATH}GetURLs")
    wanted = messages.GetParams(max_urls_per_queue=1, max_queues=100, delay_requestable=600, crawlID="b")
    begun, cpu, got = time.monotonic(), server.cpu_s, []
    for _ in range(times):
        got += [info async for info in call(wanted.SerializeToString())]
    return len(got), time.monotonic() - begun, server.cpu_s - cpu, got


def known(info: bytes) -> bytes:
    item = messages.KnownURLItem(info=messages.URLInfo.FromString(info))
    return messages.URLItem(known=item).SerializeToString()


async def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gossamer", "frontier", "--dir", str(folder), "--listen", "127.0.0.1:0"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    where = (await process.stdout.readline()).decode().split()[-1]
    try:
        async with grpc.aio.insecure_channel(where) as channel:
            return await figures(Server(process, channel), arguments)
    finally:
        process.terminate()
        await process.wait()


async def figures(server: Server, arguments: argparse.Namespace) -> dict[str, float]:
    chance = random.Random(1)
    found: dict[str, float] = {"memory_empty_mib": server.memory_mib}
    source = urls(chance, arguments.urls, arguments.known, arguments.queues)
    sent, spent_s, cpu_s = await put_batches(server, source, arguments.batch)
    found |= {
        "batched_urls": sent,
        "batched_urls_per_s": sent / spent_s,
        "batched_urls_per_cpu_s": sent / cpu_s,
        "memory_full_mib": server.memory_mib,
    }
    count, spent_s, cpu_s, got = await hand_outs(server, arguments.hand_outs)
    found |= {
        "hand_out_urls": count,
        "hand_outs_of_100_per_s": count / 100 / spent_s,
        "hand_out_ms": spent_s / arguments.hand_outs * 1000,
        "hand_out_cpu_ms": cpu_s / arguments.hand_outs * 1000,
    }
    acks, spent_s, cpu_s = await put_items(server, [known(info) for info in got])
    found |= {"known_urls_per_s": acks / spent_s, "known_urls_per_cpu_s": acks / cpu_s}
    infos = [
        messages.URLInfo(url=f"https://one.example.org/{n}", key="one", crawlID="b") for n in range(arguments.single)
    ]
    items = [messages.URLItem(discovered=messages.DiscoveredURLItem(info=info)).SerializeToString() for info in infos]
    acks, spent_s, cpu_s = await put_items(server, items)
    return found | {"single_urls_per_s": acks / spent_s, "single_urls_per_cpu_s": acks / cpu_s}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=2_000_000, help="new URLs")
    parser.add_argument("--known", type=float, default=0.45, help="share of those put that are known already")
    parser.add_argument("--queues", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--hand-outs", type=int, default=90)
    parser.add_argument("--single", type=int, default=20_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(arguments, Path(folder) / "frontier"))
    print(json.dumps({name: round(value, 2) for name, value in found.items()}, indent=1))


if __name__ == "__main__":
    main()
