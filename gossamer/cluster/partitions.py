"""Partitions: which part of the crawl a URL belongs to.

By its site, so that everything about a site lives in one place: queues, seen set, politeness clocks, robots. The
number of partitions is fixed when a crawl is created; who owns which may change at any time.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from gossamer.records import Url
from gossamer.url.site import host_of, site_of


def partition_of(url: Url, partitions: int) -> int:
    return _of_host(host_of(url), partitions)


@lru_cache(maxsize=65536)
def _of_host(host: str, partitions: int) -> int:
    # blake2b and not hash(): the answer must be the same in every process and after every restart.
    digest = blake2b(site_of(host).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % partitions
