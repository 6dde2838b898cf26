"""START HERE: one URL's life. Lease, fetch, process, judge; then save, send, finish.

    frontier.lease   a host may be asked, and this is its next URL           frontier/
    fetcher.fetch    robots.txt, then at most one request                    fetch/
    processor        text, title, links                                      process/
    duplicates       has another URL shown this content before?              process/duplicates.py
    archive.save     request and answer, durable                             archive/
    bus.send         links, durable at the partitions that own them          cluster/
    frontier.finish  the URL's outcome, in one batch with the host's clock   frontier/

The first four happen for each page by itself, many at a time. The last three happen for all pages of a moment
together (`commit`): one flush, one message, one write batch a partition. Nothing is finished before it is durable.

This is the only file that knows the order. It knows the stages by `interfaces.py` alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from gossamer.clock import Clock
from gossamer.interfaces import Archive, Bus, Duplicates, Fetcher, Frontier, Processor
from gossamer.records import Claim, Failed, Fetched, Lease, Link, Moved, Outcome, Reason


@dataclass(frozen=True)
class Partition:
    """A part of the crawl that this worker owns: its frontier, and the archive files that go with it."""

    number: int
    frontier: Frontier
    archive: Archive


class Crawl:
    def __init__(
        self,
        partitions: Sequence[Partition],
        fetcher: Fetcher,
        processor: Processor,
        duplicates: Duplicates,
        bus: Bus,
        clock: Clock,
        *,
        in_flight_max: int,
        commit_s: float,
        pages_max: int | None = None,
        watch: Callable[[Outcome], None] = lambda outcome: None,
    ) -> None:
        self.partitions = partitions
        self.fetcher = fetcher
        self.processor = processor
        self.duplicates = duplicates
        self.bus = bus
        self.clock = clock
        self.in_flight_max = in_flight_max
        self.commit_s = commit_s
        self.pages_max = pages_max
        self.watch = watch
        self.in_flight = 0
        self._outcomes: list[tuple[Partition, Outcome]] = []
        self._stopping = False
        self._news = asyncio.Event()  # something was answered, added or finished: look again

    async def crawl_one(self, partition: Partition, lease: Lease) -> Outcome:
        result = await self.fetcher.fetch(lease)
        # From here on the host's delay runs, while we go on working at what it sent.
        partition.frontier.answered(lease, result)
        self._news.set()
        if not isinstance(result, Fetched):
            return Outcome(lease, result)
        page = await self.processor.process(lease.url, result)
        claim = Claim(sha256(result.body).hexdigest(), lease.url, result.exchange.started_at)
        # Judged against other URLs only: a page repeated after a crash must still send its links.
        verdict = await self.duplicates.judge(claim)
        return Outcome(lease, result, page, verdict, claim.content_hash)

    async def commit(self) -> None:
        # Save, then send links, then finish: a crash in between repeats a page, never loses one.
        finished, self._outcomes = self._outcomes, []
        if not finished:
            return
        shares = [
            (partition, [outcome for owner, outcome in finished if owner is partition])
            for partition in self.partitions
        ]
        shares = [(partition, outcomes) for partition, outcomes in shares if outcomes]
        places = await asyncio.gather(*(partition.archive.save(outcomes) for partition, outcomes in shares))
        await self.bus.send(link for _, outcome in finished for link in links_of(outcome))
        for (partition, outcomes), where in zip(shares, places, strict=True):
            partition.frontier.finish(outcomes, where, partition.archive.end)
            await self.duplicates.settle(partition.frontier.claims)
        self.in_flight -= len(finished)
        self._news.set()

    async def run(self) -> None:
        """Crawl until nothing is left, the limit of pages is reached, or `stop` was called; then finish what is open.

        A bug in any stage ends everything here, and that is safe: what was in flight is still leased.
        """
        async with asyncio.TaskGroup() as tasks:
            committing = tasks.create_task(self._commit_often())
            while not self._stopping:
                self._news.clear()
                for partition, lease in self._leases():
                    self.in_flight += 1
                    tasks.create_task(self._see_through(partition, lease))
                if self.in_flight == 0 and (self.is_complete or self.is_at_limit):
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
        """A turn was booked or has ended: there may be something to lease."""
        self._news.set()

    @property
    def pages(self) -> int:
        return sum(partition.frontier.pages for partition in self.partitions)

    @property
    def is_complete(self) -> bool:
        return all(partition.frontier.is_empty for partition in self.partitions)

    @property
    def is_at_limit(self) -> bool:
        return self.pages_max is not None and self.pages >= self.pages_max

    def _leases(self) -> Iterator[tuple[Partition, Lease]]:
        for partition in self.partitions:
            for lease in partition.frontier.lease(self._room()):
                yield partition, lease

    def _room(self) -> int:
        """How many more leases may be out. Each could become a page, and the limit of pages is kept exactly."""
        room = self.in_flight_max - self.in_flight
        if self.pages_max is not None:
            room = min(room, self.pages_max - self.pages - self.in_flight)
        return max(0, room)

    def _next_at(self) -> float | None:
        if self._room() == 0:
            return None
        moments = [partition.frontier.next_at() for partition in self.partitions]
        return min((moment for moment in moments if moment is not None), default=None)

    async def _see_through(self, partition: Partition, lease: Lease) -> None:
        # Nobody works on a URL longer than its lease: after that the frontier may hand it to someone else.
        try:
            async with asyncio.timeout(lease.expires_at - self.clock.now()):
                outcome = await self.crawl_one(partition, lease)
        except TimeoutError:
            failed = Failed(Reason.TIMEOUT, detail="longer than its lease", ended_at=self.clock.now())
            partition.frontier.answered(lease, failed)
            outcome = Outcome(lease, failed)
        self._outcomes.append((partition, outcome))
        self.watch(outcome)

    async def _commit_often(self) -> None:
        while True:
            await self.clock.sleep(self.commit_s)
            await self.commit()


def links_of(outcome: Outcome) -> list[Link]:
    """What an outcome gives the frontier: a page's links, or where a redirect leads."""
    came_by = outcome.lease.link
    match outcome.result:
        case Moved(target=target):
            return [Link(target, source=came_by.url, depth=came_by.depth, hops=came_by.hops + 1)]
        case Fetched() if outcome.page and outcome.verdict.is_original and not outcome.page.nofollow:
            depth = came_by.depth + 1
            return [
                Link(link.url, link.anchor, link.rel, came_by.url, depth, lastmod=link.lastmod)
                for link in outcome.page.links
            ]
    return []
