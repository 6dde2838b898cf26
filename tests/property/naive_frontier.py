"""The frontier as one would write it without a disk: a dict of URLs, a dict of hosts, and no cleverness.

It does not choose. It is told what the real frontier handed out and what came of it, and says what must be true now:
where every URL is, which hosts may be asked, and from which moment on. A crash costs it nothing, as it should.
The rules are written here a second time, from the design and not from the code under test.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gossamer.frontier.rules.policy import NONE, Policy
from gossamer.interfaces import Filter
from gossamer.records import (
    Failed,
    Fetched,
    Lease,
    Link,
    Moved,
    Postponed,
    Reason,
    Refused,
    Result,
    RobotsRead,
    State,
    Url,
)
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.url.site import host_of

DAY_S = 86400.0
WORTH_STEP = 2e-6  # finer differences are none: about 9 seconds of waiting

SLOWED = {Reason.OVERLOADED, Reason.TIMEOUT, Reason.TOO_SLOW, Reason.CONNECT}
LATER = SLOWED - {Reason.OVERLOADED} | {Reason.DNS, Reason.TLS, Reason.BROKEN_ANSWER, Reason.SERVER_ERROR}
LIFTED = {Reason.MAX_DEPTH, Reason.BLOCKED}
OVERLOADED_TRIES = 10
NOBODY_THERE = {Reason.DNS, Reason.CONNECT, Reason.TLS}
FAILING = 3
FAILED_URLS = 5
BOOKED = "a booked turn"
OPEN = (State.QUEUED, State.IN_FLIGHT, State.WAITING)


@dataclass
class NaiveUrl:
    depth: int
    state: State
    reason: Reason | None = None
    due_at: float = 0.0
    rests: bool = False  # it waits for the end of an outage
    worth: float = 0.0  # in its host's queue; of two that are worth the same, the first comes first
    turn: int = 0
    kills: int = 0
    failing_since: float = 0.0  # the first of the tries that all failed
    lease: Lease | None = None


@dataclass
class NaiveHost:
    asked: str | None = None  # the URL of the request under way, or BOOKED
    bookings: int = 0
    ready_at: float = 0.0
    delay_s: float = 0.0
    longest_delay_s: float = 0.0  # that it ever had
    back_off_s: float = 0.0
    crawl_delay_s: float = 0.0
    policy: Policy = NONE
    pages: int = 0
    failures: int = 0  # in a row
    failed_urls: int = 0
    well_at: float = 0.0  # the end of its last answer that was no failure
    rests: int = 0  # in a row
    rest_until: float = 0.0


@dataclass
class NaiveFrontier:
    link_filter: Filter
    limits: FrontierSettings
    politeness: PolitenessSettings
    urls: dict[Url, NaiveUrl] = field(default_factory=dict)
    hosts: dict[str, NaiveHost] = field(default_factory=dict)
    pages: int = 0
    moved: int = 0
    turn: int = 0

    def host(self, name: str) -> NaiveHost:
        return self.hosts.setdefault(name, NaiveHost(longest_delay_s=self.politeness.delay_s))

    def all_in(self, *states: State) -> list[Url]:
        return [url for url, entry in self.urls.items() if entry.state in states]

    def queued(self, name: str) -> list[Url]:
        return [url for url in self.all_in(State.QUEUED) if host_of(url) == name]

    def moments(self) -> dict[str, float]:
        """When each host that has work, and is not being asked, may be asked."""
        free = {name: host for name, host in self.hosts.items() if host.asked is None and not host.policy.paused}
        return {
            name: max(host.ready_at, host.rest_until)
            for name, host in free.items()
            if host.bookings or self.queued(name)
        }

    def resting(self) -> list[Url]:
        """URLs that wait for the end of an outage: their own, or their host's."""
        waiting = [url for url in self.all_in(State.WAITING) if self.urls[url].rests]
        queued = self.all_in(State.QUEUED, State.IN_FLIGHT)
        return waiting + [url for url in queued if self.host(host_of(url)).rest_until]

    def queue(self, url: Url, now: float) -> None:
        entry = self.urls[url]
        self.turn += 1
        # Nearer to a seed is worth more, and so is a day of waiting: who came earlier has waited longer.
        waited = 0.01 * now / DAY_S
        entry.worth = 0.3 / (1 + entry.depth) - waited
        entry.state, entry.turn = State.QUEUED, self.turn

    def add(self, link: Link, now: float) -> None:
        refusal, entry = self.link_filter(link), self.urls.get(link.url)
        if refusal is not None and refusal is not Reason.MAX_DEPTH:
            return
        self.host(host_of(link.url))
        is_lifted = entry is not None and entry.state is State.REFUSED and entry.reason in LIFTED
        if entry is None or (is_lifted and refusal is None):
            self.urls[link.url] = NaiveUrl(link.depth, State.REFUSED, refusal)
            if refusal is None:
                self.queue(link.url, now)
        elif entry.state in OPEN or entry.reason is refusal is Reason.MAX_DEPTH:
            entry.depth = min(entry.depth, link.depth)

    def pass_time(self, now: float) -> None:
        """What a look at the clock changes: leases run out, waits end."""
        for url, entry in self.urls.items():
            host = self.host(host_of(url))
            if entry.lease is not None and entry.lease.expires_at <= now and host.asked == url:
                entry.state, entry.lease = State.QUEUED, None
                host.asked, host.ready_at = None, now + max(host.delay_s, self.politeness.delay_s)
        for host in self.hosts.values():
            if host.rest_until <= now:
                host.rest_until = 0.0
        for url in sorted(self.all_in(State.WAITING), key=lambda url: self.urls[url].due_at):
            if self.urls[url].due_at <= now:
                self.queue(url, now)

    def lease(self, lease: Lease, now: float) -> None:
        """Something was handed out: it had to be this host's turn, and this URL's."""
        host, entry = self.host(lease.host), self.urls[lease.url]
        assert host.asked is None, f"{lease.host} is being asked for {host.asked}, and was handed out again"
        assert not host.rest_until, f"{lease.host} is asked, and rests"
        assert host.ready_at <= now, f"{lease.host} is asked {host.ready_at - now} s too soon"
        assert not host.policy.paused and not host.policy.blocked, f"{lease.host} is not to be asked"
        assert entry.state is State.QUEUED, f"{lease.url} was handed out, and is {entry.state}"
        for url in self.queued(lease.host):
            other = self.urls[url]
            assert other.worth < entry.worth + WORTH_STEP, f"{url} should have come before {lease.url}"
            assert other.worth != entry.worth or other.turn >= entry.turn, f"{url} came before {lease.url}"
        host.asked = lease.url
        entry.state, entry.lease = State.IN_FLIGHT, lease

    def answer(self, lease: Lease, result: Result, now: float) -> None:
        host, entry = self.host(lease.host), self.urls[lease.url]
        host.asked = None
        if isinstance(result, RobotsRead | Postponed):
            entry.state, entry.lease = State.QUEUED, None
        if isinstance(result, Postponed):
            host.ready_at = max(host.ready_at, now + result.wait_s)
        elif not isinstance(result, Refused):
            if isinstance(result, RobotsRead):
                host.crawl_delay_s = result.robots.crawl_delay_s or 0.0
            self.start_delay(host, result, lease.attempt)

    def start_delay(self, host: NaiveHost, result: Fetched | Moved | Failed | RobotsRead, attempt: int) -> None:
        config, answer = self.politeness, result.exchange
        is_robots = isinstance(result, RobotsRead)
        fault = result.robots.reason if isinstance(result, RobotsRead) else getattr(result, "reason", None)
        host.failures = host.failures + 1 if fault in LATER | SLOWED else 0
        host.rests = host.rests if host.failures else 0
        is_new = isinstance(result, Failed) and attempt == 1 and (answer is None or answer.status >= 400)
        host.failed_urls = host.failed_urls + is_new if host.failures else 0
        slowed = (isinstance(result, Failed) and result.reason in SLOWED) or (
            is_robots and (answer is None or answer.status in (429, 503))
        )
        latency_s, asked_s = (answer.latency_s, answer.retry_after_s or 0.0) if answer is not None else (0.0, 0.0)
        least_s = config.delay_s if host.policy.delay_s is None else host.policy.delay_s
        usual_s = max(least_s, host.crawl_delay_s, min(latency_s * config.latency_factor, config.delay_s_max))
        if slowed or host.failures >= FAILING:
            host.back_off_s = min(2 * max(host.back_off_s, usual_s), config.back_off_s_max)
        else:
            host.back_off_s = host.back_off_s / 2 if host.back_off_s / 2 > usual_s else 0.0
        host.delay_s = max(usual_s, host.back_off_s, asked_s)
        host.longest_delay_s = max(host.longest_delay_s, host.delay_s)
        ended_at = answer.ended_at if answer is not None else getattr(result, "ended_at", 0.0)
        host.well_at = host.well_at if host.failures else ended_at
        host.ready_at = ended_at + max(host.delay_s, getattr(result, "wait_s", 0.0))

    def release(self, name: str, now: float) -> None:
        host = self.host(name)
        least_s = self.politeness.delay_s if host.policy.delay_s is None else host.policy.delay_s
        host.asked, host.delay_s = None, max(host.delay_s, least_s, host.crawl_delay_s)
        host.longest_delay_s = max(host.longest_delay_s, host.delay_s)
        host.ready_at = now + host.delay_s

    def block(self, name: str, now: float) -> None:
        """A blocked host's turn came: what was queued is refused."""
        host = self.host(name)
        assert host.policy.blocked and host.asked is None and host.ready_at <= now, f"{name} was refused"
        for url in self.queued(name):
            self.urls[url].state, self.urls[url].reason = State.REFUSED, Reason.BLOCKED

    def unblocked(self) -> list[Url]:
        """What was refused because its host was blocked, and may come back."""
        refused = [url for url in self.all_in(State.REFUSED) if self.urls[url].reason is Reason.BLOCKED]
        return [url for url in refused if not self.host(host_of(url)).policy.blocked]

    def finish(self, lease: Lease, result: Result, now: float) -> None:
        entry = self.urls[lease.url]
        if entry.lease is not lease:
            return  # it ran out, or was put back
        entry.lease, entry.reason = None, getattr(result, "reason", None)
        self.pages += isinstance(result, Fetched)
        self.moved += isinstance(result, Moved)
        host = self.host(lease.host)
        host.pages += isinstance(result, Fetched)
        entry.rests = False
        match result:
            case Fetched() | Moved():
                entry.state = State.DONE
            case Refused(wait_s=wait_s) if wait_s:
                entry.state, entry.due_at, entry.rests = State.WAITING, now + wait_s, True
            case Refused():
                entry.state = State.REFUSED
            case Failed(reason=reason):
                if reason not in LATER | SLOWED:
                    entry.state = State.FAILED
                    return
                if lease.attempt == 1:
                    entry.failing_since = result.exchange.ended_at if result.exchange else result.ended_at
                self.fail(entry, host, lease, reason, now)

    def fail(self, entry: NaiveUrl, host: NaiveHost, lease: Lease, reason: Reason, now: float) -> None:
        limits, is_slowed = self.limits, reason is Reason.OVERLOADED
        is_away = host.pages == 0 or host.failed_urls >= FAILED_URLS
        if host.failures >= limits.host_failures_max and not host.rest_until and (is_away or host.rests):
            host.rests += 1
            host.rest_until = now + limits.rests_s[min(host.rests, len(limits.rests_s)) - 1]
        tries = lease.attempt - (OVERLOADED_TRIES - 1 if is_slowed else len(limits.retries_s))
        may_be_away = host.well_at <= entry.failing_since and (host.failed_urls > 1 or tries <= len(limits.rests_s))
        is_outage = reason in NOBODY_THERE or is_away or may_be_away
        if is_slowed and tries <= 0:
            self.queue(lease.url, now)
        elif reason in LATER and tries <= 0:
            entry.state, entry.due_at = State.WAITING, now + limits.retries_s[lease.attempt - 1]
        elif is_outage:
            wait_s = limits.rests_s[min(tries, len(limits.rests_s)) - 1]
            entry.state, entry.due_at, entry.rests = State.WAITING, now + wait_s, True
        else:
            entry.state = State.FAILED

    def crash(self, now: float, culprit: Url | None = None) -> None:
        """The process ended. What was being asked may have ended just now; nothing else is forgotten."""
        for url in self.all_in(State.IN_FLIGHT):
            entry = self.urls[url]
            entry.state, entry.lease = State.QUEUED, None
            entry.kills += url == culprit
            if entry.kills >= self.limits.kills_max:
                entry.state, entry.reason = State.QUARANTINED, Reason.KILLS_WORKER
        for host in self.hosts.values():
            host.bookings = 0
            if host.asked is not None:
                host.asked = None
                host.ready_at = max(host.ready_at, now + max(host.delay_s, self.politeness.delay_s))

    def release_url(self, url: Url, now: float, *, drop: bool) -> None:
        entry = self.urls[url]
        if drop:
            entry.state = State.REFUSED
        else:
            entry.reason, entry.kills = None, 0
            self.queue(url, now)
