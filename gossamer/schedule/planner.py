"""The planner of a partition: its credit (credit.py) and its dates (dates.py), and what both of them share.

The frontier uses the two halves, each where it needs it. The planner keeps what has to survive (`Plans`), which goes
into the same batch as the pages that changed it, and deals with the other partitions: it tells them a
`PartitionStatistics` and follows the `RecrawlPlan` that comes of all of them.
"""

from __future__ import annotations

from gossamer.schedule import importance, plans
from gossamer.schedule.credit import Credit
from gossamer.schedule.dates import Dates
from gossamer.schedule.plans import Plans
from gossamer.schedule.ranks import Ranks
from gossamer.schedule.recrawl import middle_of
from gossamer.schedule.recrawl_plan import PartitionStatistics, RecrawlPlan
from gossamer.settings import ProcessSettings, ScheduleSettings


class Planner:
    def __init__(self, settings: ScheduleSettings, process: ProcessSettings, recrawl_plan: RecrawlPlan) -> None:
        self._plans = Plans()
        self._written = plans.encode(self._plans)
        self.credit = Credit(self._plans, recrawl_plan)
        self.dates = Dates(settings, process, self._plans, recrawl_plan, self.credit)

    @property
    def ranks(self) -> Ranks | None:
        return self.credit.ranks

    @ranks.setter
    def ranks(self, ranks: Ranks | None) -> None:
        self.credit.ranks = ranks

    # ---- what survives -----------------------------------------------------------------------------------

    def load(self, stored: bytes) -> None:
        kept = self._plans = self.credit.plans = self.dates.plans = plans.decode(stored)
        self._written = stored
        if kept.census and b"earned" not in stored:  # by an earlier version: as its weights have it, about
            even = self.credit.minted // max(importance.EVEN_PAGES_MIN, self.credit.recrawl_plan.known)
            kept.earned = round(sum(pages * middle_of(cell)[1] * even for cell, pages in kept.census.items()))

    def changes(self) -> bytes | None:
        """What has to be written in this batch; None: nothing is new since the last."""
        encoded = plans.encode(self._plans)
        if encoded == self._written:
            return None
        self._written = encoded
        return encoded

    # ---- with the other partitions -----------------------------------------------------------------------

    def statistics(self, known: int, overdue: int, active_sites: int = 0, requests: int = 0) -> PartitionStatistics:
        kept = self._plans
        treasury = kept.treasury
        return PartitionStatistics(
            dict(kept.census),
            known,
            treasury.cash,
            treasury.minted,
            dict(treasury.given),
            kept.visits,
            overdue,
            kept.earned,
            active_sites,
            requests,
        )

    def apply_plan(self, recrawl_plan: RecrawlPlan, number: int) -> None:
        """`number`: of this partition."""
        self.credit.recrawl_plan = recrawl_plan
        self.dates.apply_plan(recrawl_plan)
        treasury = self._plans.treasury
        for source, given in recrawl_plan.given.items():
            if number in given:
                importance.told(treasury, source, given[number])
        if recrawl_plan.cashes:
            importance.level(treasury, number, recrawl_plan.cashes)
