"""The frontier against a naive model of it, driven by chance: they agree at every step, crashes included.

The same machine runs over a store in plain dicts, where thousands of steps a second find what is rare, and over
RocksDB. A failure prints the steps that lead to it, shortened as far as they go, as code that can be run again.

Longer than 400 lines: one state machine, which cannot be cut.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gossamer.clock import VirtualClock
from gossamer.frontier.choice import PAUSE_S
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES, url_key
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.rules.policy import NONE, Policies, Policy
from gossamer.interfaces import Store
from gossamer.records import Fetched, Lease, Link, Outcome, Page, Reason, Result, State, Url
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.url.site import host_of
from tests.property.answers import Answer, answers, failed, fetched
from tests.property.memory_store import MemoryStore
from tests.property.naive_frontier import BOOKED, OPEN, NaiveFrontier

HOSTS = ("a.test", "b.test", "c.test", "d.test")
URLS = tuple(f"http://{host}/{page}" for host in HOSTS for page in range(4))
FORBIDDEN = "http://a.test/forbidden"
MAX_DEPTH = 3
POLITENESS = PolitenessSettings(back_off_s_max=300.0)
POLICIES = (NONE, Policy(paused=True), Policy(blocked=True), Policy(delay_s=30.0))


def link_filter(link: Link) -> Reason | None:
    if link.url == FORBIDDEN:
        return Reason.EXCLUDED
    return Reason.MAX_DEPTH if link.depth > MAX_DEPTH else None


LINKS = st.builds(Link, st.sampled_from([*URLS, FORBIDDEN]), depth=st.integers(0, MAX_DEPTH + 2))
ANY = st.integers(0, 10**6)  # picks one of a list whose length is not known yet


class FrontierMachine(RuleBasedStateMachine):
    """Every verb of the frontier in any order. `asked` and `answered` are the hands that hold the leases."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="gossamer-frontier-")
        self.folder = Path(self._folder.name)
        self.clock = VirtualClock()
        self.asked: list[Lease] = []
        self.answered: list[tuple[Lease, Result]] = []
        self.bookings: list[tuple[str, asyncio.Future[bool]]] = []
        self.visited: set[str] = set()
        self.accepted: set[Url] = set()
        self.policies: dict[str, Policy] = {}
        self.unpaused_at: dict[str, float] = {}
        self.leases_seen: Counter[Url] = Counter()

    def open_store(self) -> Store:
        """The store, as a new process finds it."""
        raise NotImplementedError

    def close_store(self) -> None:
        """No process has it open any more."""

    @initialize(
        places=st.sampled_from([1, 2, 100]),
        share=st.sampled_from([1, 2, 100]),
        kills=st.sampled_from([1, 2]),
        failures=st.sampled_from([1, 2, 12]),
    )
    def start(self, places: int, share: int, kills: int, failures: int = 12) -> None:
        self.limits = FrontierSettings(
            active_hosts_max=places,
            host_share=share,
            kills_max=kills,
            seen_urls=1000,
            host_failures_max=failures,
            retries_s=(600.0, 7200.0),
            rests_s=(60.0, 7200.0),
        )
        self.naive = NaiveFrontier(link_filter, self.limits, POLITENESS)
        self.open()

    def open(self) -> None:
        self.visited.clear()
        self.__dict__.pop("frontier", None)  # nobody is left who holds the files open
        self.frontier = Frontier.open(
            self.open_store(), self.folder, self.clock, link_filter, self.limits, POLITENESS
        )
        self.frontier.apply_policies(Policies(hosts=self.policies))

    # ---- the verbs -----------------------------------------------------------------------------------

    @rule(links=st.lists(LINKS, min_size=1, max_size=6))
    def add(self, links: list[Link]) -> None:
        before = len(self.naive.urls)
        new = self.frontier.add(links)
        for link in links:
            self.naive.add(link, self.clock.now())
        assert new >= len(self.naive.urls) - before

    @rule(most=st.sampled_from([1, 2, 10]))
    def lease(self, most: int) -> None:
        now = self.clock.now()
        leases = self.frontier.lease(most)
        self.naive.pass_time(now)
        for url in sorted(self.naive.unblocked(), key=url_key):  # the order in which they are looked through
            if (known := self.frontier.state(url)) is not None and known.state is not State.REFUSED:
                self.naive.queue(url, now)
        assert not self.frontier.lifted.is_done or not self.naive.unblocked()
        self.asked = [lease for lease in self.asked if lease.expires_at > now]
        for lease in leases:
            self.naive.lease(lease, now)
            self.leases_seen[lease.url] += 1
            assert 1 <= lease.attempt <= self.leases_seen[lease.url]
            assert lease.link.depth == self.naive.urls[lease.url].depth
        self.asked += leases
        for name, booking in self.bookings:
            if booking.done() and not booking.cancelled() and not booking.result():
                assert self.naive.host(name).policy.blocked, f"a turn of {name} was denied"
                self.naive.host(name).bookings -= 1
            elif booking.done() and not booking.cancelled() and self.naive.host(name).asked != BOOKED:
                self.naive_grants(name, now)
        self.bookings = [
            each for each in self.bookings if not each[1].done() or each[1].cancelled() or each[1].result()
        ]
        self.refuse_what_is_blocked(now)
        if len(leases) < most:
            self.check_that_nothing_was_held_back(now)

    def naive_grants(self, name: str, now: float) -> None:
        host = self.naive.host(name)
        assert host.asked is None and host.bookings, f"a turn of {name} was given twice"
        assert host.ready_at <= now, f"a turn of {name} came too soon"
        host.asked, host.bookings = BOOKED, host.bookings - 1

    def refuse_what_is_blocked(self, now: float) -> None:
        """The turn of a blocked host may have come: then all that it had is refused, or it had no turn."""
        for name in HOSTS:
            queued = self.naive.queued(name)
            states = [known.state for url in queued if (known := self.frontier.state(url)) is not None]
            if State.REFUSED in states:
                assert set(states) == {State.REFUSED}
                self.naive.block(name, now)

    def check_that_nothing_was_held_back(self, now: float) -> None:
        """There was room for more leases: every host that could be asked was, if it had a place."""
        if self.limits.active_hosts_max < len(HOSTS):
            return  # who waits for a place is a matter of chance; that all get one is seen at the end
        naive = self.naive
        moments = {
            # A host that was paused is looked at again a moment after.
            name: max(moment, self.unpaused_at.get(name, 0.0) + PAUSE_S)
            for name, moment in naive.moments().items()
        }
        assert all(moment > now for moment in moments.values()), f"not handed out at {now}: {moments}"
        due = [naive.urls[url].due_at for url in naive.all_in(State.WAITING)]
        due += [host.rest_until for host in naive.hosts.values() if host.rest_until]
        expiries = [lease.expires_at for lease in self.asked]
        soonest = min([*moments.values(), *due, *expiries], default=None)
        if soonest is not None and self.frontier.lifted.is_done:
            next_at = self.frontier.next_at()
            assert next_at is not None and now < next_at <= soonest + 0.002, f"{next_at} is not {soonest}"

    @precondition(lambda self: self.asked)
    @rule(which=ANY, answer=answers())
    def answer(self, which: int, answer: Answer) -> None:
        lease = self.asked.pop(which % len(self.asked))
        result = answer(self.clock, lease.url)
        self.frontier.answered(lease, result)
        self.naive.answer(lease, result, self.clock.now())
        self.answered.append((lease, result))

    @precondition(lambda self: self.answered)
    @rule(most=st.integers(1, 4))
    def finish(self, most: int) -> None:
        """Also what comes too late, see below: that changes nothing."""
        finished, self.answered = self.answered[:most], self.answered[most:]
        outcomes = [
            Outcome(lease, result, Page(lease.url) if isinstance(result, Fetched) else None)
            for lease, result in finished
        ]
        self.frontier.finish(outcomes, [None] * len(outcomes))
        for lease, result in finished:
            self.naive.finish(lease, result, self.clock.now())

    @precondition(lambda self: self.asked)
    @rule(which=ANY, answer=answers())
    def come_too_late(self, which: int, answer: Answer) -> None:
        """The lease runs out, is given back, and then its holder speaks up all the same."""
        late = self.asked[which % len(self.asked)]
        self.clock.advance(max(0.0, late.expires_at - self.clock.now()))
        self.lease(1)
        if late not in self.asked:
            result = answer(self.clock, late.url)
            self.frontier.answered(late, result)
            self.answered.append((late, result))

    # ---- a turn for something else -------------------------------------------------------------------

    @rule(name=st.sampled_from(HOSTS))
    def book(self, name: str) -> None:
        async def booking() -> asyncio.Future[bool]:
            return self.frontier.book(name)

        self.bookings.append((name, asyncio.run(booking())))
        self.naive.host(name).bookings += 1
        self.visited.add(name)

    @precondition(lambda self: self.bookings)
    @rule(which=ANY)
    def release(self, which: int) -> None:
        """The booked request ends, or whoever waited for the turn gives up."""
        name, booking = self.bookings.pop(which % len(self.bookings))
        if booking.done():
            self.frontier.release(name)
            self.naive.release(name, self.clock.now())
        else:
            booking.cancel()
            self.naive.host(name).bookings -= 1

    # ---- time and death ------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.25, 1.0, 5.0, 60.0, 599.0, 600.0, 7200.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def wait_for_the_next_turn(self) -> None:
        moment = self.frontier.next_at()
        if moment is not None:
            self.clock.advance(max(0.0, moment - self.clock.now()))

    @rule(name=st.sampled_from(HOSTS), policy=st.sampled_from(POLICIES))
    def set_policy(self, name: str, policy: Policy) -> None:
        if self.policies.get(name, NONE).paused:
            self.unpaused_at[name] = self.clock.now()
        self.policies = {**self.policies, name: policy}
        self.naive.host(name).policy = policy
        self.frontier.apply_policies(Policies(hosts=self.policies))

    @rule(processing=st.booleans())
    def crash(self, processing: bool) -> None:
        """No farewell: whoever held a lease or a turn is dead, and a new process opens what is on disk."""
        now = self.clock.now()
        held = [entry.lease for entry in self.naive.urls.values() if entry.lease is not None]
        culprits = [lease for lease, result in self.answered if isinstance(result, Fetched) and lease in held]
        culprit = culprits[0] if processing and culprits else None
        if culprit is not None:
            self.frontier.processing(culprit)
        self.asked, self.answered, self.bookings = [], [], []
        self.naive.crash(now, culprit.url if culprit is not None else None)
        self.open()
        # Where it is not known whether an answer had ended, a host may be left alone longer, by one delay. Of a URL
        # that was given back that is not known either, while others that were leased with it are out (leases.py).
        for name in {host_of(url) for url in self.leases_seen} if held else ():
            host, real = self.naive.host(name), self.frontier.host(name)
            assert real is not None
            assert host.ready_at <= real.ready_at <= max(host.ready_at, now + host.longest_delay_s)
            host.ready_at = real.ready_at
            host.failures, host.rests, host.rest_until = real.failures, real.rests, real.rest_until
            host.failed_urls, host.well_at = real.failed_urls, real.well_at
            host.delay_s, host.back_off_s = max(host.delay_s, real.delay_s), max(host.back_off_s, real.back_off_s)

    @rule()
    def stop_and_start(self) -> None:
        """A clean end: everything in flight is finished first, so opening again changes nothing."""
        self.finish_all()
        totals = self.frontier.totals
        self.naive.crash(self.clock.now())
        self.frontier.close()
        self.open()
        assert self.frontier.totals == totals

    def finish_all(self) -> None:
        while self.asked:
            self.answer(0, fetched)
        while self.bookings:
            self.release(0)
        while self.answered:
            self.finish(4)

    @rule(which=ANY, drop=st.booleans())
    def release_url(self, which: int, drop: bool) -> None:
        quarantined = self.naive.all_in(State.QUARANTINED)
        url = quarantined[which % len(quarantined)] if quarantined else URLS[which % len(URLS)]
        assert self.frontier.release_url(url, drop=drop) == bool(quarantined)
        if quarantined:
            self.naive.release_url(url, self.clock.now(), drop=drop)

    # ---- what holds at every moment ------------------------------------------------------------------

    @invariant()
    def agree(self) -> None:
        self.every_url_is_where_the_model_has_it()
        self.no_url_that_was_let_in_is_lost()
        self.totals_agree_with_a_count()
        self.no_host_may_be_asked_sooner_than_the_model_says()
        self.places_are_not_exceeded()

    def every_url_is_where_the_model_has_it(self) -> None:
        for url in [*URLS, FORBIDDEN]:
            known, entry = self.frontier.state(url), self.naive.urls.get(url)
            assert (known is None) == (entry is None), f"{url}: {known} against {entry}"
            if known is None or entry is None:
                continue
            assert known.state is entry.state, f"{url}: {known.state} against {entry}"
            assert known.depth == entry.depth, f"{url}: depth {known.depth} against {entry}"
            assert known.kills == entry.kills, f"{url}: {known.kills} kills against {entry}"
            if known.state not in (State.QUEUED, State.IN_FLIGHT):
                assert known.reason == entry.reason
            if known.state is State.WAITING:
                assert known.due_at == entry.due_at

    def no_url_that_was_let_in_is_lost(self) -> None:
        self.accepted |= self.naive.urls.keys()
        assert all(self.frontier.state(url) is not None for url in self.accepted)

    def totals_agree_with_a_count(self) -> None:
        naive, totals = self.naive, self.frontier.totals
        assert totals.known == len(naive.urls)
        assert totals.queued == len(naive.all_in(State.QUEUED, State.IN_FLIGHT))
        assert totals.waiting == len(naive.all_in(State.WAITING))
        assert totals.failed == len(naive.all_in(State.FAILED))
        assert totals.refused == len(naive.all_in(State.REFUSED))
        assert totals.quarantined == len(naive.all_in(State.QUARANTINED))
        assert (totals.pages, totals.moved) == (naive.pages, naive.moved)
        resting = naive.resting()
        assert totals.resting == len(resting), f"{totals} against {resting}"
        assert sum(totals.resting_hosts.values()) == len(set(map(host_of, resting)))
        assert not self.frontier.is_empty or set(naive.all_in(*OPEN)) == set(resting)
        assert self.frontier.is_empty or naive.all_in(*OPEN) or not self.frontier.lifted.is_done

    def no_host_may_be_asked_sooner_than_the_model_says(self) -> None:
        for name, host in self.naive.hosts.items():
            if host.asked is None and host.ready_at:
                real = self.frontier.host(name)
                assert real is not None, f"{name} is forgotten"
                assert real.ready_at == pytest.approx(host.ready_at, abs=0.001), f"{real} against {host}"

    def places_are_not_exceeded(self) -> None:
        # A host that was booked is in memory without a place, until its turn has come and gone.
        assert self.frontier.active_hosts <= self.limits.active_hosts_max + len(self.visited)

    def teardown(self) -> None:
        """Whatever happened, the crawl can be brought to its end, and then nothing is left over."""
        try:
            if hasattr(self, "naive") and sys.exc_info()[0] is None:
                self.bring_to_an_end()
        finally:
            self.__dict__.pop("frontier", None)
            self.close_store()
            self._folder.cleanup()

    def bring_to_an_end(self) -> None:
        for name in HOSTS:
            self.set_policy(name, NONE)
        for _ in range(20 * len(URLS)):
            self.finish_all()
            if not self.naive.all_in(*OPEN) and self.frontier.lifted.is_done:
                break
            self.lease(10)
            if not self.asked:
                self.wait_for_the_next_turn()
            self.totals_agree_with_a_count()
        assert self.frontier.is_empty, f"never comes to an end: {self.frontier}, {self.naive}"
        self.every_url_is_where_the_model_has_it()
        for _ in HOSTS:
            self.wait_for_the_next_turn()
            self.lease(10)  # turns that nobody waits for any more come and go
        assert self.frontier.active_hosts == 0


