"""Progress: what a running crawl has done lately, for whoever shows it. Costs microseconds a page.

Each worker gathers its own (`Recent`, fed by every outcome) and hands it over with its reports; the supervisor adds
them up (`Progress`). Of single outcomes only the last few are kept, and made into events when the report is due.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from heapq import nlargest
from pathlib import Path
from typing import TypeVar

from gossamer.clock import Clock
from gossamer.fetch.dns import DnsCounts
from gossamer.fetch.robots import RobotsCounts
from gossamer.frontier.disk.tables import Totals
from gossamer.messages.control_messages import FETCH_S, STATUS_CLASSES, Event, SlowHost
from gossamer.messages.node_messages import KeepingCounts
from gossamer.messages.worker_messages import News
from gossamer.records import Failed, Fetched, Moved, Outcome, Postponed, Reason, Refused, Result, RobotsRead
from gossamer.rendered import RenderCounts
from gossamer.text import TROUBLES, span

C = TypeVar("C", Totals, DnsCounts, RobotsCounts, KeepingCounts, RenderCounts)

RATE_S = 10.0  # rates are over this long: steady enough to read, quick enough to notice
EVENTS_TOLD = 12  # a report
EVENTS_SHOWN = 60  # on the tallest terminal
SLOW_TOLD = 8  # hosts
SLOW_S = 60.0  # for so long a host is among the slowest
EVENTS_WATCHED = 50  # a report, while somebody looks on


class Recent:
    """A worker's outcomes since its last report."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start(EVENTS_TOLD)

    def _start(self, events_max: int) -> None:
        self._pages = 0
        self._bytes = 0
        self._count = 0
        self._errors: Counter[str] = Counter()
        self._outcomes: deque[Outcome] = deque(maxlen=events_max)
        self._fetch_s = [0] * (len(FETCH_S) + 1)
        self._fetch_s_sum = 0.0
        self._statuses: Counter[int] = Counter()
        self._unanswered: Counter[str] = Counter()
        self._slow: dict[str, float] = {}

    def watch(self, outcome: Outcome) -> None:
        result = outcome.result
        exchange = result.exchange
        if exchange is not None:
            took_s = exchange.ended_at - exchange.started_at
            self._fetch_s[bisect_left(FETCH_S, took_s)] += 1
            self._fetch_s_sum += took_s
            self._statuses[exchange.status] += 1
            host = outcome.lease.host
            if took_s > self._slow.get(host, 0.0):
                self._slow[host] = took_s
        elif (reason := unanswered(result)) is not None:
            self._statuses[0] += 1
            self._unanswered[reason] += 1
        if isinstance(result, Postponed) or (isinstance(result, RobotsRead) and result.robots.reason is None):
            return
        if isinstance(result, Fetched):
            self._pages += 1
            self._bytes += result.body_bytes
        elif isinstance(result, Failed | Refused):
            self._errors[result.reason] += 1
        elif isinstance(result, RobotsRead) and result.robots.reason is not None:
            self._errors[result.robots.reason] += 1
        self._count += 1
        self._outcomes.append(outcome)

    def take(self, *, is_watched: bool = False) -> News:
        """`is_watched`: more events from now on."""
        now = self._clock.now()
        events = [event_of(outcome, now) for outcome in self._outcomes]
        totals = (self._pages, self._bytes, dict(self._errors), self._count)
        news = News(
            *totals,
            events,
            self._fetch_s,
            self._fetch_s_sum,
            dict(self._statuses),
            dict(self._unanswered),
            slowest(SlowHost(host, took_s) for host, took_s in self._slow.items()),
        )
        self._start(EVENTS_WATCHED if is_watched else EVENTS_TOLD)
        return news


