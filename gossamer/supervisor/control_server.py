"""The control server: where operators and observers reach a running crawl.

messages/control_messages.py has the messages, control_client.py is the other end. It changes nothing by itself. What
it is told it hands to the supervisor and its worker pool, and an answer means that it is so: the workers have heard
it, or it is durable. A crawl is not complete while something is being changed here, nor when something was changed
since the supervisor last asked around (`changes`).

Whoever watches has a task and a bounded heap of unread events; what is too much is counted and left out. Nobody here
can hold up the crawl. A connection is closed where what was asked could not be done for a fault of the world.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.wire import Answer, Disconnected, Message, Peer, listen
from gossamer.folder import CrawlFolder, FolderError
from gossamer.messages import control_messages, worker_messages
from gossamer.records import Reason, Seed, Url
from gossamer.seeds import Index, SeedList
from gossamer.settings import Tree
from gossamer.supervisor.seeding import AT_ONCE as SEEDS_AT_ONCE
from gossamer.supervisor.seeding import accepted_seeds
from gossamer.supervisor.status import CrawlStatus
from gossamer.supervisor.worker_pool import WorkerPool
from gossamer.url.canonical import canonicalize

UNREAD_MAX = 200  # events of one watcher: four rounds
AT_ONCE = 50  # events of one round, about as many as a person can see go by


class Controlled(Protocol):
    """What is asked of the supervisor here."""

    folder: CrawlFolder
    config: Tree
    clock: Clock
    pool: WorkerPool
    seeds: SeedList
    seeds_known: Index
    status: CrawlStatus
    drained: set[str]

    def set_pause(self, why: str) -> None: ...
    def stop(self, why: str) -> None: ...
    def warn(self, text: str) -> None: ...
    async def next_round(self) -> None: ...


class Watcher:
    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._unread: deque[control_messages.Event] = deque()
        self._left_out = 0
        self._news = asyncio.Event()

    def tell(self, events: Iterable[control_messages.Event], left_out: int) -> None:
        self._unread.extend(events)
        self._left_out += left_out
        while len(self._unread) > UNREAD_MAX:
            self._unread.popleft()
            self._left_out += 1
        self._news.set()

    async def feed(self) -> None:
        """Until the connection ends: the next batch when the last one was answered."""
        while True:
            await self._news.wait()
            self._news.clear()
            batch = control_messages.EventBatch(list(self._unread), self._left_out)
            self._unread.clear()
            self._left_out = 0
            await self._peer.tell(batch)


class ControlServer:
    """Use as `async with ControlServer(...)`, inside the task group that its tasks belong to."""

    def __init__(self, supervisor: Controlled, socket: Path, tasks: asyncio.TaskGroup) -> None:
        self.changes = 0  # that have begun or ended
        self.open_changes = 0
        self._supervisor = supervisor
        self._socket = socket
        self._group = tasks
        self._tasks: set[asyncio.Task[None]] = set()
        self._adding = asyncio.Lock()
        self._peers: set[Peer] = set()
        self._watchers: set[Watcher] = set()

    async def __aenter__(self) -> ControlServer:
        complain = self._supervisor.warn
        self._server = await listen(self._socket, control_messages.ToCrawl, self._spawn, complain, self._meet)
        self._supervisor.folder.listen_at(self._socket)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Whoever still waits for an answer gets none: the crawl is over."""
        self._server.close()
        for task in self._tasks:
            task.cancel()
        for peer in list(self._peers):
            peer.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ---- those who watch ---------------------------------------------------------------------------------

    @property
    def is_watched(self) -> bool:
        return bool(self._watchers)

    def publish(self, events: Sequence[control_messages.Event], left_out: int = 0) -> None:
        too_many = max(0, len(events) - AT_ONCE)
        for watcher in self._watchers if events else ():
            watcher.tell(events[too_many:], left_out + too_many)

    async def _watch(self, peer: Peer, *, recent: bool) -> None:
        watcher = Watcher(peer)
        if recent:
            watcher.tell(self._supervisor.status.progress.events, 0)
        self._watchers.add(watcher)
        try:
            await watcher.feed()
        except Disconnected:
            pass
        finally:
            self._watchers.discard(watcher)

    # ---- those who ask -----------------------------------------------------------------------------------

    def _meet(self, peer: Peer) -> None:
        is_watching = False

        def answer(question: Message) -> Answer | Awaitable[Answer]:
            nonlocal is_watching
            match question:
                case control_messages.AskNow():
                    return self._supervisor.status.now()
                case control_messages.AskRecent():
                    return self._supervisor.status.recent()
                case control_messages.Watch(recent=recent) if not is_watching:
                    is_watching = True
                    self._spawn(self._watch(peer, recent=recent))
                    return None
                case control_messages.Watch():
                    return None
            return self._do(peer, question)

        peer.answer = answer
        self._peers.add(peer)
        peer.when_closed.append(lambda: self._peers.discard(peer))

    async def _do(self, peer: Peer, question: Message) -> Answer:
        try:
            match question:
                case control_messages.Steer(to=to):
                    await self._steer(to)
                case control_messages.AddSeeds(seeds=seeds):
                    return await self._add_seeds(seeds)
                case control_messages.ReleaseUrl(url=url):
                    return control_messages.UrlReleased(
                        canonicalize(url) == url and await self._release_url(url, question)
                    )
                case control_messages.FetchReport():
                    return control_messages.ReportTaken(await self._supervisor.pool.report(question))
                case control_messages.DrainFetcher(name=name):
                    self._supervisor.drained.add(name)
                    await self._supervisor.next_round()
                case control_messages.Retry(host=host, reason=reason):
                    return control_messages.Retried(await self._retry(host, reason))
        except (FolderError, OSError) as fault:
            self._supervisor.warn(f"{type(question).__name__} could not be done: {fault}")
            peer.close()
        return None

    async def _steer(self, to: str) -> None:
        supervisor = self._supervisor
        match to:
            case "pause":
                supervisor.set_pause(control_messages.AS_ASKED)
            case "resume":
                supervisor.set_pause("")
            case "drain":
                supervisor.stop("interrupted")
        await supervisor.next_round()

    async def _add_seeds(self, seeds: list[Seed]) -> control_messages.SeedsAdded:
        supervisor = self._supervisor
        folder, config = supervisor.folder, supervisor.config
        let_in, refused = accepted_seeds(seeds, config, folder.policies(), supervisor.clock)
        with self._changing():
            async with self._adding:  # one writer; and not in the event loop: the list may be long, the disk slow
                await asyncio.to_thread(supervisor.seeds.add, let_in.values(), supervisor.seeds_known)
            # Workers look at the list when they are asked to report: now their link filters know the new hosts.
            await supervisor.next_round()
            groups: defaultdict[int, list[Seed]] = defaultdict(list)
            for url, seed in let_in.items():
                groups[partition_of(url, config.crawl.partitions)].append(seed)
            new = 0
            for partition, group in groups.items():
                for start in range(0, len(group), SEEDS_AT_ONCE):
                    some = group[start : start + SEEDS_AT_ONCE]
                    new += await self.add_seeds(partition, some)
        return control_messages.SeedsAdded(new, len(seeds) - len(refused) - new, refused)

    async def add_seeds(self, partition: int, seeds: list[Seed]) -> int:
        return await self._at_owner(partition, worker_messages.AddSeeds(partition, seeds))

    async def _release_url(self, url: Url, order: control_messages.ReleaseUrl) -> bool:
        with self._changing():
            return bool(await self._at_owner(partition_of(url, self._supervisor.config.crawl.partitions), order))

    async def _retry(self, host: str | None, reason: Reason | None) -> int:
        partitions: Iterable[int] = range(self._supervisor.config.crawl.partitions)
        if host is not None:
            partitions = [partition_of(f"http://{host}/", self._supervisor.config.crawl.partitions)]
        with self._changing():
            return sum(
                [await self._at_owner(number, worker_messages.Retry(number, host, reason)) for number in partitions]
            )

    async def _at_owner(self, partition: int, order: Message) -> int:
        """Whoever owns the partition does it; while it is on its way to an owner, wait."""
        while (done := await self._supervisor.pool.order(partition, order)) is None:
            await self._supervisor.next_round()
        return done

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self.changes += 1
        self.open_changes += 1
        try:
            yield
        finally:
            self.changes += 1
            self.open_changes -= 1
