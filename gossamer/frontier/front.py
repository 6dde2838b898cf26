"""The front: hosts that have work, by what they are worth. Some are being crawled now, the others wait for a slot.

A host with something queued stands in the `front` table at its level (priority.py), behind those that were before.
At most `active_hosts_max` hosts are active: their back queue has its head in memory, and they take turns by the
moment at which each may be asked again (turns.py). A free slot is drawn for by level (levels.py). A host that has
had its share while others wait goes to the end of its level; one that has to rest for long waits on disk until its
moment (due.py). Nobody draws for it meanwhile, so it stands apart in the table; but where the crawl holds too many
URLs (`Change.shed`), those that stand apart are worth no more than those that wait.

Each level is read from a remembered position on, and the hosts before it are active. After a restart reading starts
again, so those that were being crawled come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random

from gossamer.frontier.back import IN_HAND, Back
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import APART, Entry, front_key, is_apart, level_name, level_of, order_of
from gossamer.frontier.rules.policy import Policies
from gossamer.frontier.rules.priority import authority, level, score_at, with_start
from gossamer.frontier.turns import Turns
from gossamer.interfaces import Batch, Store
from gossamer.levels import drawing
from gossamer.records import Host
from gossamer.settings import FrontierSettings
from gossamer.url.site import clock_name, site_of

REST_S = 60.0  # a host that has to wait longer leaves its slot, if others want it
HOSTS_REMEMBERED = 1000  # of a partition, about 1 MB: links lead to a few hosts again and again


class Front:
    def __init__(
        self,
        store: Store,
        reader: PartitionReader,
        settings: FrontierSettings,
        chance: Random,
        levels: dict[int, int],
    ) -> None:
        """`levels`: how many hosts stand at each; kept up here, and written with every batch."""
        self.active: dict[bytes, Back] = {}
        self.turns = Turns(chance)
        self.apply_policies(Policies())
        self.authority: Callable[[Host], float] = authority
        self._store = store
        self._reader = reader
        self._settings = settings
        self._chance = chance
        self._levels_held = levels
        self._read_to: dict[bytes, bytes] = {}  # level -> last key read
        self._leaving: dict[bytes, None] = {}  # in order, so that a run can be repeated from its seed
        self.is_contended = True  # hosts may be waiting for a slot
        self._has_newcomers = False  # since the last look nobody waited, and now somebody does
        self.set_forward_at = 0.0  # the clock, by seconds that never passed
        self._not_before = 0.0  # for hosts that get a slot now
        self._floor = (0.0, 0.0)  # when an earlier owner may have asked any host last, and the least delay since then
        self._lately: dict[bytes, Host] = {}  # hosts that were met, in two generations
        self._earlier: dict[bytes, Host] = {}

    def apply_policies(self, policies: Policies) -> None:
        self.policies = policies
        self.has_policies = bool(policies)  # most crawls have none, and this is asked at every turn

    def host(self, key: bytes) -> Host | None:
        """A host as it is now: in memory while it is active and for a while after it was met, otherwise as stored."""
        back = self.active.get(key)
        if back is not None:
            return back.host
        host = self._lately.get(key)
        if host is None and (host := self._earlier.get(key) or self._reader.host(key)) is not None:
            self._lately[key] = host
            if len(self._lately) > HOSTS_REMEMBERED // 2:
                self._lately, self._earlier = {}, self._lately
        return host

    # ---- on disk: who has work ---------------------------------------------------------------------------

    def enlist(self, batch: Batch, key: bytes, host: Host, best_order: int, turn: int) -> None:
        """The host has work: list it at its level, or at a better one than it has. One that rests stands apart."""
        if host.front_key and (best_order >= host.front_order or key in self.active):
            return
        wanted = self._place(host, best_order, turn, apart=host.is_resting)
        if host.front_key:
            if wanted[:2] >= host.front_key[:2]:
                return
            self.strike(batch, host)
        host.front_key, host.front_order = wanted, best_order
        batch.put("front", wanted, key)
        self._count(wanted, 1)
        if key not in self.active and not self.is_contended and not host.is_resting:
            self.is_contended = self._has_newcomers = True

    def set_apart(self, batch: Batch, key: bytes, host: Host, turn: int) -> None:
        """The host has to rest, or to wait for long: it wants no slot until then."""
        self.strike(batch, host)
        if host.queued:
            host.front_key = self._place(host, host.front_order, turn, apart=True)
            batch.put("front", host.front_key, key)

    def _place(self, host: Host, best_order: int, turn: int, *, apart: bool) -> bytes:
        return front_key(level(host, best_order, self.worth(host)) + apart * APART, turn)

    def worst_first(self) -> Iterator[bytes]:
        """All hosts with work, from the lowest level up."""
        limits: list[bytes | None] = [None, level_name(APART)]
        while True:
            last = [self._store.last("front", b"", limit) for limit in limits]
            if last[0] is not None and not is_apart(last[0][0]):
                last[0] = None
            found = [(level_of(each[0]), n, each) for n, each in enumerate(last) if each is not None]
            if not found:
                return
            _, which, (limits[which], key) = max(found)
            yield key

    def worth(self, host: Host) -> float:
        """Its authority, in [0, 1]: what an operator says, else what links say."""
        fixed = self.policies.of(host).priority if self.has_policies else None
        return with_start(self.authority(host), self._settings) if fixed is None else fixed

    def score(self, entry: bytes, host: Host, now: float) -> int:
        """The priority of a URL whose turn has come, in thousandths; `entry`: where it stood in its queue."""
        return round(1000 * score_at(order_of(entry), self.worth(host), now))

    def strike(self, batch: Batch, host: Host) -> None:
        """The host has no work any more, or gets another place."""
        if host.front_key:
            batch.delete("front", host.front_key)
            self._count(host.front_key, -1)
            host.front_key = b""

    def _count(self, key: bytes, change: int) -> None:
        if is_apart(key):
            return
        level = level_of(key)
        count = self._levels_held[level] = self._levels_held.get(level, 0) + change
        if count == 0:
            del self._levels_held[level]  # levels sink with the years

    # ---- in memory: who is being crawled now -------------------------------------------------------------

    def activate(self, tired_after: float) -> bool:
        """Draw hosts for the slots that are free; whether any of them has to rest so long that it must go again."""
        free = self._settings.active_hosts_max - len(self.active)
        if free <= 0 and self._has_newcomers:
            return self._send_tired_away(tired_after)
        if free <= 0 or not self.is_contended:
            return False
        tired = []
        waiting = {level: self._waiting(level_name(level)) for level in sorted(self._levels_held)}
        draw = drawing(list(waiting), self._chance)
        while free and waiting:
            level = draw()
            key = next(waiting[level], None)
            if key is None:
                del waiting[level]
                draw = drawing(list(waiting), self._chance)
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

    def _send_tired_away(self, tired_after: float) -> bool:
        """Hosts that have to rest for long kept their slots while nobody wanted one; whether any must go now."""
        self._has_newcomers = False
        tired = [back for back in self.active.values() if back.asked is None and back.host.ready_at > tired_after]
        for back in tired:
            self.send_away(back)
        return bool(tired)

    def _waiting(self, name: bytes) -> Iterator[bytes]:
        """The hosts at a level that are not active, oldest first."""
        read_to = self._read_to.get(name, b"")
        for turn, key in self._store.scan("front", read_to, name):
            if turn == read_to or key in self.active:
                continue
            yield key
            self._read_to[name] = turn  # only when the next is asked for: the last one seen may stay where it is

    def leave_alone(self, since: float, least_s: float) -> None:
        """Any host may have been asked until then, and nobody noted it: its delay runs from there at the earliest.

        Applied when a host gets a slot: there may be millions of them, and few are ever met before it is over."""
        self._floor = (since, least_s)

    def enter(self, key: bytes, host: Host) -> Back:
        since, least_s = self._floor
        host.ready_at = max(host.ready_at, self._not_before, since + max(host.delay_s, least_s))
        back = self.active[key] = Back(self._store, key, host)
        return back

    def arm(self, back: Back) -> None:
        """Let the host take its turn when its moment comes, if it has work and is not being asked."""
        host = back.host  # as `has_work` and `next_turn_at` say, without four more calls
        if back.asked is None and (
            back.bookings or (host.queued > back.out and host.rest_until <= 0 and not back.is_leaving)
        ):
            self._put(back, max(host.ready_at, host.rest_until, back.slot_at))

    def _put(self, back: Back, moment: float) -> None:
        front_key = back.host.front_key
        self.turns.put(back.key, moment, level_of(front_key) if front_key else 0)

    def pick(self, now: float) -> Back | None:
        """A host whose turn has come. Nobody gives it another one before what this one is spent on is decided:
        else a batch written meanwhile would have it asked twice at once."""
        key = self.turns.pop(now)
        if key is None:
            return None
        back = self.active[key]
        back.asked = IN_HAND
        return back

    def put_down(self, back: Back, again_at: float | None = None) -> None:
        """The host that was picked is not asked after all; `again_at`: when it is looked at again."""
        back.asked = None
        if again_at is not None:
            self._put(back, again_at)
        elif back.is_idle:
            self.leave(back.key)

    def serve(self, back: Back) -> None:
        """A lease was given: the host's share is used up one day."""
        back.served += 1
        if back.served >= self._settings.host_share:
            self.send_away(back)

    def send_away(self, back: Back) -> None:
        """The host leaves when nothing of it is in flight any more, if others wait for its slot."""
        if self.is_contended:
            back.is_leaving = True
            self._leaving[back.key] = None
            self.turns.remove(back.key)

    def _keep_all(self) -> None:
        """Nobody waits for a slot any more: those that were to leave stay."""
        for key in self._leaving:
            back = self.active.get(key)
            if back is not None:
                back.is_leaving = False
                self.arm(back)
        self._leaving.clear()

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
            back = self.enter(key, self.host(key) or Host(name=clock_name(name), site=site_of(name)))
            if len(self.active) > self._settings.active_hosts_max:
                self.send_away(back)  # it came for one turn only
        return back

    def follow(self, hosts: Iterable[bytes], offered: Iterable[Entry]) -> None:
        """Memory follows the disk: new entries reach the active hosts, idle hosts give up their slot."""
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
                if back.out == 0 and back.is_idle:
                    self.leave(key)
                elif key not in self.turns:
                    self.arm(back)

    def put_off(self, by_s: float, now: float) -> None:
        """The clock was set forward to `now`: whoever was not to be asked yet is not to be asked for as long."""
        self.set_forward_at = now
        self._not_before = now + REST_S  # those that wait for a slot have to wait no longer than that
        self._floor = (self._floor[0] + by_s, self._floor[1])
        for back in self.active.values():
            if back.host.ready_at > now - by_s:
                back.host.ready_at += by_s
                if back.key in self.turns:
                    self.arm(back)

    def leave(self, key: bytes) -> None:
        self.turns.remove(key)
        del self.active[key]
