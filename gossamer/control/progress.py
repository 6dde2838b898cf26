"""Progress: what a running crawl has done lately, for whoever shows it. Fed by every outcome; costs microseconds."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass

from gossamer.clock import Clock
from gossamer.frontier.tables import Totals
from gossamer.records import Failed, Fetched, Moved, Outcome, Postponed, Refused, RobotsRead

RATE_S = 10.0  # rates are over this long: steady enough to read, quick enough to notice


@dataclass(frozen=True)
class Line:
    """One outcome as a person reads it."""

    mark: str  # a status, or the reason where there was no answer
    url: str
    note: str = ""
    is_good: bool = True


class Progress:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.started_at = clock.now()
        self.pages = 0
        self.bytes = 0
        self.errors: Counter[str] = Counter()
        self.lines: deque[Line] = deque(maxlen=12)
        self._recent: deque[tuple[float, int]] = deque()  # when, bytes: one a page

    def watch(self, outcome: Outcome) -> None:
        result = outcome.result
        if isinstance(result, RobotsRead | Postponed):
            return
        if isinstance(result, Fetched):
            self.pages += 1
            self.bytes += len(result.body)
            self._recent.append((self._clock.now(), len(result.body)))
        elif isinstance(result, Failed | Refused):
            self.errors[result.reason] += 1
        self.lines.append(line_of(outcome))

    @property
    def elapsed_s(self) -> float:
        return self._clock.now() - self.started_at

    def rates(self) -> tuple[float, float]:
        """Pages and bytes a second, lately."""
        now = self._clock.now()
        while self._recent and self._recent[0][0] < now - RATE_S:
            self._recent.popleft()
        span_s = max(1.0, min(RATE_S, self.elapsed_s))
        return len(self._recent) / span_s, sum(size for _, size in self._recent) / span_s


def line_of(outcome: Outcome) -> Line:
    url = outcome.lease.url
    match outcome.result:
        case Fetched(exchange=exchange):
            note = f"same as {outcome.verdict.of}" if outcome.verdict.kind == "same" else ""
            return Line(str(exchange.status), url, note)
        case Moved(exchange=exchange, target=target):
            return Line(str(exchange.status), url, f"to {target}")
        case Failed(reason=reason, exchange=exchange, detail=detail):
            return Line(str(exchange.status) if exchange else reason, url, detail, is_good=False)
        case Refused(reason=reason, detail=detail):
            return Line(reason, url, detail, is_good=False)
        case RobotsRead() | Postponed():
            return Line("robots", url)


def total(parts: Iterable[Totals]) -> Totals:
    """The counters of all partitions together."""
    whole = Totals(reasons={}, turned_away={})
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
