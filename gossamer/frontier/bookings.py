"""Bookings: turns of a host for requests that are not leases, such as somebody else's redirected robots.txt.

A booked turn comes like any other, one at a time and by the host's delay. It goes before the host's own URLs, and is
given also while nothing may be leased: whoever waits for it may hold up another host.
"""

from __future__ import annotations

import asyncio

from gossamer.frontier.back import BOOKED, Back
from gossamer.frontier.change import Change
from gossamer.frontier.disk.tables import booking_key, host_key
from gossamer.frontier.front import Front
from gossamer.frontier.rules.politeness import end_booking
from gossamer.frontier.site_pace import SitePace
from gossamer.records import Answer
from gossamer.settings import PolitenessSettings


class Bookings:
    def __init__(self, front: Front, site_pace: SitePace, politeness: PolitenessSettings) -> None:
        self._front = front
        self._site_pace = site_pace
        self._politeness = politeness
        self._hosts: dict[bytes, None] = {}  # of which somebody may want a turn

    def add(self, name: str) -> asyncio.Future[bool]:
        """True when the turn has come, False if the host is blocked."""
        key = host_key(name)
        back = self._front.visitor(key, name)
        booking: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        back.bookings.append(booking)
        self._hosts[key] = None
        self._front.arm(back)
        return booking

    def next_at(self) -> float | None:
        return min((back.next_turn_at for back in self._waiting()), default=None)

    def give_turns(self, change: Change) -> None:
        """Give away the turns whose moment has come."""
        for back in self._waiting():
            is_ready = back.next_turn_at <= change.now and not self._front.policies.of(back.host).paused
            if is_ready and self._site_pace.turn_at(back, change.now) <= change.now:
                self.give_turn(change, back)

    def give_turn(self, change: Change, back: Back) -> bool:
        """Whether the host's turn goes to somebody who booked it."""
        if self._front.has_policies and self._front.policies.of(back.host).blocked:
            back.turn_bookings_away()
        if not back.admit_booking():
            return False
        self._front.turns.remove(back.key)
        change.host(back.key, back.host.name)
        change.batch.put("leases", booking_key(back.key), b"")
        return True

    def end(self, change: Change, name: str, answer: Answer | None) -> None:
        """The request has ended, and the host's delay runs. None: nobody knows how it ended."""
        back = self._front.active.get(host_key(name))
        if back is None or back.asked != BOOKED:
            return  # it has ended before
        back.asked = None
        end_booking(back.host, answer, self._politeness, self._front.policies.of(back.host), change.now)
        change.host(back.key, name)
        change.batch.delete("leases", booking_key(back.key))
        change.write(sync=False)
        if back.key in self._front.active:
            self._front.arm(back)

    def _waiting(self) -> list[Back]:
        """Hosts of which somebody wants a turn, and that are not being asked."""
        for key in list(self._hosts):
            back = self._front.active.get(key)
            if back is None or not back.bookings:
                del self._hosts[key]
        return [back for key in self._hosts if (back := self._front.active[key]).asked is None]
