"""The parts of a frontier, and how they hang together. `Parts.open` is the only place that builds them.

It reads what the disk has and changes nothing but this: moments that a wrong clock noted are moved back. What was in
flight when the last owner stopped is given back by `Frontier.open`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gossamer.clock import Clock
from gossamer.frontier.bookings import Bookings
from gossamer.frontier.budgets import Budgets
from gossamer.frontier.change import Change
from gossamer.frontier.choice import Choice
from gossamer.frontier.clock_jumps import move_back
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.recorder import Recorder
from gossamer.frontier.disk.seen import Seen
from gossamer.frontier.disk.tables import Meta
from gossamer.frontier.due import Due
from gossamer.frontier.front import Front
from gossamer.frontier.gains import Gains
from gossamer.frontier.intake import Intake
from gossamer.frontier.leases import Leases
from gossamer.frontier.lifted import Lifted
from gossamer.frontier.outcomes import Outcomes
from gossamer.frontier.patterns import Patterns
from gossamer.frontier.retry import Retries
from gossamer.frontier.revisits import Revisits
from gossamer.frontier.rules.limits import Values
from gossamer.frontier.site_pace import SitePace
from gossamer.interfaces import Filter, Planner, Store
from gossamer.settings import FrontierSettings, PolitenessSettings, TrapsSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    store: Store
    clock: Clock
    limits: FrontierSettings
    politeness: PolitenessSettings
    meta: Meta
    reader: PartitionReader
    front: Front
    seen: Seen
    leases: Leases
    recorder: Recorder
    due: Due
    revisits: Revisits
    lifted: Lifted
    patterns: Patterns
    gains: Gains
    site_pace: SitePace
    bookings: Bookings
    choice: Choice
    intake: Intake
    outcomes: Outcomes
    retries: Retries
    planner: Planner | None
    moved_back_s: float  # by which the clock of the last run was ahead of this one

    @classmethod
    def open(
        cls,
        store: Store,
        folder: Path,
        clock: Clock,
        link_filter: Filter,
        limits: FrontierSettings,
        politeness: PolitenessSettings,
        traps: TrapsSettings,
        is_home: Callable[[str], bool],
        planner: Planner | None,
        revisit_share: float,
        in_force: Values | None,
    ) -> Parts:
        reader = PartitionReader(store)
        meta = reader.meta()
        moved_back_s = move_back(store, reader, meta, clock.now(), politeness.delay_s)
        if meta.levels is None:
            meta.levels = reader.levels()
        front = Front(store, reader, limits, clock.random, meta.levels)
        if planner is not None:
            if (plans := reader.plans()) is not None:
                planner.load(plans)
            front.authority = planner.credit.authority
        credit = planner.credit if planner is not None else None
        patterns = Patterns(store, traps, front.active, is_home)
        gains = Gains(store)
        leases = Leases(reader, meta, limits.lease_s, credit)
        seen = Seen(store, limits, folder / "seen.bloom", meta.totals.known)
        revisits = Revisits(store, reader, meta, revisit_share)
        due = Due(store, reader, front, meta, limits.rests_s)
        site_pace = SitePace(front, politeness.site_requests_per_s)
        bookings = Bookings(front, site_pace, politeness)
        budgets = Budgets(front, limits, traps.host_pages, is_home, meta.totals, credit)
        choice = Choice(front, reader, budgets, patterns, due, bookings, site_pace, revisits, len(limits.retries_s))
        retries = Retries(store, reader, front, due, revisits)
        return cls(
            store=store,
            clock=clock,
            limits=limits,
            politeness=politeness,
            meta=meta,
            reader=reader,
            front=front,
            seen=seen,
            leases=leases,
            recorder=Recorder(folder / "processing"),
            due=due,
            revisits=revisits,
            lifted=Lifted(store, front, link_filter, budgets, retries, meta.totals, limits, in_force),
            patterns=patterns,
            gains=gains,
            site_pace=site_pace,
            bookings=bookings,
            choice=choice,
            intake=Intake(
                link_filter, seen, reader, leases, front, patterns, meta, revisits, planner, limits.queue_max
            ),
            outcomes=Outcomes(
                store,
                front,
                leases,
                due,
                revisits,
                patterns,
                gains,
                choice,
                site_pace,
                meta,
                limits,
                politeness,
                planner,
            ),
            retries=retries,
            planner=planner,
            moved_back_s=moved_back_s,
        )

    @property
    def unsure_s(self) -> float:
        """The least delay of a host that was asked, and nobody knows how and when that ended."""
        return max(self.politeness.delay_s, self.limits.unsure_s)

    def change(self) -> Change:
        """A batch of this moment."""
        now = self.clock.now()
        return Change(self.store, self.front, self.seen, self.leases, self.meta, self.limits, now, self.planner)
