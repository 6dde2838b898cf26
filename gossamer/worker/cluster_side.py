"""What a worker of a cluster has instead of files: links and state go through Kafka and the object store, and what
all nodes share is in Valkey. A crawl on one machine does not import this."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress

from msgspec.structs import replace

from gossamer.archive.bucket import open_state
from gossamer.clock import Clock
from gossamer.cluster.kafka.client import Appender
from gossamer.cluster.kafka.journal import Journal
from gossamer.cluster.kafka.link_topic import KafkaLinkLog
from gossamer.cluster.kafka.topics import Topics
from gossamer.cluster.valkey.shared import ValkeyShared
from gossamer.folder import CrawlFolder
from gossamer.messages.worker_messages import Report
from gossamer.settings import Tree
from gossamer.worker.keeper import ClusterKeeper
from gossamer.worker.partition import Say

SNAPSHOTS = "snapshots"  # in the folder of a node: those on their way


class ClusterSide:
    def __init__(self, node: str, folder: CrawlFolder, config: Tree, clock: Clock, say: Say) -> None:
        cluster = config.cluster
        self._exit = ExitStack()
        appender = Appender(cluster.kafka, cluster.kafka_options, clock)
        self._exit.callback(appender.close)
        self.log = KafkaLinkLog(cluster, config.crawl.partitions, appender, clock)
        self._exit.callback(self.log.close)
        self.ask = self.log.ask
        journal = Journal(Topics(cluster.name).journal, appender, cluster.kafka, cluster.kafka_options)
        self.keeper = ClusterKeeper(
            node,
            open_state(config.archive),
            journal,
            clock,
            folder.path / SNAPSHOTS,
            say,
            snapshot_s=cluster.snapshot_s,
            settle_s=cluster.hand_over_s,
        )
        self._beside = [
            asyncio.ensure_future(self.keeper.take_snapshots()),
            asyncio.ensure_future(self.keeper.tidy()),
        ]

    def told(self, report: Report) -> Report:
        """With how far the state of our partitions is elsewhere."""
        behind = {number: max(0, self.log.end(number) - position) for number, position in report.positions.items()}
        kept = {number: self.keeper.kept(number, links) for number, links in behind.items()}
        return replace(report, kept=kept, keeping=replace(self.keeper.counts, links_dead=self.log.dead))

    async def close(self) -> None:
        for task in self._beside:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._exit.close()


def shared_in_valkey(config: Tree, clock: Clock) -> ValkeyShared:
    politeness = config.politeness
    return ValkeyShared(
        config.cluster.redis,
        config.cluster.name,
        clock,
        per_s=politeness.ip_requests_per_s,
        burst=politeness.ip_burst,
        near_bits=config.process.near_bits,
        requests_per_s=politeness.requests_per_s,
        bytes_per_s=politeness.bytes_per_s,
    )
