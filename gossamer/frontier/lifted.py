"""Lifted: what was refused for a limit, a policy or a filter that no longer holds comes back to its queue.

Most URLs that were refused will not be found again by themselves: the pages that link to them are done. So the store
knows what its refusals depended on (rules/limits.py). When a partition is opened, or policies change, and something
of that has become more generous, refused URLs are looked through once more, and the same functions are asked as
before: the link filter here, and budgets and traps at their turn. Who is refused for another reason now is refused
for that one.

Such a walk reads `urls` in order, of one host, of the hosts of a site, or of all; some at each lease, because there
may be millions, and none where the totals say that nothing was refused for its reasons. How far it has come is
written in the batch of what it brought back: after a crash it goes on there. While one is open the crawl is not
complete.

    meta    "limits"    -> Held
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from gossamer.frontier.budgets import Budgets
from gossamer.frontier.change import Change
from gossamer.frontier.choice import OF_NEW_PAGES
from gossamer.frontier.disk.tables import Totals, decode_host, decode_url_record, encode, host_key, is_position
from gossamer.frontier.front import Front
from gossamer.frontier.intake import TRAPS, is_trusted
from gossamer.frontier.retry import Retries
from gossamer.frontier.rules.limits import (
    DECIDED_BY,
    TRAPS_OF_POLICY,
    WHERE_UNKNOWN,
    Values,
    lifted_of,
    raised,
    restrictions,
    told,
)
from gossamer.frontier.rules.policy import Policies
from gossamer.interfaces import Filter, Store
from gossamer.records import SITEMAP, Link, Reason, Refused, State, UrlRecord
from gossamer.settings import FrontierSettings
from gossamer.url.canonical import is_crawled
from gossamer.url.site import host_of

READ_AT_ONCE = 1000  # entries read in one lease: some 2 ms
BACK_AT_ONCE = 250  # URLs asked about among them: some 5 ms more
HOSTS_AT_ONCE = 500
TOLD_MAX = 100  # walks that ended and nobody asked about
UNKNOWN = "limits of an earlier version"


class Walk(msgspec.Struct, array_like=True):
    """Refused URLs that are looked at again: of all hosts, where neither a host nor a site is named."""

    key: str  # of the setting that was raised; `policy`
    why: str  # what has changed, in words
    reasons: list[Reason]
    host: str = ""
    site: str = ""
    start: bytes = b""  # how far it has come: in `urls`, or in `hosts` where it is about a site
    back: int = 0  # URLs that were queued again

    def is_part_of(self, other: Walk) -> bool:
        return (self.host, self.site) == (other.host, other.site) and set(self.reasons) <= set(other.reasons)


class Held(msgspec.Struct):
    """What refusals depend on now, and what is still to be looked through since that was different."""

    settings: Values | None = None  # None: nobody has noted them yet
    policies: Policies = Policies()
    walks: list[Walk] = []
    ended: list[Walk] = []  # of those that have ended, what nobody has been told yet


class _Beginning(msgspec.Struct, array_like=True, gc=False):
    """Of a UrlRecord what tells whether the rest is worth reading: most are pages."""

    url: str
    state: State
    reason: Reason | None = None


_decode_held = msgspec.msgpack.Decoder(Held).decode
_decode_beginning = msgspec.msgpack.Decoder(_Beginning).decode


class Lifted:
    def __init__(
        self,
        store: Store,
        front: Front,
        link_filter: Filter,
        budgets: Budgets,
        retries: Retries,
        totals: Totals,
        limits: FrontierSettings,
        settings: Values | None,
    ) -> None:
        """`settings`: in force from now on; None: whoever has opened this does not go by them."""
        self._store = store
        self._front = front
        self._link_filter = link_filter
        self._budgets = budgets
        self._retries = retries
        self._totals = totals
        self._limits = limits
        self._settings = settings
        found = store.get("meta", b"limits")
        self._held = _decode_held(found) if found is not None else Held()
        self._is_noted = found is not None

    @property
    def is_done(self) -> bool:
        return not self._held.walks

    @property
    def open(self) -> dict[str, int]:
        """What has changed, and how many refused URLs that may concern, while they are looked through."""
        return {walk.why: self._concerned(walk) for walk in self._held.walks if walk.key}

    def ended(self, change: Change) -> list[Walk]:
        """The walks that have ended since this was asked last, by whomever."""
        ended, self._held.ended = self._held.ended, []
        if ended:
            self._note(change)
            change.write(sync=False)
        return ended

    # ---- what has changed --------------------------------------------------------------------------------

    def apply_policies(self, change: Change, policies: Policies) -> None:
        """Note what holds from now on, and what is to be looked through: durable before anything is refused by it."""
        held, kept = self._held, restrictions(policies)
        walks = [*self._by_settings(), *self._by_policies(kept)]
        settings = self._settings if self._settings is not None else held.settings
        if not walks and (held.settings, held.policies) == (settings, kept):
            return
        waiting = [walk for walk in held.walks if not any(walk.is_part_of(new) for new in walks)]
        self._held = Held(settings, kept, [*walks, *waiting], held.ended)
        self._is_noted = False
        if self._totals.known:  # else nothing was refused yet, and an empty store is not made for this
            self._note(change)
            change.write(sync=True)

    def note_first(self, change: Change) -> None:
        """With the first links: from now on something may be refused."""
        if not self._is_noted:
            self._note(change)

    def _by_settings(self) -> Iterator[Walk]:
        now, before = self._settings, self._held.settings
        if now is None:
            return
        if before is None:
            if self._concerned(walk := Walk("", UNKNOWN, sorted(WHERE_UNKNOWN))):
                yield walk
            return
        for key in raised(before, now):
            yield Walk(key, told(key, before[key], now[key]), sorted(DECIDED_BY[key]))

    def _by_policies(self, now: Policies) -> Iterator[Walk]:
        before, limits = self._held.policies, self._limits
        for name, why, reasons in lifted_of(before.hosts, now.hosts, limits.host_pages_max, Reason.HOST_BUDGET):
            yield Walk("policy", f"host {why}", sorted(reasons), host=name)
        for name, why, reasons in lifted_of(before.sites, now.sites, limits.site_pages_max, Reason.SITE_BUDGET):
            yield Walk("policy", f"site {why}", sorted(reasons), site=name)

    # ---- a walk ------------------------------------------------------------------------------------------

    def bring_back(self, change: Change) -> None:
        """Look at some of what was refused."""
        if not self._held.walks:
            return
        while self._held.walks and not self._concerned(self._held.walks[-1]):
            self._end(self._held.walks[-1])
        if self._held.walks and not self._goes_on(change, walk := self._held.walks[-1]):
            self._end(walk)
        self._note(change)
        change.write(sync=False)
        change.shed(self._limits.queue_max, sync=False)

    def _goes_on(self, change: Change, walk: Walk) -> bool:
        return self._find_hosts(walk) if walk.site else self._look_at_urls(change, walk)

    def _find_hosts(self, walk: Walk) -> bool:
        """The hosts of a site lie anywhere; each gets a walk of its own, before the next ones are looked for."""
        found = list(islice(self._store.scan("hosts", walk.start), HOSTS_AT_ONCE))
        if not found:
            return False
        walk.start = found[-1][0] + b"\0"
        hosts = [host.name for _, value in found if (host := decode_host(value)).site == walk.site]
        self._held.walks += [Walk("", walk.why, walk.reasons, host=name) for name in hosts]
        return True

    def _look_at_urls(self, change: Change, walk: Walk) -> bool:
        wanted = frozenset(walk.reasons)
        looked_at = 0
        found = self._store.scan("urls", walk.start, host_key(walk.host) if walk.host else b"")
        for read, (key, value) in enumerate(found):
            if read == READ_AT_ONCE or looked_at == BACK_AT_ONCE:
                return True
            walk.start = key + b"\0"
            if not is_position(value) and _decode_beginning(value).reason in wanted:
                known = decode_url_record(value)
                if known.state in (State.REFUSED, State.FAILED):
                    looked_at += 1
                    walk.back += self._look_at(change, key, known)
        return False

    def _look_at(self, change: Change, key: bytes, known: UrlRecord) -> bool:
        """Ask again what refused it. Whether it is queued now."""
        assert known.reason is not None
        refused = self._refusal(change, key, known)
        if refused is None:
            if known.reason in TRAPS_OF_POLICY:
                change.host(key, host_of(known.url)).trapped = 0
            self._retries.queue_again(change, key, known)
            return change.known[key].state is State.QUEUED
        if refused.reason is not known.reason:
            change.uncount(known)
            change.refuse(key, known, refused.reason, refused.detail)
        return False

    def _refusal(self, change: Change, key: bytes, known: UrlRecord) -> Refused | None:
        url, host = known.url, host_of(known.url)
        if not is_crawled(url):
            return Refused(Reason.SCHEME)
        reason = self._link_filter(link_to(known))
        if reason is not None and not (reason in TRAPS and is_trusted(self._front.policies, host)):
            return Refused(reason)
        refused = self._budgets.refusal(change.host(key, host), change.site)
        if refused is not None and known.history is not None and refused.reason in OF_NEW_PAGES:
            return None
        return refused

    def _concerned(self, walk: Walk) -> int:
        return sum(self._totals.reasons.get(reason, 0) for reason in walk.reasons)

    def _end(self, walk: Walk) -> None:
        """What came back is told of all hosts of a site together."""
        self._held.walks = [other for other in self._held.walks if other is not walk]
        if walk.key:
            self._held.ended = [*self._held.ended, walk][-TOLD_MAX:]
        for other in self._held.walks:
            if not walk.key and other.site and other.why == walk.why:
                other.back += walk.back

    def _note(self, change: Change) -> None:
        change.batch.put("meta", b"limits", encode(self._held))
        self._is_noted = True


def link_to(known: UrlRecord) -> Link:
    """The link that led to a URL, as far as the link filter looks at it."""
    rel = SITEMAP if known.is_sitemap else ""
    return Link(known.url, "", rel, known.source, known.depth, known.chain, max_depth=known.max_depth)
