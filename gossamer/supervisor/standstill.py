"""Why a crawl fetches nothing at this moment, in a sentence: it stops, it is paused, or whom or what it waits for.

A pure function of what the workers reported. Where something is being fetched there is nothing to say. A moment that
is not near is told by the clock on the wall, so that the sentence stays the same while nothing changes.
"""

from __future__ import annotations

from gossamer.messages.control_messages import AS_ASKED, Now, Wait
from gossamer.text import counted, explained, span, time_of_day

SOON_S = 10.0  # told in seconds; later moments by the clock
LONG_S = 5.0  # an answer that takes longer is told


def why_nothing(now: Now) -> str:
    """Empty: something is being fetched, or stored."""
    slow = next((host for host in now.slow if host.is_under_way and host.took_s >= LONG_S), None)
    if now.is_draining:
        if now.under_way:
            held_up = f"; {slow.host} has taken {span(slow.took_s)} so far" if slow else ""
            return f"stopping: {counted(now.under_way, 'request')} under way will be finished{held_up}"
        if now.in_flight and now.paused:
            return f"stopping, and paused: {now.paused}"
        return f"stopping: {counted(now.in_flight, 'page')} will be stored" if now.in_flight else "stopping"
    if now.paused:
        return f"paused: {now.paused}" + ("" if now.paused == AS_ASKED else "; it resumes by itself")
    starting = sum(worker.state == "starting" for worker in now.workers)
    if starting or not now.workers:
        return f"starting: {len(now.workers) - starting} of {counted(len(now.workers), 'worker')} at work"
    late = [worker.number for worker in now.workers if worker.state == "not answering"]
    if late:
        return f"worker {late[0]} does not answer; the others go on"
    if slow and now.pages_per_s == 0:
        return f"waiting for answers: {slow.host} has taken {span(slow.took_s)} so far"
    if now.in_flight:
        return ""
    if not now.totals.known and now.totals.turned_away:
        reason = max(now.totals.turned_away.items(), key=lambda each: each[1])[0]
        return f"nothing to fetch: what it was to start from is rejected: {explained(reason)}"
    return _no_answers(now) + _waiting(now)


def _no_answers(now: Now) -> str:
    if not now.unanswered:
        return ""
    reasons = sorted(now.unanswered.items(), key=lambda each: -each[1])
    since = " any more" if any(status for status in now.statuses) else ""
    return f"no server answers{since} ({', '.join(f'{count:,} × {explained(word)}' for word, count in reasons)}); "


def _waiting(now: Now) -> str:
    totals, wait = now.totals, now.wait
    if wait is None or wait.at <= now.at:
        return ""
    when = f"in {max(1, round(wait.at - now.at))} s" if wait.at - now.at <= SOON_S else _at(wait, now)
    if wait.what == "turn":
        others = f" ({counted(now.active_hosts, 'host')} with work)" if now.active_hosts > 1 else ""
        return f"waiting: {wait.host} is asked again {when}: {explained(wait.reason or '')}{others}"
    if wait.what == "visit":
        return f"everything is fetched; the next page is visited again {when}"
    rest = next(iter(now.resting), None)
    if rest is not None and rest.until <= wait.at + 1:
        return f"waiting for hosts that rest: {rest.host} is asked again {when}: {explained(rest.reason)}"
    return f"only later tries are left: {counted(totals.waiting, 'URL')}, the first {when}"


def _at(wait: Wait, now: Now) -> str:
    return f"at {time_of_day(wait.at, now.at)}"
