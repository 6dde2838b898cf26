"""The choice: which hosts have a slot, and what a turn is spent on.

A host's turn goes to its next URL, unless somebody booked it, the host has to wait, or enough of it was fetched.

URLs that may not be asked for any more are refused here, when their turn comes and not before: a budget may have
grown by then. Those of an origin at which nobody answers are set aside in the same way (rules/origins.py). As many at
a time as a batch holds, so that thousands of them do not hold up everybody else.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.back import Back
from gossamer.frontier.bookings import Bookings
from gossamer.frontier.budgets import Budgets
from gossamer.frontier.change import Change
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import Entry, key_in, url_record_in
from gossamer.frontier.due import Due
from gossamer.frontier.front import REST_S, Front
from gossamer.frontier.patterns import Patterns
from gossamer.frontier.revisits import Revisits
from gossamer.frontier.rules.origins import away, back_at, has_silent
from gossamer.frontier.site_pace import SitePace
from gossamer.interfaces import BATCH_MAX
from gossamer.records import Host, Reason, Refused, State, UrlRecord
from gossamer.url.site import host_of, origin_of
from gossamer.visit_history import Away

OF_NEW_PAGES = frozenset({Reason.HOST_BUDGET, Reason.SITE_BUDGET, Reason.TRAP_HOST})  # not of a page that we have
PAUSE_S = 1.0  # how soon a host notices that it is no longer paused


class Choice:
    def __init__(
        self,
        front: Front,
        reader: PartitionReader,
        budgets: Budgets,
        patterns: Patterns,
        due: Due,
        bookings: Bookings,
        site_pace: SitePace,
        revisits: Revisits,
        retries: int,
    ) -> None:
        """`retries`: of an origin that does not answer; from then on it rests."""
        self._front = front
        self._reader = reader
        self._budgets = budgets
        self._patterns = patterns
        self._due = due
        self._bookings = bookings
        self._site_pace = site_pace
        self._revisits = revisits
        self._retries = retries

    # ---- slots -------------------------------------------------------------------------------------------

    def fill_slots(self, change: Change) -> None:
        """Hosts that have had their share, or have to rest for long, make room for others."""
        self._let_go(change)
        change.write(sync=False)
        while self._front.activate(change.now + REST_S):
            self._let_go(change)
            change.write(sync=False)

    def _let_go(self, change: Change) -> None:
        for back in self._front.ready_to_leave():
            if back.host.ready_at > change.now + REST_S:
                self._due.put(change.batch, back.host.ready_at, back.key)
                change.rest(back)
            else:
                change.give_way(back)

    # ---- turns -------------------------------------------------------------------------------------------

    def pick(self, change: Change, most: int) -> list[tuple[Back, Entry]]:
        """Hosts whose turn has come, and the URL that each turn is spent on."""
        picked: list[tuple[Back, Entry]] = []
        front, now = self._front, change.now
        while len(picked) < most and change.size < BATCH_MAX and (back := front.pick(now)) is not None:
            if self._is_held(change, back):
                front.put_down(back, now + PAUSE_S)
            elif (moment := self._site_pace.turn_at(back, now)) > now:
                front.put_down(back, moment)
            elif back.bookings and self._bookings.give_turn(change, back):
                pass
            elif back.is_leaving:
                front.put_down(back)
            elif (entry := self._next_entry(change, back)) is not None:
                back.asked = key_in(*entry)
                back.slot_at = 0.0
                back.out += 1
                front.serve(back)
                picked.append((back, entry))
            elif change.size >= BATCH_MAX:
                front.put_down(back, now)  # more was refused than a batch holds: the rest at the next lease
            else:
                front.put_down(back)
        return picked

    def _is_held(self, change: Change, back: Back) -> bool:
        """Whether the operator lets the host pause, or what is in flight may use up what the host may have."""
        if not (back.out or self._front.has_policies or self._budgets.has_limits):
            return False  # as at nearly every turn
        if self._front.has_policies and self._front.policies.of(back.host).paused:
            return True
        return self._budgets.is_held(back, change.site) or self._patterns.is_held(back)

    def _next_entry(self, change: Change, back: Back) -> Entry | None:
        """The host's next URL; those that may not be asked for are refused on the way, as many as a batch holds."""
        while change.size < BATCH_MAX and (entry := back.next()) is not None:
            refused = self._budgets.refusal(back.host, change.site)
            is_free = refused is None and not self._patterns.has_spent(back.key, back.host, back)
            if is_free and not has_silent(back.host):
                return entry
            key = key_in(*entry)
            known = url_record_in(entry[1]) or self._reader.known(key)
            assert known is not None, f"queued but unknown: {entry}"
            refused = refused or self._trap(back, known)
            if refused is None or (known.history is not None and refused.reason in OF_NEW_PAGES):
                if (found := away(back.host, origin_of(known.url), change.now)) is None:
                    return entry
                self._let_wait(change, entry, key, known, found)
                continue
            change.dequeue(entry[0], change.host(key, back.host.name), known)
            change.refuse(key, known, refused.reason, refused.detail)
        return None

    def _let_wait(self, change: Change, entry: Entry, key: bytes, known: UrlRecord, found: Away) -> None:
        """Nobody answers at its origin: it waits for the next try there, and the turn goes to another."""
        host, due_at = change.host(key, host_of(known.url)), back_at(found, key)
        change.dequeue(entry[0], host, known)
        waiting = {"state": State.WAITING, "reason": Reason(found.reason), "detail": found.detail, "due_at": due_at}
        change.put_url_record(key, msgspec.structs.replace(known, **waiting))
        if known.history is None:
            self._due.put_url(change, due_at, key, host, rests=found.rests > self._retries)
        else:
            self._revisits.put(change.batch, due_at, key)

    def _trap(self, back: Back, known: UrlRecord) -> Refused | None:
        detail = self.suspicion(back.key, back.host, known) if known.history is None else None
        return Refused(Reason.TRAP_PATTERN, detail) if detail else None

    def suspicion(self, key: bytes, host: Host, known: UrlRecord) -> str | None:
        """Why a URL looks like one of a trap, in words; None: it does not, or somebody asked for it."""
        if known.depth == 0 or not self._patterns.has_spent(key, host) or self._front.policies.of(host).trusted:
            return None
        return self._patterns.refusal(key, known.url)
