"""The frontier of one partition: what to fetch next, when it is polite, and where every URL stands.

Three verbs move a URL: `add` lets it in, `lease` hands it out, `finish` records what became of it. Each is one
atomic batch, so that a crash at any moment leaves every accepted URL in exactly one state:

    add ---> QUEUED ---lease---> IN_FLIGHT ---finish---> DONE, FAILED, REFUSED
               ^                    |   |               | its next visit is due: QUEUED
               |                    |   +---finish---> WAITING (for another try) ---due---> QUEUED
               +--expiry or crash---+
                                    +---third crash on it---> QUARANTINED

`answered` stands between lease and finish: the answer has ended, so the host's clock starts and the host may be
asked again after its delay, while the page still waits to be stored.

Memory holds the hosts being crawled now (`Back`, at most `active_hosts_max`) and a filter, never the URLs. The class
has the verbs; every decision is one of its parts' (parts.py puts them together): intake.py what becomes of a link,
front.py and choice.py which host gets a slot and what its turn is spent on, back.py its URLs, leases.py what is out,
outcomes.py and steps.py what came of it, due.py what waits, revisits.py and lifted.py what returns, change.py writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from gossamer.clock import Clock
from gossamer.frontier.clock_jumps import put_off
from gossamer.frontier.disk.seen import Seen
from gossamer.frontier.disk.tables import Totals, host_key, url_key
from gossamer.frontier.gains import Gains
from gossamer.frontier.leases import Ignored, expire
from gossamer.frontier.lifted import Lifted, Walk
from gossamer.frontier.parts import Parts
from gossamer.frontier.recovery import recover
from gossamer.frontier.retry import Cursor, release_url
from gossamer.frontier.rules.limits import Values
from gossamer.frontier.rules.policy import Policies
from gossamer.interfaces import Filter, Planner, Store
from gossamer.outlinks import OwnLinks
from gossamer.records import (
    Answer,
    Claim,
    Host,
    Lease,
    Link,
    Outcome,
    Place,
    Reason,
    Result,
    RobotsCopy,
    State,
    Url,
    UrlRecord,
)
from gossamer.settings import FrontierSettings, PolitenessSettings, TrapsSettings

SOON_S = 60.0  # a later try that comes sooner is waited for


class Frontier:
    """To be opened (`Frontier.open`), because what the last owner left in flight has to be given back first."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @classmethod
    def open(
        cls,
        store: Store,
        folder: Path,
        clock: Clock,
        link_filter: Filter,
        limits: FrontierSettings,
        politeness: PolitenessSettings,
        traps: TrapsSettings | None = None,
        is_home: Callable[[str], bool] = lambda host: True,
        planner: Planner | None = None,
        revisit_share: float = 0.0,
        in_force: Values | None = None,
        *,
        is_clean: bool = True,
    ) -> Self:
        """The frontier of a store, whatever happened to whoever had it open last.

        `is_clean`: the store knows of every request that was made. Else no host is asked before its delay from now.
        `folder`: for the two files beside the store. `is_home`: whether a person asked for a host; where nothing is
        said, for all of them. Without a `planner` pages are worth the same, and none is visited again.
        `in_force`: the settings that refusals depend on (rules/limits.py): what an earlier owner refused by stricter
        ones comes back, from the first `apply_policies` on."""
        parts = Parts.open(
            store,
            folder,
            clock,
            link_filter,
            limits,
            politeness,
            traps or TrapsSettings(),
            is_home,
            planner,
            revisit_share,
            in_force,
        )
        if not is_clean:
            parts.meta.floor_at = clock.now()  # durable with what is given back: the next owner keeps to it, too
        parts.front.leave_alone(parts.meta.floor_at, parts.unsure_s)
        frontier = cls(parts)
        if parts.reader.has_anything:
            frontier._give_back(parts.recorder.found())
        parts.recorder.leave()
        return frontier

    def _give_back(self, culprit: Url | None = None) -> None:
        """Whatever was in flight stands in its queue again, and its host is left alone for its delay."""
        parts, change = self._parts, self._parts.change()
        kills_max, delay_s = parts.limits.kills_max, parts.unsure_s
        recover(parts.store, parts.reader, parts.meta, change, culprit, kills_max, delay_s)
        change.write(sync=True)

    def __repr__(self) -> str:
        totals = self.totals
        return f"Frontier(queued={totals.queued}, waiting={totals.waiting}, active={self.active_hosts})"

    def close(self) -> None:
        """A clean end: what is still leased is given back, and what costs time to make again is saved. The store is
        not ours to close."""
        if len(self._parts.leases):
            self._give_back()
        self._parts.seen.save(self.totals.known)
        self._parts.recorder.close()

    # ---- what a person or the loop may ask ---------------------------------------------------------------

    @property
    def totals(self) -> Totals:
        return self._parts.meta.totals

    @property
    def archive_end(self) -> Place | None:
        return self._parts.meta.archive_end

    @property
    def log_position(self) -> int:
        """How far the link log was read."""
        return self._parts.meta.log_position

    def begin(self, epoch: int) -> None:
        """Somebody owns this partition from now on: durable before anything is written elsewhere. Where nothing was
        ever written, here or elsewhere, it is with the first link."""
        self._parts.meta.epoch = epoch
        self.save_plans()

    @property
    def claims(self) -> list[Claim]:
        """Content that may not have reached the fingerprints before a crash; to be settled again at the start."""
        return self._parts.outcomes.claims

    @property
    def pages(self) -> int:
        return self.totals.pages

    @property
    def active_hosts(self) -> int:
        return len(self._parts.front.active)

    def active_sites(self) -> int:
        return len({back.host.site for back in self._parts.front.active.values()})

    @property
    def levels(self) -> dict[int, int]:
        """How many hosts with work stand at each level of the front."""
        return self._parts.meta.levels or {}

    @property
    def in_flight(self) -> int:
        return len(self._parts.leases)

    @property
    def seen(self) -> Seen:
        return self._parts.seen

    @property
    def moved_back_s(self) -> float:
        """By how many seconds the clock of the last run was ahead of this one: all that it noted is moved back."""
        return self._parts.moved_back_s

    @property
    def is_empty(self) -> bool:
        """Nothing can be done about URLs that were never fetched: there are none, or their outage goes on."""
        totals = self.totals
        if totals.open or Reason.ROBOTS_UNREACHABLE in totals.resting_hosts or not self._parts.lifted.is_done:
            return False
        due_at = self._parts.due.next_at
        return not totals.resting or due_at is None or due_at > self._parts.clock.now()

    @property
    def is_done_for_now(self) -> bool:
        """The same, and what failed and is tried again much later does not count either."""
        totals, due_at = self.totals, self._parts.due.next_at
        if totals.open > totals.later or not self._parts.lifted.is_done:
            return False
        is_waiting = totals.resting or totals.later
        return not is_waiting or due_at is None or due_at > self._parts.clock.now() + SOON_S

    @property
    def gains(self) -> Gains:
        return self._parts.gains

    @property
    def lifted(self) -> Lifted:
        """What was refused, and is looked at again."""
        return self._parts.lifted

    def returned(self) -> list[Walk]:
        """What has been looked through, and come back, since this was asked last."""
        return self._parts.lifted.ended(self._parts.change())

    def overdue(self) -> int:
        """Pages that should have been visited again by now."""
        return self._parts.revisits.overdue(self._parts.clock.now())

    def next_at(self, *, only_booked: bool = False) -> float | None:
        """When there may be something to lease; None: not before something is added or answered."""
        parts = self._parts
        if only_booked:
            return parts.bookings.next_at()
        if not parts.lifted.is_done:
            return parts.clock.now()
        runs_out_in_s = parts.leases.runs_out_in_s(parts.clock.awake())
        expiry = None if runs_out_in_s is None else parts.clock.now() + runs_out_in_s
        moments = (parts.front.turns.next_at(), parts.due.next_at, parts.revisits.next_at, expiry)
        return min((moment for moment in moments if moment is not None), default=None)

    def next_turn(self) -> tuple[float, Host] | None:
        """Which host may be asked next, and when; None: one may be asked now, or none has work."""
        first = self._parts.front.turns.first()
        return (first[0], self._parts.front.active[first[1]].host) if first else None

    @property
    def next_try_at(self) -> float | None:
        """When the rest of a host is over, or a URL is tried again."""
        return self._parts.due.next_at

    @property
    def next_visit_at(self) -> float | None:
        """When a page is to be visited again."""
        return self._parts.revisits.next_at

    def resting(self, most: int) -> list[tuple[float, Host]]:
        """Hosts that rest, or of which URLs wait for the end of an outage, and until when; the soonest first."""
        found = ((until, self._parts.front.host(key)) for key, until in self._parts.reader.resting(most).items())
        return [(until, host) for until, host in found if host is not None]

    def state(self, url: Url) -> UrlRecord | None:
        known = self._parts.reader.known(key := url_key(url))
        if known is not None and key in self._parts.leases:
            return msgspec.structs.replace(known, state=State.IN_FLIGHT)
        return known

    def host(self, name: str) -> Host | None:
        return self._parts.front.host(host_key(name))

    def robots(self, origin: str) -> RobotsCopy | None:
        return self._parts.reader.robots(origin)

    # ---- what a person or the loop says ------------------------------------------------------------------

    def apply_policies(self, policies: Policies) -> None:
        """What the operator says holds from each host's next turn on."""
        self._parts.front.apply_policies(policies)
        self._parts.site_pace.apply_policies()
        self._parts.lifted.apply_policies(self._parts.change(), policies)

    def put_off(self, by_s: float) -> None:
        """The clock was set forward, by seconds that never passed: no host is asked the sooner for it."""
        parts = self._parts
        now = parts.clock.now()
        put_off(parts.store, parts.front, by_s, now)
        parts.site_pace.put_off(by_s, now)

    def save_plans(self) -> None:
        """What the planner decided with other partitions is durable before they hear of it. A partition that no link
        has come to yet has no store, and decides nothing."""
        if not self._parts.reader.has_anything:
            return
        change = self._parts.change()
        change.is_dirty = True
        change.write(sync=True)

    # ---- add ---------------------------------------------------------------------------------------------

    def add(self, links: Iterable[Link | OwnLinks], *, sync: bool = True, position: int | None = None) -> int:
        """Let links in through the link filter; those seen before change nothing. Returns how many URLs are new.

        `position`: of the link log, behind them; kept in the same batch as the last of them."""
        change = self._parts.change()
        self._parts.lifted.note_first(change)
        return self._parts.intake.add(change, links, position, sync=sync)

    # ---- lease -------------------------------------------------------------------------------------------

    def ready(self) -> Mapping[int, int]:
        """Wake what is due and give away the turns that were booked; how many hosts may be asked now, by level."""
        parts = self._parts
        change = parts.change()
        parts.seen.remake_some()
        parts.lifted.bring_back(change)
        expire(parts.leases, parts.store, parts.front, parts.unsure_s, change.now, parts.clock.awake())
        parts.due.wake(change)
        parts.revisits.wake(change)
        parts.choice.fill_slots(change)
        parts.bookings.give_turns(change)
        change.write(sync=False)
        return parts.front.turns.ready(change.now)

    def lease(self, most: int, *, is_prepared: bool = False) -> list[Lease]:
        """Up to `most` URLs of hosts that may be asked now, one a host. Durable before it returns.

        `is_prepared`: `ready` was asked just before."""
        if not is_prepared:
            self.ready()
        change = self._parts.change()
        picked = self._parts.choice.pick(change, most)
        leases = self._parts.leases.hand_out(change.batch, picked, change.now, self._parts.clock.awake())
        change.write(sync=False)
        return leases

    # ---- what came of it ---------------------------------------------------------------------------------

    def answered(self, lease: Lease, result: Result) -> Ignored | None:
        """The answer has ended: from now on the host's delay runs. Returns why that changes nothing, if so."""
        return self._parts.outcomes.answered(lease, result, self._parts.clock.now())

    def processing(self, lease: Lease) -> None:
        """From here on the page may take the worker down with it."""
        if self._parts.leases.of(lease) is not None:
            self._parts.recorder.enter(lease.url)

    def processed(self) -> None:
        self._parts.recorder.leave()

    def give_back(self, lease: Lease) -> None:
        """What came of a lease is not wanted, and its URL stands in its queue again."""
        self._parts.outcomes.give_back(lease, self._parts.clock.now())

    def finish(
        self, outcomes: Sequence[Outcome], places: Sequence[Place | None], archive_end: Place | None = None
    ) -> None:
        """Record what became of leases, and where their content lies: one batch, durable when this returns."""
        if archive_end is not None:
            self._parts.meta.archive_end = archive_end
        self._parts.outcomes.record(self._parts.change(), outcomes, places)

    # ---- a turn for something else than a page -----------------------------------------------------------

    def book(self, name: str) -> asyncio.Future[bool]:
        """A turn of this host for a request that is not a lease: True when it has come, False if it is blocked."""
        return self._parts.bookings.add(name)

    def release(self, name: str, answer: Answer | None = None) -> None:
        """The booked request has ended, and the host's delay runs. None: nobody knows how it ended."""
        self._parts.bookings.end(self._parts.change(), name, answer)

    # ---- another try -------------------------------------------------------------------------------------

    def release_url(self, url: Url, *, drop: bool = False, instruction: int | None = None) -> bool:
        """Let a URL out of quarantine: to be tried again, or dropped for good. False: it is not in there.

        `instruction`: carried out with it, in the same batch."""
        if instruction is not None:
            self._parts.meta.note_instruction(instruction, 1)
        done = release_url(self._parts.change(), self._parts.reader, url, drop=drop)
        if instruction is not None and not done:
            self.note_instruction(instruction, 0)
        return done

    @property
    def instructed(self) -> list[tuple[int, int]]:
        """The last instructions of operators of a cluster that were carried out: number, and URLs concerned."""
        return self._parts.meta.instructed

    def note_instruction(self, number: int, urls: int) -> None:
        self._parts.meta.note_instruction(number, urls)
        self.save_plans()

    def read_links_from(self, position: int) -> None:
        """What the link log had before this position is lost, and somebody has accepted that."""
        self._parts.meta.log_position = position
        self.save_plans()

    def retry(self, host: str | None, reason: Reason | None, cursor: Cursor) -> tuple[int, Cursor | None]:
        """Bring back some of what failed, rests or was refused, see retry.py: how many URLs, and where to go on."""
        return self._parts.retries.some(self._parts.change(), host, reason, cursor)

    def visit_again(self, url: Url) -> bool:
        """Ask for a page once more, now; False: nobody knows it, or it is queued already."""
        return self._parts.retries.visit_again(self._parts.change(), url)
