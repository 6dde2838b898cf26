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

Memory holds the hosts being crawled now (`Back`, at most `active_hosts_max`) and a filter, never the URLs. What is
where: front.py which host gets a place, back.py its URLs, politeness.py when, priority.py how much a URL is worth,
leases.py what is out, due.py what waits, again.py what is visited again, budgets.py and patterns.py how many pages
are enough, seen.py what is known, steps.py what an outcome means, change.py how it gets to the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import msgspec

from gossamer.clock import Clock
from gossamer.frontier.again import Again
from gossamer.frontier.back import Back, Entry
from gossamer.frontier.budgets import Budgets
from gossamer.frontier.change import Change
from gossamer.frontier.due import Due
from gossamer.frontier.front import Front
from gossamer.frontier.intake import Intake
from gossamer.frontier.leases import Held, Leases, link_to
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.patterns import Patterns
from gossamer.frontier.policy import NONE, Policies
from gossamer.frontier.politeness import ended_at, start_delay
from gossamer.frontier.recorder import Recorder
from gossamer.frontier.recovery import recover
from gossamer.frontier.seen import Seen
from gossamer.frontier.steps import after, next_step
from gossamer.frontier.store import BATCH_MAX
from gossamer.frontier.tables import (
    URL_KEY_BYTES,
    Totals,
    booking_key,
    encode,
    host_key,
    key_in,
    known_in,
    url_key,
)
from gossamer.interfaces import Filter, Planner, Store
from gossamer.records import (
    Claim,
    Fetched,
    Host,
    Known,
    Lease,
    Link,
    Outcome,
    Place,
    Postponed,
    Reason,
    Refused,
    Result,
    RobotsCopy,
    RobotsRead,
    State,
    Url,
)
from gossamer.settings import FrontierSettings, PolitenessSettings, TrapsSettings

ADD_AT_ONCE = BATCH_MAX // 2  # links: a new one is an entry among the URLs and one in a queue
REST_S = 60.0  # a host that has to wait longer leaves its place, if others want it
OF_NEW_PAGES = frozenset({Reason.HOST_BUDGET, Reason.SITE_BUDGET, Reason.TRAP_HOST})  # not of a page that we have
PUT_BACK = (RobotsRead, Postponed)  # results that leave their URL where it stood
PAUSE_S = 1.0  # how soon a host notices that it is no longer paused


