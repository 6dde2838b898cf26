"""Partitions: which part of the crawl a URL belongs to, and who should own which part.

A URL belongs by its site, so that everything about a site lives in one place: queues, seen set, politeness clocks,
robots. The number of partitions is fixed when a crawl is created; who owns which may change at any time.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache
from hashlib import blake2b

from gossamer.records import Url
from gossamer.url.site import host_of, site_of, when_list_changes

Owners = list[int | None]
"""The number of the worker that owns each partition; None: nobody does at the moment."""


def partition_of(url: Url, partitions: int) -> int:
    return _of_host(host_of(url), partitions)


@lru_cache(maxsize=65536)
def _of_host(host: str, partitions: int) -> int:
    # blake2b and not hash(): the answer must be the same in every process and after every restart.
    digest = blake2b(site_of(host).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % partitions


when_list_changes.append(_of_host.cache_clear)


def deal(owners: Sequence[int | None], workers: Sequence[int], among: Container[int] | None = None) -> Owners:
    """A fair share for each worker, with as few moves as possible: shares differ by one at most.

    `among`: the partitions to deal out, where some are another machine's."""
    held: dict[int, list[int]] = {worker: [] for worker in workers}
    homeless = []
    for partition, owner in enumerate(owners):
        if among is not None and partition not in among:
            continue
        if owner is not None and owner in held:
            held[owner].append(partition)
        else:
            homeless.append(partition)
    for partition in homeless:
        min(held.values(), key=len).append(partition)
    while True:
        least, most = min(held.values(), key=len), max(held.values(), key=len)
        if len(most) - len(least) <= 1:
            break
        least.append(most.pop())
    wanted: Owners = [None] * len(owners)
    for worker, partitions in held.items():
        for partition in partitions:
            wanted[partition] = worker
    return wanted
