"""The crawl client: one connection to its control socket for all who ask here.

A crawl may start, end or be killed at any time; the client notices within `LOOK_S`, and at once when it is asked
something. While it stands it watches what happens, once for all listeners, and keeps the last `KEPT` events for those
who come later. Each listener has a queue of its own that is bounded: who reads slowly is told how much was left out.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import msgspec

from gossamer.api import shapes
from gossamer.api.route import NoAnswer
from gossamer.clock import Clock
from gossamer.cluster.wire import BadMessage, Disconnected, Message, Peer, Spawn
from gossamer.folder import CrawlFolder
from gossamer.messages import control_messages
from gossamer.messages.control_client import connect_to_crawl
from gossamer.messages.node_messages import CarriedOut, ClusterNow
from gossamer.text import moment

T = TypeVar("T", bound=Message)

LOOK_S = 1.0
ANSWER_S = 30.0  # usually a tenth of a second; but what was told may be done even where nobody waited for it
FRESH_S = 0.25  # so long one `Now` is good for all who ask
KEPT = 200
UNREAD_MAX = 1000
LISTENERS_MAX = 100


class Told(msgspec.Struct, frozen=True):
    """One server-sent event."""

    number: int
    name: str
    data: bytes


class Listener:
    def __init__(self, missed: list[Told]) -> None:
        self._unread: deque[Told] = deque(missed, maxlen=UNREAD_MAX)
        self._left_out = 0
        self._woken = asyncio.Event()

    def tell(self, told: Told) -> None:
        if len(self._unread) == UNREAD_MAX:
            self._left_out += 1
        self._unread.append(told)
        self._woken.set()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self, clock: Clock, seconds: float) -> None:
        """Until there is something to read, or so long."""
        if not self._unread:
            self._woken.clear()
            await clock.wait(self._woken, clock.now() + seconds)

    def take(self) -> list[Told]:
        taken = list(self._unread)
        self._unread.clear()
        if self._left_out:
            left_out = shapes.LeftOut(self._left_out)
            taken.insert(0, Told(taken[0].number - 1, "left_out", msgspec.json.encode(left_out)))
            self._left_out = 0
        return taken


class CrawlClient:
    is_whole_cluster = False

    def __init__(self, folder: CrawlFolder, clock: Clock, spawn: Spawn) -> None:
        self.where = folder.path  # what people know it by
        self._folder = folder
        self._clock = clock
        self._spawn = spawn
        self._peer: Peer | None = None
        self._gone = asyncio.Event()  # the crawl has ended, or a second has passed
        self._connecting = asyncio.Lock()
        self._now: control_messages.Now | None = None
        self._asking = asyncio.Lock()
        self._listeners: set[Listener] = set()
        self._kept: deque[Told] = deque(maxlen=KEPT)
        self._number = 0
        self._state = ""

    # ---- asking ------------------------------------------------------------------------------------------

    async def now(self) -> control_messages.Now | None:
        """How the crawl stands; None: it is not running."""
        async with self._asking:
            if self._now is None or self._clock.now() >= self._now.at + FRESH_S:
                try:
                    self._now = await self.call(control_messages.AskNow(), control_messages.Now)
                except Disconnected:
                    self._now = None
            return self._now

    async def call(self, question: Message, wanted: type[T]) -> T:
        """Raises Disconnected where the crawl is not running."""
        peer = await self._connected()
        try:
            async with asyncio.timeout(ANSWER_S):
                return await peer.call(question, wanted)
        except TimeoutError:
            raise no_answer() from None
        except ValueError:
            raise NoAnswer(413, "body_too_large", "that is too much at once; send it in parts") from None

    async def tell(self, question: Message) -> None:
        """Wait until it is done. Raises as `call` does."""
        peer = await self._connected()
        self._now = None
        try:
            async with asyncio.timeout(ANSWER_S):
                await peer.tell(question)
        except TimeoutError:
            raise no_answer() from None
        self._now = None  # whoever watches may have asked meanwhile

    async def cluster(self) -> ClusterNow | None:
        """The nodes that are known here; None: it is a crawl on one machine, or a node that does not run."""
        now = await self.now()
        return now.cluster if now is not None else None

    async def policies_changed(self) -> None:
        """In the folder; a crawl on one machine looks there by itself."""

    async def instructed(self, what: control_messages.Retry | control_messages.ReleaseUrl) -> CarriedOut | None:
        """What the owners of partitions have done of it; None: it is no whole cluster, and has to be told itself."""
        return None

    async def _connected(self) -> Peer:
        async with self._connecting:
            if self._peer is None or self._peer.closed.is_set():
                self._peer = await connect_to_crawl(self._folder, self._spawn, self._hear, _complain)
                if self._peer is None:
                    raise Disconnected
                self._peer.when_closed.append(self._gone.set)
                self._peer.mention(control_messages.Watch())
            return self._peer

    # ---- watching ----------------------------------------------------------------------------------------

    async def watch(self) -> None:
        """For as long as the server lives."""
        while True:
            now = None
            with suppress(NoAnswer):  # busy, or hung: it is asked again
                now = await self.now()
            state = state_of(now)
            if state != self._state:
                self._state = state
                self.publish(
                    "state", shapes.StateChange(_moment(self._clock.now()), state, (now and now.paused) or None)
                )
            self._gone.clear()
            await self._clock.wait(self._gone, self._clock.now() + LOOK_S)

    def _hear(self, batch: control_messages.EventBatch) -> None:
        if not isinstance(batch, control_messages.EventBatch):
            raise BadMessage("said what it was not asked")
        if batch.left_out:
            self.publish("left_out", shapes.LeftOut(batch.left_out))
        for event in batch.events:
            at = _moment(event.at)
            shape = shapes.Event(
                at, event.kind, event.url, event.status, event.reason, event.bytes, round(event.took_s, 4), event.note
            )
            self.publish(event.kind, shape)

    def publish(self, name: str, shape: shapes.Shape) -> None:
        self._number += 1
        told = Told(self._number, name, msgspec.json.encode(shape))
        self._kept.append(told)
        for listener in self._listeners:
            listener.tell(told)

    def must_have_room(self) -> None:
        if len(self._listeners) >= LISTENERS_MAX:
            raise NoAnswer(503, "too_many_listeners", f"{LISTENERS_MAX} are listening already", retry_after="10")

    @contextmanager
    def listening(self, since: int | None) -> Iterator[Listener]:
        """`since`: the number of the last event that this listener has seen."""
        missed = [told for told in self._kept if since is None or since > self._number or told.number > since]
        listener = Listener(missed)
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def close(self) -> None:
        """Wakes all who wait."""
        for listener in self._listeners:
            listener.wake()
        if self._peer is not None:
            self._peer.close()


def state_of(now: control_messages.Now | None) -> shapes.CrawlState:
    if now is None:
        return "stopped"
    if now.is_draining:
        return "draining"
    if now.paused:
        return "paused"
    return "running" if now.workers else "starting"


def _moment(at: float) -> str:
    return moment(at) or ""


def no_answer() -> NoAnswer:
    return NoAnswer(503, "no_answer", f"the crawl has not answered for {ANSWER_S:.0f} s; try again", retry_after="10")


def _complain(text: str) -> None:
    print(f"gossamer: {text}", file=sys.stderr, flush=True)