class Frontier:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        door: Filter,
        limits: FrontierSettings,
        politeness: PolitenessSettings,
        traps: TrapsSettings | None = None,
        is_home: Callable[[str], bool] = lambda host: True,
        planner: Planner | None = None,
        revisit_share: float = 0.0,
    ) -> None:
        """`is_home`: whether a person asked for a host; where nothing is said, for all of them.

        Without a `planner` pages are worth the same, and none is visited again."""
        traps = traps or TrapsSettings()
        self._store = store
        self._clock = clock
        self._limits = limits
        self._politeness = politeness
        self._ledger = Ledger(store)
        self._meta = self._ledger.meta()
        if self._meta.levels is None:
            self._meta.levels = self._ledger.levels()
        self._front = Front(store, self._ledger, limits, clock.random, self._meta.levels)
        self._planner = planner
        if planner is not None:
            if (plans := self._ledger.plans()) is not None:
                planner.load(plans)
            self._front.authority = planner.authority
        self._budgets = Budgets(self._front, limits, traps.host_pages, is_home, planner)
        self._patterns = Patterns(store, traps, self._front.active)
        self._leases = Leases()
        self._seen = Seen(store, limits, store.folder / "seen.bloom", self._meta.totals.known)
        self._again = Again(store, self._ledger, self._meta, revisit_share)
        self._intake = Intake(
            door,
            self._seen,
            self._ledger,
            self._leases,
            self._front,
            self._patterns,
            self._meta.totals,
            self._again,
            planner,
        )
        self._recorder = Recorder(store.folder / "processing")
        self._due = Due(store, self._ledger, self._front, self._meta)
        change = self._change()
        recover(store, self._ledger, change, self._recorder.found(), limits.kills_max, politeness.delay_s)
        change.write(sync=True)
        self._recorder.leave()

    def __repr__(self) -> str:
        totals = self.totals
        return f"Frontier(queued={totals.queued}, waiting={totals.waiting}, active={self.active_hosts})"

    def close(self) -> None:
        """A clean end: what costs time to make again is saved. The store is not ours to close."""
        self._seen.save(self.totals.known)
        self._recorder.close()

    # ---- what a person or the loop may ask ---------------------------------------------------------------

    @property
    def totals(self) -> Totals:
        return self._meta.totals

    @property
    def archive_end(self) -> Place | None:
        return self._meta.archive_end

    @property
    def claims(self) -> list[Claim]:
        """Content that may not have reached the fingerprints before a crash; to be settled again at the start."""
        return self._meta.claims

    @property
    def pages(self) -> int:
        return self.totals.pages

    @property
    def active_hosts(self) -> int:
        return len(self._front.active)

    @property
    def levels(self) -> dict[int, int]:
        """How many hosts with work stand at each level of the front."""
        return self._meta.levels or {}

    @property
    def in_flight(self) -> int:
        return len(self._leases)

    @property
    def seen(self) -> Seen:
        return self._seen

    @property
    def is_empty(self) -> bool:
        """Nothing that was never fetched is queued, in flight or waiting: only a new link can bring some."""
        return self.totals.queued == self.totals.revisits and self.totals.waiting == 0

    def save_plans(self) -> None:
        """What the planner decided with other partitions is durable before they hear of it."""
        change = self._change()
        change.is_dirty = True
        change.write(sync=True)

    def overdue(self) -> int:
        """Pages that should have been visited again by now."""
        return self._again.overdue(self._clock.now())

    def next_at(self, *, only_booked: bool = False) -> float | None:
        """When there may be something to lease; None: not before something is added or answered."""
        if only_booked:
            return min((back.host.ready_at for back in self._front.booked()), default=None)
        moments = (self._front.turns.next_at(), self._due.next_at, self._again.next_at, self._leases.next_expiry())
        return min((moment for moment in moments if moment is not None), default=None)

    def state(self, url: Url) -> Known | None:
        known = self._ledger.known(key := url_key(url))
        if known is not None and key in self._leases:
            return msgspec.structs.replace(known, state=State.IN_FLIGHT)
        return known

    def host(self, name: str) -> Host | None:
        return self._front.host(host_key(name))

    def robots(self, origin: str) -> RobotsCopy | None:
        return self._ledger.robots(origin)

    def obey(self, policies: Policies) -> None:
        """What the operator says holds from each host's next turn on."""
        self._front.obey(policies)

    def _change(self) -> Change:
        now = self._clock.now()
        return Change(
            self._store, self._front, self._seen, self._leases, self._meta, self._limits, now, self._planner
        )

    # ---- add ---------------------------------------------------------------------------------------------

    def add(self, links: Iterable[Link], *, sync: bool = True) -> int:
        """Let links in by the door; those seen before change nothing. Returns how many URLs are new."""
        new = 0
        change = self._change()
        rest = iter(links)
        while some := list(islice(rest, ADD_AT_ONCE)):
            new += self._intake.admit(change, some)
            change.write(sync=sync)
        return new

    # ---- lease -------------------------------------------------------------------------------------------

    def lease(self, most: int) -> list[Lease]:
        """Up to `most` URLs of hosts that may be asked now, one a host. Durable before it returns."""
        now = self._clock.now()
        change = self._change()
        self._seen.remake_some()
        self._expire(now)
        self._due.wake(change)
        self._again.wake(change)
        self._fill_places(change)
        for back in self._front.booked():
            if back.host.ready_at <= now and not self._front.policies.of(back.host).paused:
                self._admit_booking(change, back)
        picked: list[tuple[Back, Entry]] = []
        while len(picked) < most and (key := self._front.turns.pop(now)) is not None:
            back = self._front.active[key]
            if self._is_held(change, back):
                self._front.turns.put(key, now + PAUSE_S)
            elif back.bookings and self._admit_booking(change, back):
                pass
            elif back.is_leaving:
                self._front.leave_if_idle(key)
            elif (entry := self._next_entry(change, back)) is not None:
                back.asked = key_in(*entry)
                back.out += 1
                self._front.serve(back)
                picked.append((back, entry))
            else:
                self._front.leave_if_idle(key)
        leases = self._hand_out(change, picked, now)
        change.write(sync=False)
        return leases

    def _is_held(self, change: Change, back: Back) -> bool:
        """Whether the operator lets the host pause, or what is in flight may use up what the host may have."""
        if self._front.has_policies and self._front.policies.of(back.host).paused:
            return True
        return self._budgets.is_held(back, change.site) or self._patterns.is_held(back)

    def _admit_booking(self, change: Change, back: Back) -> bool:
        """Whether the turn goes to somebody who booked it: no lease, and given also where none may be had."""
        if not back.admit_booking():
            return False
        self._front.turns.remove(back.key)
        change.host(back.key, back.host.name)
        change.batch.put("leases", booking_key(back.key), b"")
        return True

    def _next_entry(self, change: Change, back: Back) -> Entry | None:
        """The host's next URL; those that may not be asked for are refused on the way."""
        while (entry := back.next()) is not None:
            refused = self._budgets.refusal(back.host, change.site)
            if refused is None and not self._patterns.has_spent(back.key, back.host):
                return entry
            key = key_in(*entry)
            known = known_in(entry[1]) or self._ledger.known(key)
            assert known is not None, f"queued but unknown: {entry}"
            refused = refused or self._trap(back, known)
            if refused is None or (known.history is not None and refused.reason in OF_NEW_PAGES):
                return entry
            change.dequeue(entry[0], change.host(key, back.host.name), known)
            change.refuse(key, known, refused.reason, refused.detail)
            if change.size >= BATCH_MAX:
                change.write(sync=False)
        self._budgets.forgive(back.host)
        return None

    def _trap(self, back: Back, known: Known) -> Refused | None:
        if known.depth == 0 or known.history is not None or self._front.policies.of(back.host).trusted:
            return None  # somebody asked for it
        detail = self._patterns.refusal(back.key, known.url)
        return Refused(Reason.TRAP_PATTERN, detail) if detail else None

    def _hand_out(self, change: Change, picked: list[tuple[Back, Entry]], now: float) -> list[Lease]:
        if not picked:
            return []
        self._meta.turn += 1
        turn, expires_at = self._meta.turn, now + self._limits.lease_s
        found = self._ledger.known_among([key for _, (_, key) in picked if len(key) == URL_KEY_BYTES])
        together = []
        for back, entry in picked:
            key = back.asked
            assert key is not None
            known = known_in(entry[1]) or found[key]
            credit = self._planner.to_give(known, back.host) if self._planner is not None else 0
            copy = (known.validators, known.content_hash, credit)
            lease = Lease(link_to(known), back.host.name, expires_at, known.attempts + 1, key, *copy)
            together.append(Held(lease, entry, known, turn, back))
        self._leases.give(change.batch, turn, together, expires_at)
        return [held.lease for held in together]

    def _fill_places(self, change: Change) -> None:
        self._let_go(change)
        change.write(sync=False)
        while self._front.activate(change.now + REST_S):
            self._let_go(change)
            change.write(sync=False)

    def _let_go(self, change: Change) -> None:
        """Hosts that have had their share, or have to rest for long, make place for others."""
        for back in self._front.ready_to_leave():
            if back.host.ready_at > change.now + REST_S:
                self._due.put(change.batch, back.host.ready_at, back.key)
                change.rest(back)
            else:
                change.give_way(back)

    def _expire(self, now: float) -> None:
        """Take back leases that ran out. Those who hold one stop by then, so the host is free."""
        batch = self._store.batch()
        for key in self._leases.expired(now):
            held = self._leases.end(batch, key)
            back = held.back
            back.put_back(held.entry)
            back.out -= 1
            if back.asked == key:
                back.asked = None
                back.host.ready_at = now + max(back.host.delay_s, self._politeness.delay_s)
                batch.put("hosts", back.key, encode(back.host))
            self._front.arm(back)
        self._store.write(batch, sync=False)

    # ---- answered ----------------------------------------------------------------------------------------

    def answered(self, lease: Lease, result: Result) -> None:
        """The answer has ended: from now on the host's delay runs."""
        held = self._leases.of(lease)
        if held is None:
            return  # it ran out, and was given back
        key, back = lease.key, held.back
        self._leases.answered(key)
        now = self._clock.now()
        policy = self._front.policies.of(back.host) if self._front.has_policies else NONE
        start_delay(back.host, result, self._politeness, policy, now)
        back.asked = None
        is_put_back = isinstance(result, PUT_BACK)
        if is_put_back or back.is_slower_than_stored:
            # More than the disk knows of: a crash before `finish` must not let the host be asked sooner.
            batch = self._store.batch()
            batch.put("hosts", back.key, encode(back.host))
            back.note_stored()
            if is_put_back:
                self._leases.end(batch, key)
                back.put_back(held.entry)
                back.out -= 1
            self._store.write(batch, sync=False)
        if back.host.ready_at > now + REST_S:
            self._front.send_away(back)
        self._front.arm(back)

    # ---- a page is being processed -----------------------------------------------------------------------

    def processing(self, lease: Lease) -> None:
        """From here on the page may take the worker down with it."""
        self._recorder.enter(lease.url)

    def processed(self) -> None:
        self._recorder.leave()

    # ---- a turn for something else than a page -----------------------------------------------------------

    def book(self, name: str) -> asyncio.Future[None]:
        """A turn of this host for a request that is not a lease; the future is done when the turn has come."""
        back = self._front.visitor(host_key(name), name)
        booking: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        back.bookings.append(booking)
        self._front.with_bookings[back.key] = None
        self._front.arm(back)
        return booking

    def release(self, name: str, ended_at: float) -> None:
        """The booked request has ended: the host's delay runs."""
        back = self._front.active[host_key(name)]
        host = back.host
        back.asked = None
        host.requests += 1
        host.delay_s = max(host.delay_s, self._politeness.delay_s)
        host.ready_at = ended_at + host.delay_s
        change = self._change()
        change.host(back.key, name)
        change.batch.delete("leases", booking_key(back.key))
        change.write(sync=False)
        if back.key in self._front.active:
            self._front.arm(back)

    # ---- finish ------------------------------------------------------------------------------------------

    def finish(
        self, outcomes: Sequence[Outcome], places: Sequence[Place | None], archive_end: Place | None = None
    ) -> None:
        """Record what became of leases, and where their content lies: one batch, durable when this returns."""
        change = self._change()
        self._meta.claims = [each.claim for each in outcomes if each.claim and each.verdict.is_original]
        if archive_end is not None:
            self._meta.archive_end = archive_end
        for outcome, place in zip(outcomes, places, strict=True):
            self._finish_one(change, outcome, place)
        self._patterns.save(change.batch)
        change.write(sync=True)

    def _finish_one(self, change: Change, outcome: Outcome, place: Place | None) -> None:
        key, result = outcome.lease.key, outcome.result
        host = change.host(key, outcome.lease.host)
        if ended_at(result) is not None:
            self.totals.requests += 1
        if isinstance(result, RobotsRead):
            change.batch.put("robots", result.robots.origin.encode(), encode(result.robots))
            return
        held = self._leases.of(outcome.lease)
        if held is None:
            return  # put back already, or it ran out meanwhile and another lease will tell
        self._leases.end(change.batch, key)
        held.back.out -= 1
        step = next_step(held.known, outcome.lease.attempt, outcome, self._limits.retries_s, change.now)
        known = after(held.known, outcome.lease.attempt, step, outcome, place)
        change.dequeue(held.entry[0], host, held.known)
        is_first = held.known.history is None
        change.count(host, step, outcome, is_first=is_first)
        if is_first and isinstance(result, Fetched):
            self._again.earn()
        if outcome.page is not None and not held.known.content_hash:  # else it is another visit
            self._patterns.count(key[:8], outcome)
        if step.to_the_end:
            change.enqueue(key, known)
            return
        if self._planner is not None and step.state is not State.WAITING:
            known = self._planner.finished(held.known, known, host, outcome, change.now)
        change.put_known(key, known)
        if known.due_at is None:
            return
        if step.state is State.WAITING and is_first:
            self._due.put(change.batch, known.due_at, key)
            self.totals.waiting += 1
        else:
            self._again.put(change.batch, known.due_at, key)

    # ---- quarantine --------------------------------------------------------------------------------------

    def pardon(self, url: Url, *, drop: bool = False) -> bool:
        """Let a URL out of quarantine: to be tried again, or dropped for good. False: it is not in there."""
        key = url_key(url)
        known = self._ledger.known(key)
        if known is None or known.state is not State.QUARANTINED:
            return False
        change = self._change()
        change.release(key)
        if drop:
            change.refuse(key, known, Reason.KILLS_WORKER, known.detail)
        else:
            known = msgspec.structs.replace(known, state=State.QUEUED, reason=None, detail="", kills=0)
            change.enqueue(key, known)
        change.write(sync=True)
        return True
