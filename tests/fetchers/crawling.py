"""A crawl that listens for fetchers, fetchers that join it, and one that a test plays itself."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import grpc.aio

from gossamer.clock import passed
from gossamer.fetchers.fetchers_pb2 import DESCRIPTOR, Batch, WorkersRequest
from gossamer.fetchers.messages import Alive, Answered, Hello, Job, ToWorker, decode_to_fetcher, encode
from gossamer.fetchers.stream import hello_of
from gossamer.records import Exchange, Reason
from gossamer.rpc.methods import client
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start
from tests.node.cluster import listen

SERVICES = DESCRIPTOR.services_by_name


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Crawling:
    """A crawl and its fetchers, as processes of the command."""

    def __init__(self, folder: Path, web: Server) -> None:
        self.folder = folder
        self.web = web
        self.join = f"127.0.0.1:{free_port()}"
        self.crawl: asyncio.subprocess.Process
        self.fetchers: dict[str, asyncio.subprocess.Process] = {}
        self._said: dict[object, list[bytes]] = {}
        self._listening: list[asyncio.Task[None]] = []

    async def start(self, *flags: object, seeds: int = 2, **settings: object) -> None:
        urls = [self.web.url(index) for index in range(seeds)]
        words = ("crawl", *urls, "--dir", self.folder, "--allow-private", "--scope", "any", "--fetchers", self.join)
        self.crawl = await start(*words, *quick_settings(**settings), *flags)
        self._hear("crawl", self.crawl)

    async def fetcher(self, name: str, *flags: object) -> None:
        words = ("fetcher", "--join", self.join, "--name", name, "--allow-private", *flags)
        self.fetchers[name] = await start(*words)
        self._hear(name, self.fetchers[name])

    def _hear(self, name: str, process: asyncio.subprocess.Process) -> None:
        said = self._said.setdefault(name, [])
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            self._listening.append(asyncio.ensure_future(listen(pipe, said)))

    def said(self, name: str) -> str:
        return b"".join(self._said.get(name, [])).decode()

    async def ended(self, timeout_s: float = 90) -> None:
        async with asyncio.timeout(timeout_s):
            code = await self.crawl.wait()
        assert code == 0, self.said("crawl")

    async def status(self) -> dict[str, Any]:
        ran = await gossamer("status", self.folder, "--json")
        facts: dict[str, Any] = json.loads(ran.out) if ran.code == 0 else {"now": None}  # it is not a crawl yet
        return facts

    async def until_begun(self) -> None:
        async with asyncio.timeout(90):
            while (await self.status())["now"] is None:
                pass

    async def until_joined(self, *names: str) -> None:
        now = None
        try:
            async with asyncio.timeout(90):
                while True:
                    now = (await self.status())["now"]
                    if now and {each["name"] for each in now["fetchers"]} >= set(names):
                        return
        except TimeoutError:
            said = "\n".join(self.said(name) for name in ("crawl", *names))
            raise AssertionError(f"they have not joined: {now and now['fetchers']}\n{said}") from None

    async def close(self) -> None:
        for process in (self.crawl, *self.fetchers.values()):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        for task in self._listening:
            await task


@asynccontextmanager
async def crawling(folder: Path, hosts: int = 4, pages: int = 8) -> AsyncIterator[Crawling]:
    async with serve(Web(WebOptions.plain(hosts=hosts, pages_per_host=pages, page_bytes=4_000))) as web:
        made = Crawling(folder, web)
        try:
            yield made
        finally:
            await made.close()


class Played:
    """A fetcher that a test plays: it says what the test wants, and asks nobody."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.crawl = ""
        self.jobs: asyncio.Queue[Job] = asyncio.Queue()

    async def say(self, *messages: ToWorker) -> None:
        await self.call.write(Batch(messages=encode(list(messages))))

    async def alive(self, room: int = 1) -> None:
        while True:
            await self.say(Alive(passed(), room))
            await asyncio.sleep(0.5)

    async def hear(self) -> None:
        while (batch := await self.call.read()) is not grpc.aio.EOF:
            for message in decode_to_fetcher(batch.messages):
                if isinstance(message, Job):
                    self.jobs.put_nowait(message)

    async def job(self) -> Job:
        async with asyncio.timeout(60):
            return await self.jobs.get()


def not_there(job: Job) -> Answered:
    """A robots.txt that is not there, say: there is nothing else to tell about it."""
    return Answered(job.number, "failed", exchange_of(404), reason=Reason.GONE)


def exchange_of(status: int) -> Exchange:
    return Exchange(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 %d x\r\n\r\n" % status, status, "", 0.0, 0.0, 0.0)


@asynccontextmanager
async def played(join: str, name: str = "played", hello: Hello | None = None, key: str = "") -> AsyncIterator[Played]:
    metadata: Sequence[tuple[str, str]] = [("authorization", f"Bearer {key}")] if key else []
    async with grpc.aio.insecure_channel(join) as channel:
        ports: list[int] = []
        async with asyncio.timeout(90):
            while not ports:
                with suppress(grpc.aio.AioRpcError):
                    there = await client(channel, SERVICES["Crawler"]).Workers(WorkersRequest(), metadata=metadata)
                    ports = list(there.ports)
                await asyncio.sleep(0.1)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{ports[0]}") as channel:
        call = client(channel, SERVICES["Fetchers"]).FetchJobs(metadata=metadata)
        made = Played(call)
        made.crawl = there.crawl
        await made.say(hello or hello_of(name, "", processes=False))
        beside = [asyncio.ensure_future(made.alive()), asyncio.ensure_future(made.hear())]
        try:
            yield made
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            call.cancel()
