"""Which rows `pages` and `hosts` show, and in which order.

Rows are passed over as they are read, so that a crawl of any size can be looked through. Sorting holds what it shows
in memory: with a limit, that many rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from gossamer.records import Host, State, UrlRecord
from gossamer.url.site import host_of

T = TypeVar("T")

VERDICTS = ("original", "same", "near", "unchanged")
STATES = tuple(state.value for state in State)
HOST_STATES = ("queued", "resting", "done")

# By what a list can be sorted. What is not known comes first.
PAGE_FIELDS: dict[str, Callable[[UrlRecord], Any]] = {
    "url": lambda known: known.url,
    "status": lambda known: known.status or 0,
    "bytes": lambda known: known.body_bytes,
    "depth": lambda known: known.depth,
    "found_at": lambda known: known.found_at or 0.0,
    "fetched_at": lambda known: known.fetched_at or 0.0,
    "priority_score": lambda known: known.score or 0,
}
HOST_FIELDS: dict[str, Callable[[Host], Any]] = {
    "host": lambda host: host.name,
    "pages": lambda host: host.pages,
    "queued": lambda host: host.queued,
    "requests": lambda host: host.requests,
    "errors": lambda host: host.errors,
    "bytes": lambda host: host.body_bytes,
    "delay_s": lambda host: host.delay_s,
    "in_links": lambda host: host.in_links,
    "last_crawled_at": lambda host: host.crawled_at,
}


@dataclass(frozen=True)
class PageFilter:
    """What is None lets everything through."""

    host: str | None = None
    status: range | None = None  # of HTTP; an empty one: no answer
    state: str | None = None
    reason: str | None = None
    verdict: str | None = None
    since: float | None = None

    def __call__(self, known: UrlRecord) -> bool:
        return (
            (self.host is None or host_of(known.url) == self.host)
            and (self.status is None or (known.status in self.status if self.status else known.status is None))
            and (self.state is None or known.state == self.state)
            and (self.reason is None or known.reason == self.reason)
            and (self.verdict is None or (known.verdict is not None and known.verdict.kind == self.verdict))
            and (self.since is None or (known.fetched_at is not None and known.fetched_at >= self.since))
        )


@dataclass(frozen=True)
class HostFilter:
    name: str | None = None  # of the host, or of the site that it belongs to
    state: str | None = None
    reason: str | None = None  # of its last error, or of its delay
    since: float | None = None

    def __call__(self, host: Host) -> bool:
        state = "resting" if host.resting else "queued" if host.queued else "done"
        return (
            (self.name is None or self.name in (host.name, host.site))
            and (self.state is None or state == self.state)
            and (self.reason is None or self.reason in (host.last_error, host.waits_for))
            and (self.since is None or host.crawled_at >= self.since)
        )


def chosen(
    rows: Iterable[T],
    wanted: Callable[[T], bool],
    sort: Callable[[T], Any] | None = None,
    limit: int | None = None,
    *,
    is_reversed: bool = False,
) -> Iterator[T]:
    found = filter(wanted, rows)
    if sort is None:
        return islice(found, limit)
    if limit is None:
        return iter(sorted(found, key=sort, reverse=is_reversed))
    return iter((heapq.nlargest if is_reversed else heapq.nsmallest)(limit, found, key=sort))
