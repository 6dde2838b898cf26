"""What a worker has where fetchers fetch for it (gossamer/fetchers): jobs, regions, and a port at which they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

from gossamer import interfaces
from gossamer.access.keys import Keys
from gossamer.clock import Clock
from gossamer.cluster.pace import GO
from gossamer.cluster.partitions import partition_of
from gossamer.cluster.wire import BadMessage
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetchers.jobs import Jobs
from gossamer.fetchers.messages import Welcome
from gossamer.fetchers.regions import Regions
from gossamer.fetchers.remote import RemoteFetcher, RemoteProcessor
from gossamer.fetchers.reports import answer_from, lease_in
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.rules.policy import Policies
from gossamer.interfaces import Pause, Resolver, SchemeFetcher, SharedState
from gossamer.messages.control_messages import FetchReport
from gossamer.messages.worker_messages import FetchersReport
from gossamer.settings import Tree
from gossamer.text import COMMAND
from gossamer.worker.identity import identity
from gossamer.worker.partition import Partition

PORTS = 256  # behind that of the crawl, the first free one is a worker's


class FetchersSide:
    def __init__(
        self,
        folder: CrawlFolder,
        config: Tree,
        clock: Clock,
        resolver: Resolver,
        shared: SharedState,
        partitions: Mapping[int, Partition],
        policies: Callable[[], Policies],
        complain: Callable[[str], None],
        look_again: Callable[[], None],
    ) -> None:
        """`policies`: as they are now."""
        self.port = 0
        self.jobs = Jobs(clock, config.fetchers.job_s(config.fetch), look_again)
        self._folder = folder
        self._config = config
        self._clock = clock
        self._shared = shared
        self._partitions = partitions
        self._policies = policies
        self._complain = complain
        self._regions = Regions(config.fetchers, self._wanted, resolver)
        self._charged_bytes = 0

    async def open(
        self,
        fetcher: Fetcher,
        scheme_fetchers: Mapping[str, SchemeFetcher],
        processor: interfaces.Processor,
        exit: AsyncExitStack,
    ) -> tuple[interfaces.Fetcher, interfaces.Processor]:
        """What the loop has instead of these two, once fetchers can come."""
        from gossamer.fetchers.fetchers_pb2 import DESCRIPTOR  # noqa: PLC0415 - of an extra
        from gossamer.fetchers.service import JobService  # noqa: PLC0415 - of an extra
        from gossamer.rpc.server import RpcServer, Service, address_in  # noqa: PLC0415 - of an extra

        config, descriptor = self._config, DESCRIPTOR.services_by_name["Fetchers"]
        servicer = JobService(self.jobs, self._welcome(), self._clock, self._complain)
        service = Service(descriptor, servicer, fetches=frozenset({"FetchJobs"}))
        host, port = address_in(config.fetchers.listen)
        name = f"[{host}]" if ":" in host else host
        for each in range(port + 1, min(65_535, port + PORTS)) if port else (0,):
            server = RpcServer([service], f"{name}:{each}", config.rpc, Keys(self._folder.path), self._clock)
            try:
                self.port = int((await server.start()).rpartition(":")[2])
            except FolderError:
                continue  # it is another worker's
            break
        else:
            raise FolderError(f"fetchers.listen: none of {PORTS} ports behind {port} is free on {host}")
        exit.push_async_callback(server.stop, 0.0)  # streams have no end of their own
        remote = RemoteFetcher(
            *(fetcher, scheme_fetchers, self.jobs, self._regions, config.fetch, self._folder.archive),
            epoch_of=self._epoch_of,
            crawl_pace=self._crawl_pace,
            fetches_alone=config.fetchers.alone,
            looks_into=lambda: self._clock.random.random() < config.fetchers.checked_share,
        )
        return remote, RemoteProcessor(processor)

    def _welcome(self) -> Welcome:
        config, crawl, politeness = self._config, self._config.crawl, self._config.politeness
        return Welcome(
            self._folder.path.name,
            identity(crawl),
            crawl.user_agent_token,
            config.fetch,
            config.process,
            crawl.media_types,
            crawl.parameters_dropped,
            crawl.parameters_kept,
            politeness.ip_requests_per_s,
            politeness.ip_burst,
            crawl.allow_private,
            config.fetchers.ask_s,
        )

    def _wanted(self, host: str) -> str | None:
        """The region that an operator wants for a host."""
        return self._policies().of_name(host).region

    def _epoch_of(self, host: str) -> int:
        partition = self._partitions.get(partition_of(f"http://{host}/", self._config.crawl.partitions))
        return partition.epoch if partition is not None else 0

    async def _crawl_pace(self, host: str) -> Pause:
        """The pace of addresses is the fetchers' own, that of the crawl is shared by all. A host stands for its
        address here: nobody asks it faster than its delay."""
        received = self.jobs.received_bytes
        surplus_bytes, self._charged_bytes = received - self._charged_bytes, received
        if not any(self._policies().crawl.over(self._config.politeness)):
            return GO
        pause = await self._shared.pace(host, surplus_bytes)
        self._charged_bytes += pause.charged_bytes
        return pause

    def take(self, report: FetchReport) -> str:
        """A report beside any stream. Returns why it changes nothing; empty: it does."""
        out = self.jobs.out(*lease_in(report)) if report.crawl == self._folder.path.name else "crawl"
        if not isinstance(out, str):
            try:
                self.jobs.settle(out, answer_from(report, out.wanted.limits, out.sent_at, self._clock.now()))
                return ""
            except BadMessage:
                out = "bad"
        self.jobs.ignored[out] += 1
        return out

    @property
    def held_up(self) -> str:
        """Why nothing can be asked for at the moment."""
        if self.jobs.has_fetchers or self._config.fetchers.alone:
            return ""
        return f"no fetcher is there: `{COMMAND} fetcher --join {self._config.fetchers.listen}` brings one"

    def report(self) -> FetchersReport:
        return FetchersReport(self.port, self.jobs.reports(), dict(self.jobs.ignored), self.jobs.lost)
