"""A worker: one process, one event loop, some partitions. The only place that names the concrete classes.

`Worker` builds the stages and ties them together; reading `__aenter__` shows what a crawl is made of. It does what
the supervisor orders (worker_messages.py): opens partitions, gives them up, reports. It ends cleanly when told to, or
at once: by `kill -9`, or because its supervisor is gone. Whoever opens its partitions next does not need to know
which it was.

Longer than 400 lines: what a crawl is made of is named in one place.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path

from gossamer import interfaces
from gossamer.archive.opening import open_storage
from gossamer.archive.storage import ArchiveDamaged
from gossamer.clock import Clock, RealClock
from gossamer.cluster.booking_service import Book, Booked, BookingService, Release
from gossamer.cluster.link_log import FileLinkLog
from gossamer.cluster.links import LinkExchange
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.peers import Peers
from gossamer.cluster.robots_questions import RobotsQuestions, nobody
from gossamer.cluster.wire import Answer, Message, Peer, Spawn, connect, listen
from gossamer.fetch.dns import Dns
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.protocols import protocols
from gossamer.fetch.robots import RobotsCache
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.disk.faults import StoreDamaged, StoreInUse
from gossamer.frontier.disk.tables import Totals
from gossamer.frontier.frontier import Frontier
from gossamer.interfaces import JournalLost, LaterOwner, LinkLog, LinksLost, SharedState
from gossamer.loop import GATHER_S, Crawl, OnFinished
from gossamer.messages import worker_messages
from gossamer.messages.control_messages import FetchReport, ReleaseUrl, ReportTaken
from gossamer.process.processor import processor_of
from gossamer.records import Link, Outcome, RobotsCopy, Seed
from gossamer.runtime.kill_point import KillPoint
from gossamer.runtime.log import Log
from gossamer.schedule.credit import share_out
from gossamer.schedule.ranks import Ranks
from gossamer.schedule.recrawl_plan import PartitionStatistics, RecrawlPlan
from gossamer.seeds import SeedList
from gossamer.url.canonical import choose_for
from gossamer.url.link_filter import link_filter_of
from gossamer.worker.fetchers_side import FetchersSide
from gossamer.worker.identity import about, identity
from gossamer.worker.instructions import Wanted, carry_out
from gossamer.worker.own_requests import open_transfers, own_requests
from gossamer.worker.owned import Owned
from gossamer.worker.partition import Elsewhere, Partition, Surroundings
from gossamer.worker.progress import Recent, memory_bytes
from gossamer.worker.render_side import open_renderer
from gossamer.worker.waiting import Waiting, looking, returned, slow_hosts

SEEDS_AT_ONCE = 1000  # that were added to the list: a few milliseconds of the event loop
JOBS_GATHER_S = 0.05  # between two looks for leases, where fetchers get them: answers come together, too
BUSY_LOOK_S = 0.02  # while somebody holds a turn of a partition that is given up


class Worker:
    """Use as `async with Worker(...) as worker: await worker.run()`. Implements `interfaces.Owner`."""

    def __init__(
        self,
        number: int,
        welcome: worker_messages.Welcome,
        shared: SharedState,
        complain: Callable[[str], None],
        spawn: Spawn = asyncio.ensure_future,
        sockets: Path | None = None,
        *,
        filters: Sequence[Callable[[Link], bool]] = (),
        on_finished: OnFinished | None = None,
        limit_pace: Callable[[float | None, float | None], None] = lambda requests_per_s, bytes_per_s: None,
    ) -> None:
        """`sockets`: where other workers listen; None: there are none. `filters`, `on_finished`: see
        library/running.py. `limit_pace`: told how fast the whole crawl may go, where that is not the supervisor's."""
        self.number = number
        self.folder = CrawlFolder(Path(welcome.folder))
        self.config = welcome.config
        self.clock: Clock = RealClock()
        self._policies_changed_at = self.folder.policies_changed_at
        self._policies = self.folder.policies()
        self._seeds = SeedList(self.folder.path)
        self._seeds_read = 0  # bytes of the list
        self.partitions: dict[int, Partition] = {}  # that are ours; the loop, links and turns look into it
        self._recrawl_plan = self.folder.recrawl_plan()
        self._ranks_changed_at = self.folder.ranks_changed_at
        self._ranks = Ranks.open(self.folder.path, complain)
        self.shared = shared
        self.complain = complain
        self._sockets = sockets
        self._spawn = spawn
        self._filters = filters
        self._on_finished = on_finished
        self._limit_pace = limit_pace
        self._recent = Recent(self.clock)
        self._waiting = Waiting(self.partitions, self.clock)
        self._log = Log(self.config.log, welcome.log_fd, self.clock)
        self._said: set[str] = set()
        self._away = ""  # what was said of shared state last
        self._kill_point = KillPoint(welcome.kill_at)
        self._opening = asyncio.Lock()
        self._lost: set[int] = set()  # since they were assigned last
        self._node = welcome.node
        self._side: Elsewhere | None = None  # of a cluster
        self._fetchers: FetchersSide | None = None
        self._owned = Owned(self.clock, self._end_ownership)
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Worker:
        config, clock = self.config, self.clock
        agent, partitions = config.crawl.user_agent_token, config.crawl.partitions
        choose_for(config)
        self.folder.go_by_format()
        homes = self._seeds.index(config.crawl.scope)
        self._seeds_read = homes.covered
        self._link_filter = link_filter_of(homes, config, clock, self._filters)
        side = self._side = self._cluster_side()
        self._exit.push_async_callback(self._close_partitions)
        self.peers = Peers(partitions, self._connect, clock)
        self._exit.callback(self.peers.close)
        log: LinkLog = FileLinkLog(self.folder.links) if side is None else side.log
        self._exit.callback(log.close)
        # What one node cannot open another may: links to it go on their way.
        is_damaged = self.peers.is_damaged if side is None else lambda partition: False
        self.bookings = BookingService(self.partitions, partitions, self.peers, clock, self._look_again)
        questions = RobotsQuestions(
            side.ask if side is not None else nobody, self.bookings.of, partitions, clock, self._spawn
        )
        self._exit.push_async_callback(questions.close)
        self.links = LinkExchange(
            log,
            self.partitions,
            partitions,
            clock,
            is_damaged=is_damaged,
            look_again=self._look_again,
            hear=questions.hear,
            is_alone=side is None,
        )
        self._dns = dns = Dns(clock, config.dns)
        self._exit.push_async_callback(dns.close)
        by = (self.shared, lambda: self._policies, self._owned, self.complain)
        self._transfers = transfers = open_transfers(config, clock, self.folder.archive, dns, *by)
        self._exit.push_async_callback(transfers.close)
        scheme_fetchers = protocols(config.fetch.schemes, transfers, identity(config.crawl))
        questions.scheme_fetchers = scheme_fetchers
        self._rules = rules = RobotsCache(self._robots)
        limits = (config.crawl.media_types, config.frontier.rests_s, questions.answer_for)
        asked = (self.bookings.of, clock, config.robots, agent)
        fetcher: interfaces.Fetcher
        own = own_requests(config, clock, self.partitions, transfers)
        fetcher = here = Fetcher(scheme_fetchers, rules, *asked, *limits, *own)
        processor: interfaces.Processor
        processor = reader = processor_of(config, may_die=self._sockets is not None)
        self._exit.push_async_callback(reader.close)
        with_us = (self._robots_known, self.bookings.of, own, clock, lambda: self._policies, self.complain)
        self._renderer = open_renderer(config, scheme_fetchers, *with_us, self._exit)
        if config.fetchers.listen:
            around = (self.partitions, lambda: self._policies, self.complain, self._look_again)
            self._fetchers = FetchersSide(self.folder, config, clock, dns, self.shared, *around)
            fetcher, processor = await self._fetchers.open(here, scheme_fetchers, reader, self._exit)
        self.crawl = Crawl(
            self.partitions,  # type: ignore[arg-type]  # a dict of what implements it
            fetcher,
            processor,
            self.shared,
            self.links,
            clock,
            in_flight_max=config.fetch.in_flight_max,
            in_flight_bytes_max=config.fetch.in_flight_bytes_max,
            commit_s=config.crawl.commit_s,
            store_near=config.archive.store_near,
            ascend=config.crawl.ascend,
            share_out=share_out,
            whole_links=bool(self._filters),
            pages_left=None if config.crawl.max_pages is None else 0,
            watch=self._watch_and_log if self._log.has_fetches else self._recent.watch,
            say=self.complain,
            on_finished=self._on_finished,
            reached=self._kill_point,
            may_ask=lambda: self._owned() and not self._held_up,
            gather_s=JOBS_GATHER_S if self._fetchers else GATHER_S,
            renderer=self._renderer,
        )
        self._around = Surroundings(
            self.folder,
            config,
            clock,
            self._link_filter,
            open_storage(config.archive, self.folder.archive),
            log,
            self.shared,
            about(config.crawl, self.folder.path.name),
            self._say_once,
            self.crawl.patiently,
            self._kill_point,
            side.keeper if side is not None else None,
        )
        self.crawl.is_paused = True  # until the first round, when every partition has its owner

        if self._sockets is not None:
            server = await listen(
                socket_of(self._sockets, self.number), Book | Release, self._spawn, self.complain, self.bookings.meet
            )
            self._exit.callback(server.close)
        return self

    def _cluster_side(self) -> Elsewhere | None:
        """None: this machine is alone. Closed after the partitions."""
        if not self.config.cluster.kafka:
            return None
        from gossamer.worker.cluster_side import ClusterSide  # noqa: PLC0415 - of an extra

        side = ClusterSide(self._node, self.folder, self.config, self.clock, self.complain)
        self._exit.push_async_callback(side.close)
        return side

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def run(self) -> None:
        await self.crawl.run(alone=False)

    async def assign_all(self) -> None:
        """Where there are no others, every partition is ours."""
        try:
            damaged = await self.assigned(range(self.config.crawl.partitions), self.folder.next_epoch())
        except LaterOwner as fault:
            raise FolderError(self.folder.behind_in_epochs(fault)) from fault
        if damaged:
            raise FolderError(damaged[min(damaged)])

    @property
    def pages(self) -> int:
        return sum(partition.pages for partition in self.partitions.values())

    # ---- what the supervisor orders ----------------------------------------------------------------------

    def handle(self, message: Message) -> Answer | Awaitable[Answer]:
        match message:
            case worker_messages.Assign(partition=number, epoch=epoch, accept_loss=accept_loss):
                return self._assign(number, epoch, accept_loss=accept_loss)
            case worker_messages.Revoke(partition=number, within_s=within_s):
                return self.revoked([number], within_s)
            case worker_messages.Lose(partition=number):
                return self.lost([number])
            case worker_messages.Owners(version, owners, damaged, epochs, elsewhere):
                self.peers.know(version, owners, damaged, epochs, elsewhere)
            case worker_messages.Ask():
                return self._report(message)
            case worker_messages.Allow(pages=pages):
                self.crawl.allow(pages)
            case worker_messages.AddSeeds(partition=number, seeds=seeds):
                return worker_messages.Done(self.add_seeds(number, seeds))
            case ReleaseUrl(url=url):
                return self._carry_out(partition_of(url, self.config.crawl.partitions), message)
            case worker_messages.Retry(partition=number) | worker_messages.Instruct(partition=number):
                return self._carry_out(number, message)
            case FetchReport():
                return ReportTaken(self._fetchers.take(message) if self._fetchers else "unknown")
            case worker_messages.Leave():
                self.crawl.stop()
        return None

    async def assigned(self, partitions: Collection[int], epoch: int, *, accept_loss: bool = False) -> dict[int, str]:
        damaged: dict[int, str] = {}
        self._lost.difference_update(partitions)
        for number in partitions:
            # One at a time, with a turn for the others in between: they may have to do with hosts that are ready.
            async with self._opening:
                await asyncio.sleep(0)
                self.look_at_folder()
                if number in self._lost:
                    continue
                try:
                    told = (self._policies, self._recrawl_plan, self._ranks)
                    partition = await Partition.open(number, epoch, self._around, *told, accept_loss=accept_loss)
                except StoreInUse:
                    raise
                except LaterOwner:
                    if self._side is None:
                        raise
                    continue  # another node has it by now
                except (StoreDamaged, ArchiveDamaged, LinksLost, JournalLost) as fault:
                    damaged[number] = str(fault)
                    continue
                if number in self._lost:
                    await partition.lose()
                    continue
                self.partitions[number] = partition
                self.bookings.open(number)
                self.crawl.look_again()
        return damaged

    async def revoked(self, partitions: Collection[int], within_s: float | None = None) -> None:
        for number in partitions:
            partition = self.partitions.get(number)
            if partition is None:
                continue  # lost meanwhile
            self.bookings.close(number)
            await self.crawl.give_up(partition, within_s)
            if within_s is not None:
                self.bookings.lose(number)
            while self.bookings.is_busy(number) and not partition.is_lost:
                await self.clock.sleep(BUSY_LOOK_S)
            if not partition.is_lost:  # meanwhile
                del self.partitions[number]  # first, so that nobody adds to what is closed
                await partition.close()

    async def lost(self, partitions: Collection[int]) -> None:
        self._lost.update(partitions)  # also those that are just being opened
        gone = {number: self.partitions.pop(number) for number in partitions if number in self.partitions}
        for number, partition in gone.items():  # nothing of any is asked for while the first is being closed
            self.bookings.lose(number)
            self.crawl.drop(partition)
        await asyncio.gather(*(partition.lose() for partition in gone.values()))

    async def _assign(self, number: int, epoch: int, *, accept_loss: bool) -> worker_messages.Assigned:
        damaged = await self.assigned([number], epoch, accept_loss=accept_loss)
        if number in damaged:
            return worker_messages.Assigned(Totals(), damaged[number])
        partition = self.partitions.get(number)
        if partition is None:
            return worker_messages.Assigned(Totals(), is_lost=True)
        return worker_messages.Assigned(partition.totals)

    async def _close_partitions(self) -> None:
        while self.partitions:
            _, partition = self.partitions.popitem()
            await partition.close()

    def _say_once(self, text: str) -> None:
        """What holds for every partition is said by the first."""
        if text not in self._said:
            self._said.add(text)
            self.complain(text)

    def _report(self, ask: worker_messages.Ask) -> worker_messages.Report:
        crawl = self.crawl
        if ahead_s := self.clock.step():
            for partition in self.partitions.values():
                partition.frontier.put_off(ahead_s)
            self.complain(f"the clock was set forward by {ahead_s:,.0f} s: hosts keep their delays")
        self.look_at_folder()
        if ask.is_ending:
            crawl.hurry()
            self._transfers.hurry()
            self.bookings.end()
        if ask.recrawl_plan is not None:
            self.apply_plan(ask.recrawl_plan)
        if crawl.is_paused != ask.is_paused:
            crawl.is_paused = ask.is_paused
            crawl.look_again()
        self._owned.set_until(ask.owned_until)
        if self._fetchers:
            self._fetchers.jobs.drain(frozenset(ask.drained))
        self.links.others_have_read(ask.links_read)
        if (away := self.shared.away) != self._away:
            self._away = away
            self.complain(away or "what all nodes share is back")
        if ask.owned_until is not None:
            crawl.look_again()  # nobody else tells the loop that it may ask again, by the group or by the journal
        pages_returned = crawl.page_limit.give_back() if ask.give_back else 0
        report = worker_messages.Report(
            totals={number: partition.totals for number, partition in self.partitions.items()},
            in_flight=crawl.in_flight,
            active_hosts=sum(partition.frontier.active_hosts for partition in self.partitions.values()),
            is_idle=crawl.is_idle,
            positions={number: partition.log_position for number, partition in self.partitions.items()},
            pages_left=crawl.page_limit.held,
            no_room=crawl.no_room or self.links.held_up or self._held_up,
            news=self._recent.take(is_watched=ask.is_watched),
            dns=self._dns.counts,
            robots=self._rules.counts,
            levels=dict(sum((Counter(each.frontier.levels) for each in self.partitions.values()), Counter())),
            memory_bytes=memory_bytes(),
            cpu_s=time.process_time(),
            statistics=self.statistics() if ask.wants_statistics else {},
            under_way=len(self._transfers.under_way),
            slow=slow_hosts(self._transfers.under_way.values(), self.clock.now()),
            resting=tuple(self._waiting.resting()),
            wait=self._waiting.next(),
            next_try_at=self._waiting.next_try_at(),
            pages_spare=crawl.page_limit.spare,
            pages_returned=pages_returned,
            returned=returned(self.partitions),
            looking=looking(self.partitions),
            shared_away=away,
            instructed={number: each.frontier.instructed for number, each in self.partitions.items()},
            fetchers=self._fetchers.report() if self._fetchers else worker_messages.FetchersReport(),
            render=self._renderer.counts if self._renderer else None,
            proxies=self._transfers.proxies.report(),
        )
        return self._side.told(report) if self._side is not None else report

    @property
    def _held_up(self) -> str:
        """Why nothing more should be leased: by what keeps our state elsewhere, or by those who fetch for us."""
        held_up = self._side.keeper.held_up if self._side is not None else ""
        return held_up or (self._fetchers.held_up if self._fetchers is not None else "")

    def _end_ownership(self) -> None:
        self.complain("not sure any more that our partitions are ours: nothing is asked for until that is known")
        self.crawl.let_go_of(self.partitions.values())

    def statistics(self) -> dict[int, PartitionStatistics]:
        return {number: partition.statistics() for number, partition in self.partitions.items()}

    def apply_plan(self, recrawl_plan: RecrawlPlan) -> None:
        self._recrawl_plan = recrawl_plan
        for partition in self.partitions.values():
            partition.apply_plan(recrawl_plan)

    def look_at_folder(self) -> None:
        """Somebody may have changed policies, which hold from each host's next turn on, added seeds, or ranked."""
        folder = self.folder
        if self._policies_changed_at != (changed_at := folder.policies_changed_at):
            self._policies, self._policies_changed_at = folder.policies(), changed_at
            for partition in self.partitions.values():
                partition.frontier.apply_policies(self._policies)
            self._limit_pace(*self._policies.crawl.over(self.config.politeness))
            self.crawl.look_again()
        if self._seeds_read < self._seeds.bytes:  # the rest at the next look, if there are many
            added = list(islice(self._seeds.after(self._seeds_read), SEEDS_AT_ONCE))
            self._link_filter.welcome(seed.url for seed, _ in added)
            self._seeds_read = added[-1][1] if added else self._seeds_read
        if self._ranks_changed_at != (ranks_changed_at := folder.ranks_changed_at):
            self._ranks, self._ranks_changed_at = Ranks.open(folder.path, self.complain), ranks_changed_at
            for partition in self.partitions.values():
                partition.take_ranks(self._ranks)

    def add_seeds(self, number: int, seeds: list[Seed]) -> int | None:
        """Add seeds to a partition. Returns how many are new; None: it is not ours."""
        partition = self.partitions.get(number)
        if partition is None:
            return None
        self._link_filter.welcome(seed.url for seed in seeds)
        new = partition.apply_links(seed.link for seed in seeds)
        self.crawl.look_again()
        return new

    async def _carry_out(self, number: int, what: Wanted) -> worker_messages.Done:
        count = await carry_out(lambda: self._frontier(number), what)
        self._rules.forget()
        self.crawl.look_again()
        return worker_messages.Done(count)

    async def _connect(self, number: int) -> Peer:
        assert self._sockets is not None, "there is nobody else"
        return await connect(socket_of(self._sockets, number), Booked, self._spawn, self.complain)

    def _robots(self, origin: str) -> RobotsCopy | None:
        return self.partitions[partition_of(origin, self.config.crawl.partitions)].frontier.robots(origin)

    def _robots_known(self, origin: str) -> RobotsCopy | None:
        is_ours = partition_of(origin, self.config.crawl.partitions) in self.partitions
        return self._rules.get(origin)[0] if is_ours else None

    def _frontier(self, number: int) -> Frontier | None:
        partition = self.partitions.get(number)
        return partition.frontier if partition is not None else None

    def _look_again(self) -> None:
        self.crawl.look_again()

    def _watch_and_log(self, outcome: Outcome) -> None:
        self._recent.watch(outcome)
        self._log.fetched(outcome)


def socket_of(sockets: Path, worker: int | None) -> Path:
    """Where a worker listens; None: the supervisor."""
    return sockets / ("supervisor" if worker is None else f"worker{worker}")
