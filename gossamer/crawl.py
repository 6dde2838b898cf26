"""START HERE: one URL's life. Lease, fetch, process; then judge, save, send, finish.

    frontier.lease   a host may be asked, and this is its next URL           frontier/
    fetcher.fetch    robots.txt, then at most one request                    fetch/
    processor        text, title, links                                      process/
    duplicates.judge has another URL shown this content before?              process/duplicates.py
    archive.save     request and answer, durable                             archive/
    bus.send         links, durable at the partitions that own them          cluster/
    frontier.finish  the URL's outcome, in one batch with the host's clock   frontier/

The first three happen for each page by itself, many at a time. The others happen for all pages of a moment together
(`commit`): one question, one flush, one message, one write batch a partition. Nothing is finished before it is
durable.

This is the only file that knows the order. It knows the stages by `interfaces.py` alone. With other workers about,
when the crawl is over is not decided here: they may still send links (see supervisor.py).
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TypeVar

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.interfaces import Archive, Bus, Duplicates, Fetcher, Frontier, NoTurn, Processor, Unreachable
from gossamer.records import (
    SITEMAP,
    Claim,
    Failed,
    Fetched,
    Lease,
    Link,
    Moved,
    Outcome,
    Postponed,
    Reason,
    Result,
    RobotsRead,
    Verdict,
)
from gossamer.url.site import ascending

NO_ROOM_S = 1.0  # between two tries to save while the disk is full
AWAY_S, AWAY_S_MAX = 0.25, 15.0  # the same while it does not answer at all: doubled at every try
NO_TURN_S = 10.0  # until a host's robots.txt is looked for again at another host that had no turn for it

T = TypeVar("T")

HandOn = Callable[[Sequence[Outcome]], Awaitable[None]]
"""Gets what was just finished; the next commit waits for it."""

ShareOut = Callable[[Lease, list[Link]], list[int]]
"""What each link of a page is worth (schedule/planner.py)."""


def nothing(lease: Lease, links: list[Link]) -> list[int]:
    """Where nobody counts."""
    return [0] * len(links)


@dataclass
class Partition:
    """A part of the crawl that this worker owns: its frontier, and the archive files that go with it."""

    number: int
    frontier: Frontier
    archive: Archive
    in_flight: int = 0  # leased, and not yet finished
    is_leaving: bool = False  # on its way to another worker: nothing more is leased from it


class Crawl:
    def __init__(
        self,
        partitions: Iterable[Partition],
        fetcher: Fetcher,
        processor: Processor,
        duplicates: Duplicates,
        bus: Bus,
        clock: Clock,
        *,
        in_flight_max: int,
        commit_s: float,
        near_words_min: int = 1,
        ascend: bool = False,
        share_out: ShareOut = nothing,
        pages_left: int | None = None,
        watch: Callable[[Outcome], None] = lambda outcome: None,
        say: Callable[[str], None] = lambda text: None,
        hand_on: HandOn | None = None,
        reached: Callable[[str], None] = lambda point: None,
    ) -> None:
        """`pages_left`: how many more may be fetched; None: as many as there are. `reached`: see worker.py."""
        self.partitions = {partition.number: partition for partition in partitions}
        self.fetcher = fetcher
        self.processor = processor
        self.duplicates = duplicates
        self.bus = bus
        self.clock = clock
        self.in_flight_max = in_flight_max
        self.commit_s = commit_s
        self.near_words_min = near_words_min
        self.ascend = ascend
        self.share_out = share_out
        self.pages_left = pages_left
        self.watch = watch
        self.say = say
        self.hand_on = hand_on
        self.reached = reached
        self.is_paused = False
        self.no_room = ""  # why nothing can be saved at the moment
        self._outcomes: list[tuple[Partition, Outcome]] = []
        self._stopping = False
        self._news = asyncio.Event()  # something was answered, added, finished or decided: look again

    async def crawl_one(self, partition: Partition, lease: Lease) -> Outcome:
        result = await self._fetch(lease)
        # From here on the host's delay runs, while we go on working at what it sent. The lease does not run out any
        # more: nobody else gets the URL, however long the archive makes us wait.
        partition.frontier.answered(lease, result)
        self._news.set()
        if not isinstance(result, Fetched):
            return Outcome(lease, result)
        if result.is_not_modified:
            return Outcome(lease, result, verdict=Verdict("unchanged", lease.url))
        page = await self.processor.process(lease.url, result, partial(blamed, partition.frontier, lease))
        simhash = page.simhash if page.words >= self.near_words_min else None
        claim = Claim(sha256(result.body).hexdigest(), lease.url, result.exchange.started_at, simhash)
        if claim.content_hash == lease.content_hash:
            return Outcome(lease, result, page, Verdict("unchanged", lease.url), claim)
        return Outcome(lease, result, page, claim=claim)

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
            *(self.patiently(partial(partition.archive.save, outcomes)) for partition, outcomes in shares)
        )
        self.reached("after_save")
        await self.bus.send(
            link for _, outcome in finished for link in links_of(outcome, self.share_out, ascend=self.ascend)
        )
        self.reached("after_send")
        pages_before = sum(partition.frontier.pages for partition, _ in shares)
        for (partition, outcomes), where in zip(shares, places, strict=True):
            partition.frontier.finish(outcomes, where, partition.archive.end)
            self.reached("after_finish")
        await self.duplicates.settle([claim for partition, _ in shares for claim in partition.frontier.claims])
        self.reached("after_settle")
        for partition, outcomes in shares:
            partition.in_flight -= len(outcomes)
        self.allow(len(finished) - (sum(partition.frontier.pages for partition, _ in shares) - pages_before))
        self._news.set()
        if self.hand_on is not None:
            await self.hand_on([outcome for _, outcome in finished])

    async def _judged(self) -> list[tuple[Partition, Outcome]]:
        """What can be finished now. What shows the content of a page that is just being finished waits for that."""
        outcomes, self._outcomes = self._outcomes, []
        claims = [outcome.claim for _, outcome in outcomes if outcome.claim and outcome.verdict.is_original]
        # Judged against other URLs only: a page repeated after a crash must still send its links.
        verdicts = iter(await self.duplicates.judge(claims)) if claims else iter(())
        finished = []
        for partition, outcome in outcomes:
            judged = outcome
            if outcome.claim and outcome.verdict.is_original:  # else it is as it was at the visit before
                verdict = next(verdicts)
                if verdict is None:
                    self._outcomes.append((partition, outcome))
                    continue
                judged = replace(outcome, verdict=verdict)
            self.watch(judged)
            finished.append((partition, judged))
        return finished

    async def run(self, *, alone: bool = True) -> None:
        """Crawl until `stop` is called, then finish what is open. Alone, it ends by itself when nothing is left.

        A bug in any stage ends everything here, and that is safe: what was in flight is still leased.
        """
        async with asyncio.TaskGroup() as tasks:
            committing = tasks.create_task(self._commit_often())
            while not self._stopping:
                self._news.clear()
                for partition, lease in self._leases():
                    tasks.create_task(self._see_through(partition, lease))
                if alone and self.is_idle:
                    break
                await self.clock.wait(self._news, self._next_at())
            while self.in_flight:
                self._news.clear()
                await self.clock.wait(self._news, None)
            committing.cancel()

    def stop(self) -> None:
        """Lease nothing more; `run` returns when what is in flight is finished."""
        self._stopping = True
        self._news.set()

    def look_again(self) -> None:
        """Something changed elsewhere: there may be something to lease."""
        self._news.set()

    def allow(self, pages: int) -> None:
        """So many pages more, where their number is limited. A lease takes one, in case it becomes a page."""
        if self.pages_left is not None:
            self.pages_left += pages
            self._news.set()

    async def give_up(self, partition: Partition) -> None:
        """Lease nothing more of a partition, finish what is open of it, and let it go."""
        partition.is_leaving = True
        while partition.in_flight:
            await self.clock.sleep(self.commit_s / 4)
        del self.partitions[partition.number]

    @property
    def in_flight(self) -> int:
        return sum(partition.in_flight for partition in self.partitions.values())

    @property
    def is_idle(self) -> bool:
        """Nothing is in flight, queued or waiting: only links from elsewhere can bring work."""
        return all(each.in_flight == 0 and each.frontier.is_empty for each in self.partitions.values())

    def _leases(self) -> Iterator[tuple[Partition, Lease]]:
        for partition in list(self.partitions.values()):
            if partition.is_leaving:
                continue
            for lease in partition.frontier.lease(self._room()):
                partition.in_flight += 1
                if self.pages_left is not None:
                    self.pages_left -= 1
                yield partition, lease

    def _room(self) -> int:
        """How many more leases may be out. Each could become a page, and the limit of pages is kept exactly."""
        if self.is_paused or self.no_room:
            return 0
        room = self.in_flight_max - self.in_flight
        return max(0, room if self.pages_left is None else min(room, self.pages_left))

    def _next_at(self) -> float | None:
        # With no room for leases there may still be turns that somebody else has booked.
        only_booked = self._room() == 0
        owned = [each.frontier for each in self.partitions.values() if not each.is_leaving]
        moments = [frontier.next_at(only_booked=only_booked) for frontier in owned]
        return min((moment for moment in moments if moment is not None), default=None)

    async def _see_through(self, partition: Partition, lease: Lease) -> None:
        outcome = await self.crawl_one(partition, lease)
        self._outcomes.append((partition, outcome))

    async def _fetch(self, lease: Lease) -> Result:
        # Nobody asks for a URL longer than its lease: after that the frontier may hand it to someone else.
        try:
            async with asyncio.timeout(lease.expires_at - self.clock.now()):
                return await self.fetcher.fetch(lease)
        except TimeoutError:
            return Failed(Reason.TIMEOUT, None, "longer than its lease", self.clock.now())
        except NoTurn:
            return Postponed(NO_TURN_S, Reason.ROBOTS_UNREACHABLE)

    async def _commit_often(self) -> None:
        while True:
            await self.clock.sleep(self.commit_s)
            await self.commit()

    async def patiently(self, do: Callable[[], Awaitable[T]]) -> T:
        """Do something with the archive, or wait until it can be done, for ever: no page is finished without it."""
        why, wait_s = "", AWAY_S
        while True:
            try:
                done = await do()
                break
            except Unreachable as away:
                why, wait_s = str(away), min(2 * wait_s, AWAY_S_MAX)
            except OSError as full:
                if full.errno != errno.ENOSPC:
                    raise  # a quota or a limit does not go away by itself
                why, wait_s = str(full), NO_ROOM_S
            self._wait_for_archive(why)
            await self.clock.sleep(wait_s)
        if why:
            self._wait_for_archive("")
        return done

    def _wait_for_archive(self, why: str) -> None:
        """Nothing is leased while there is a reason. It is said when that begins, and when it is over."""
        if why and not self.no_room:
            self.say(f"{why}. The crawl waits for it; nothing is lost")
        elif self.no_room and not why:
            self.say("the archive is back: going on")
        self.no_room = f"{why}; {self.in_flight:,} URLs in flight wait for it" if why else ""
        self._news.set()


@contextmanager
def blamed(frontier: Frontier, lease: Lease) -> Iterator[None]:
    """Should the page take us down with it, this is the one to blame: by an exception too, so it stays noted then."""
    frontier.processing(lease)
    yield
    frontier.processed()


def links_of(outcome: Outcome, share_out: ShareOut = nothing, *, ascend: bool = False) -> list[Link]:
    """What an outcome gives the frontier: a page's links, where a redirect leads, or what robots.txt names."""
    came_by = outcome.lease.link
    match outcome.result:
        case Moved(target=target):
            chain = (*came_by.chain, came_by.url)
            value = (came_by.context, came_by.max_depth, came_by.priority)
            link = Link(target, "", came_by.rel, came_by.url, came_by.depth, chain, None, "", *value)
            return [replace(link, worth=worth) for worth in share_out(outcome.lease, [link])]
        case RobotsRead(robots=robots, sitemaps=sitemaps):
            # As near as a seed: what they list is as near as what the home page links to.
            source, reach = f"{robots.origin}/robots.txt", came_by.max_depth
            return [Link(url, rel=SITEMAP, source=source, max_depth=reach) for url in sitemaps]
        # A near copy may lead elsewhere than its original: its text is nearly the same, its links need not be.
        case Fetched() if outcome.page and outcome.verdict.kind != "same" and not outcome.page.nofollow:
            source, depth, reach = came_by.url, came_by.depth + 1, came_by.max_depth
            links = [
                Link(
                    one.url,
                    one.anchor,
                    one.rel,
                    source,
                    depth,
                    (),
                    one.lastmod,
                    one.position,
                    one.context,
                    reach,
                    None,
                    worth,
                )
                for one, worth in zip(outcome.page.links, share_out(outcome.lease, outcome.page.links), strict=True)
            ]
            if ascend:
                links += [Link(url, source=source, depth=depth, max_depth=reach) for url in ascending(source)]
            return links
    return []
