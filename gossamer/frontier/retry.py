"""Another try because an operator says so: URLs come back that failed, were refused, rest, or are in quarantine.

`gossamer retry` walks over the hosts, then over the URLs, a bounded number at a time (`Cursor`), so that a running
crawl goes on in between. A host's rest ends, and so does a wait for its robots.txt; its politeness does not: whatever
comes back waits for its host's turn, and passes robots.txt, budgets and traps as if it had been found again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import Protocol

import msgspec

from gossamer.frontier.change import Change
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import decode_url_record, encode, host_key, is_position, url_key
from gossamer.frontier.due import Due
from gossamer.frontier.front import Front
from gossamer.frontier.revisits import Revisits
from gossamer.frontier.rules.origins import away, forgive
from gossamer.frontier.rules.steps import PASSING
from gossamer.interfaces import Store
from gossamer.records import Reason, State, Url, UrlRecord
from gossamer.url.canonical import is_crawled
from gossamer.url.site import host_of, origin_of

# What passes when a server, a name server or our own connection is back.
OUTAGE = PASSING | {Reason.STALE_CONNECTION, Reason.HOST_DOWN, Reason.ORIGIN_DOWN, Reason.ROBOTS_UNREACHABLE}
# What an operator can ask for besides: somebody may have changed it, here or there.
CAN_PASS = OUTAGE | {
    Reason.ROBOTS,
    Reason.CRAWL_DELAY_TOO_LONG,
    Reason.PRIVATE_ADDRESS,
    Reason.SCHEME,
    Reason.BLOCKED,
    Reason.HOST_BUDGET,
    Reason.SITE_BUDGET,
    Reason.QUEUE_FULL,
    Reason.TRAP_PATTERN,
    Reason.TRAP_HOST,
    Reason.MEDIA_TYPE,
    Reason.GONE,
    Reason.CLIENT_ERROR,
    Reason.TOO_LARGE,
    Reason.BAD_REDIRECT,
    Reason.REDIRECT_LOOP,
}
HOSTS_AT_ONCE = 500
URLS_AT_ONCE = 2000


class Cursor(msgspec.Struct, frozen=True):
    """How far a walk has come."""

    table: str = "hosts"
    start: bytes = b""


class CanRetry(Protocol):
    def retry(self, host: str | None, reason: Reason | None, cursor: Cursor) -> tuple[int, Cursor | None]: ...


async def retry_all(owned: Callable[[], CanRetry | None], host: str | None, reason: Reason | None) -> int | None:
    """A walk to its end beside other work; None: the partition has gone to another worker, which starts anew."""
    count, cursor = 0, Cursor()
    while (frontier := owned()) is not None:
        some, following = frontier.retry(host, reason, cursor)
        count += some
        if following is None:
            return count
        cursor = following
        await asyncio.sleep(0)
    return None


class Retries:
    def __init__(self, store: Store, reader: PartitionReader, front: Front, due: Due, revisits: Revisits) -> None:
        self._store = store
        self._reader = reader
        self._front = front
        self._due = due
        self._revisits = revisits

    def some(
        self, change: Change, host: str | None, reason: Reason | None, cursor: Cursor
    ) -> tuple[int, Cursor | None]:
        """Bring back some of what a host, or any, has for this reason, or for any outage.

        Returns how many, and where to go on; None: that was all."""
        wanted = OUTAGE if reason is None else {reason}
        prefix = host_key(host) if host is not None else b""
        most = HOSTS_AT_ONCE if cursor.table == "hosts" else URLS_AT_ONCE
        found = list(islice(self._store.scan(cursor.table, cursor.start, prefix), most))
        count = 0
        for key, value in found:
            if cursor.table == "hosts":
                count += self._wake_host(change, key, wanted)
            elif not is_position(value):
                count += self._bring_back(change, key, decode_url_record(value), wanted)
        change.write(sync=True)
        if len(found) == most:
            return count, Cursor(cursor.table, found[-1][0] + b"\0")
        return count, Cursor("urls") if cursor.table == "hosts" else None

    def visit_again(self, change: Change, url: Url) -> bool:
        """Ask for a page at its host's next turn, whatever became of it before. False: nobody knows it, or it is
        queued already."""
        key = url_key(url)
        known = self._reader.known(key)
        if known is None:
            return False
        if known.state is State.DONE:
            if known.due_at is not None:
                self._revisits.remove(change.batch, known.due_at, key)
            change.enqueue(key, msgspec.structs.replace(known, state=State.QUEUED, due_at=None, attempts=0))
        elif known.reason is None or not self._bring_back(change, key, known, {known.reason}):
            return False
        change.write(sync=True)
        return True

    def _wake_host(self, change: Change, key: bytes, wanted: frozenset[Reason] | set[Reason]) -> int:
        """How many of its URLs waited for nothing but the host."""
        host = self._front.host(key)
        if host is None or not (host.queued or host.resting):
            return 0
        if host.is_resting and not wanted.isdisjoint({host.waits_for, host.rest_cause}):
            host = change.host(key, host.name)
            host.failures = host.failed_urls = host.rests = 0
            if host.delay_reason is Reason.ROBOTS_UNREACHABLE:  # a wait of our own
                host.ready_at = min(host.ready_at, change.now + host.delay_s)
            self._due.end_rest(change, key, host)
            return host.queued - host.revisits
        if host.delay_reason is not Reason.ROBOTS_UNREACHABLE or Reason.ROBOTS_UNREACHABLE not in wanted:
            return 0
        # Its robots.txt is to be asked for again, after a wait of our own.
        host = change.host(key, host.name)
        before, host.ready_at = host.ready_at, min(host.ready_at, change.now + host.delay_s)
        self._due.hasten(change, key, host, before)
        return host.queued - host.revisits

    def _bring_back(
        self, change: Change, key: bytes, known: UrlRecord, wanted: frozenset[Reason] | set[Reason]
    ) -> bool:
        if known.reason not in wanted or not is_crawled(known.url):
            return False
        if known.state is State.WAITING and known.history is None:
            self._due.wake_url(change, key, known)
        elif known.state in (State.WAITING, State.FAILED, State.REFUSED):
            self.queue_again(change, key, msgspec.structs.replace(known, kills=0))
        else:
            return False
        self._ask_for_robots_again(change, known.url)
        host = change.host(key, host_of(known.url))
        if away(host, origin := origin_of(known.url), change.now) is not None:
            forgive(host, origin)
        return True

    def queue_again(self, change: Change, key: bytes, known: UrlRecord) -> None:
        """A URL that failed, was refused or waits stands in its queue, as if it had been found just now."""
        if known.due_at is not None:
            self._revisits.remove(change.batch, known.due_at, key)
        change.uncount(known)
        again = msgspec.structs.replace(known, state=State.QUEUED, reason=None, detail="", due_at=None, attempts=0)
        change.enqueue(key, again)

    def _ask_for_robots_again(self, change: Change, url: Url) -> None:
        copy = self._reader.robots(origin_of(url))
        if copy is not None and copy.tries:
            again = msgspec.structs.replace(copy, tries=0, tried_at=0.0, rest_s=0.0)
            change.batch.put("robots", copy.origin.encode(), encode(again))


def release_url(change: Change, reader: PartitionReader, url: Url, *, drop: bool) -> bool:
    """Let a URL out of quarantine: to be tried again, or dropped for good. False: it is not in there."""
    key = url_key(url)
    known = reader.known(key)
    if known is None or known.state is not State.QUARANTINED:
        return False
    change.release(key)
    if drop:
        change.refuse(key, known, Reason.KILLS_WORKER, known.detail)
    else:
        known = msgspec.structs.replace(known, state=State.QUEUED, reason=None, detail="", kills=0)
        change.enqueue(key, known)
    change.write(sync=True)
    return True
