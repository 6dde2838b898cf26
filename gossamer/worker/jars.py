"""The cookies of a worker: each site's jar is in the store of its partition, as its other state is."""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.cookies import Jar, jar_name
from gossamer.fetch.cookie_jars import CookieJars
from gossamer.records import Url
from gossamer.settings import Tree
from gossamer.worker.partition import Partition


def cookie_jars(config: Tree, clock: Clock, partitions: Mapping[int, Partition]) -> CookieJars:
    """`partitions`: that are ours, as they are now."""

    def partition(url: Url) -> Partition | None:
        return partitions.get(partition_of(url, config.crawl.partitions))

    def load(url: Url) -> Jar:
        owner = partition(url)
        return owner.jar(jar_name(url)) if owner is not None else ()

    def keep(url: Url, jar: Jar) -> None:
        owner = partition(url)
        if owner is not None and not owner.is_lost:
            owner.keep_jar(jar_name(url), jar)

    return CookieJars(config.fetch.cookies, clock, load, keep)
