"""The methods of URLFrontier, each as the contract has it. One node: what is for all nodes is for this one.

PutURLs and PutDiscovered read a message only while fewer than so many wait for their acknowledgement.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, NoReturn

import grpc
import grpc.aio

from gossamer.clock import Clock
from gossamer.urlfrontier import urlfrontier_pb2 as messages
from gossamer.urlfrontier.frontier import Frontier
from gossamer.urlfrontier.gathering import Gathering
from gossamer.urlfrontier.hand_out import LEASE_S, NO_BOUND, Wanted
from gossamer.urlfrontier.intake import Put, put_of
from gossamer.urlfrontier.listing import Listed, containing, find, listed
from gossamer.urlfrontier.metrics import Figures
from gossamer.urlfrontier.queues import DEFAULT_CRAWL, Crawl, Queue

ITEMS_MAX, BATCHES_MAX = 1024, 16  # of a stream, without acknowledgement
LISTED = 100  # where a client does not say how many
DAY_S = 86_400
READS = frozenset(
    {"ListNodes", "ListCrawls", "ListQueues", "GetStats", "GetActive", "GetURLStatus", "ListURLs", "CountURLs"}
)
LEVELS = {"TRACE": logging.DEBUG, "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING}

Context = Any  # grpc.aio.ServicerContext, which has no types


class UrlFrontierService:
    def __init__(self, frontier: Frontier, gathering: Gathering, figures: Figures, clock: Clock) -> None:
        self._frontier = frontier
        self._gathering = gathering
        self._figures = figures
        self._clock = clock
        self.address = ""  # set when it is known

    # ---- URLs ------------------------------------------------------------------------------------------------

    async def GetURLs(self, request: messages.GetParams, context: Context) -> None:
        begun = self._clock.awake()
        self._figures.get_calls += 1
        wanted = Wanted(
            request.crawlID or DEFAULT_CRAWL if request.WhichOneof("item") == "crawlID" else "",
            request.key,
            request.max_queues or NO_BOUND,
            request.max_urls_per_queue or NO_BOUND,
            request.delay_requestable or LEASE_S,
        )
        spent_s = 0.0
        for some in self._frontier.get(wanted):
            spent_s += self._clock.awake() - begun
            for each in some:
                await context.write(each)
            begun = self._clock.awake()
        self._figures.get_s += spent_s

    async def PutURLs(self, _: object, context: Context) -> None:
        self._figures.put_calls += 1

        def acks(item: messages.URLItem, statuses: Sequence[int]) -> messages.AckMessage:
            info = item.known.info if item.HasField("known") else item.discovered.info
            return messages.AckMessage(ID=item.ID or info.url, status=statuses[0])  # type: ignore[arg-type]

        await self._put(context, ITEMS_MAX, lambda item: [put_of(item)], acks)

    async def PutDiscovered(self, _: object, context: Context) -> None:
        self._figures.put_calls += 1

        def puts(batch: messages.DiscoveredBatch) -> list[Put | None]:
            return [Put(item.info, None) for item in batch.items]

        def ack(batch: messages.DiscoveredBatch, statuses: Sequence[int]) -> messages.BatchAck:
            return messages.BatchAck(ID=batch.ID, statuses=statuses)  # type: ignore[arg-type]

        await self._put(context, BATCHES_MAX, puts, ack)

    async def _put(
        self,
        context: Context,
        most: int,
        puts: Callable[[Any], Sequence[Put | None]],
        ack: Callable[[Any, Sequence[int]], Any],
    ) -> None:
        """Read while there is room, and acknowledge what is written, both at once."""
        room, acks, is_some = asyncio.Semaphore(most), deque[Any](), asyncio.Event()

        async def read() -> int:
            count = 0
            while True:
                await room.acquire()
                if (message := await context.read()) is grpc.aio.EOF:
                    return count
                count += 1

                def done(statuses: Sequence[int], message: Any = message) -> None:
                    acks.append(ack(message, statuses))
                    is_some.set()

                self._gathering.put(puts(message), done)

        reading = asyncio.ensure_future(read())
        reading.add_done_callback(lambda _: is_some.set())
        written = 0
        try:
            while not reading.done() or written < reading.result():
                await is_some.wait()
                is_some.clear()
                while acks:
                    await context.write(acks.popleft())
                    room.release()
                    written += 1
        finally:
            reading.cancel()

    async def GetURLStatus(self, request: messages.URLStatusRequest, context: Context) -> messages.URLItem:
        crawl = self._frontier.queues.crawls.get(request.crawlID or DEFAULT_CRAWL)
        record = find(self._frontier.store, crawl, request.url) if crawl else None
        queue = self._frontier.queues.by_number.get(record.queue) if record else None
        if record is None or queue is None or request.key not in ("", queue.record.key):
            await _refuse(context, grpc.StatusCode.NOT_FOUND, "this URL is not known here")
        info = self._frontier.info(record)
        if info is None:
            await _refuse(context, grpc.StatusCode.NOT_FOUND, "this URL is not known here")
        return _item(info, record.date, record.made_at)

    async def ListURLs(self, request: messages.ListUrlParams, context: Context) -> AsyncIterator[messages.URLItem]:
        passes = containing(request.filter, request.ignoreCase)
        at, end = 0, request.start + (request.size or LISTED)
        async for each in self._walk(self._chosen(request.crawlID, request.key)):
            if passes(each.info.url):
                if at >= request.start:
                    yield _item(each.info, each.record.date, each.record.made_at)
                at += 1
                if at >= end:
                    return

    async def CountURLs(self, request: messages.CountUrlParams, context: Context) -> messages.Long:
        queues = self._chosen(request.crawlID, request.key)
        if not request.filter:
            return messages.Long(value=sum(queue.active + queue.completed for queue in queues))
        passes = containing(request.filter, request.ignoreCase)
        return messages.Long(value=sum([passes(each.info.url) async for each in self._walk(queues)]))

    async def PurgeURLs(self, request: messages.PurgeUrlParams, context: Context) -> messages.Long:
        before = self._clock.now() - request.days * DAY_S
        purged = 0
        for some in listed(self._frontier.store, self._chosen(request.crawlID, request.key)):
            purged += self._frontier.forget([each.key for each in some if each.record.made_at < before])
            await asyncio.sleep(0)  # others get their turns
        return messages.Long(value=purged)

    async def _walk(self, queues: Iterable[Queue]) -> AsyncIterator[Listed]:
        for some in listed(self._frontier.store, queues):
            for each in some:
                yield each
            await asyncio.sleep(0)  # others get their turns

    # ---- queues and crawls -----------------------------------------------------------------------------------

    def _crawl(self, name: str) -> Crawl | None:
        return self._frontier.queues.crawls.get(name or DEFAULT_CRAWL)

    def _chosen(self, crawl: str, key: str) -> list[Queue]:
        """One queue, or all of a crawl."""
        if key:
            found = self._frontier.queues.find(crawl, key)
            return [found] if found else []
        of = self._crawl(crawl)
        return list(of.queues.values()) if of else []

    async def ListCrawls(self, request: messages.Local, context: Context) -> messages.StringList:
        return messages.StringList(values=[crawl.name for crawl in self._frontier.queues.begun()])

    async def DeleteCrawl(self, request: messages.DeleteCrawlMessage, context: Context) -> messages.Long:
        return messages.Long(value=self._frontier.delete(self._chosen(request.value, "")))

    async def ListQueues(self, request: messages.Pagination, context: Context) -> messages.QueueList:
        now = self._clock.now()
        keys = [
            queue.record.key
            for queue in self._chosen(request.crawlID, "")
            if request.include_inactive or (queue.active and queue.record.blocked_until <= now)
        ]
        shown = keys[request.start : request.start + (request.size or LISTED)]
        return messages.QueueList(
            values=shown,
            total=len(keys),
            start=request.start,
            size=len(shown),
            crawlID=request.crawlID or DEFAULT_CRAWL,
        )

    async def GetStats(self, request: messages.QueueWithinCrawlParams, context: Context) -> messages.Stats:
        self._frontier.end_leases()
        of = self._frontier.queues.find(request.crawlID, request.key) if request.key else self._crawl(request.crawlID)
        queues = len(of.queues) if isinstance(of, Crawl) else int(of is not None)
        active_queues = of.active_queues if isinstance(of, Crawl) else int(of is not None and of.active > 0)
        return messages.Stats(
            size=of.active if of else 0,
            inProcess=of.in_process if of else 0,
            counts={"completed": of.completed if of else 0, "active_queues": active_queues},
            numberOfQueues=queues,
            crawlID=request.crawlID or DEFAULT_CRAWL,
        )

    async def DeleteQueue(self, request: messages.QueueWithinCrawlParams, context: Context) -> messages.Long:
        queue = self._frontier.queues.find(request.crawlID, request.key)
        return messages.Long(value=self._frontier.delete([queue]) if queue else 0)

    async def BlockQueueUntil(self, request: messages.BlockQueueParams, context: Context) -> messages.Empty:
        self._frontier.tell(request.crawlID, request.key, blocked_until=request.time)
        return messages.Empty()

    async def SetDelay(self, request: messages.QueueDelayParams, context: Context) -> messages.Empty:
        if request.key:
            self._frontier.tell(request.crawlID, request.key, delay_s=request.delay_requestable)
        else:
            self._frontier.set_delay(request.delay_requestable)
        return messages.Empty()

    async def SetCrawlLimit(self, request: messages.CrawlLimitParams, context: Context) -> messages.Empty:
        self._frontier.tell(request.crawlID, request.key, limit=request.limit)
        return messages.Empty()

    # ---- the service -----------------------------------------------------------------------------------------

    async def ListNodes(self, request: messages.Empty, context: Context) -> messages.StringList:
        return messages.StringList(values=[self.address])

    async def SetActive(self, request: messages.Active, context: Context) -> messages.Empty:
        self._frontier.set_active(request.state)
        return messages.Empty()

    async def GetActive(self, request: messages.Local, context: Context) -> messages.Boolean:
        return messages.Boolean(state=self._frontier.service.is_active)

    async def SetLogLevel(self, request: messages.LogLevelParams, context: Context) -> messages.Empty:
        level = messages.LogLevelParams.Level.Name(request.level)
        logging.getLogger(request.package or None).setLevel(LEVELS.get(level, logging.ERROR))
        return messages.Empty()


def _item(info: messages.URLInfo, date: int, made_at: int) -> messages.URLItem:
    known = messages.KnownURLItem(info=info, refetchable_from_date=date)
    return messages.URLItem(known=known, creation_date=made_at)


async def _refuse(context: Context, code: Any, why: str) -> NoReturn:
    await context.abort(code, why)
    raise AssertionError("gRPC has ended the call")
