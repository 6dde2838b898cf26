"""How many links go through a Kafka topic a second, and what a message costs this process.

    python -m benchmarks.link_topic --kafka 127.0.0.1:9092 [--messages 20000] [--partitions 16] [--links 50]

Pages of different hosts send their links at once: `--at-once` appends wait for their acknowledgement at any moment,
each of them one message. Then everything is read, as the owner of all partitions would.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time

from gossamer.clock import RealClock
from gossamer.cluster.kafka import topics
from gossamer.cluster.kafka.client import Appender
from gossamer.cluster.kafka.link_topic import KafkaLinkLog
from gossamer.records import Link
from gossamer.settings import ClusterSettings


def links_of(page: int, count: int) -> list[Link]:
    chance = random.Random(page)
    words = [f"{chance.getrandbits(40):x}" for _ in range(2 * count)]
    source = f"http://host{page % 1000}.test/{page}"
    return [
        Link(f"http://host{page % 1000}.test/{words[n]}/{words[n + count]}", anchor=words[n], source=source, depth=3)
        for n in range(count)
    ]


async def measure(arguments: argparse.Namespace) -> None:
    settings = ClusterSettings(name=f"bench{os.getpid()}", kafka=arguments.kafka, copies=arguments.copies)
    clock, partitions, messages = RealClock(), arguments.partitions, arguments.messages
    await topics.create(settings, partitions, clock)
    appender = Appender(settings.kafka, settings.kafka_options, clock)
    log = KafkaLinkLog(settings, partitions, appender, clock)
    pages = [links_of(page, arguments.links) for page in range(200)]
    try:
        started, cpu = time.perf_counter(), time.process_time()
        numbers = iter(range(messages))

        async def send() -> None:
            for number in numbers:
                await log.append({number % partitions: pages[number % len(pages)]})

        await asyncio.gather(*(send() for _ in range(arguments.at_once)))
        say("appended", messages, arguments.links, started, cpu)
        started, cpu = time.perf_counter(), time.process_time()
        positions = dict.fromkeys(range(partitions), 0)
        ends = await log.ends()
        await asyncio.gather(*(log.open(partition, 0) for partition in positions))
        found = 0
        while positions != ends:
            is_any = False
            for partition, position in positions.items():
                if (batch := log.read(partition, position)) is not None:
                    positions[partition] = batch.position
                    found += len(batch.links)
                    is_any = True
            await asyncio.sleep(0 if is_any else 0.002)
        say("read", messages, arguments.links, started, cpu)
        assert found == messages * arguments.links
    finally:
        log.close()
        appender.close()
        await topics.delete(settings, clock)


def say(what: str, messages: int, links: int, started: float, cpu: float) -> None:
    seconds, used = time.perf_counter() - started, time.process_time() - cpu
    each = used / messages * 1e6
    print(
        f"{what:9}{messages / seconds:7,.0f} messages/s {messages * links / seconds:9,.0f} links/s {each:6.1f} µs CPU"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", required=True)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--links", type=int, default=50)
    parser.add_argument("--at-once", type=int, default=64)
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
