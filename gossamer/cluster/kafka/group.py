"""A node's membership in the consumer group of a crawl: which partitions are its own, and until when for certain.

One member a node, one partition of the topic `links` for each partition of the crawl. The consumer reads nothing:
what it is assigned is paused at once, and no offset is ever committed (a commit that waits in the client during an
outage makes the broker refuse the member for good). It has a thread that does nothing but poll, and speaks to the
node in its event loop:

- `assigned`: these are ours as well, from now on. Nobody waits for it: a restore may take minutes.
- `revoked`: finish or drop what is open, and let go. The group waits for it, so that nobody else gets them before;
  meanwhile it cannot be settled for the other nodes either, so it is bounded by `cluster.hand_over_s` and some
  seconds. After that they are `lost`: then the group waits until that was called, or until the lease has passed.
- `lost`: somebody else may own them already. A plain function, called in the event loop as soon as that can.

They start in the order in which things happened, and do not wait for each other: a partition may be revoked or lost
while `assigned` still works at it.

The classic protocol, with cooperative-sticky and static members: partitions that stay are not touched when others
move, and a node that comes back within the session has its own back at once, with nobody else moved. `leave` is the
orderly end; `close` is for a restart. **A second process with the same name takes everything at once**, whatever the
lease of the first says; that one is refused with its next heartbeat (`is_fenced`). Whoever starts a node makes sure
that the one before is dead (a lock in the node's folder) or that its lease has run out (node/run.py).

Never ask the web for anything unless `clock.boottime() < owned_until` (lease.py).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from gossamer.clock import Clock
from gossamer.cluster.kafka.client import options_of
from gossamer.cluster.kafka.lease import COORDINATOR, LeaseClock, Statistics
from gossamer.settings import ClusterSettings

POLL_S = 0.1
STATISTICS_S = 1.0  # of 23 KB for 24 partitions, 0.4 MB for 512
LATE_S = 3.0  # how much longer than it was told a hand-over may take
LEAVE_S = 2.0  # until the broker has heard that we leave; 0.1 s in most cases
ASK_S = 10.0
POLL_INTERVAL_S = 120.0  # longer than any hand-over; the broker waits so long for a member that hangs
FLAPPING_S, REST_S_MAX = 600.0, 120.0  # each flap costs others the restores, and us as well

Partitions = frozenset[int]
Told = Callable[[Partitions], Coroutine[Any, Any, None]]
FENCED = "fenced by other consumer"  # how the client says the same where it calls it fatal
FATAL = (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID)  # `fatal()` is false on what poll gives us


class GroupState(NamedTuple):
    """For people and metrics."""

    partitions: Partitions
    rebalances: int  # of the present consumer
    rebalance_reason: str
    losses: int
    fatal_errors: int
    held_up: str  # why it owns nothing for certain; empty: all is well
    rebalances_in_all: int


def rest_s(losses: int, session_s: float) -> float:
    """How long to stay away after so many losses within ten minutes. One is bad luck."""
    return min(REST_S_MAX, session_s * 2.0 ** (losses - 2)) if losses > 1 else 0.0


class Group:
    def __init__(
        self,
        topic: str,
        node: str,
        settings: ClusterSettings,
        clock: Clock,
        assigned: Told,
        revoked: Told,
        lost: Callable[[Partitions], None],
    ) -> None:
        self._topic = topic
        self._settings, self._clock = settings, clock
        self._on_assigned, self._on_revoked, self._on_lost = assigned, revoked, lost
        self._loop = asyncio.get_running_loop()
        self._options = {
            **options_of(settings.kafka, settings.kafka_options),
            "group.id": settings.name,
            "group.instance.id": node,
            "group.protocol": "classic",
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": round(settings.session_s * 1e3),
            "heartbeat.interval.ms": round(settings.heartbeat_s * 1e3),
            "max.poll.interval.ms": round(max(POLL_INTERVAL_S, settings.session_s) * 1e3),
            "statistics.interval.ms": round(min(STATISTICS_S, settings.heartbeat_s / 2) * 1e3),
            "enable.auto.commit": False,
            "enable.metrics.push": False,
            "stats_cb": self._learn,
            "error_cb": self._note,
        }
        self._lease = LeaseClock(settings.session_s - settings.margin_s, settings.margin_s / 2, clock)
        self._owned: Partitions = frozenset()
        self._is_silent = False  # nobody is told anything: all is known, or the node ends
        self._has_left = False
        self._rebalances, self._reason, self._trouble = 0, "", ""
        self._rebalances_in_all = 0
        self._losses, self._fatal_errors, self._failed_in_a_row = 0, 0, 0
        self._lost_at: deque[float] = deque(maxlen=16)
        self.is_fenced = False  # another process has our name, or had it since
        self._is_leaving = False
        self._ending = threading.Event()
        consumer = self._join()  # wrong options are an exception here
        self._thread = threading.Thread(target=self._run, args=(consumer,), name="kafka-group", daemon=True)
        self._thread.start()

    # ---- for the node ------------------------------------------------------------------------------------

    @property
    def owned_until(self) -> float:
        """A moment of `clock.boottime()`; 0: nothing is ours."""
        return self._lease.until if self._owned else 0.0

    @property
    def state(self) -> GroupState:
        is_well = self._owned and self._clock.boottime() < self._lease.until
        held_up = "" if is_well else self._trouble or "waits for the group"
        seen = (self._rebalances, self._reason, self._losses, self._fatal_errors)
        return GroupState(self._owned, *seen, held_up, self._rebalances_in_all)

    async def leave(self) -> None:
        """Let go of everything (`revoked` is called), and tell the group: others own it about a second later."""
        self._is_leaving = True
        await self._end()

    async def close(self) -> None:
        """Say nothing to anybody: for a restart within the session, after which all is ours again.

        Whoever calls this has stopped to work at its partitions."""
        self._is_silent = True
        await self._end()

    def abandon(self) -> None:
        """Never come back: another one has the name."""
        self._is_silent = True
        self._ending.set()

    async def _end(self) -> None:
        self._ending.set()
        await asyncio.to_thread(self._thread.join)

    # ---- the thread --------------------------------------------------------------------------------------

    def _run(self, consumer: Consumer) -> None:
        while True:
            wait_s = self._poll_until_end_or_loss(consumer)
            if self._is_leaving and self._ending.is_set():
                self._leave(consumer)
            self._is_silent = True
            self._owned = frozenset()
            self._lease.forget()
            consumer.close()
            if self._ending.wait(wait_s):
                return
            self._is_silent = False
            consumer = self._join()

    def _join(self) -> Consumer:
        consumer = Consumer(self._options)
        consumer.subscribe(
            [self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost_to_others
        )
        return consumer

    def _poll_until_end_or_loss(self, consumer: Consumer) -> float:
        """How long to wait before joining again."""
        losses = self._losses
        while not self._ending.is_set():
            error = self._poll(consumer)
            if error is not None and error.code() in FATAL:
                self._fatal_errors += 1
                self._failed_in_a_row += 1
                self.is_fenced = error.code() == KafkaError.FENCED_INSTANCE_ID or FENCED in error.str()
                self._lose(self._owned)
                wait_s = min(REST_S_MAX, 2.0 ** (self._failed_in_a_row - 1))
                self._trouble = f"{error.str()}; joins again in {wait_s:.0f} s. Has another node the same name?"
                return wait_s
            if self._losses > losses:
                losses = self._losses
                now = self._clock.boottime()
                recent = sum(now - at < FLAPPING_S for at in self._lost_at)
                if wait_s := rest_s(recent, self._settings.session_s):
                    self._trouble = (
                        f"lost its partitions {recent} times in ten minutes; joins again in {wait_s:.0f} s"
                    )
                    return wait_s
        return 0.0

    def _poll(self, consumer: Consumer) -> KafkaError | None:
        try:
            message = consumer.poll(POLL_S)
        except KafkaException as fault:
            error: KafkaError | None = fault.args[0]
        else:
            error = message.error() if message is not None else None
        self._lease.look()
        if error is not None:
            self._note(error)
        return error

    def _leave(self, consumer: Consumer) -> None:
        consumer.unsubscribe()  # only this makes a static member leave
        until = self._clock.awake() + self._settings.hand_over_s + LATE_S + LEAVE_S
        while (self._owned or not self._has_left) and self._clock.awake() < until:
            self._poll(consumer)
            if not self._owned:
                until = min(until, self._clock.awake() + LEAVE_S)

    # ---- what the client tells us, in the thread -----------------------------------------------------------

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # With an offset of our own the client does not ask the coordinator for one.
        consumer.incremental_assign([TopicPartition(one.topic, one.partition, 0) for one in partitions])
        consumer.pause(partitions)
        self._failed_in_a_row = 0
        gained = numbers_of(partitions)
        self._owned |= gained
        if gained and not self._is_silent:
            self._start(self._on_assigned, gained)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """They may be another's when this returns."""
        given_up = numbers_of(partitions)
        if given_up and not self._is_silent:
            done = self._start(self._on_revoked, given_up)
            concurrent.futures.wait([done], self._settings.hand_over_s + LATE_S)
            if not done.done():
                done.cancel()
                self._trouble = "a hand-over took too long"
                was_told = self._tell_lost(given_up)
                while not was_told.wait(POLL_S) and self._clock.boottime() < self._lease.until:
                    pass
        self._owned -= given_up

    def _lost_to_others(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._lose(numbers_of(partitions) & self._owned)

    def _lose(self, partitions: Partitions) -> None:
        self._lease.forget()
        self._owned -= partitions
        if partitions and not self._is_silent:
            self._losses += 1
            self._lost_at.append(self._clock.boottime())
            self._tell_lost(partitions)

    def _learn(self, text: str) -> None:
        told = msgspec.json.decode(text, type=Statistics)
        self._lease.learn(told)
        if self._owned and self._clock.boottime() < self._lease.until:
            self._trouble = ""
        count = told.cgrp.rebalance_cnt
        self._rebalances_in_all += count - self._rebalances if count >= self._rebalances else count
        self._rebalances, self._reason = count, told.cgrp.rebalance_reason
        coordinator = told.brokers.get(COORDINATOR)
        self._has_left = coordinator is not None and coordinator.req.get("LeaveGroup", 0) > 0

    def _note(self, error: KafkaError) -> None:
        self._trouble = error.str()

    # ---- the event loop ------------------------------------------------------------------------------------

    def _start(self, what: Told, partitions: Partitions) -> concurrent.futures.Future[None]:
        """Its fault is the node's own, and is told as one of the event loop's."""
        started = asyncio.run_coroutine_threadsafe(what(partitions), self._loop)

        def ended(task: concurrent.futures.Future[None]) -> None:
            if not task.cancelled() and (fault := task.exception()):
                about = {"message": f"kafka group: {what.__name__}", "exception": fault}
                self._loop.call_soon_threadsafe(self._loop.call_exception_handler, about)

        started.add_done_callback(ended)
        return started

    def _tell_lost(self, partitions: Partitions) -> threading.Event:
        told = threading.Event()

        def tell() -> None:
            try:
                self._on_lost(partitions)
            finally:
                told.set()

        self._loop.call_soon_threadsafe(tell)
        return told


async def members_of(settings: ClusterSettings) -> dict[str, Partitions]:
    """All nodes that the group has now, with their partitions, as the broker sees it."""
    admin = AdminClient(options_of(settings.kafka, settings.kafka_options))
    asked = admin.describe_consumer_groups([settings.name], request_timeout=ASK_S)
    found = await asyncio.wrap_future(asked[settings.name])
    return {
        member.group_instance_id or member.member_id: numbers_of(member.assignment.topic_partitions)
        for member in found.members
    }


def numbers_of(partitions: list[TopicPartition]) -> Partitions:
    return frozenset(one.partition for one in partitions)
