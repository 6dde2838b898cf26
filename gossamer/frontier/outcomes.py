"""Outcomes: what comes of a lease. First its answer, which starts the host's delay; then all that the page led to.

Between the two a page is read, judged and stored. The host does not wait for that: `answered` frees it, and the disk
hears of it only where a crash would let the host be asked too soon. `record` puts everything else into the batch of
its moment: the URL's next state, the counters, the next visit.
"""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.frontier.change import Change
from gossamer.frontier.choice import Choice
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import HOST_KEY_BYTES, TURN_BYTES, Meta, encode
from gossamer.frontier.due import Due
from gossamer.frontier.front import REST_S, Front
from gossamer.frontier.gains import Gains
from gossamer.frontier.leases import Held, Ignored, Leases, take_back
from gossamer.frontier.patterns import Patterns
from gossamer.frontier.revisits import Revisits
from gossamer.frontier.rules.origins import has_silent, is_silent, note, waits
from gossamer.frontier.rules.policy import NONE
from gossamer.frontier.rules.politeness import GAVE, ended_at, start_delay
from gossamer.frontier.rules.steps import after, is_down, next_step
from gossamer.frontier.site_pace import SitePace
from gossamer.interfaces import Planner, Store
from gossamer.records import (
    Fetched,
    Host,
    Lease,
    Outcome,
    Place,
    Postponed,
    Reason,
    Result,
    RobotsRead,
    State,
)
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.url.site import origin_of

PUT_BACK = (RobotsRead, Postponed)  # results that leave their URL where it stood


