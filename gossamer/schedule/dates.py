"""The dates of a partition: when each of its pages is visited again (`interfaces.Dates`).

It stands between the frontier, which knows states and queues, and the pure functions of change.py, rate.py,
recrawl.py and trust.py. The frontier asks it when a page's outcome is final (its history after this visit, what its
host's word was worth, and when it is due again), when a page is dropped, when a queue is ordered (whether the copy
that we have is still good), and when a sitemap says that a page has changed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from gossamer.records import Fetched, Host, Moved, Outcome, State, UrlRecord
from gossamer.schedule.change import NEVER, gone, is_change, look_of, seen
from gossamer.schedule.credit import Credit
from gossamer.schedule.plans import Plans
from gossamer.schedule.rate import Belief, belief, change_rate_of, moved, prior_rate
from gossamer.schedule.recrawl import (
    DAY_S,
    again_when_gone_s,
    cell_of,
    chance_fresh,
    interval_s,
    recount,
    sooner_s,
)
from gossamer.schedule.recrawl_plan import RecrawlPlan, bounds_of
from gossamer.schedule.trust import after_visit, dates_are_trusted, odds_of_announcement
from gossamer.settings import ProcessSettings, ScheduleSettings
from gossamer.visit_history import History


class Dates:
    def __init__(
        self,
        settings: ScheduleSettings,
        process: ProcessSettings,
        plans: Plans,
        recrawl_plan: RecrawlPlan,
        credit: Credit,
    ) -> None:
        """`credit`: says what a page is worth to come back to."""
        self.plans = plans
        self._settings = settings
        self._process = process
        self._credit = credit
        self.apply_plan(recrawl_plan)

    def apply_plan(self, recrawl_plan: RecrawlPlan) -> None:
        self._recrawl_plan, self._bounds = recrawl_plan, bounds_of(self._settings, recrawl_plan)

    # ---- a page is finished or dropped -------------------------------------------------------------------

    def after_visit(
        self, before: UrlRecord, after: UrlRecord, host: Host, outcome: Outcome, now: float, *, is_suspect: bool
    ) -> UrlRecord:
        """The record of a URL whose outcome is final: what it has learnt, and when it is due again.

        `is_suspect`: its pattern looks like a trap."""
        history, due_at = before.history, None
        if isinstance(outcome.result, Fetched | Moved) and after.state is State.DONE:
            self.plans.visits += history is not None
            history = self._visited(history or NEVER, host, outcome)
            is_last = is_suspect or (isinstance(outcome.result, Fetched) and after.is_copy)
            if history.is_last != is_last:
                history = msgspec.structs.replace(history, is_last=is_last)
            weight = self._credit.weight(after, is_last=is_last)
            self.plans.earned += after.earned - (before.earned if history.cell >= 0 else 0)
            history, due_at = self._planned(history, host, weight, now)
        elif history is not None:
            history = gone(history, now)
            wait_s = again_when_gone_s(history.gone)
            due_at = now + wait_s if wait_s is not None else None
            history = self._uncounted(history, host, before.earned)
        return msgspec.structs.replace(after, history=history, due_at=due_at)

    def forget(self, known: UrlRecord, host: Host | None) -> UrlRecord:
        """A page will not be asked for: nobody plans for it any more. `host`: of one that was visited before."""
        history = known.history
        if history is not None and host is not None:
            history = self._uncounted(history, host, known.earned)
        return msgspec.structs.replace(known, history=history, due_at=None)

    def _visited(self, history: History, host: Host, outcome: Outcome) -> History:
        result = outcome.result
        assert isinstance(result, Fetched | Moved)
        exchange = result.exchange
        is_first, look = not history.visited_at, self._look(outcome)
        is_trusted = dates_are_trusted(host.trust)
        # Nobody asks for the date of most first visits, and reading one takes 6 µs.
        date = modified_at(exchange.header("Last-Modified")) if is_trusted or not is_first else None
        changed = not is_first and look is not None and is_change(history.look, look, self._process.near_bits)
        after = seen(
            history, exchange.started_at, changed=changed, look=look, modified_at=date if is_trusted else None
        )
        if not is_first:
            later = None if date is None or look is None else date > history.visited_at
            host.trust = after_visit(host.trust, changed=changed, dated_later=later, said=history.said)
        return after

    def _look(self, outcome: Outcome) -> int | None:
        """None: as it was before."""
        result, page, process = outcome.result, outcome.page, self._process
        if isinstance(result, Moved):
            return look_of(0, 0, result.target, "", words_min=1)
        if page is None:
            return None
        few = page.words < process.near_words_min  # else the text is not asked for, which costs something
        text = (page.main_text or page.text) if few or not page.simhash else ""
        return look_of(page.simhash, page.words, text, outcome.content_hash, words_min=process.near_words_min)

    def _planned(self, history: History, host: Host, weight: float, now: float) -> tuple[History, float]:
        believed = self._belief(history, host)
        wait_s = interval_s(believed, weight, self._recrawl_plan.multiplier, self._bounds)
        return self._counted(history, host, believed, weight), now + max(wait_s, self._least_s(host))

    def _least_s(self, host: Host) -> float:
        """As long as it takes to visit all pages of a host, at the pace that it can be asked or may cost."""
        most = self._settings.host_visits_a_day
        return host.pages * max(host.delay_s, DAY_S / most if most is not None else 0.0)

    def _counted(self, history: History, host: Host, believed: Belief | None, weight: float) -> History:
        """Count the page where it belongs now: by its pace at its host and everywhere, and in the census."""
        change_rate, cell = (change_rate_of(believed), cell_of(believed, weight)) if believed is not None else (0, -1)
        host.change_rate = moved(host.change_rate, history.change_rate, change_rate)
        self.plans.change_rate = moved(self.plans.change_rate, history.change_rate, change_rate)
        recount(self.plans.census, history.cell, cell)
        return msgspec.structs.replace(history, change_rate=change_rate, cell=cell)

    def _uncounted(self, history: History, host: Host, earned: int) -> History:
        """Nobody plans for the page any more, or not by its pace."""
        if history.cell >= 0:
            self.plans.earned -= earned
        return self._counted(history, host, None, 1.0)

    def _belief(self, history: History, host: Host) -> Belief:
        return belief(history, prior_rate(host.change_rate, self.plans.change_rate, 1 / self._settings.first_guess_s))

    # ---- between visits ----------------------------------------------------------------------------------

    def chance_outdated(self, known: UrlRecord, host: Host, now: float) -> float:
        """How much a new copy is needed, in [0, 1]: the chance that the one we have is not good any more."""
        if known.history is None or known.history.gone:
            return 1.0
        if known.history.is_last:
            return 0.0
        return 1.0 - chance_fresh(max(0.0, now - known.history.visited_at), self._belief(known.history, host))

    def apply_lastmod(self, known: UrlRecord, host: Host, lastmod: str, now: float) -> UrlRecord | None:
        """A sitemap says when the page changed last: the page as it is after that; None: nothing new."""
        history, moment = known.history, stamp(lastmod)
        if history is None or known.due_at is None or moment is None:
            return None
        said = 2 if moment > history.visited_at else 1
        if history.said >= said:
            return None
        due_at, odds = known.due_at, odds_of_announcement(host.trust)
        if said == 2 and odds > 1:
            age_s, planned_s = max(0.0, now - history.visited_at), due_at - history.visited_at
            sooner = now + sooner_s(age_s, planned_s, self._belief(history, host), odds)
            due_at = max(min(due_at, sooner), history.visited_at + self._bounds.shortest_s)
        return msgspec.structs.replace(known, history=msgspec.structs.replace(history, said=said), due_at=due_at)

    def explained(self, known: UrlRecord, host: Host) -> dict[str, float | int]:
        """What the next visit follows from, for people."""
        history = known.history or NEVER
        return {
            "visits": history.visits + bool(history.visited_at),
            "changes_seen": history.changes + history.dated,
            "changes_every_s": round(1 / self._belief(history, host).rate),
            "weight": round(self._credit.weight(known, is_last=history.is_last), 4),
            "is_last": history.is_last,
            "gone": history.gone,
        }


def modified_at(text: str | None) -> float | None:
    """`Last-Modified` as seconds; None where there is none that can be read."""
    if text is None:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def stamp(text: str) -> float | None:
    """A date as sitemaps give it; None: no date."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