class InMemory(FrontierMachine):
    def __init__(self) -> None:
        super().__init__()
        self._store = MemoryStore()

    def open_store(self) -> Store:
        return self._store


class OnRocksDB(FrontierMachine):
    _store: RocksStore | None = None

    def open_store(self) -> Store:
        self.close_store()
        self._store = RocksStore(self.folder, TABLES)
        return self._store

    def close_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


def check(machine: type[FrontierMachine], examples: int, steps: int, *, new_every_time: bool = False) -> None:
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=not new_every_time,  # the ordinary run is the same for everybody; the long one goes exploring
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=how)


def test_the_frontier_agrees_with_a_naive_model() -> None:
    check(InMemory, examples=200, steps=50)


def test_the_frontier_agrees_with_a_naive_model_on_rocksdb() -> None:
    check(OnRocksDB, examples=12, steps=30)


def test_back_off_survives_a_crash_behind_a_longer_wait_that_the_server_asked_for() -> None:
    """A path too long for chance to find in an ordinary run."""
    machine = InMemory()
    overloaded = partial(failed, reason=Reason.OVERLOADED, status=429)
    machine.start(places=100, share=100, kills=1)
    machine.add([Link(url) for url in URLS[:4]])
    machine.lease(1)
    machine.answer(0, partial(overloaded, retry_after="120"))
    machine.finish(1)
    machine.wait(120.0)
    machine.lease(1)
    machine.answer(0, partial(overloaded, retry_after=""))
    machine.crash(processing=False)
    machine.wait(600.0)
    machine.lease(1)
    machine.answer(0, partial(overloaded, retry_after=""))
    machine.agree()
    machine.teardown()


def test_a_host_that_was_to_leave_stays_when_all_others_have_a_place() -> None:
    """It had to rest for long while another waited, and its page was not finished: it was forgotten until then."""
    machine = InMemory()
    machine.start(places=100, share=1, kills=1)
    machine.add([Link("http://a.test/0")])
    machine.lease(1)
    machine.add([Link("http://a.test/1"), Link("http://b.test/0")])
    machine.answer(0, partial(fetched, latency_s=200.0))
    machine.lease(2)
    machine.wait(300.0)
    machine.lease(2)
    assert [lease.url for lease in machine.asked] == ["http://b.test/0", "http://a.test/1"]
    machine.agree()
    machine.teardown()


@pytest.mark.long
def test_the_frontier_agrees_with_a_naive_model_for_long() -> None:
    check(InMemory, examples=2000, steps=100, new_every_time=True)


@pytest.mark.long
def test_the_frontier_agrees_with_a_naive_model_on_rocksdb_for_long() -> None:
    check(OnRocksDB, examples=300, steps=80, new_every_time=True)
