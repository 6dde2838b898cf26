"""The origins of one host (scheme, host and port), and which of them do not answer. Pure functions.

A host has one queue and one clock, whatever its ports are: requests to it never overlap, and its delay holds between
any two of them. But a port may be closed, swallow every packet or speak another protocol while the others are well.
So a failure that tells of nobody being there counts against its origin alone, as long as another origin of the host
may still answer. An origin that failed `FAILING` times in a row, or whose robots.txt cannot be fetched, is away until
a moment: its URLs are set aside when their turn comes, without a request (choice.py), and the turn goes to the next.
When the moment has come the first of them tries; what it finds out decides about the others. Each time the wait is
longer, and any answer ends it.

Where no other origin may answer, such a failure is the host's: a host with one origin, as most have, knows nothing of
all this, and one whose origins are all away is slowed down and rests as a whole (politeness.py, due.py).

A host remembers at most `ORIGINS_MAX` origins by name, and all others as one: of a thousand dead ports that somebody
links to, one is tried in ten minutes. Of those, an origin that answers gets the name of one that does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from msgspec.structs import replace

from gossamer.frontier.rules.politeness import ended_at
from gossamer.records import Failed, Host, Reason, Result, RobotsRead
from gossamer.visit_history import Away

ORIGINS_MAX = 16  # some 30 bytes of a host's record each; more than a dozen ports of one name is nobody's habit
OTHERS = ""  # stands for all that have no name of their own
OTHERS_WAIT_S = 600.0  # at most: so one of many gets its turn some day, at a share of the time that nobody notices
FAILING = 3  # so many URLs in a row: one may be bad luck, or be slow itself
SPREAD_S = 1.0  # in which the URLs of an origin come back, each time another one first
NOBODY_THERE = frozenset({Reason.CONNECT, Reason.TLS, Reason.TIMEOUT, Reason.TOO_SLOW})  # where nothing came at all
WHATEVER_THE_URL = frozenset({Reason.CONNECT, Reason.TLS})


def waits(retries_s: Sequence[float], rests_s: Sequence[float]) -> tuple[float, ...]:
    """How long an origin is left alone, one by one: first for as long as a server takes to start again, a minute."""
    return (retries_s[0] / 10, *retries_s, *rests_s) if retries_s else tuple(rests_s)


def meet(host: Host, origin: str) -> None:
    """A URL of this origin is queued."""
    if origin not in host.origins:
        host.origins.setdefault(origin if len(host.origins) < ORIGINS_MAX else OTHERS)


def away(host: Host, origin: str, now: float) -> Away | None:
    """What is known of an origin that is not to be asked now; None: it may be."""
    found = host.origins.get(_name(host, origin))
    return found if found is not None and found.until > now else None


def all_away(host: Host, now: float) -> list[Away]:
    """What is known of all that are not to be asked now, those first that are tried next."""
    return sorted(
        (found for found in host.origins.values() if found and found.until > now), key=lambda each: each.until
    )


def has_silent(host: Host) -> bool:
    """Whether nobody answers at one of its origins. Of an only one nothing is noted: there it is the host itself."""
    return len(host.origins) > 1 and any(host.origins.values())


def is_failing(host: Host, origin: str) -> bool:
    """Whether nobody has answered there since it was found to be away."""
    found = host.origins.get(_name(host, origin))
    return found is not None and found.rests > 0


def is_silent_since(host: Host, origin: str, moment: float | None) -> bool:
    """Whether nobody has answered there since that moment, at which something failed. None: nothing did."""
    found = host.origins.get(_name(host, origin))
    return found is not None and moment is not None and found.since <= moment


def is_its_own(host: Host, origin: str, result: Result, now: float) -> bool:
    """Whether a failure tells of its origin alone: another one of the host may answer."""
    if not is_silent(result):
        return False
    own = _name(host, origin)
    return any(name != own and (found is None or found.until <= now) for name, found in host.origins.items())


def note(host: Host, origin: str, result: Result, attempt: int, waits_s: Sequence[float], now: float) -> bool:
    """Remember what a result tells of its origin; whether it tells nothing of the host. `attempt`: of its URL."""
    if not is_silent(result):
        if result.exchange is not None:
            forgive(host, origin)
        return False
    meet(host, origin)
    if len(host.origins) == 1 or not waits_s:
        return False
    ended = ended_at(result) or now
    is_own, name = is_its_own(host, origin, result, now), _name(host, origin)
    before = host.origins.get(name) or Away(since=ended)
    if isinstance(result, RobotsRead):
        reason, fault = Reason.ROBOTS_UNREACHABLE, result.robots.fault
        is_away, least_s = True, result.wait_s or result.robots.rest_s
    else:
        assert isinstance(result, Failed), f"nobody answered, and it is {result}"
        reason, fault = Reason.ORIGIN_DOWN, f"{result.reason}: {result.detail}" if result.detail else result.reason
        is_away, least_s = before.rests > 0 or before.failures + 1 >= FAILING, 0.0
        if not is_away and attempt > 1 and result.reason not in WHATEVER_THE_URL:
            host.origins[name] = before  # one URL again and again says nothing of the others
            return is_own
    rests, until = before.rests, before.until
    if is_own and is_away:
        rests += 1
        wait_s = max(waits_s[min(rests, len(waits_s)) - 1], least_s)
        until = ended + (wait_s if name != OTHERS else min(wait_s, OTHERS_WAIT_S))
    host.origins[name] = Away(before.failures + 1, rests, until, reason, f"{origin}: {fault}", before.since)
    return is_own


def forgive(host: Host, origin: str) -> None:
    """Somebody is there, or is to be looked for at once."""
    name = _name(host, origin)
    if name != origin:
        silent = [(found.until, each) for each, found in host.origins.items() if found is not None and each != OTHERS]
        if not silent:
            host.origins[OTHERS] = None
            return
        del host.origins[max(silent)[1]]
    host.origins[origin] = None


def back_at(found: Away, key: bytes) -> float:
    """When a URL of an origin that is away is queued again. `key`: of the URL.

    Whoever comes first tries for all. Half of them come last, together, a quarter before them, and so on: few
    batches, and at the head one or two whom chance has chosen."""
    return found.until + SPREAD_S * crc32(key, found.rests).bit_length() / 32


def move_back(host: Host, ahead_s: float, now: float) -> bool:
    """Moments that were noted by a clock that was ahead (clock_jumps.py); whether there were any."""
    ahead = {name: found for name, found in host.origins.items() if found is not None and found.until > now}
    for name, found in ahead.items():
        host.origins[name] = replace(found, until=max(found.until - ahead_s, now))
    return bool(ahead)


def _name(host: Host, origin: str) -> str:
    return origin if origin in host.origins else OTHERS


def is_silent(result: Result) -> bool:
    """Nobody answered, or robots.txt has to be waited for: nothing of the origin may be asked meanwhile."""
    if isinstance(result, RobotsRead):
        return result.robots.reason is not None and (result.wait_s > 0 or result.robots.rest_s > 0)
    return isinstance(result, Failed) and result.reason in NOBODY_THERE and result.exchange is None
