"""What may come of a lease, as values that print well when a test fails and shows its steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hypothesis import strategies as st

from gossamer.clock import VirtualClock
from gossamer.records import (
    Exchange,
    Failed,
    Fetched,
    Moved,
    Postponed,
    Reason,
    Refused,
    Result,
    RobotsCopy,
    RobotsRead,
    Url,
)

Answer = Callable[[VirtualClock, Url], Result]


def exchange(clock: VirtualClock, status: int, latency_s: float, retry_after: str = "") -> Exchange:
    head = f"HTTP/1.1 {status} X\r\n" + (f"Retry-After: {retry_after}\r\n" if retry_after else "") + "\r\n"
    return Exchange(b"", head.encode(), status, "192.0.2.1", clock.now(), clock.now(), latency_s)


def fetched(clock: VirtualClock, url: Url, latency_s: float = 0.0) -> Result:
    return Fetched(exchange(clock, 200, latency_s), b"hello")


def moved(clock: VirtualClock, url: Url) -> Result:
    return Moved(exchange(clock, 301, 0.0), b"", url + "/moved")


def refused(clock: VirtualClock, url: Url, reason: Reason) -> Result:
    return Refused(reason, wait_s=600.0 if reason is Reason.ROBOTS_UNREACHABLE else 0.0)


def postponed(clock: VirtualClock, url: Url, wait_s: float) -> Result:
    return Postponed(wait_s, Reason.IP_PACE)


def silent(clock: VirtualClock, url: Url, reason: Reason) -> Result:
    """There was no answer at all."""
    return Failed(reason, ended_at=clock.now())


def failed(clock: VirtualClock, url: Url, reason: Reason, status: int, retry_after: str) -> Result:
    return Failed(reason, exchange(clock, status, 0.5, retry_after))


def robots_read(
    clock: VirtualClock, url: Url, status: int | None, crawl_delay_s: float | None, wait_s: float
) -> Result:
    fault = {None: Reason.TIMEOUT, 503: Reason.OVERLOADED}.get(status)
    copy = RobotsCopy(url.rpartition("/")[0], clock.now(), status, crawl_delay_s=crawl_delay_s, reason=fault)
    if status is None:
        return RobotsRead(copy, ended_at=clock.now(), wait_s=wait_s)
    return RobotsRead(copy, exchange(clock, status, 0.5, "30" if status == 503 else ""), wait_s=wait_s)


REFUSALS = [Reason.ROBOTS, Reason.PRIVATE_ADDRESS, Reason.ROBOTS_UNREACHABLE]
FAULTS = {429: Reason.OVERLOADED, 404: Reason.GONE, 500: Reason.SERVER_ERROR, 403: Reason.CLIENT_ERROR}


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    match draw(
        st.sampled_from(["fetched", "fetched", "moved", "refused", "postponed", "silent", "failed", "robots"])
    ):
        case "fetched":
            return partial(fetched, latency_s=draw(st.sampled_from([0.0, 3.0, 200.0])))
        case "moved":
            return moved
        case "refused":
            return partial(refused, reason=draw(st.sampled_from(REFUSALS)))
        case "postponed":
            return partial(postponed, wait_s=draw(st.sampled_from([0.5, 90.0])))
        case "silent":
            reasons = [Reason.DNS, Reason.CONNECT, Reason.TIMEOUT, Reason.TOO_LARGE]
            return partial(silent, reason=draw(st.sampled_from(reasons)))
        case "failed":
            status = draw(st.sampled_from([429, 429, 404, 500, 403]))
            retry_after = draw(st.sampled_from(["", "7", "120", "soon"]))
            return partial(failed, reason=FAULTS[status], status=status, retry_after=retry_after)
    return partial(
        robots_read,
        status=draw(st.sampled_from([200, 404, 503, None])),
        crawl_delay_s=draw(st.sampled_from([None, 10.0, 3600.0])),
        wait_s=draw(st.sampled_from([0.0, 600.0])),
    )
