"""A change: one atomic batch under way, with all it has touched, because its later parts must see the earlier ones.

It carries the hosts it changed and the partition's counters along, so that they are never ahead of what they count,
nor behind. Memory follows only after the disk: see `Front.follow`.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.back import Back
from gossamer.frontier.front import Front
from gossamer.frontier.leases import Leases
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.priority import rank
from gossamer.frontier.seen import Seen
from gossamer.frontier.steps import Step
from gossamer.frontier.tables import (
    Meta,
    Site,
    encode,
    entry_of,
    is_short,
    is_standing,
    key_in,
    known_in,
    queue_key,
    queued,
    rank_of,
    standing_at,
)
from gossamer.interfaces import Planner, Store
from gossamer.records import Fetched, Host, Known, Moved, Outcome, Reason, State
from gossamer.settings import FrontierSettings
from gossamer.url.site import host_of, site_of


class Change:
    def __init__(
        self,
        store: Store,
        front: Front,
        seen: Seen,
        leases: Leases,
        meta: Meta,
        settings: FrontierSettings,
        now: float,
        planner: Planner | None = None,
    ) -> None:
        self._store = store
        self._leases = leases
        self._ledger = Ledger(store)
        self._front = front
        self._seen = seen
        self._meta = meta
        self._settings = settings
        self.now = now
        self._planner = planner
        self._ranks: dict[tuple[int, int, float | None, float | None, float], int] = {}  # all of the same moment
        self._start()

    def _start(self) -> None:
        self.batch = self._store.batch()
        self.size = 0  # of the batch, about: what `put_known` and `enqueue` wrote
        self.known: dict[bytes, Known] = {}
        self.is_dirty = False  # a counter changed, if nothing else did
        self._hosts: dict[bytes, Host] = {}
        self._sites: dict[str, Site] = {}
        self._entries: dict[bytes, bytes] = {}  # of URLs queued in here that were never asked for
        self._offered: dict[bytes, bytes] = {}
        self._renewed: dict[bytes, bytes] = {}
        self._dropped: set[bytes] = set()
        self._left: list[bytes] = []
        self._met: list[bytes] = []  # URLs that were not known before

    # ---- URLs --------------------------------------------------------------------------------------------

    def put_known(self, key: bytes, known: Known) -> None:
        self.known[key] = known
        self.batch.put("urls", key, encode(known))
        self.size += 2

    def meet(self, key: bytes) -> None:
        """A URL is known from now on; what becomes of it is written next."""
        self._meta.totals.known += 1
        self._met.append(key)

    def renew(self, key: bytes, known: Known) -> None:
        """Something else is known of a URL that is queued or waits: it keeps its place."""
        entry = self._entry(key)
        if entry is None:
            self.put_known(key, known)
            self._leases.renew(key, known)
            return
        value = self._put_queued(entry, key, known)
        if entry in self._offered:
            self._offered[entry] = value
        elif key in self._leases:
            self._leases.renew(key, known, value)
        elif key[:8] in self._front.active:
            self._renewed[entry] = value

    def refuse(self, key: bytes, known: Known, reason: Reason, detail: str = "") -> None:
        """Final, with its reason; the URL is not in a queue, or the caller takes it out."""
        totals = self._meta.totals
        totals.refused += 1
        totals.reasons[reason] = totals.reasons.get(reason, 0) + 1
        self._seen.cool(known.url)  # found again, it may have to be looked at again
        if self._planner is not None:
            known = self._planner.dropped(known, self.host(key, host_of(known.url)) if known.history else None)
        self.put_known(key, msgspec.structs.replace(known, state=State.REFUSED, reason=reason, detail=detail))

    def quarantine(self, key: bytes, known: Known) -> None:
        self._meta.totals.quarantined += 1
        self.batch.put("quarantine", key, b"")
        self.put_known(key, known)

    def release(self, key: bytes) -> None:
        self._meta.totals.quarantined -= 1
        self.batch.delete("quarantine", key)

    # ---- queues ------------------------------------------------------------------------------------------

    def enqueue(self, key: bytes, known: Known, host_name: str | None = None) -> None:
        """Put a URL into its host's queue, with its record: by its priority, behind those of the same."""
        of_host = key[:8]
        # Most links lead to where the one before led: with keys packed in one call, 3 % of adding.
        host = self._hosts.get(of_host) or self.host(of_host, host_name or host_of(known.url))
        wanted = self._rank(known, host)
        if host.queued >= self._settings.host_queue_max and not self._make_room(of_host, host, wanted):
            self.refuse(key, known, Reason.QUEUE_FULL)
            return
        self._meta.turn += 1
        entry = queue_key(of_host, wanted, self._meta.turn)
        value = key
        if is_short(known):
            value = self._put_queued(entry, key, known)
            self._entries[key] = entry
        else:
            self.batch.put("queue", entry, key)
            self.put_known(key, known)
        if known.history is not None:
            self._meta.totals.revisits += 1
        if of_host in self._front.active:
            self._offered[entry] = value
        self._meta.totals.queued += 1
        host.queued += 1
        if not host.front_key or wanted < host.front_rank:
            self._front.enlist(self.batch, of_host, host, wanted, self._meta.turn)

    def _rank(self, known: Known, host: Host) -> int:
        planner, need = self._planner, 1.0
        standing = None if planner is None else planner.standing(known)
        if planner is not None and known.history is not None:
            need = planner.need(known, host, self.now)
        worth = (known.depth, known.context, known.priority, standing, need)
        wanted = self._ranks.get(worth)
        if wanted is None:
            wanted = self._ranks[worth] = rank(worth[0], worth[1], self.now, self._settings, *worth[2:])
        return wanted

    def raise_up(self, key: bytes, known: Known, host_name: str, stored: bytes | None) -> None:
        """Give a queued URL that was never asked for a better place: links have made it worth more.

        `stored`: its entry on disk, if it has one."""
        entry = self._entries.get(key, stored)
        assert entry is not None, f"queued, and stands nowhere: {known}"
        self.dequeue(entry, self.host(key, host_name), known)
        self._dropped.add(entry)
        self._renewed.pop(entry, None)
        back = self._front.active.get(key[:8])
        if back is not None:
            back.withdraw(entry)
        self.enqueue(key, known, host_name)

    def _entry(self, key: bytes) -> bytes | None:
        """Where a URL stands that was never asked for; None: it was, or is not queued."""
        entry = self._entries.get(key)
        if entry is None and (stored := self._store.get("urls", key)) is not None and is_standing(stored):
            entry = entry_of(key, stored)
        return entry

    def _put_queued(self, entry: bytes, key: bytes, known: Known) -> bytes:
        """A URL that was never asked for, with its record; what its queue entry holds."""
        self.known[key] = known
        value = queued(key, known)
        self.batch.put("queue", entry, value)
        self.batch.put("urls", key, standing_at(entry, known))
        self.size += 2
        return value

    def dequeue(self, entry: bytes, host: Host, known: Known) -> None:
        self.batch.delete("queue", entry)
        if known.history is not None:
            self._meta.totals.revisits -= 1
        self._offered.pop(entry, None)
        host.queued -= 1
        self._meta.totals.queued -= 1

    def _make_room(self, host_key: bytes, host: Host, wanted: int) -> bool:
        """The queue is full: drop its last URL if the new one is better."""
        worst = self._store.last("queue", host_key)
        if worst is None or worst[0] in self._dropped or worst[0] < queue_key(host_key, wanted, 0):
            return False
        entry, key = worst[0], key_in(*worst)
        if key in self._leases:
            return False
        known = self.known.get(key) or known_in(worst[1]) or self._ledger.known(key)
        assert known is not None, f"queued but unknown: {key.hex()}"
        self.dequeue(entry, host, known)
        self.refuse(key, known, Reason.QUEUE_FULL)
        self._dropped.add(entry)
        back = self._front.active.get(host_key)
        if back is not None:
            back.withdraw(entry)
        return True

    # ---- hosts and sites ---------------------------------------------------------------------------------

    def host(self, key: bytes, name: str) -> Host:
        """A host, to be changed: it is written with the batch. A new host's life starts here."""
        key = key[:8]
        host = self._hosts.get(key)
        if host is None:
            host = self._front.host(key)
            if host is None:
                host = Host(name=name, site=site_of(name))
            if not host.is_counted:
                host.is_counted = True
                self._meta.totals.hosts += 1
            self._hosts[key] = host
        return host

    def site(self, name: str) -> Site:
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = self._ledger.site(name)
        return site

    def rest(self, back: Back) -> None:
        """The host leaves its place to others until its moment comes."""
        self._front.strike(self.batch, back.host)
        self._leave(back)

    def give_way(self, back: Back) -> None:
        """The host goes to the end of its level."""
        head = back.next()
        assert head is not None, f"nothing queued: {back}"  # all of it is on disk by now, and none in flight
        self._front.strike(self.batch, back.host)
        self._meta.turn += 1
        self._front.enlist(self.batch, back.key, back.host, rank_of(head[0]), self._meta.turn)
        self._front.is_contended = True  # it waits itself now
        self._leave(back)

    def _leave(self, back: Back) -> None:
        self._hosts[back.key] = back.host
        self._left.append(back.key)

    # ---- counters ----------------------------------------------------------------------------------------

    def count(self, host: Host, step: Step, outcome: Outcome, *, is_first: bool) -> None:
        totals = self._meta.totals
        match outcome.result:
            case Fetched(body=body):
                if is_first:
                    totals.pages += 1
                    host.pages += 1
                    if self._settings.site_pages_max or self._front.policies.sites:
                        self.site(host.site).pages += 1
                else:
                    totals.visits += 1
                totals.bytes += len(body)
                host.body_bytes += len(body)
                if not outcome.verdict.is_original:
                    totals.duplicates += is_first
                    totals.bytes_saved += len(body)
            case Moved():
                totals.moved += 1
        if step.reason is None:
            return
        host.errors += 1
        host.last_error = step.reason
        if step.state in (State.FAILED, State.REFUSED):
            totals.reasons[step.reason] = totals.reasons.get(step.reason, 0) + 1
            totals.failed += step.state is State.FAILED
            totals.refused += step.state is State.REFUSED

    # ---- the end -----------------------------------------------------------------------------------------

    def write(self, *, sync: bool) -> None:
        if not (len(self.batch) or self._hosts or self.is_dirty):
            return
        for key, host in self._hosts.items():
            if host.queued == 0:
                self._front.strike(self.batch, host)
            self.batch.put("hosts", key, encode(host))
        for name, site in self._sites.items():
            self.batch.put("sites", name.encode(), encode(site))
        self.batch.put("meta", b"meta", encode(self._meta))
        if self._planner is not None and (plans := self._planner.changes()) is not None:
            self.batch.put("meta", b"plans", plans)
        self._store.write(self.batch, sync=sync)
        self._seen.add(self._met)
        for entry in self._renewed.items():
            if (back := self._front.active.get(entry[0][:8])) is not None:
                back.renew(entry)
        self._front.follow(self._hosts, self._offered.items())
        for key in self._left:
            self._front.leave(key)
        self._start()
