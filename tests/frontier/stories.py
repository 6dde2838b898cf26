"""Short words for the tests of the frontier: links, and what could come of a lease."""

from __future__ import annotations

from gossamer.clock import Clock
from gossamer.frontier.frontier import Frontier
from gossamer.records import (
    Claim,
    Exchange,
    Failed,
    Fetched,
    Lease,
    Link,
    Moved,
    Outcome,
    Page,
    Reason,
    Result,
    RobotsCopy,
    RobotsRead,
)


def link(url: str, depth: int = 0) -> Link:
    return Link(url, depth=depth, source=None if depth == 0 else "http://a.test/")


def exchange(clock: Clock, status: int = 200, headers: str = "", latency_s: float = 0.01) -> Exchange:
    head = f"HTTP/1.1 {status} X\r\n{headers}\r\n".encode()
    return Exchange(b"", head, status, "127.0.0.1", clock.now(), clock.now(), latency_s)


def fetched(clock: Clock, body: bytes = b"hello") -> Fetched:
    return Fetched(exchange(clock), body)


def failed(clock: Clock, reason: Reason, status: int | None = None, headers: str = "") -> Failed:
    if status is None:
        return Failed(reason, ended_at=clock.now())
    return Failed(reason, exchange(clock, status, headers))


def moved(clock: Clock, target: str) -> Moved:
    return Moved(exchange(clock, 301), b"", target)


def robots_read(clock: Clock, crawl_delay_s: float | None = None, wait_s: float = 0.0) -> RobotsRead:
    copy = RobotsCopy("http://a.test", clock.now(), 200, crawl_delay_s=crawl_delay_s)
    return RobotsRead(copy, exchange(clock), wait_s=wait_s)


def one_lease(frontier: Frontier) -> Lease:
    leases = frontier.lease(1)
    assert len(leases) == 1, f"nothing to lease: {frontier}"
    return leases[0]


def finish(frontier: Frontier, lease: Lease, result: Result) -> None:
    """Answered and finished at once, with nothing in the archive."""
    frontier.answered(lease, result)
    page = Page(lease.url) if isinstance(result, Fetched) else None
    claim = Claim("00" * 32, lease.url, result.exchange.started_at) if isinstance(result, Fetched) else None
    frontier.finish([Outcome(lease, result, page, claim=claim)], [None])
