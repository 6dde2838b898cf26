"""A change: one atomic batch under way, with all it has touched, because its later parts must see the earlier ones.

It carries the hosts it changed and the partition's counters along, so that they are never ahead of what they count,
nor behind. Memory follows only after the disk: see `Front.follow`.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.back import Back
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.seen import Seen
from gossamer.frontier.disk.tables import (
    Entry,
    Meta,
    Site,
    encode,
    entry_of,
    is_position,
    is_short,
    key_in,
    order_of,
    position_at,
    queue_key,
    queued,
    url_record_in,
)
from gossamer.frontier.disk.tail import Tail
from gossamer.frontier.front import Front
from gossamer.frontier.leases import Leases
from gossamer.frontier.rules.origins import meet
from gossamer.frontier.rules.priority import order
from gossamer.frontier.rules.steps import Step
from gossamer.interfaces import BATCH_MAX, Planner, Store
from gossamer.records import Fetched, Host, Moved, Outcome, Reason, State, UrlRecord
from gossamer.settings import FrontierSettings
from gossamer.url.site import clock_name, host_of, origin_of, site_of

WHOLE_FULL = "the crawl holds frontier.queue_max URLs"


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
        self._reader = PartitionReader(store)
        self._front = front
        self._seen = seen
        self._meta = meta
        self._settings = settings
        self.now = now
        self._planner = planner
        self._orders: dict[tuple[int, int, float | None, float | None, float], int] = {}  # all of the same moment
        self._start()

    def _start(self) -> None:
        self.batch = self._store.batch()
        self.size = 0  # of the batch, about: what `put_known` and `enqueue` wrote
        self.known: dict[bytes, UrlRecord] = {}
        self.is_dirty = False  # a counter changed, if nothing else did
        self._hosts: dict[bytes, Host] = {}
        self._sites: dict[str, Site] = {}
        self._entries: dict[bytes, bytes] = {}  # of URLs queued in here that were never asked for
        self._offered: dict[bytes, bytes] = {}
        self._renewed: dict[bytes, bytes] = {}
        self._dropped: set[bytes] = set()  # entries that are deleted here
        self._added: dict[bytes, list[Entry]] = {}  # to queues that may be full soon
        self._tails: dict[bytes, Tail] = {}  # of queues that are full
        self._left: list[bytes] = []
        self._met: list[bytes] = []  # URLs that were not known before

    # ---- URLs --------------------------------------------------------------------------------------------

    def put_url_record(self, key: bytes, known: UrlRecord) -> None:
        self.known[key] = known
        self.batch.put("urls", key, encode(known))
        self.size += 2

    def meet(self, key: bytes) -> None:
        """A URL is known from now on; what becomes of it is written next."""
        self._meta.totals.known += 1
        self._met.append(key)

    def renew(self, key: bytes, known: UrlRecord) -> None:
        """Something else is known of a URL that is queued or waits: it keeps its place."""
        entry = self._entry(key)
        if entry is None:
            self.put_url_record(key, known)
            self._leases.renew(key, known)
            return
        value = self._put_queued(entry, key, known)
        if entry in self._offered:
            self._offered[entry] = value
        elif key in self._leases:
            self._leases.renew(key, known, value)
        elif key[:8] in self._front.active:
            self._renewed[entry] = value

    def refuse(self, key: bytes, known: UrlRecord, reason: Reason, detail: str = "") -> None:
        """Final, with its reason; the URL is not in a queue, or the caller takes it out."""
        totals = self._meta.totals
        totals.refused += 1
        totals.reasons[reason] = totals.reasons.get(reason, 0) + 1
        self._seen.cool(known.url)  # found again, it may have to be looked at again
        if self._planner is not None:
            host = self.host(key, host_of(known.url)) if known.history else None
            known = self._planner.dates.forget(self._planner.credit.give_back(known), host)
        self.put_url_record(key, msgspec.structs.replace(known, state=State.REFUSED, reason=reason, detail=detail))

    def quarantine(self, key: bytes, known: UrlRecord) -> None:
        self._meta.totals.quarantined += 1
        self.batch.put("quarantine", key, b"")
        self.put_url_record(key, known)

    def release(self, key: bytes) -> None:
        self._meta.totals.quarantined -= 1
        self.batch.delete("quarantine", key)

    # ---- queues ------------------------------------------------------------------------------------------

    def enqueue(self, key: bytes, known: UrlRecord, host_name: str | None = None) -> None:
        """Put a URL into its host's queue, with its record: by its priority, behind those of the same."""
        of_host = key[:8]
        # Most links lead to where the one before led: with keys packed in one call, 3 % of adding.
        host = self._hosts.get(of_host) or self.host(of_host, host_name or host_of(known.url))
        wanted = self._order(known, host)
        if host.queued >= self._settings.host_queue_max and not self._make_room(of_host, host, wanted):
            self.refuse(key, known, Reason.QUEUE_FULL)
            return
        if (origin := origin_of(known.url)) not in host.origins:
            meet(host, origin)
        self._meta.turn += 1
        entry = queue_key(of_host, wanted, self._meta.turn)
        value = key  # the rest of the record is in `urls`
        if is_short(known):
            value = self._put_queued(entry, key, known)
            self._entries[key] = entry
        else:
            self.batch.put("queue", entry, key)
            self.put_url_record(key, known)
        if known.history is not None:
            self._meta.totals.revisits += 1
            host.revisits += 1
        elif host.is_resting:
            self.count_resting(host, 1)
        if of_host in self._front.active:
            self._offered[entry] = value
        self._meta.totals.queued += 1
        host.queued += 1
        if host.queued > self._settings.host_queue_max - BATCH_MAX:
            self._note_added(of_host, (entry, value))
        if not host.front_key or wanted < host.front_order:
            self._front.enlist(self.batch, of_host, host, wanted, self._meta.turn)

    def _order(self, known: UrlRecord, host: Host) -> int:
        planner, need = self._planner, 1.0
        importance = None if planner is None else planner.credit.importance(known)
        if planner is not None and known.history is not None:
            need = planner.dates.chance_outdated(known, host, self.now)
        worth = (known.depth, known.context, known.priority, importance, need)
        wanted = self._orders.get(worth)
        if wanted is None:
            wanted = self._orders[worth] = order(worth[0], worth[1], self.now, *worth[2:])
        return wanted

    def raise_up(self, key: bytes, known: UrlRecord, host_name: str, stored: bytes | None) -> None:
        """Give a queued URL that was never asked for a better place: links have made it worth more.

        `stored`: its entry on disk, if it has one."""
        entry = self._entries.get(key, stored)
        assert entry is not None, f"queued, and stands nowhere: {known}"
        self.dequeue(entry, self.host(key, host_name), known)
        self._renewed.pop(entry, None)
        back = self._front.active.get(key[:8])
        if back is not None:
            back.withdraw(entry)
        self.enqueue(key, known, host_name)

    def _entry(self, key: bytes) -> bytes | None:
        """Where a URL stands that was never asked for; None: it was, or is not queued."""
        entry = self._entries.get(key)
        if entry is None and (stored := self._store.get("urls", key)) is not None and is_position(stored):
            entry = entry_of(key, stored)
        return entry

    def _put_queued(self, entry: bytes, key: bytes, known: UrlRecord) -> bytes:
        """A URL that was never asked for, with its record; what its queue entry holds."""
        self.known[key] = known
        value = queued(key, known)
        self.batch.put("queue", entry, value)
        self.batch.put("urls", key, position_at(entry, known))
        self.size += 2
        return value

    def _note_added(self, of_host: bytes, entry: Entry) -> None:
        if (tail := self._tails.get(of_host)) is not None:
            tail.add(entry)
        else:
            self._added.setdefault(of_host, []).append(entry)

    def dequeue(self, entry: bytes, host: Host, known: UrlRecord) -> None:
        self.batch.delete("queue", entry)
        self._dropped.add(entry)
        if known.history is not None:
            self._meta.totals.revisits -= 1
            host.revisits = max(0, host.revisits - 1)
        elif host.is_resting:
            self.count_resting(host, -1)
        self._offered.pop(entry, None)
        host.queued -= 1
        self._meta.totals.queued -= 1

    def _make_room(self, host_key: bytes, host: Host, wanted: int) -> bool:
        """The queue is full: drop its worst URL if the new one is better."""
        tail = self._tails.get(host_key)
        if tail is None:
            tail = self._tails[host_key] = Tail(self._store, host_key, self._added.pop(host_key, ()))
        while (worst := tail.pop(self._dropped)) is not None:
            if order_of(worst[0]) <= wanted:
                tail.put_back(worst)
                return False
            if self.drop(worst, host):
                return True
        return False

    def drop(self, entry: Entry, host: Host, detail: str = "") -> bool:
        """Refuse a queued URL because there is not room for all. Not one that is being fetched, or was before."""
        key = key_in(*entry)
        if key in self._leases:
            return False
        known = self.known.get(key) or url_record_in(entry[1]) or self._reader.known(key)
        assert known is not None, f"queued but unknown: {key.hex()}"
        if known.history is not None:
            return False
        self.dequeue(entry[0], host, known)
        self._entries.pop(key, None)
        self._renewed.pop(entry[0], None)
        self.refuse(key, known, Reason.QUEUE_FULL, detail)
        back = self._front.active.get(key[:8])
        if back is not None:
            back.withdraw(entry[0])
        return True

    def shed(self, most: int, *, sync: bool) -> None:
        """Drop the worst URLs of the hosts at the lowest level while more is queued than the partition may hold."""
        totals = self._meta.totals
        hosts = self._front.worst_first() if totals.queued > most else iter(())
        while totals.queued > most and (of_host := next(hosts, None)) is not None:
            host = self._front.host(of_host)
            assert host is not None, f"a host with work and no record: {of_host.hex()}"
            tail = Tail(self._store, of_host, ())
            while totals.queued > most and (worst := tail.pop(self._dropped)) is not None:
                self.drop(worst, self.host(of_host, host.name), WHOLE_FULL)
                if self.size >= BATCH_MAX:
                    self.write(sync=sync)
        self.write(sync=sync)

    # ---- hosts and sites ---------------------------------------------------------------------------------

    def host(self, key: bytes, name: str) -> Host:
        """A host, to be changed: it is written with the batch. A new host's life starts here."""
        key = key[:8]
        host = self._hosts.get(key)
        if host is None:
            host = self._front.host(key) or Host(name=clock_name(name), site=site_of(name))
            self._touch(key, host)
        return host

    def host_in_slot(self, back: Back) -> Host:
        """The same of a host that has a slot, as one of which something is in flight has: nothing is looked up."""
        self._touch(back.key, back.host)
        return back.host

    def _touch(self, key: bytes, host: Host) -> None:
        self._hosts[key] = host
        if not host.is_counted:
            host.is_counted = True
            self._meta.totals.hosts += 1

    def site(self, name: str) -> Site:
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = self._reader.site(name)
        return site

    def rest(self, back: Back) -> None:
        """The host leaves its slot to others until its moment comes."""
        self._meta.turn += 1
        self._front.set_apart(self.batch, back.key, back.host, self._meta.turn)
        self._leave(back)

    def give_way(self, back: Back) -> None:
        """The host goes to the end of its level."""
        head = back.next()
        assert head is not None, f"nothing queued: {back}"  # all of it is on disk by now, and none in flight
        self._front.strike(self.batch, back.host)
        self._meta.turn += 1
        self._front.enlist(self.batch, back.key, back.host, order_of(head[0]), self._meta.turn)
        self._front.is_contended = True  # it waits itself now
        self._leave(back)

    def _leave(self, back: Back) -> None:
        self._hosts[back.key] = back.host
        self._left.append(back.key)

    # ---- counters ----------------------------------------------------------------------------------------

    def count_resting(self, host: Host, urls: int) -> None:
        """So many more of the host's URLs wait for an outage to end, or fewer (due.py)."""
        totals, before = self._meta.totals, host.resting
        host.resting = max(0, before + urls)
        totals.resting += host.resting - before
        if (before > 0) == (host.resting > 0):
            return
        if before == 0:
            is_for_robots = host.is_resting and host.waits_for is Reason.ROBOTS_UNREACHABLE
            host.rest_cause = Reason.ROBOTS_UNREACHABLE if is_for_robots else host.last_error
        hosts = totals.resting_hosts
        count = hosts.get(host.rest_cause, 0) + (1 if before == 0 else -1)
        hosts[host.rest_cause] = count
        if count <= 0:
            del hosts[host.rest_cause]

    def count(self, host: Host, step: Step, outcome: Outcome, *, is_first: bool) -> None:
        totals, result = self._meta.totals, outcome.result
        if isinstance(result, Fetched):
            body_bytes = result.body_bytes
            host.crawled_at = result.exchange.started_at
            if is_first:
                totals.pages += 1
                host.pages += 1
                if self._settings.site_pages_max or self._front.policies.sites:
                    self.site(host.site).pages += 1
            else:
                totals.visits += 1
            totals.bytes += body_bytes
            host.body_bytes += body_bytes
            if not outcome.verdict.is_original:
                totals.duplicates += is_first
                totals.bytes_saved += body_bytes if outcome.verdict.is_reference and not outcome.is_shown else 0
        elif isinstance(result, Moved):
            totals.moved += 1
        if step.reason is None or (step.rests and outcome.result.ended_at is None):
            return  # nothing was asked, and nothing is given up
        if step.reason is Reason.UNREADABLE:  # no fault of its host, and at further visits no further page
            totals.reasons[step.reason] = totals.reasons.get(step.reason, 0) + is_first
            return
        host.errors += 1
        host.last_error = step.reason
        if step.state in (State.FAILED, State.REFUSED):
            totals.reasons[step.reason] = totals.reasons.get(step.reason, 0) + 1
            totals.failed += step.state is State.FAILED
            totals.refused += step.state is State.REFUSED

    def uncount(self, known: UrlRecord) -> None:
        """A URL that failed or was refused is asked for again."""
        totals, reason = self._meta.totals, known.reason
        if known.state not in (State.FAILED, State.REFUSED) or reason is None:
            return
        totals.failed -= known.state is State.FAILED
        totals.refused -= known.state is State.REFUSED
        totals.reasons[reason] = totals.reasons.get(reason, 0) - 1
        if totals.reasons[reason] <= 0:
            del totals.reasons[reason]

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
        self._meta.written_at = self.now
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
