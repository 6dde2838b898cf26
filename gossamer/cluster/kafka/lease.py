"""Until when a node owns its partitions for certain: the lease clock.

The group alone does not protect the web. A node that is cut off, stopped or asleep is told of its loss too late, or
when it wakes; by then others ask its hosts. So it has a number, `until`, and sends nothing after it: the moment at
which the last answered heartbeat was *sent*, plus the session, less a margin. The broker's own timer was set when it
got that heartbeat, which is later. Moments are of a clock that counts on while the machine sleeps.

The client does not say which heartbeat was answered, but its statistics have enough to be certain. They are a
picture of the connection to the group's coordinator at one moment `ts`. A request counts if

1. it is a heartbeat, a join or a sync: from a picture before it to this one nothing else was sent. Versions and
   metadata go over the same connection, at a new one first of all, and are answered whatever became of our session;
2. something was received since, and no request is unanswered. An idle time of 0 stands for "after the picture was
   begun", so it proves nothing;
3. the *next* picture shows a settled member, with the same coordinator since before the request. An answer may be a
   refusal ("unknown member", "not the coordinator"), and the thread that sees that is not the one that counts
   answers; by the next picture it has acted on it. Pictures overtake the news of a loss in the client's queue, but a
   member that did not hear of its loss yet is not settled;
4. it was sent after the last loss, and after the last gap in which this process did not run.

While members join the group together nothing is proven: the number stands still, and the node pauses if that lasts.
"""

from __future__ import annotations

from msgspec import Struct

from gossamer.clock import Clock

COORDINATOR = "GroupCoordinator"  # how the client names the connection that has the heartbeats
OF_A_SESSION = ("Heartbeat", "JoinGroup", "SyncGroup")


class Connection(Struct):
    """To the coordinator. Idle times are in microseconds."""

    state: str
    txidle: int
    rxidle: int
    outbuf_cnt: int
    waitresp_cnt: int
    req: dict[str, int]  # requests sent since the client was made, by kind

    @property
    def others(self) -> int:
        """Requests whose answer says nothing about our session."""
        return sum(self.req.values()) - sum(self.req.get(kind, 0) for kind in OF_A_SESSION)


class Member(Struct):
    state: str
    stateage: int  # ms
    join_state: str
    rebalance_cnt: int
    rebalance_reason: str


class Statistics(Struct):
    """What we read of the client's statistics; `ts` is of the monotonic clock, in microseconds."""

    ts: int
    brokers: dict[str, Connection]
    cgrp: Member


class LeaseClock:
    """`lease_s`: session less margin. `gap_s`: if nobody looked for so long, this process did not run."""

    def __init__(self, lease_s: float, gap_s: float, clock: Clock) -> None:
        self.until = 0.0
        self._lease_s, self._gap_s = lease_s, gap_s
        self._clock = clock
        self._looked_at = clock.boottime()
        self._counts_from = clock.awake()  # moments of requests are of the monotonic clock
        self._answered: float | None = None  # when the request was sent that the next picture may confirm
        self._others, self._others_until = -1, 0  # requests of other kinds, and the first picture that has them

    def look(self) -> None:
        """Call it often. The monotonic clock stands still while the machine sleeps: what was sent before cannot be
        told from what was sent after."""
        now = self._clock.boottime()
        if now - self._looked_at > self._gap_s:
            self._counts_from = self._clock.awake()
        self._looked_at = now

    def forget(self) -> None:
        """All is lost, or somebody may not have let go: only what is sent from now on counts."""
        self.until = 0.0
        self._counts_from = self._clock.awake()
        self._answered = None

    def learn(self, told: Statistics) -> None:
        self.look()
        ts, member = told.ts / 1e6, told.cgrp
        sent, self._answered = self._answered, self._answered_by(told)
        if (
            sent is not None
            and sent > self._counts_from
            and member.state == "up"
            and ts - member.stateage / 1e3 <= sent
            and member.join_state == "steady"
        ):
            # The sleepless clock is read first: whatever comes between makes it earlier.
            sent_at = self._clock.boottime() - (self._clock.awake() - sent)
            self.until = max(self.until, sent_at + self._lease_s)

    def _answered_by(self, told: Statistics) -> float | None:
        coordinator = told.brokers.get(COORDINATOR)
        if coordinator is None or coordinator.others != self._others:
            self._others = coordinator.others if coordinator else -1
            self._others_until = told.ts
            return None
        sent = told.ts - coordinator.txidle
        is_answered = (
            coordinator.state == "UP"
            and 0 <= coordinator.rxidle <= coordinator.txidle != 0
            and coordinator.outbuf_cnt == coordinator.waitresp_cnt == 0
        )
        return sent / 1e6 if is_answered and sent > self._others_until else None
