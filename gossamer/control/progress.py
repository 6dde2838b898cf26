"""Progress: what a running crawl has done lately, for whoever shows it. Costs microseconds a page.

Each worker gathers its own (`Recent`, fed by every outcome) and hands it over with its reports; the supervisor adds
them up (`Progress`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import TypeVar

from gossamer.clock import Clock
from gossamer.control.orders import Line, News
from gossamer.fetch.dns import DnsCounts
from gossamer.frontier.tables import Totals
from gossamer.records import Failed, Fetched, Moved, Outcome, Postponed, Refused, RobotsRead

C = TypeVar("C", Totals, DnsCounts)

RATE_S = 10.0  # rates are over this long: steady enough to read, quick enough to notice
LINES_MAX = 12


class Recent:
    """A worker's outcomes since its last report."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._pages = 0
        self._bytes = 0
        self._errors: Counter[str] = Counter()
        self._outcomes: deque[Outcome] = deque(maxlen=LINES_MAX)

    def watch(self, outcome: Outcome) -> None:
        result = outcome.result
        if isinstance(result, RobotsRead | Postponed):
            return
        if isinstance(result, Fetched):
            self._pages += 1
            self._bytes += len(result.body)
        elif isinstance(result, Failed | Refused):
            self._errors[result.reason] += 1
        self._outcomes.append(outcome)

    def take(self) -> News:
        news = News(self._pages, self._bytes, dict(self._errors), [line_of(outcome) for outcome in self._outcomes])
        self._start()
        return news


class Progress:
    """The whole crawl since this start."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.started_at = clock.now()
        self.errors: Counter[str] = Counter()
        self.lines: deque[Line] = deque(maxlen=LINES_MAX)
        self._recent: deque[tuple[float, int, int]] = deque()  # when, pages, bytes: one a report

    def add(self, news: News) -> None:
        self.errors.update(news.errors)
        self.lines.extend(news.lines)
        self._recent.append((self._clock.now(), news.pages, news.bytes))
        self._forget()

    @property
    def elapsed_s(self) -> float:
        return self._clock.now() - self.started_at

    def rates(self) -> tuple[float, float]:
        """Pages and bytes a second, lately."""
        self._forget()
        span_s = max(1.0, min(RATE_S, self.elapsed_s))
        return sum(pages for _, pages, _ in self._recent) / span_s, sum(size for *_, size in self._recent) / span_s

    def _forget(self) -> None:
        while self._recent and self._recent[0][0] < self._clock.now() - RATE_S:
            self._recent.popleft()


def line_of(outcome: Outcome) -> Line:
    url = outcome.lease.url
    match outcome.result:
        case Fetched(exchange=exchange):
            alike = {"same": "same as", "near": "nearly"}.get(outcome.verdict.kind)
            note = f"{alike} {outcome.verdict.of}" if alike else ""
            return Line(str(exchange.status), url, note)
        case Moved(exchange=exchange, target=target):
            return Line(str(exchange.status), url, f"to {target}")
        case Failed(reason=reason, exchange=exchange, detail=detail):
            return Line(str(exchange.status) if exchange else reason, url, detail, is_good=False)
        case Refused(reason=reason, detail=detail):
            return Line(reason, url, detail, is_good=False)
        case Postponed(reason=reason):
            return Line(reason, url)
        case RobotsRead():
            return Line("robots", url)


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
