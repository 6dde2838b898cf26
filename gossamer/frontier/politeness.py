"""Politeness: when a host may be asked again, as one pure function, and the heap of those moments.

Invariant: a host's next request starts no sooner than `ready_at`, which is the end of its last answer plus the
largest of what was configured, what its robots.txt asks, a factor times its response time, and the back-off that
grows while it is overloaded. Retry-After is obeyed on top of these. The reason is kept, so that a person can ask
why a host waits.
"""

from __future__ import annotations

import itertools
from heapq import heappop, heappush

import msgspec

from gossamer.frontier.policy import NONE, Policy
from gossamer.records import Failed, Fetched, Host, Moved, Postponed, Reason, Refused, Result, RobotsRead
from gossamer.settings import PolitenessSettings

# Signs that the host has too much to do, or is gone for the moment.
STRAINED = frozenset({Reason.OVERLOADED, Reason.TIMEOUT, Reason.TOO_SLOW, Reason.CONNECT})


# Failures that speak against the whole host, when they come in a row.
OF_THE_HOST = frozenset(
    {
        Reason.DNS,
        Reason.CONNECT,
        Reason.TLS,
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
        Reason.BROKEN_ANSWER,
        Reason.SERVER_ERROR,
    }
)
FAILING = 3  # so many in a row, and it is asked less and less


class Delay(msgspec.Struct, frozen=True):
    """How long to leave a host alone after its answer ended, why, and what to remember of its strain."""

    seconds: float
    reason: Reason
    back_off_s: float = 0.0


def next_delay(host: Host, result: Result, config: PolitenessSettings, policy: Policy = NONE) -> Delay:
    exchange = result.exchange
    seconds, reason = config.delay_s, Reason.CONFIGURED
    if policy.delay_s is not None:
        seconds, reason = policy.delay_s, Reason.POLICY
    if host.crawl_delay_s is not None and host.crawl_delay_s > seconds:
        seconds, reason = host.crawl_delay_s, Reason.CRAWL_DELAY
    latency_s = exchange.latency_s if exchange is not None else 0.0
    slow_s = min(latency_s * config.latency_factor, config.delay_s_max)
    if slow_s > seconds:
        seconds, reason = slow_s, Reason.LATENCY

    if is_strained(result) or host.failures >= FAILING:
        # Twice what it was, from the delay in force: a host that strains at 1 s is next asked after 2 s, then 4 s.
        back_off_s = min(max(host.back_off_s, seconds) * 2, config.back_off_s_max)
    else:
        back_off_s = host.back_off_s / 2 if host.back_off_s > 2 * seconds else 0.0
    if back_off_s > seconds:
        seconds, reason = back_off_s, Reason.BACK_OFF

    asked_s = exchange.retry_after_s if exchange is not None else None
    if asked_s is not None and asked_s > seconds:
        seconds, reason = min(asked_s, config.retry_after_s_max), Reason.ASKED_BY_SERVER
    return Delay(seconds, reason, back_off_s)


def failures_after(host: Host, result: Result) -> int:
    """How many failures in a row the host has now; what tells nothing of it changes nothing."""
    match result:
        case Fetched() | Moved():
            return 0
        case Failed(reason=reason):
            return host.failures + 1 if reason in OF_THE_HOST else 0
        case RobotsRead(exchange=exchange):
            return host.failures + 1 if exchange is None else 0
        case Refused() | Postponed():
            return host.failures


def is_strained(result: Result) -> bool:
    if isinstance(result, Failed):
        return result.reason in STRAINED
    if isinstance(result, RobotsRead):
        return result.exchange is None or result.exchange.status in (429, 503)
    return False


def ended_at(result: Result) -> float | None:
    """When the answer ended; None where nothing was asked."""
    exchange = result.exchange
    return exchange.ended_at if exchange is not None else result.ended_at


def start_delay(host: Host, result: Result, config: PolitenessSettings, policy: Policy, now: float) -> None:
    """An answer has ended: when its host may be asked again, and why then."""
    if isinstance(result, Postponed):
        host.ready_at, host.delay_reason = now + result.wait_s, result.reason
        return
    moment = ended_at(result)
    if moment is None:
        return  # nothing was asked
    if isinstance(result, RobotsRead):
        host.crawl_delay_s = result.robots.crawl_delay_s
    host.failures = failures_after(host, result)
    delay = next_delay(host, result, config, policy)
    host.delay_s, host.delay_reason, host.back_off_s = delay.seconds, delay.reason, delay.back_off_s
    host.ready_at = moment + delay.seconds
    host.requests += 1
    if isinstance(result, RobotsRead) and result.wait_s > delay.seconds:
        host.ready_at, host.delay_reason = moment + result.wait_s, Reason.ROBOTS_UNREACHABLE


Turn = tuple[float, int, bytes]  # the moment, a number that orders those of one moment, and the host


class Turns:
    """The heap: which host may be asked next, and when. A host is in it at most once, and not while it is asked."""

    def __init__(self) -> None:
        self._heap: list[Turn] = []
        self._turns: dict[bytes, Turn] = {}
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._turns)

    def __contains__(self, host: bytes) -> bool:
        return host in self._turns

    def put(self, host: bytes, moment: float) -> None:
        """Set or change a host's moment."""
        turn = self._turns[host] = (moment, next(self._order), host)
        heappush(self._heap, turn)

    def remove(self, host: bytes) -> None:
        self._turns.pop(host, None)

    def pop(self, now: float) -> bytes | None:
        """A host whose moment has come, or None."""
        heap, turns = self._heap, self._turns
        while heap and heap[0][0] <= now:
            turn = heappop(heap)
            host = turn[2]
            if turns.get(host) is turn:  # else it was changed or removed since
                del turns[host]
                return host
        return None

    def next_at(self) -> float | None:
        while self._heap:
            turn = self._heap[0]
            if self._turns.get(turn[2]) is turn:
                return turn[0]
            heappop(self._heap)
        return None
