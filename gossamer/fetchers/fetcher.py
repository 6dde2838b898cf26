"""`gossamer fetcher`: a process that fetches for crawls elsewhere. It keeps nothing.

It asks at the address of `--join` which workers there are (Workers), every two seconds, because workers come and go;
and it has a stream to each of them. All it does comes as a job, under the rules that come with the stream, and what
it is told by nobody it does not do. It serves one crawl, on one machine or on several nodes (`--join` for each).

It ends when it is told to, after it has answered what it has; at once, when it is told again. Killed, frozen or cut
off it costs the crawl one job time for each job that it had.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import grpc
import grpc.aio

from gossamer.clock import Clock
from gossamer.fetchers.fetchers_pb2 import DESCRIPTOR, WorkersRequest
from gossamer.fetchers.messages import MESSAGE_BYTES_MAX, Hello, Welcome
from gossamer.fetchers.rules import Rules
from gossamer.fetchers.stream import Stream
from gossamer.rpc.methods import client
from gossamer.settings import DnsSettings

CRAWLER, FETCHERS = (DESCRIPTOR.services_by_name[name] for name in ("Crawler", "Fetchers"))
LOOK_S = 2.0  # between two looks which workers there are
ANSWER_S = 5.0  # for them to tell
OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 3_000),  # and not two minutes: a crawl that is started again has work
    ("grpc.use_local_subchannel_pool", 1),  # each stream has a connection of its own
)


class WrongCrawl(Exception):
    """The rules are not those of the crawl that this fetcher serves."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """How a fetcher shows who it is, and knows whom it talks to."""

    key: str = ""
    ca_file: str = ""  # with it, it speaks TLS
    certificate_file: str = ""
    key_file: str = ""

    def channel(self, address: str) -> grpc.aio.Channel:
        if not self.ca_file:
            return grpc.aio.insecure_channel(address, options=OPTIONS)
        own = Path(self.key_file).read_bytes() if self.key_file else None
        chain = Path(self.certificate_file).read_bytes() if self.certificate_file else None
        trusted = grpc.ssl_channel_credentials(Path(self.ca_file).read_bytes(), own, chain)
        return grpc.aio.secure_channel(address, trusted, options=OPTIONS)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.key}"),) if self.key else ()


class Fetcher:
    def __init__(
        self,
        hello: Hello,
        joins: Sequence[str],
        access: Access,
        dns: DnsSettings,
        proxy: tuple[str, ...],
        clock: Clock,
        say: Callable[[str], None],
        *,
        at_once: int,
        allow_private: bool,
    ) -> None:
        """`joins`: HOST:PORT of a crawl, or of each node of one."""
        self._hello = hello
        self._joins = joins
        self._access = access
        self._dns = dns
        self._proxy = proxy
        self._clock = clock
        self._say = say
        self._at_once = at_once
        self._allow_private = allow_private
        self._streams: dict[str, Stream] = {}  # by address
        self._rules: Rules | None = None
        self._said: dict[str, str] = {}  # of each address, last
        self._is_leaving = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._is_leaving.set)
        try:
            async with asyncio.TaskGroup() as tasks:
                following = [tasks.create_task(self._follow(join, tasks)) for join in self._joins]
                await self._is_leaving.wait()
                for number in (signal.SIGINT, signal.SIGTERM):  # the next one ends it at once
                    loop.remove_signal_handler(number)
                for task in following:
                    task.cancel()
                self._say("no more jobs are taken; those under way are finished")
                for stream in self._streams.values():
                    stream.leave()
                while not all(stream.is_idle for stream in self._streams.values()):
                    await self._clock.sleep(0.05)
                await self._clock.sleep(0.2)  # what was written last is on its way
                raise Ended
        except* Ended:
            pass
        finally:
            if self._rules is not None:
                await self._rules.close()

    async def _follow(self, join: str, tasks: asyncio.TaskGroup) -> None:
        """Have a stream to every worker that is there."""
        host = join.rpartition(":")[0]
        async with self._access.channel(join) as channel:
            crawler = client(channel, CRAWLER)
            while True:
                try:
                    there = await crawler.Workers(WorkersRequest(), timeout=ANSWER_S, metadata=self._access.metadata)
                    self._tell(join, f"{join}: {there.crawl}, {len(there.ports)} workers")
                    for address in (f"{host}:{port}" for port in there.ports):
                        if address not in self._streams and not self._is_leaving.is_set():
                            stream = self._streams[address] = Stream(
                                self._hello, self._clock, self._rules_of, self._room
                            )
                            tasks.create_task(self._serve(address, stream))
                except grpc.aio.AioRpcError as fault:
                    self._tell(join, f"{join}: nobody gives jobs ({fault.code().name}: {fault.details()})")
                await self._clock.sleep(LOOK_S)

    async def _serve(self, address: str, stream: Stream) -> None:
        try:
            async with self._access.channel(address) as channel:
                call = client(channel, FETCHERS).FetchJobs(metadata=self._access.metadata)
                drained = asyncio.ensure_future(stream.is_drained.wait())
                drained.add_done_callback(self._drained)
                try:
                    await stream.run(call)
                finally:
                    drained.cancel()
                    call.cancel()
        except* WrongCrawl as wrong:
            self._tell(address, f"{address}: {wrong.exceptions[0]}")
        finally:
            del self._streams[address]
            if stream.ended_by and not self._is_leaving.is_set():
                self._tell(address, f"{address}: the stream has ended ({stream.ended_by})")

    def _drained(self, done: asyncio.Future[Literal[True]]) -> None:
        if not done.cancelled():
            self._is_leaving.set()

    def _room(self) -> int:
        return max(1, self._at_once // max(1, len(self._streams)))

    def _rules_of(self, told: Welcome) -> Rules:
        if self._rules is None:
            self._rules = Rules(
                *(told, self._dns, self._proxy, self._clock),
                at_once=self._at_once,
                processes=self._hello.processes,
                allow_private=self._allow_private,
            )
        elif self._rules.told != told:
            raise WrongCrawl(
                f"{told.crawl} has other rules than those this fetcher began with: start another fetcher for it"
            )
        return self._rules

    def _tell(self, whom: str, text: str) -> None:
        """Once, until there is something else to tell."""
        if self._said.get(whom) != text:
            self._said[whom] = text
            self._say(text)


class Ended(Exception):
    """It was told to end, and has answered what it had."""