class Outcomes:
    def __init__(
        self,
        store: Store,
        front: Front,
        leases: Leases,
        due: Due,
        revisits: Revisits,
        patterns: Patterns,
        gains: Gains,
        choice: Choice,
        site_pace: SitePace,
        meta: Meta,
        limits: FrontierSettings,
        politeness: PolitenessSettings,
        planner: Planner | None,
    ) -> None:
        self._store = store
        self._front = front
        self._leases = leases
        self._due = due
        self._revisits = revisits
        self._patterns = patterns
        self._gains = gains
        self._choice = choice
        self._site_pace = site_pace
        self._meta = meta
        self._totals = meta.totals
        self._limits = limits
        self._politeness = politeness
        self._unsure_s = max(politeness.delay_s, limits.unsure_s)
        self._planner = planner
        self._waits_s = waits(limits.retries_s, limits.rests_s)
        self.claims = PartitionReader(store).claims()  # of what was finished last

    # ---- the answer has ended ----------------------------------------------------------------------------

    def answered(self, lease: Lease, result: Result, now: float) -> Ignored | None:
        held = self._leases.of(lease)
        if held is None:
            return self._leases.why_not(lease, now)
        self._leases.answered(held.key)
        back = held.back
        policy = self._front.policies.of(back.host) if self._front.has_policies else NONE
        is_of_origin = False
        if has_silent(back.host) or (not isinstance(result, GAVE) and is_silent(result)):
            # Else there is nothing to note, and nobody to forgive.
            is_of_origin = note(back.host, origin_of(lease.url), result, lease.attempt, self._waits_s, now)
        start_delay(back.host, result, self._politeness, policy, now, lease.attempt, is_of_origin=is_of_origin)
        if (ended := ended_at(result)) is None:
            self._site_pace.keep_turn(back, now)
        elif ended < self._front.set_forward_at:
            back.host.ready_at = max(back.host.ready_at, now + back.host.delay_s)
        back.asked = None
        is_put_back = isinstance(result, PUT_BACK)
        if is_put_back or back.is_slower_than_stored:
            # More than the disk knows of: a crash before `record` must not let the host be asked sooner.
            batch = self._store.batch()
            batch.put("hosts", back.key, encode(back.host))
            back.note_stored()
            if is_put_back:
                self._leases.put_back(batch, held)
                back.put_back(held.entry)
                back.out -= 1
            self._store.write(batch, sync=False)
        if back.host.ready_at > now + REST_S:
            self._front.send_away(back)
        self._front.arm(back)
        return None

    def give_back(self, lease: Lease, now: float) -> None:
        if self._leases.of(lease) is not None:
            batch = self._store.batch()
            take_back(self._leases, batch, self._front, lease.id[TURN_BYTES:], self._unsure_s, now)
            self._store.write(batch, sync=False)

    # ---- the page is stored, and its links are sent ------------------------------------------------------

    def record(self, change: Change, outcomes: Sequence[Outcome], places: Sequence[Place | None]) -> None:
        """All of one commit, durable when this returns. `places`: where their content lies."""
        before, self.claims = (
            self.claims,
            [each.claim for each in outcomes if each.claim and each.verdict.is_original],
        )
        if before or self.claims:
            change.batch.put("meta", b"claims", encode(self.claims))
            self._meta.claims = []
        for outcome, place in zip(outcomes, places, strict=True):
            self._record(change, outcome, place)
        self._patterns.save(change.batch)
        self._gains.save(change.batch)
        change.write(sync=True)

    def _record(self, change: Change, outcome: Outcome, place: Place | None) -> None:
        lease, result = outcome.lease, outcome.result
        held = self._leases.of(lease)
        if held is None and not self._leases.was_put_back(lease):
            self._ignore(change, lease)
            return
        self._totals.requests += ended_at(result) is not None
        host = change.host_in_slot(held.back) if held else change.host(lease.id[TURN_BYTES:], lease.host)
        if isinstance(result, RobotsRead):
            self._keep_robots(change, lease, host, result)
        if held is not None:
            self._end(change, held, host, outcome, place)

    def _keep_robots(self, change: Change, lease: Lease, host: Host, result: RobotsRead) -> None:
        change.batch.put("robots", result.robots.origin.encode(), encode(result.robots))
        if result.robots.reason is None:
            return
        host.errors += 1
        host.last_error = result.robots.reason
        waits = host.waits_for is Reason.ROBOTS_UNREACHABLE and host.ready_at > change.now
        if waits and not host.is_resting:  # else its origin alone does (rules/origins.py)
            self._due.wait_for_robots(change, lease.id[TURN_BYTES:][:HOST_KEY_BYTES], host)

    def _ignore(self, change: Change, lease: Lease) -> None:
        why, ignored = self._leases.why_not(lease, change.now), self._totals.outcomes_ignored
        ignored[why] = ignored.get(why, 0) + 1
        change.is_dirty = True

    def _end(self, change: Change, held: Held, host: Host, outcome: Outcome, place: Place | None) -> None:
        """The lease ends, and its URL gets its next state."""
        key, attempt, limits = held.key, outcome.lease.attempt, self._limits
        self._leases.end(change.batch, key)
        held.back.out -= 1
        step = next_step(host, held.known, attempt, outcome, limits.retries_s, limits.rests_s, change.now)
        score = self._front.score(held.entry[0], host, change.now)
        known = after(held.known, attempt, step, outcome, place, score)
        change.dequeue(held.entry[0], host, held.known)
        is_first = held.known.history is None
        change.count(host, step, outcome, is_first=is_first)
        if host.failures and is_down(host, outcome, limits.host_failures_max, change.now):
            self._due.begin_rest(change, held.back.key, host)
        if is_first and isinstance(outcome.result, Fetched):
            self._revisits.earn()
        if outcome.page is not None and not held.known.content_hash:  # else it is another visit
            self._patterns.count(held.back.key, outcome, held.back)
        if step.to_the_end:
            change.enqueue(key, known)
            return
        if self._planner is not None and step.state is not State.WAITING:
            is_suspect = self._choice.suspicion(held.back.key, host, known) is not None
            known = self._planner.credit.spend(held.known, known)
            known = self._planner.dates.after_visit(
                held.known, known, host, outcome, change.now, is_suspect=is_suspect
            )
        change.put_url_record(key, known)
        if known.due_at is None:
            return
        if step.state is State.WAITING and is_first:
            self._due.put_url(change, known.due_at, key, host, rests=step.rests)
        else:
            self._revisits.put(change.batch, known.due_at, key)
