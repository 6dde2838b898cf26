"""How a crawl went: counts by reason for the program, and lines of the log for whoever watches.

The log is Python's own, under the name `gossamer`: INFO has a line now and then and the first URL of each reason,
DEBUG one for every URL, WARNING what somebody should look at. A program that has set up logging gets them its way. A
script that has set up none sees INFO on standard error while it crawls; `logging.getLogger("gossamer").setLevel(...)`
says otherwise, and then nothing is added.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import msgspec

from gossamer.clock import Clock
from gossamer.frontier.disk.tables import Totals
from gossamer.library.crawled import Crawled
from gossamer.records import Reason, Refused, Result
from gossamer.text import counted, explained, moment, printable, size, span
from gossamer.worker.progress import total

LOG = logging.getLogger("gossamer")
PROGRESS_S = 10.0  # between two lines

Ending = Literal["", "complete", "later", "max_pages", "max_time", "left"]
"""Why a crawl is over: `complete` nothing is left, `later` only what is tried again later, `left` by its program."""


class Report(msgspec.Struct, frozen=True):
    """This run of a crawl, as far as it has come."""

    ended: Ending = ""  # empty: it goes on
    elapsed_s: float = 0.0
    pages: int = 0  # fetched for the first time
    visits: int = 0  # of pages that were fetched before
    moved: int = 0
    duplicates: int = 0  # of these pages, those with the content of another
    requests: int = 0
    bytes: int = 0
    reasons: dict[Reason, int] = {}  # URLs that failed, were refused or could not be read
    rejected: dict[Reason, int] = {}  # links that the link filter kept out
    failed_tries: dict[Reason, int] = {}  # of any URL, also of those that are tried again
    queued: int = 0  # left for the next run
    waiting: int = 0  # for another try
    next_try_at: float | None = None  # of what waits

    def __str__(self) -> str:
        """As the last line of the log has it."""
        said = [f"{counted(self.pages, 'page')}, {size(self.bytes)} in {span(self.elapsed_s)}"]
        if self.visits:
            said.append(f"{counted(self.visits, 'page')} visited again")
        if self.reasons:
            said.append(f"not fetched: {_words(self.reasons)}")
        if self.rejected:
            said.append(f"links rejected: {_words(self.rejected)}")
        if self.waiting:
            tries = f" ({_words(self.failed_tries)})" if self.failed_tries else ""
            at = f" from {moment(self.next_try_at)} on" if self.next_try_at else ""
            said.append(f"{counted(self.waiting, 'URL')} will be tried again{at}{tries}")
        if self.queued:
            said.append(f"{self.queued:,} queued")
        return "; ".join(said)


def _words(counts: Mapping[Reason, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.items(), key=lambda one: -one[1]))


class Reporter:
    """Counts from the start of a run on, and says how it goes."""

    def __init__(self, clock: Clock, totals: Iterable[Totals]) -> None:
        self._clock = clock
        self._before = total(totals)
        self._started_at = self._said_at = clock.now()
        self._tries: dict[Reason, int] = {}
        self._explained: set[Reason] = set()
        self.ended: Ending = ""

    def note(self, crawled: Crawled, result: Result) -> None:
        reason = crawled.reason
        if reason is None:
            LOG.debug("%s %s", crawled.status, crawled.url)
            return
        is_try = not isinstance(result, Refused)
        if is_try:
            self._tries[reason] = self._tries.get(reason, 0) + 1
        level = logging.DEBUG
        if reason not in self._explained:
            self._explained.add(reason)
            level = logging.INFO
        if crawled.source is None:
            level = logging.WARNING  # what was asked for by name
        detail = f" ({printable(crawled.detail)})" if crawled.detail else ""
        LOG.log(level, "%s was not fetched: %s: %s%s", crawled.url, reason, explained(reason), detail)

    def say(self, totals: Iterable[Totals], next_at: float | None) -> None:
        """A line, when it is time for one."""
        now = self._clock.now()
        if now - self._said_at < PROGRESS_S:
            return
        report = self.report(totals, next_at)
        rate = report.pages / report.elapsed_s
        waits = f"; nothing is asked before {moment(next_at)}" if next_at and next_at > now + PROGRESS_S else ""
        LOG.info("%s (%.1f pages/s)%s", report, rate, waits)
        self._said_at = now

    def end(self, totals: Iterable[Totals], next_at: float | None) -> Report:
        report = self.report(totals, next_at)
        if not report.pages and not report.visits and report.ended != "left" and (report.reasons or report.waiting):
            LOG.warning("no page was fetched: %s", report)
        else:
            LOG.info("%s: %s", report.ended, report)
        return report

    def report(self, totals: Iterable[Totals], next_at: float | None) -> Report:
        now, before = total(totals), self._before
        return Report(
            ended=self.ended,
            elapsed_s=self._clock.now() - self._started_at,
            pages=now.pages - before.pages,
            visits=now.visits - before.visits,
            moved=now.moved - before.moved,
            duplicates=now.duplicates - before.duplicates,
            requests=now.requests - before.requests,
            bytes=now.bytes - before.bytes,
            reasons=_more(now.reasons, before.reasons),
            rejected=_more(now.turned_away, before.turned_away),
            failed_tries=dict(self._tries),
            queued=now.queued,
            waiting=now.waiting,
            next_try_at=next_at if now.waiting else None,
        )


def _more(now: Mapping[str, int], before: Mapping[str, int]) -> dict[Reason, int]:
    return {Reason(word): more for word, count in now.items() if (more := count - before.get(word, 0)) > 0}


_shown: list[logging.Handler] = []  # one for each crawl under way that nobody else would show; all are the first


@contextmanager
def shown() -> Iterator[None]:
    """Standard error has the log meanwhile, unless the program said what is to become of it."""
    if not _shown and (LOG.hasHandlers() or LOG.level != logging.NOTSET):
        yield
        return
    if not _shown:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("gossamer: %(message)s"))
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
        _shown.append(handler)
    else:
        _shown.append(_shown[0])
    try:
        yield
    finally:
        last = _shown.pop()
        if not _shown:
            LOG.removeHandler(last)
            LOG.setLevel(logging.NOTSET)
