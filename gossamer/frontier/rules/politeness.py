"""Politeness: when a host may be asked again, as one pure function.

Invariant: a host's next request starts no sooner than `ready_at`, which is the end of its last answer plus the
largest of what was configured, what its robots.txt asks, a factor times its response time, and the back-off that
grows while it is overloaded. Retry-After is obeyed on top of these. The reason is kept, so that a person can ask
why a host waits.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.rules.policy import NONE, Policy
from gossamer.records import Answer, Failed, Fetched, Host, Moved, Postponed, Reason, Result, RobotsRead
from gossamer.settings import PolitenessSettings

# Signs that the host has too much to do, or is gone for the moment.
STRAINED = frozenset({Reason.OVERLOADED, Reason.TIMEOUT, Reason.TOO_SLOW, Reason.CONNECT})


# Postponed, and perhaps after a request: the delay runs as after any other.
PERHAPS_ASKED = frozenset(
    {
        *(Reason.NO_ROOM, Reason.NO_RESOURCES, Reason.ROBOTS_UNREACHABLE),
        *(Reason.FETCHER_LOST, Reason.COOKIE, Reason.LOGIN, Reason.PROXY),
    }
)

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
        Reason.OVERLOADED,
    }
)
FAILING = 3  # so many in a row, and it is asked less and less
GAVE = (Fetched, Moved)  # results of a server that gave what it was asked for


class Delay(msgspec.Struct, frozen=True):
    """How long to leave a host alone after its answer ended, why, and what to remember of its strain."""

    seconds: float
    reason: Reason
    back_off_s: float = 0.0


def next_delay(
    host: Host, result: Result, config: PolitenessSettings, policy: Policy = NONE, *, is_of_origin: bool = False
) -> Delay:
    """`is_of_origin`: that nobody answered says something of one origin, and nothing of the host (origins.py)."""
    exchange = result.exchange
    seconds, reason = config.delay_s, Reason.CONFIGURED
    if (wanted_s := policy.least_delay_s) is not None:
        seconds, reason = wanted_s, Reason.POLICY
    if host.crawl_delay_s is not None and host.crawl_delay_s > seconds:
        seconds, reason = host.crawl_delay_s, Reason.CRAWL_DELAY
    slow_s = exchange.latency_s * config.latency_factor if exchange is not None else 0.0
    if slow_s > seconds and (slow_s := min(slow_s, config.delay_s_max)) > seconds:
        seconds, reason = slow_s, Reason.LATENCY

    if is_of_origin and exchange is None:
        back_off_s = host.back_off_s
    elif (not isinstance(result, GAVE) and is_strained(result)) or host.failures >= FAILING:
        # Twice what it was, from the delay in force: a host that strains at 1 s is next asked after 2 s, then 4 s.
        back_off_s = min(max(host.back_off_s, seconds) * 2, config.back_off_s_max)
    else:
        back_off_s = host.back_off_s / 2 if host.back_off_s > 2 * seconds else 0.0
    if back_off_s > seconds:
        seconds, reason = back_off_s, Reason.BACK_OFF

    asked_s = exchange.retry_after_s if exchange is not None and exchange.status >= 300 else None
    if asked_s is not None and (asked_s := min(asked_s, config.retry_after_s_max)) > seconds:
        seconds, reason = asked_s, Reason.ASKED_BY_SERVER
    return Delay(seconds, reason, back_off_s)


def failures_after(host: Host, result: Result) -> int:
    """How many failures in a row the host has now; what tells nothing of it changes nothing."""
    if isinstance(result, GAVE):
        return 0
    if isinstance(result, Failed):
        return host.failures + 1 if result.reason in OF_THE_HOST else 0
    if isinstance(result, RobotsRead):
        return host.failures + 1 if result.robots.reason is not None else 0
    return host.failures


def is_strained(result: Result) -> bool:
    if isinstance(result, Failed):
        return result.reason in STRAINED
    if isinstance(result, RobotsRead):
        return result.exchange is None or result.exchange.status in (429, 503)
    return False


def is_answer(result: Failed) -> bool:
    """Whether the server is there and at work, whatever is wrong with what it sent."""
    return result.exchange is not None and result.exchange.status < 400


def ended_at(result: Result) -> float | None:
    """When the answer ended; None where nothing was asked."""
    exchange = result.exchange
    return exchange.ended_at if exchange is not None else result.ended_at


def start_delay(
    host: Host,
    result: Result,
    config: PolitenessSettings,
    policy: Policy,
    now: float,
    attempt: int = 1,
    *,
    is_of_origin: bool = False,
) -> None:
    """An answer has ended: when its host may be asked again, and why then. `attempt`: of the URL asked for."""
    if isinstance(result, GAVE):  # as nearly all
        host.failures = host.failed_urls = host.rests = 0
        host.well_at = result.exchange.ended_at
        _leave_alone(host, host.well_at, next_delay(host, result, config, policy))
        host.requests += 1
        return
    moment, robots = ended_at(result), result if isinstance(result, RobotsRead) and not is_of_origin else None
    later = result if isinstance(result, Postponed) else None
    if later is not None and later.reason in PERHAPS_ASKED:
        moment = now
    if moment is not None:
        if robots is not None:
            host.crawl_delay_s = robots.robots.crawl_delay_s
        if not is_of_origin:
            _count_failures(host, result, moment, attempt)
        _leave_alone(host, moment, next_delay(host, result, config, policy, is_of_origin=is_of_origin))
        host.requests += later is None
        if robots is not None:
            not_before(host, moment + robots.wait_s, Reason.ROBOTS_UNREACHABLE)
    if later is not None:
        not_before(host, now + later.wait_s, later.reason)


def _leave_alone(host: Host, moment: float, delay: Delay) -> None:
    host.delay_s, host.delay_reason, host.back_off_s = delay.seconds, delay.reason, delay.back_off_s
    if (ready_at := moment + delay.seconds) > host.ready_at:
        host.ready_at = ready_at


def _count_failures(host: Host, result: Result, moment: float, attempt: int) -> None:
    host.failures = failures_after(host, result)
    if host.failures == 0:
        host.failed_urls = host.rests = 0
        host.well_at = host.well_at if isinstance(result, Postponed) else moment
    elif isinstance(result, Failed) and attempt == 1 and not is_answer(result):
        host.failed_urls += 1


def end_booking(host: Host, answer: Answer | None, config: PolitenessSettings, policy: Policy, now: float) -> None:
    """A booked request has ended here (cluster/booking_service.py). None: nobody knows how, so the delay is full."""
    if answer is not None:
        start_delay(host, answer, config, policy, now)
        return
    least_s = config.delay_s if policy.least_delay_s is None else policy.least_delay_s
    host.delay_s = max(host.delay_s, least_s, host.crawl_delay_s or 0.0)
    host.ready_at = max(host.ready_at, now + host.delay_s)
    host.requests += 1


def not_before(host: Host, moment: float, reason: Reason) -> None:
    """One more thing to wait for: of all of them the longest counts."""
    if moment > host.ready_at:
        host.ready_at, host.delay_reason = moment, reason
