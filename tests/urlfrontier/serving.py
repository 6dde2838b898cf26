"""`gossamer frontier` as a user starts it, and a client of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio

from gossamer.rpc.methods import client
from gossamer.urlfrontier import urlfrontier_pb2 as messages
from gossamer.urlfrontier.urlfrontier_pb2 import AckMessage, DiscoveredURLItem, KnownURLItem, URLInfo, URLItem
from tests.crawl.command import start

OK, SKIPPED, FAIL = AckMessage.OK, AckMessage.SKIPPED, AckMessage.FAIL
SERVICE = messages.DESCRIPTOR.services_by_name["URLFrontier"]


class Served:
    """A running server and a client of it."""

    def __init__(self, process: asyncio.subprocess.Process, where: str, channel: grpc.aio.Channel) -> None:
        self.process = process
        self.where = where
        self.channel = channel
        self.call = client(channel, SERVICE)

    async def put(self, *items: URLItem) -> list[int]:
        """In their order, whatever that of the acknowledgements is."""
        for number, item in enumerate(items):
            item.ID = str(number)
        found = {ack.ID: ack.status async for ack in self.call.PutURLs(iter(items))}
        assert len(found) == len(items)
        return [found[item.ID] for item in items]

    async def get(self, crawl: str | None = None, **wanted: Any) -> list[str]:
        given = wanted if crawl is None else wanted | {"crawlID": crawl}
        return [info.url async for info in self.call.GetURLs(messages.GetParams(**given), timeout=90)]

    async def stats(self, crawl: str = "", key: str = "") -> messages.Stats:
        stats: messages.Stats = await self.call.GetStats(messages.QueueWithinCrawlParams(key=key, crawlID=crawl))
        return stats

    async def queues(self, crawl: str = "", **more: Any) -> list[str]:
        return list((await self.call.ListQueues(messages.Pagination(crawlID=crawl, **more))).values)

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def served(
    folder: Path, *flags: object, listen: str = "127.0.0.1:0", complains: str = ""
) -> AsyncIterator[Served]:
    """`complains`: what it has to say on standard error; by default nothing."""
    process = await start("frontier", "--dir", folder, "--listen", listen, *flags)
    assert process.stdout is not None and process.stderr is not None
    try:
        async with asyncio.timeout(30):
            while not (line := (await process.stdout.readline()).decode()).startswith("serving "):
                assert line, (await process.stderr.read()).decode()
        where = line.split()[-1]
        async with grpc.aio.insecure_channel(where) as channel:
            yield Served(process, where, channel)
    finally:
        if process.returncode is None:
            process.terminate()
        err = (await process.communicate())[1].decode()
    assert process.returncode in (0, -9), err
    assert complains in err if complains else not err, err


def discovered(url: str, key: str = "", crawl: str = "", metadata: dict[str, Sequence[str]] | None = None) -> URLItem:
    return URLItem(discovered=DiscoveredURLItem(info=info(url, key, crawl, metadata)))


def known(url: str, date: int = 0, key: str = "", crawl: str = "") -> URLItem:
    return URLItem(known=KnownURLItem(info=info(url, key, crawl), refetchable_from_date=date))


def info(url: str, key: str = "", crawl: str = "", metadata: dict[str, Sequence[str]] | None = None) -> URLInfo:
    made = URLInfo(url=url, key=key, crawlID=crawl)
    for name, values in (metadata or {}).items():
        made.metadata[name].values.extend(values)
    return made