class Progress:
    """The whole crawl since this start."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.started_at = clock.now()
        self.errors: Counter[str] = Counter()
        self.events: deque[Event] = deque(maxlen=EVENTS_SHOWN)
        self.fetch_s = [0] * (len(FETCH_S) + 1)
        self.fetch_s_sum = 0.0
        self.statuses: Counter[int] = Counter()
        self.unanswered: Counter[str] = Counter()
        self._slow: list[tuple[float, SlowHost]] = []  # with the moment of their report
        self._recent: deque[tuple[float, int, int, int]] = deque()  # when, pages, bytes, troubles: one a report

    @property
    def status_classes(self) -> list[int]:
        return by_class(self.statuses)

    def add(self, news: News) -> None:
        self.errors.update(news.errors)
        self.events.extend(news.events)
        self.fetch_s = [count + more for count, more in zip(self.fetch_s, news.fetch_s, strict=True)]
        self.fetch_s_sum += news.fetch_s_sum
        self.statuses.update(news.statuses)
        if any(news.statuses.keys() - {0}):
            self.unanswered.clear()
        else:
            self.unanswered.update(news.unanswered)
        now = self._clock.now()
        lately = [(at, slow) for at, slow in self._slow if at >= now - SLOW_S] + [(now, slow) for slow in news.slow]
        by_host = {slow.host: (at, slow) for at, slow in sorted(lately, key=lambda each: each[1].took_s)}
        self._slow = list(by_host.values())[-SLOW_TOLD:]
        self._recent.append((now, news.pages, news.bytes, troubles(news.errors)))
        self._forget()

    @property
    def answers(self) -> int:
        """From any server, whatever they were."""
        return sum(self.fetch_s)

    @property
    def elapsed_s(self) -> float:
        return self._clock.now() - self.started_at

    def rates(self) -> tuple[float, float, float]:
        """Pages, bytes and troubles a second, lately."""
        self._forget()
        span_s = max(1.0, min(RATE_S, self.elapsed_s))
        _, pages, bytes_, errors = map(sum, zip(*self._recent, strict=True)) if self._recent else (0, 0, 0, 0)
        return pages / span_s, bytes_ / span_s, errors / span_s

    @property
    def slow(self) -> list[SlowHost]:
        return [slow for at, slow in self._slow if at >= self._clock.now() - SLOW_S]

    def _forget(self) -> None:
        while self._recent and self._recent[0][0] < self._clock.now() - RATE_S:
            self._recent.popleft()


def slowest(hosts: Iterable[SlowHost]) -> list[SlowHost]:
    """Each host once, with its slowest answer."""
    by_host = {each.host: each for each in sorted(hosts, key=lambda each: each.took_s)}
    return nlargest(SLOW_TOLD, by_host.values(), key=lambda each: each.took_s)


def unanswered(result: Result) -> Reason | None:
    """Why a request had no answer; None: none was made, or it is one that had."""
    if isinstance(result, RobotsRead):
        return result.robots.reason if result.exchange is None else None
    return result.reason if isinstance(result, Failed) and result.exchange is None else None


def by_class(statuses: Mapping[int, int]) -> list[int]:
    """Answers by `STATUS_CLASSES`."""
    counts = [0] * len(STATUS_CLASSES)
    for status, count in statuses.items():
        counts[min(status // 100, len(STATUS_CLASSES)) - 1] += count  # the last: there was no answer
    return counts


def troubles(reasons: Mapping[str, int]) -> int:
    """How often something went wrong. What robots.txt, a trap or a bound forbids is no fault of anybody."""
    return sum(count for reason, count in reasons.items() if reason in TROUBLES)


def event_of(outcome: Outcome, now: float) -> Event:
    """One outcome as a person reads it."""
    url, result = outcome.lease.url, outcome.result
    exchange = result.exchange
    at, status, took_s = result.ended_at or now, None, 0.0
    if exchange is not None:
        at, status, took_s = exchange.ended_at, exchange.status, exchange.ended_at - exchange.started_at
    match result:
        case Fetched(body_bytes=body_bytes):
            alike = {"same": "same as", "near": "nearly"}.get(outcome.verdict.kind)
            note = f"{alike} {outcome.verdict.of}" if alike else ""
            return Event(at, "page", url, status, None, body_bytes, took_s, note)
        case Moved(body=body, target=target):
            return Event(at, "redirect", url, status, None, len(body), took_s, f"to {target}")
        case Failed(reason=reason, detail=detail):
            return Event(at, "failure", url, status, reason, 0, took_s, detail)
        case Refused(reason=reason, detail=detail):
            return Event(at, "refusal", url, None, reason, note=detail)
        case Postponed(reason=reason):
            return Event(at, "refusal", url, None, reason, note="later")
        case RobotsRead(robots=robots) if robots.reason is not None:
            note = f"{robots.detail}; asked again in {span(result.wait_s)}" if result.wait_s else robots.detail
            return Event(at, "failure", f"{robots.origin}/robots.txt", status, robots.reason, 0, took_s, note)
        case RobotsRead(robots=robots):
            return Event(at, "page", f"{robots.origin}/robots.txt", status, took_s=took_s)


def total(parts: Iterable[Totals]) -> Totals:
    """The counters of all partitions together."""
    return added_up(parts, Totals())


def added_up(parts: Iterable[C], whole: C) -> C:
    for part in parts:
        for name in part.__struct_fields__:
            value = getattr(part, name)
            if isinstance(value, dict):
                merged = Counter(getattr(whole, name))
                merged.update(value)
                setattr(whole, name, dict(merged))
            else:
                setattr(whole, name, getattr(whole, name) + value)
    return whole


def memory_bytes() -> int:
    """Of this process, resident; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * PAGE_BYTES
    except OSError:
        return 0


PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
