"""The worker pool: the worker processes of one crawl, and which of them owns which partition.

Workers are numbered in the order of their start; a number is never used twice, so that nobody mistakes a new worker
for a dead one. Partitions go wherever `deal` says: at the start to all, after a death at once to the survivors, and
when the replacement is ready some go to it. A partition moves in two steps, each of which may meet a death: its owner
gives it up, if it has a living one, then the next opens it. The store's own lock, which the system lets go of when a
process dies, makes sure that nobody opens it twice.

The claims of a worker that died are released when all its partitions are open again, because opening settles those
of pages that were stored already.

In a cluster only some partitions are this machine's (`mine`); which, is told from outside (`gain`, `let_go`, `lose`).
Longer than 400 lines: a worker's life and what it owns are one story.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import ExitStack

from gossamer import config as configuration
from gossamer.cluster.partitions import Owners, deal, partition_of
from gossamer.cluster.shared import LocalShared
from gossamer.cluster.wire import Answer, BadMessage, Disconnected, Message, Peer, listen
from gossamer.folder import EPOCHS_AT_ONCE, CrawlFolder
from gossamer.frontier.disk.tables import Totals
from gossamer.interfaces import LaterOwner
from gossamer.messages import worker_messages
from gossamer.messages.control_messages import FetchReport, ReportTaken
from gossamer.runtime.temporary import temporary_folder
from gossamer.settings import Tree
from gossamer.supervisor.coordinator import Coordinator, Heard
from gossamer.supervisor.pool_member import Member
from gossamer.supervisor.worker_process import Forked, started
from gossamer.worker.worker import socket_of

SAID_BYTES_MAX = 8192  # the end of what a worker said on its standard error
LATE_S = 1.0  # the others do not wait longer for the report of one
HUNG_S = 120.0  # a worker that does not answer for so long is as good as dead
LAST_WORDS_S = 3.0  # for a worker that has closed its connection to say why, and end
LEAVE_S = 15.0
DEATHS_MAX = 6  # in a row, without a page in between: a URL is quarantined before, so it is not the pages


class WorkerPool:
    """Use as `async with WorkerPool(...) as pool`, inside the task group that its tasks belong to."""

    def __init__(
        self,
        folder: CrawlFolder,
        config: Tree,
        shared: LocalShared,
        tasks: asyncio.TaskGroup,
        say: Callable[[str], None],
        log_fd: int | None = None,
        forked: Iterable[Forked] = (),
        begin: Callable[[int], Awaitable[int]] | None = None,
        node: str = "",
    ) -> None:
        """`log_fd`: inherited by the workers, for their lines of the log. `forked`: the first of them. `begin`: the
        epoch of a partition that is about to have an owner, where this machine is not the only one; then it has none
        at first (`gain`)."""
        self.members: dict[int, Member] = {}
        self.owners: Owners = [None] * config.crawl.partitions
        self.version = 0
        self.totals: dict[int, Totals] = {}  # of each partition, as last heard
        self.trouble: str | None = None  # the crawl cannot go on
        self.damage: dict[int, str] = {}  # partitions that cannot be read, and what to do; the others go on
        self.no_room = ""  # why workers ended that could not write
        self.missing = 0  # places of those, to be filled when there is room
        self.everybody_heard = True  # what was said in the last round
        self.when_owned: Callable[[], None] = lambda: None  # called when every partition has an owner
        self.accepts_loss: Callable[[int], bool] = lambda partition: False  # whether to go on without what is gone
        self._folder = folder
        self._config = config
        self._shared = shared
        self._tasks = tasks
        self._say = say
        self._log_fd = log_fd
        self._forked = list(forked)
        self._wanted: Owners = list(self.owners)
        self._moving: set[int] = set()
        self._orphans: dict[int, set[int]] = {}  # of a dead worker: its partitions that nobody has opened since
        self._next_number = 0
        self._deaths = 0
        self._pages_at_death = -1
        self._is_ending = False
        self._exit = ExitStack()
        self._is_announced = True
        self._epoch = 0
        self._epochs = [0] * config.crawl.partitions  # in which each partition is owned
        self._begin = begin or self._next_epoch
        self._node = node
        self.is_leaving = False  # the node gives up everything, and what it did is still to be told
        self.mine: set[int] = set() if begin else set(range(config.crawl.partitions))
        self._moved = asyncio.Event()
        self._lost_on_the_way: set[int] = set()  # while a worker was opening them

    async def __aenter__(self) -> WorkerPool:
        self._epoch = self._folder.next_epoch()
        self.sockets = self._exit.enter_context(temporary_folder())
        self._server = await listen(
            socket_of(self.sockets, None),
            worker_messages.ToSupervisor,
            self._tasks.create_task,
            self._say,
            self._meet,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """However it comes to that: nobody is left behind."""
        self._is_ending = True
        for member in self.members.values():
            if member.process.returncode is None:
                member.process.kill()
        self._server.close()
        self._exit.close()

    async def start_worker(self) -> None:
        number, self._next_number = self._next_number, self._next_number + 1
        process = await started(self.sockets, number, self._log_fd, self._forked)
        member = self.members[number] = Member(number, process)
        member.watching = self._tasks.create_task(self._watch(member))

    async def stop_all(self) -> None:
        """Everything is finished: let the workers close their stores and go."""
        self._is_ending = True
        for member in self._ready():
            assert member.peer is not None
            member.peer.mention(worker_messages.Leave())
        ends = [member.watching for member in self.members.values() if member.watching is not None]
        if ends:
            await asyncio.wait(ends, timeout=LEAVE_S)

    async def ask(
        self, ask: worker_messages.Ask, coordinator: Coordinator[int, worker_messages.Report], outside: object
    ) -> dict[int, worker_messages.Report]:
        """One round: the reports of all workers that are ready, but for those that are late with theirs.

        The coordinator hears them, and what is new of them is returned."""
        coordinator.forget_all_but(self.members)
        coordinator.damaged = self.damage
        coordinator.partitions = self.mine
        ready = self._ready()
        self.everybody_heard = all(member.asking is None for member in ready)
        for member in ready:
            if member.asking is None:
                member.asking = self._tasks.create_task(self._report_of(member, ask))
                member.asked_at = asyncio.get_running_loop().time()
                member.asked = (outside, coordinator.allowed(member.number))
        asked = {member.asking for member in ready if member.asking is not None}
        if asked:
            await asyncio.wait(asked, timeout=LATE_S)
        reports = {}
        for member in ready:
            if member.asking is not None and member.asking.done():
                report, member.asking = member.asking.result(), None
                if report is not None:
                    member.report = reports[member.number] = report
                    coordinator.hear(member.number, Heard(report, *member.asked))
                    self.totals.update(report.totals)
        self.everybody_heard &= all(member.asking is None for member in ready)
        return reports

    async def _report_of(self, member: Member, ask: worker_messages.Ask) -> worker_messages.Report | None:
        assert member.peer is not None
        try:
            async with asyncio.timeout(HUNG_S):
                return await member.peer.call(ask, worker_messages.Report)
        except Disconnected:
            pass  # it is told about where its process is watched
        except TimeoutError:
            self._say(f"{member} has not answered for {HUNG_S:.0f} s and is killed")
            member.process.kill()
        return None

    @property
    def late(self) -> dict[int, float]:
        """Workers that owe us a report, and for how many seconds."""
        now = asyncio.get_running_loop().time()
        return {
            member.number: now - member.asked_at
            for member in self.members.values()
            if member.asking is not None and now - member.asked_at > LATE_S
        }

    async def order(self, partition: int, order: Message) -> int | None:
        """Have something done by the owner of a partition; None: there is none at the moment."""
        if partition in self.damage:
            return 0
        owner = self.owners[partition]
        try:
            return (await self._peer(owner).call(order, worker_messages.Done)).count if owner is not None else None
        except Disconnected:
            return None

    async def report(self, report: FetchReport) -> str:
        """Tell the owner of a URL what came of it; why that changes nothing, or nothing."""
        owner = self.owners[partition_of(report.url, self._config.crawl.partitions)]
        try:
            return (await self._peer(owner).call(report, ReportTaken)).reason if owner is not None else "unknown"
        except Disconnected:
            return "unknown"

    def allow(self, number: int, pages: int) -> None:
        peer = self.members[number].peer if number in self.members else None
        if peer is not None:
            peer.mention(worker_messages.Allow(pages))

    @property
    def pages(self) -> int:
        return sum(totals.pages for totals in self.totals.values())

    @property
    def open_in(self) -> dict[int, int]:
        """The partitions that a worker has open, and in which epoch each is owned."""
        return {number: self._epochs[number] for number, owner in enumerate(self.owners) if owner is not None}

    def _ready(self) -> list[Member]:
        return [member for member in self.members.values() if member.is_ready]

    # ---- a worker's life ---------------------------------------------------------------------------------

    def _meet(self, peer: Peer) -> None:
        """Somebody connects. Who it is, it says first."""
        member: Member | None = None

        def answer(message: Message) -> Answer | Awaitable[Answer]:
            nonlocal member
            if isinstance(message, worker_messages.Hello):
                member = self.members.get(message.worker)
                if member is None or member.peer is not None:
                    raise BadMessage(f"said that it is worker {message.worker}, which it cannot be")
                member.peer = peer
                return self._welcome(member)
            if member is None:
                raise BadMessage(f"said {type(message).__name__} before Hello")
            return self._hear(member, message)

        def gone() -> None:
            if member is not None:
                member.is_ready = False
                # Without a connection it is of no use. Usually it is dead, or dies of an error: let it say which.
                asyncio.get_running_loop().call_later(LAST_WORDS_S, self._end, member)

        peer.answer = answer
        peer.when_closed.append(gone)

    def _end(self, member: Member) -> None:
        if member.process.returncode is None and not self._is_ending:
            member.process.kill()

    def _welcome(self, member: Member) -> worker_messages.Welcome:
        kill_at = "" if self._pages_at_death >= 0 else configuration.kill_at()
        path = str(self._folder.path.absolute())
        return worker_messages.Welcome(path, self._config, kill_at, self._log_fd, self._node)

    def _hear(self, member: Member, message: Message) -> Answer | Awaitable[Answer]:
        match message:
            case worker_messages.Ready():
                member.is_ready = True
                assert member.peer is not None
                member.peer.mention(self._owners_now())
                self._deal()
                return None
            case worker_messages.Said(text=text):
                self._say(f"{member}: {text}")
                return None
            case worker_messages.Failure(text=text):
                self.trouble = self.trouble or text
                return None
            case worker_messages.Damaged(partition=partition, text=text):
                member.is_excused = True
                self._leave_out(partition, text)
                return None
            case worker_messages.NoRoom(text=text):
                member.is_excused = True
                self.no_room = text
                return None
            case (
                worker_messages.Hello()
                | worker_messages.Assigned()
                | worker_messages.Report()
                | worker_messages.Done()
                | ReportTaken()
            ):
                raise BadMessage(f"said {type(message).__name__} unasked")
        return self._shared.answer(message, member.number)  # type: ignore[arg-type]  # all that is left

    async def _watch(self, member: Member) -> None:
        assert member.process.stderr is not None
        while chunk := await member.process.stderr.read(65536):
            member.said = (member.said + chunk)[-SAID_BYTES_MAX:]
        code = await member.process.wait()
        if member.peer is not None:
            member.peer.close()
        del self.members[member.number]
        if not self._is_ending:
            await self._lost(member, code)

    async def _lost(self, member: Member, code: int) -> None:
        member.is_ready = False
        lost = {number for number, owner in enumerate(self.owners) if owner == member.number}
        for number in lost:
            self.owners[number] = None
        self._orphans[member.number] = lost
        self._moved.set()
        self._release()
        self._announce()
        self._deal()
        if self.trouble:
            return
        if member.is_excused:
            self.missing += 1
            return
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        said = member.said.decode(errors="replace").strip()
        if code != -signal.SIGVTALRM:  # a page that took too long: it is read in the sandbox next
            self._deaths = self._deaths + 1 if self.pages == self._pages_at_death else 1
        self._pages_at_death = self.pages
        self._say(f"{member} {how}; another takes its place" + (f". It said:\n{said}" if said else ""))
        if self._deaths >= DEATHS_MAX:
            self.trouble = (
                f"workers died {self._deaths} times without a page in between, the last one {how}. "
                "Nothing is lost: the same command resumes it"
            )
        else:
            await self.start_worker()

    # ---- who owns what -----------------------------------------------------------------------------------

    def _deal(self) -> None:
        """Start whatever moves are needed; called whenever something has changed."""
        ready = [member.number for member in self._ready()]
        if not ready or self._is_ending:
            return
        self._wanted = deal(self._wanted, ready, self.mine)
        for partition, (owner, wanted) in enumerate(zip(self.owners, self._wanted, strict=True)):
            if partition in self.damage:
                continue
            # An owner that is neither ready nor declared dead yet is dying: its partitions wait for that.
            if owner != wanted and partition not in self._moving and (owner is None or owner in ready):
                self._moving.add(partition)
                self._tasks.create_task(self._move(partition))

    async def _move(self, partition: int) -> None:
        try:
            owner = self.owners[partition]
            if owner is not None:
                within_s = self._config.cluster.hand_over_s if partition not in self.mine else None
                await self._peer(owner).tell(worker_messages.Revoke(partition, within_s))
                self.owners[partition] = None
                self._announce()
            wanted = self._wanted[partition]
            if wanted is None:  # another machine's
                if not self.is_leaving:
                    self.totals.pop(partition, None)
                return
            epoch = self._epochs[partition] = await self._begin(partition)
            if partition in self._lost_on_the_way:
                return
            assigned_now = await self._peer(wanted).call(
                worker_messages.Assign(partition, epoch, self.accepts_loss(partition)), worker_messages.Assigned
            )
            if assigned_now.is_lost or partition in self._lost_on_the_way:
                self._peer(wanted).mention(worker_messages.Lose(partition))
                return
            if assigned_now.damage:
                self._leave_out(partition, assigned_now.damage)
                return
            self.totals[partition] = assigned_now.totals
            self.owners[partition] = wanted
            self._announce()
            if None not in self.owners:
                self.when_owned()
            for orphans in self._orphans.values():
                orphans.discard(partition)
            self._release()
        except (Disconnected, LaterOwner):
            pass  # one of the two died, or it is not ours any more; what is left to do is seen by the next deal
        except asyncio.CancelledError:
            self._is_ending = True  # something else has failed, and ends all of it
            raise
        finally:
            self._moving.discard(partition)
            self._lost_on_the_way.discard(partition)
            self._moved.set()
            self._deal()

    # ---- what another machine may own ----------------------------------------------------------------------

    def gain(self, partitions: Collection[int]) -> None:
        self.mine.update(partitions)  # in place: others look into it
        self._announce()
        self._deal()

    async def let_go(self, partitions: Collection[int]) -> None:
        """Give them up in order: they may be opened elsewhere when this returns."""
        self.mine.difference_update(partitions)
        if not self.is_leaving:
            self._forget_damage(partitions)
        self._leave_to_others(partitions)
        self._deal()
        while any(self.owners[number] is not None or number in self._moving for number in partitions):
            self._moved.clear()
            await self._moved.wait()

    def lose(self, partitions: Collection[int]) -> None:
        """They are somebody else's already."""
        self.mine.difference_update(partitions)
        self._forget_damage(partitions)
        self._leave_to_others(partitions)
        self._lost_on_the_way |= self._moving & set(partitions)
        for number in partitions:
            owner, self.owners[number] = self.owners[number], None
            self._wanted[number] = None
            self.totals.pop(number, None)
            self._shared.lose(number, self._epochs[number])
            for member in self._ready():  # also one that is just opening it
                if member.peer is not None and (owner is None or member.number == owner):
                    member.peer.mention(worker_messages.Lose(number))
        self._announce()

    def _forget_damage(self, partitions: Collection[int]) -> None:
        """Another machine may be able to open them, and this one later."""
        for number in partitions:
            self.damage.pop(number, None)

    def _leave_to_others(self, partitions: Collection[int]) -> None:
        """Nobody here opens them next: the claims of a worker that died with them wait for that no longer."""
        for orphans in self._orphans.values():
            orphans.difference_update(partitions)
        self._release()

    async def _next_epoch(self, partition: int) -> int:
        self._epoch += 1
        if self._epoch % EPOCHS_AT_ONCE == 0:
            self._epoch = self._folder.next_epoch()
        return self._epoch

    def _leave_out(self, partition: int, text: str) -> None:
        """Nobody can own this partition any more. Links to it are dropped: they are found again in the archive."""
        if partition in self.damage:
            return
        self.damage[partition] = text
        self.totals.pop(partition, None)
        self._leave_to_others([partition])
        self._announce()
        if len(self.damage) == len(self.owners):
            self.trouble = self.trouble or text
        else:
            self._say(f"partition {partition} is left out, and the others go on: {text}")

    def reopen(self, partition: int) -> None:
        """Somebody has said what to do about the damage of a partition."""
        if self.damage.pop(partition, None) is not None:
            self._announce()
            self._deal()

    async def replace_missing(self) -> None:
        missing, self.missing, self.no_room = self.missing, 0, ""
        for _ in range(missing):
            await self.start_worker()

    def _peer(self, number: int) -> Peer:
        member = self.members.get(number)
        if member is None or member.peer is None:
            raise Disconnected
        return member.peer

    def _release(self) -> None:
        for number in [number for number, partitions in self._orphans.items() if not partitions]:
            del self._orphans[number]
            self._shared.release(number)

    def _announce(self) -> None:
        """Tell everybody who owns what, once for all changes of a moment."""
        if self._is_announced:
            self._is_announced = False
            asyncio.get_running_loop().call_soon(self._announce_now)

    def _owners_now(self) -> worker_messages.Owners:
        elsewhere = tuple(number for number in range(len(self.owners)) if number not in self.mine)
        return worker_messages.Owners(self.version, self.owners, tuple(self.damage), tuple(self._epochs), elsewhere)

    def _announce_now(self) -> None:
        self._is_announced = True
        self.version += 1
        for member in self._ready():
            assert member.peer is not None
            member.peer.mention(self._owners_now())
