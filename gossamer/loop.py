"""START HERE: one URL's life. Lease, fetch, process; then judge, save, send, finish.

    partition.lease  a host may be asked, and this is its next URL           partition.py, frontier/
    fetcher.fetch    robots.txt, then at most one request                    fetch/
    processor        text, title, links                                      process/
    renderer         the same as a browser shows it, where that gains something   render/
    duplicates.judge has another URL shown this content before?              process/fingerprints/duplicates.py
    partition.save   request and answer, durable                             archive/
    links.send       links, durable on the way to their partitions           cluster/
    partition.apply_outcomes   the URL's outcome, in one batch with the host's clock

The first four happen for each page by itself, many at a time. The others happen for all pages of a moment together
(`commit`): one question, one flush, one message, one write batch a partition. Nothing is finished before it is
durable.

This is the only file that knows the order. It knows the stages by `interfaces.py` alone. With other workers about,
when the crawl is over is not decided here: they may still send links (see supervisor/coordinator.py).

Longer than 400 lines: the order of the stages is told once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from msgspec.structs import replace

from gossamer.bounds.page_limit import PageLimit
from gossamer.bounds.page_memory import PageMemory
from gossamer.clock import Clock
from gossamer.interfaces import Duplicates, Fetcher, Links, NoBooking, NotRead, Partition, Processor, Renderer
from gossamer.levels import shares
from gossamer.outlinks import ShareOut, links_of, nothing
from gossamer.records import Claim, Failed, Fetched, Lease, Outcome, Page, Place, Postponed, Reason, Result, Verdict
from gossamer.rendered import digest_of
from gossamer.shortage import AtOnce, Patience, lacking, postponed, words_for

SHORT_WAITS_S = (1.0, 2.0, 4.0, 8.0, 16.0)  # between two tries to read a page while we are short of something
MAY_ASK_LOOK_S = 0.25  # between two looks whether the partitions are certain to be ours again
EARLY_SHARE = 0.5  # of the memory for pages in flight: a commit comes early when so much waits for it
GATHER_FROM, GATHER_S = 64, 0.005  # with so many in flight, between two looks for leases
NO_BOOKING_S = 10.0  # until a host's robots.txt is looked for again at another host that had no turn for it

OnFinished = Callable[[Sequence[Outcome]], Awaitable[None]]
"""Gets what was just finished; the next commit waits for it."""


class Crawl:
    def __init__(
        self,
        partitions: dict[int, Partition],
        fetcher: Fetcher,
        processor: Processor,
        duplicates: Duplicates,
        links: Links,
        clock: Clock,
        *,
        in_flight_max: int,
        in_flight_bytes_max: int,
        commit_s: float,
        store_near: bool = True,
        ascend: bool = False,
        share_out: ShareOut = nothing,
        whole_links: bool = False,
        pages_left: int | None = None,
        watch: Callable[[Outcome], None] = lambda outcome: None,
        say: Callable[[str], None] = lambda text: None,
        on_finished: OnFinished | None = None,
        reached: Callable[[str], None] = lambda point: None,
        may_ask: Callable[[], bool] = lambda: True,
        gather_s: float = GATHER_S,
        renderer: Renderer | None = None,
    ) -> None:
        """`partitions`: those that this process owns, as they come and go; others may put some in and take them out.

        `pages_left`: how many more may be fetched; None: all there are. `reached`: see runtime/kill_point.py.
        `whole_links`: somebody looks at all that is known of a link. `gather_s`: between two looks for leases.
        `may_ask`: whether the partitions are certain to be ours."""
        self.partitions = partitions
        self.fetcher = fetcher
        self.processor = processor
        self.duplicates = duplicates
        self.links = links
        self.clock = clock
        self.commit_s = commit_s
        self.store_near = store_near
        self._links_of = partial(links_of, share_out=share_out, ascend=ascend, whole=whole_links)
        self.page_limit = PageLimit(pages_left, clock)
        self.page_memory = PageMemory(in_flight_bytes_max, clock)
        self.watch = watch
        self.say = say
        self.on_finished = on_finished
        self.reached = reached
        self.may_ask = may_ask
        self.gather_s = gather_s
        self.renderer = renderer
        self.is_paused = False
        self._at_once = AtOnce(in_flight_max, clock, say)
        self._patience = Patience(clock, lambda: self.in_flight, say, self._have_fewer, self.look_again)
        self.patiently = self._patience.patiently
        self._outcomes: list[tuple[Partition, Outcome]] = []
        self._ready_bytes = 0  # what they hold, about
        self._commit_early = asyncio.Event()
        self._under_way: dict[asyncio.Task[None], tuple[Partition, Lease]] = {}
        self._rendering: set[bytes] = set()  # ids of leases
        self._stopping = False
        self._settling = False  # claims of what was just finished
        self._news = asyncio.Event()  # something was answered, added, finished or decided: look again

    async def crawl_one(self, partition: Partition, lease: Lease) -> Outcome:
        result = await self._fetch(lease)
        self._at_once.learn(result, self.in_flight)
        # From here on the host's delay runs, while we go on working at what it sent. The lease does not run out any
        # more: nobody else gets the URL, however long the archive makes us wait.
        partition.answered(lease, result)
        self.page_memory.answered(lease.id, result)
        self._news.set()
        if not isinstance(result, Fetched):
            return Outcome(lease, result)
        if result.is_not_modified:
            return Outcome(lease, result, verdict=Verdict("unchanged", lease.url))
        page = await self._read(partition, lease, result)
        if self.renderer is not None:
            page = await self._render(self.renderer, partition, lease, result, page)
        self.page_memory.read(lease.id, page)
        simhash = page.simhash if page.sketch else None
        # What a browser showed is the content: the shell of an application is the same at all its URLs.
        digest, fetched_at = digest_of(page.document) or result.digest, result.exchange.started_at
        claim = Claim(digest, lease.url, fetched_at, simhash, page.sketch, partition.number, partition.epoch)
        if claim.content_hash == lease.content_hash:
            return Outcome(lease, result, page, Verdict("unchanged", lease.url), claim)
        return Outcome(lease, result, page, claim=claim)

    async def _read(self, partition: Partition, lease: Lease, fetched: Fetched) -> Page:
        """While this machine is short of memory the page waits here: it has come, and is not asked for again."""
        watched = partial(Suspected, partition, lease)
        for wait_s in (*SHORT_WAITS_S, None):
            try:
                return await self.processor.process(lease.url, fetched, watched, is_suspect=lease.is_suspect)
            except OSError as fault:
                short = lacking(fault)
                if short is None:
                    raise
                self._have_fewer(words_for(short))
                if wait_s is not None:
                    await self.clock.sleep(wait_s)
        return Page(lease.url, fault="this machine had no memory to read it")

    async def _render(
        self, renderer: Renderer, partition: Partition, lease: Lease, fetched: Fetched, page: Page
    ) -> Page:
        self._rendering.add(lease.id)
        try:
            read = partial(self._read, partition, lease)
            return await renderer.render(lease.url, fetched, page, partition.gains, read)
        finally:
            self._rendering.discard(lease.id)

    async def commit(self) -> None:
        # Save, then send links, then finish: a crash in between repeats a page, never loses one.
        finished = await self._judged()
        if not finished:
            return
        shares = [
            (partition, [outcome for owner, outcome in finished if owner is partition])
            for partition in {id(owner): owner for owner, _ in finished}.values()
        ]
        self.reached("before_save")
        places = await asyncio.gather(
            *(self.patiently(partial(partition.save, outcomes)) for partition, outcomes in shares)
        )
        self.reached("after_save")
        links = (self._links_of(outcome) for _, outcome in finished)
        await self.links.send(chain.from_iterable(links))
        self.reached("after_send")
        for (partition, outcomes), where in zip(shares, places, strict=True):
            self._apply(partition, outcomes, where)
            self.reached("after_finish")
        self._settling = True
        await self.duplicates.settle([claim for partition, _ in shares for claim in partition.claims])
        self._settling = False
        self.reached("after_settle")
        self._news.set()
        if self.on_finished is not None:
            await self.on_finished([outcome for _, outcome in finished])

    def _apply(self, partition: Partition, outcomes: Sequence[Outcome], places: Sequence[Place | None]) -> None:
        pages_before = partition.pages
        if not partition.is_lost:  # else `drop` has counted them
            partition.apply_outcomes(outcomes, places)
            partition.in_flight -= len(outcomes)
        self.page_limit.finished(outcomes, partition.pages - pages_before)
        for outcome in outcomes:
            self.page_memory.ended(outcome.lease.id)

    async def _judged(self) -> list[tuple[Partition, Outcome]]:
        """What can be finished now. What shows the content of a page that is just being finished waits for that."""
        outcomes, self._outcomes, self._ready_bytes = self._within_limit(), [], 0
        claims = [outcome.claim for _, outcome in outcomes if outcome.claim and outcome.verdict.is_original]
        # Judged against other URLs only: a page repeated after a crash must still send its links.
        verdicts = iter(await self.duplicates.judge(claims)) if claims else iter(())
        finished = []
        for partition, outcome in outcomes:
            judged = outcome
            if outcome.claim and outcome.verdict.is_original:  # else it is as it was at the visit before
                verdict = next(verdicts)
                if verdict is None:
                    self.page_limit.put_back(outcome)
                    if not partition.is_lost:
                        self._outcomes.append((partition, outcome))
                    else:  # meanwhile: its claim is nobody's, and would wait for ever
                        self.page_memory.ended(outcome.lease.id)
                    continue
                judged = replace(outcome, verdict=self._stored(verdict))
            self.watch(judged)
            finished.append((partition, judged))
        return finished

    def _within_limit(self) -> list[tuple[Partition, Outcome]]:
        """What has come. Pages that are too many go back to their queues, before anybody hears of them."""
        within = []
        for partition, outcome in self._outcomes:
            if self.page_limit.take(outcome):
                within.append((partition, outcome))
            else:
                partition.give_back(outcome.lease)
                self.page_memory.ended(outcome.lease.id)
        if len(within) < len(self._outcomes):
            self._news.set()
        return within

    def _stored(self, verdict: Verdict) -> Verdict:
        return replace(verdict, is_stored=self.store_near) if verdict.kind == "near" else verdict

    async def run(self, *, alone: bool = True) -> None:
        """Crawl until `stop` is called, then finish what is open. Alone, it ends by itself when nothing is left.

        A bug in any stage ends everything here, and that is safe: what was in flight is still leased.
        """
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(self._commit_often()), tasks.create_task(self.links.receive())]
            while not self._stopping:
                self._news.clear()
                for partition, lease in self._leases():
                    task = tasks.create_task(self._see_through(partition, lease))
                    self._under_way[task] = (partition, lease)
                    task.add_done_callback(lambda task: self._under_way.pop(task, None))
                if alone and self.is_idle and not self.links.has_unread:
                    break
                await self.clock.wait(self._news, self._next_at())
                if self.in_flight > GATHER_FROM:  # not after each answer, but after those of a moment
                    await self.clock.sleep(self.gather_s)
            while self.in_flight or self._settling:
                self._news.clear()
                await self.clock.wait(self._news, None)
            for task in beside:
                task.cancel()

    def stop(self) -> None:
        """Lease nothing more; `run` returns when what is in flight is finished."""
        self._stopping = True
        self.hurry()
        self._news.set()

    def hurry(self) -> None:
        """The crawl ends: what still waits for its reader is left for the next start."""
        self.processor.hurry()
        if self.renderer is not None:
            self.renderer.hurry()
        if self.page_limit.is_used_up:  # nothing that is still out can become a page
            self.let_go_of(self.partitions.values())

    def let_go_of(self, partitions: Iterable[Partition], leases: Container[bytes] | None = None) -> None:
        """Whatever is still being asked for or read of them stands in its queue again; or of these leases alone."""
        owners = set(map(id, partitions))
        for task, (partition, lease) in list(self._under_way.items()):
            if id(partition) in owners and (leases is None or lease.id in leases):
                del self._under_way[task]
                self._ended(lease)
                if task.cancel():
                    partition.give_back(lease)
        self._news.set()

    def look_again(self) -> None:
        """Something changed elsewhere: there may be something to lease."""
        self._news.set()

    def allow(self, pages: int) -> None:
        """So many pages more, where their number is limited."""
        self.page_limit.allow(pages)
        self._news.set()

    async def give_up(self, partition: Partition, within_s: float | None = None) -> None:
        """Lease nothing more of a partition, and finish what is open of it, as far as that comes in time."""
        partition.is_leaving = True
        until = None if within_s is None else self.clock.awake() + within_s
        while partition.in_flight and not partition.is_lost:
            if until is not None and self.clock.awake() >= until:
                self.let_go_of([partition])
                until = None
            # What a browser shows waits for turns of hosts, and this partition gives none any more.
            self.let_go_of([partition], self._rendering)
            await self.clock.sleep(self.commit_s / 4)

    def drop(self, partition: Partition) -> None:
        """It is not ours any more: nothing of it is asked for or read from now on."""
        partition.is_lost = True
        self.let_go_of([partition])
        for _, outcome in [each for each in self._outcomes if each[0] is partition]:
            self._ended(outcome.lease)
        self._outcomes = [each for each in self._outcomes if each[0] is not partition]
        partition.in_flight = 0

    @property
    def in_flight(self) -> int:
        return sum(partition.in_flight for partition in self.partitions.values())

    @property
    def no_room(self) -> str:
        """Why nothing can be saved at the moment."""
        return self._patience.no_room

    @property
    def is_idle(self) -> bool:
        return all(partition.is_idle for partition in self.partitions.values())

    def _leases(self) -> Iterator[tuple[Partition, Lease]]:
        """What may be asked now, as far as there is room: shared by priority among the hosts of all partitions."""
        owned = [partition for partition in self.partitions.values() if not partition.is_leaving]
        ready = [partition.ready() for partition in owned]
        for partition, room in zip(owned, shares(self._room(), ready, self.clock.random), strict=True):
            for lease in partition.lease(room) if room else ():
                self.page_limit.leased(lease.id)
                self.page_memory.leased(lease.id)
                yield partition, lease

    def _room(self) -> int:
        """How many more leases may be out."""
        if self.is_paused or self.no_room or self.links.held_up or not self.may_ask():
            return 0
        in_flight = self.in_flight
        wanted = self.page_memory.room(max(0, self._at_once.most - in_flight))
        return self.page_limit.room(wanted, in_flight)

    def _next_at(self) -> float | None:
        # With no room for leases there may still be turns that somebody else has booked.
        only_booked = self._room() == 0
        owned = [partition for partition in self.partitions.values() if not partition.is_leaving]
        moments = [partition.next_at(only_booked=only_booked) for partition in owned]
        moments += [self.page_limit.next_at(), self.page_memory.next_at()]
        if not self.may_ask():  # nobody tells when that is over
            moments.append(self.clock.now() + MAY_ASK_LOOK_S)
        return min((moment for moment in moments if moment is not None), default=None)

    async def _see_through(self, partition: Partition, lease: Lease) -> None:
        try:
            outcome = await self.crawl_one(partition, lease)
        except NotRead:
            # It stays leased, as after `kill -9`: the next start finds it.
            partition.in_flight -= not partition.is_lost
            self._ended(lease)
            self._news.set()
        else:
            self._outcomes.append((partition, outcome))
            self._ready_bytes += self.page_memory.of(lease.id)
            if self._ready_bytes > self.page_memory.bytes_max * EARLY_SHARE:
                self._commit_early.set()

    def _ended(self, lease: Lease) -> None:
        """Nothing will be finished of it."""
        self.page_limit.ended(lease.id)
        self.page_memory.ended(lease.id)

    async def _fetch(self, lease: Lease) -> Result:
        # Nobody asks for a URL longer than its lease: after that the frontier may hand it to someone else. Both go by
        # the time in which this process is awake (Clock.awake).
        try:
            async with asyncio.timeout(lease.expires_at - self.clock.now()):
                return await self.fetcher.fetch(lease)
        except TimeoutError:
            return Failed(Reason.TIMEOUT, None, "longer than its lease", self.clock.now())
        except NoBooking:
            return Postponed(NO_BOOKING_S, Reason.ROBOTS_UNREACHABLE)
        except Exception as fault:
            if short := lacking(fault):
                return postponed(short)
            raise

    def _have_fewer(self, why: str) -> None:
        self._at_once.lower(why, self.in_flight)

    async def _commit_often(self) -> None:
        while True:
            await self.clock.wait(self._commit_early, self.clock.now() + self.commit_s)
            self._commit_early.clear()
            await self.commit()


@dataclass(slots=True)
class Suspected:
    """Should the page take us down with it, this is the one."""

    partition: Partition
    lease: Lease

    def __enter__(self) -> None:
        self.partition.processing(self.lease)

    def __exit__(self, *_: object) -> None:
        self.partition.processed()
