"""The front: hosts that have work, by what they are worth. Some are being crawled now, the others wait for a place.

A host with something queued stands in the `front` table at its level (priority.py), behind those that were before.
At most `active_hosts_max` hosts are active: their back queue has its head in memory, and they take turns by the
moment at which each may be asked again. A free place is drawn for: each level is drawn half as often as the one above
it, and one draw in ten goes to the lowest that has anything, so that nothing starves. A host that has had its share
while others wait goes to the end of its level; one that has to rest for long waits on disk until its moment.

Each level is read from a remembered position on, and the hosts before it are active. After a restart reading starts
again, so those that were being crawled come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from random import Random

from gossamer.frontier.back import Back, Entry
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.policy import Policies
from gossamer.frontier.politeness import Turns
from gossamer.frontier.priority import authority, level
from gossamer.frontier.tables import front_key, level_name, level_of
from gossamer.interfaces import Batch, Store
from gossamer.records import Host
from gossamer.settings import FrontierSettings
from gossamer.url.site import site_of

LOWEST_SHARE = 0.1  # of the draws
HOSTS_REMEMBERED = 1000  # of a partition, about 1 MB: links lead to a few hosts again and again


class Front:
    def __init__(
        self, store: Store, ledger: Ledger, settings: FrontierSettings, chance: Random, levels: dict[int, int]
    ) -> None:
        """`levels`: how many hosts stand at each; kept up here, and written with every batch."""
        self.active: dict[bytes, Back] = {}
        self.turns = Turns()
        self.obey(Policies())
        self.authority: Callable[[Host], float] = authority
        self._store = store
        self._ledger = ledger
        self._settings = settings
        self._chance = chance
        self._levels_held = levels
        self._read_to: dict[bytes, bytes] = {}  # level -> last key read
        self.with_bookings: dict[bytes, None] = {}
        self._leaving: dict[bytes, None] = {}  # in order, so that a run can be repeated from its seed
        self.is_contended = True  # hosts may be waiting for a place
        self._lately: dict[bytes, Host] = {}  # hosts that were met, in two generations
        self._earlier: dict[bytes, Host] = {}

    def obey(self, policies: Policies) -> None:
        self.policies = policies
        self.has_policies = bool(policies)  # most crawls have none, and this is asked at every turn

    def host(self, key: bytes) -> Host | None:
        """A host as it is now: in memory while it is active and for a while after it was met, otherwise as stored."""
        back = self.active.get(key)
        if back is not None:
            return back.host
        host = self._lately.get(key)
        if host is None and (host := self._earlier.get(key) or self._ledger.host(key)) is not None:
            self._lately[key] = host
            if len(self._lately) > HOSTS_REMEMBERED // 2:
                self._lately, self._earlier = {}, self._lately
        return host

    # ---- on disk: who has work ---------------------------------------------------------------------------

    def enlist(self, batch: Batch, key: bytes, host: Host, best_rank: int, turn: int) -> None:
        """The host has work: give it its place, or a better one than it has."""
        if host.front_key and (best_rank >= host.front_rank or key in self.active):
            return
        fixed = self.policies.of(host).priority
        worth = self.authority(host) if fixed is None else fixed
        wanted = front_key(level(host, best_rank, self._settings, worth), turn)
        if host.front_key:
            if wanted[:2] >= host.front_key[:2]:
                return
            self.strike(batch, host)
        host.front_key, host.front_rank = wanted, best_rank
        batch.put("front", wanted, key)
        self._count(wanted, 1)
        if key not in self.active:
            self.is_contended = True

    def strike(self, batch: Batch, host: Host) -> None:
        """The host is not waiting for a place any more."""
        if host.front_key:
            batch.delete("front", host.front_key)
            self._count(host.front_key, -1)
            host.front_key = b""

    def _count(self, key: bytes, change: int) -> None:
        level = level_of(key)
        count = self._levels_held[level] = self._levels_held.get(level, 0) + change
        if count == 0:
            del self._levels_held[level]  # levels sink with the years

    # ---- in memory: who is being crawled now -------------------------------------------------------------

    def activate(self, tired_after: float) -> bool:
        """Draw hosts for the places that are free; whether any of them has to rest so long that it must go again."""
        free = self._settings.active_hosts_max - len(self.active)
        if free <= 0 or not self.is_contended:
            return False
        tired = []
        waiting = {name: self._waiting(name) for name in map(level_name, sorted(self._levels_held))}
        draw = self._draw_among(list(waiting))
        while free and waiting:
            name = draw()
            key = next(waiting[name], None)
            if key is None:
                del waiting[name]
                draw = self._draw_among(list(waiting))
                continue
            host = self.host(key)
            assert host is not None, f"a host with work and no record: {key.hex()}"
            back = self.enter(key, host)
            if host.ready_at > tired_after:
                tired.append(back)
            self.arm(back)
            free -= 1
        self.is_contended = any(next(hosts, None) is not None for hosts in waiting.values())
        if not self.is_contended:
            self._keep_all()
        for back in tired:
            self.send_away(back)
        return self.is_contended and bool(tired)

    def _waiting(self, name: bytes) -> Iterator[bytes]:
        """The hosts at a level that are not active, oldest first."""
        read_to = self._read_to.get(name, b"")
        for turn, key in self._store.scan("front", read_to, name):
            if turn == read_to or key in self.active:
                continue
            yield key
            self._read_to[name] = turn  # only when the next is asked for: the last one seen may stay where it is

    def _draw_among(self, levels: list[bytes]) -> Callable[[], bytes]:
        """What draws one of these levels, the best of which is the first."""
        best = level_of(levels[0]) if levels else 0
        weights = list(accumulate(0.5 ** min(60, level_of(name) - best) for name in levels))

        def draw() -> bytes:
            if len(levels) == 1 or self._chance.random() < LOWEST_SHARE:
                return levels[-1]
            return self._chance.choices(levels, cum_weights=weights)[0]

        return draw

    def enter(self, key: bytes, host: Host) -> Back:
        back = self.active[key] = Back(self._store, key, host)
        return back

    def arm(self, back: Back) -> None:
        """Let the host take its turn when its moment comes, if it has work and is not being asked."""
        if back.asked is None and (back.bookings or (back.host.queued > back.out and not back.is_leaving)):
            self.turns.put(back.key, back.host.ready_at)

    def serve(self, back: Back) -> None:
        """A lease was given: the host's share is used up one day."""
        back.served += 1
        if back.served >= self._settings.host_share:
            self.send_away(back)

    def send_away(self, back: Back) -> None:
        """The host leaves when nothing of it is in flight any more, if others wait for its place."""
        if self.is_contended:
            back.is_leaving = True
            self._leaving[back.key] = None
            self.turns.remove(back.key)

    def _keep_all(self) -> None:
        """Nobody waits for a place any more: those that were to leave stay."""
        for key in self._leaving:
            back = self.active.get(key)
            if back is not None:
                back.is_leaving = False
                self.arm(back)
        self._leaving.clear()

    def booked(self) -> list[Back]:
        """Hosts of which somebody wants a turn, and that are not being asked."""
        for key in list(self.with_bookings):
            back = self.active.get(key)
            if back is None or not back.bookings:
                del self.with_bookings[key]
        return [back for key in self.with_bookings if (back := self.active[key]).asked is None]

    def ready_to_leave(self) -> Iterator[Back]:
        for key in list(self._leaving):
            back = self.active.get(key)
            if back is None:
                del self._leaving[key]
            elif back.out == 0 and back.asked is None and not back.bookings and back.has_work:
                del self._leaving[key]
                yield back

    def visitor(self, key: bytes, name: str) -> Back:
        """The back queue of a host that may have no work of its own."""
        back = self.active.get(key)
        if back is None:
            back = self.enter(key, self.host(key) or Host(name=name, site=site_of(name)))
            if len(self.active) > self._settings.active_hosts_max:
                self.send_away(back)  # it came for one turn only
        return back

    def follow(self, hosts: Iterable[bytes], offered: Iterable[Entry]) -> None:
        """Memory follows the disk: new entries reach the active hosts, idle hosts give up their place."""
        for entry in offered:
            back = self.active.get(entry[0][:8])
            if back is not None:
                back.offer(entry)
                if back.key not in self.turns:
                    self.arm(back)
        for key in hosts:
            back = self.active.get(key)
            if back is not None:
                back.note_stored()
                if back.is_idle:
                    self.leave(key)
                elif key not in self.turns:
                    self.arm(back)

    def leave_if_idle(self, key: bytes) -> None:
        back = self.active.get(key)
        if back is not None and back.is_idle:
            self.leave(key)

    def leave(self, key: bytes) -> None:
        self.turns.remove(key)
        del self.active[key]
