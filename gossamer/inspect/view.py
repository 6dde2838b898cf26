"""A look into a crawl's folder from outside, running or not: read-only, and as of the moment it was opened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import msgspec

from gossamer import config
from gossamer.archive.opening import open_storage
from gossamer.archive.segments import check_new
from gossamer.archive.storage import ArchiveDamaged
from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.config import Configuration
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.store import RocksStore, is_store
from gossamer.frontier.disk.tables import TABLES, Totals, host_key
from gossamer.frontier.gains import Gains
from gossamer.frontier.patterns import Patterns
from gossamer.frontier.rules.policy import Policies
from gossamer.frontier.rules.priority import with_start
from gossamer.records import Host, Place, RobotsCopy, State, Url, UrlRecord
from gossamer.schedule.planner import Planner
from gossamer.schedule.ranks import Ranks
from gossamer.seeds import SeedList
from gossamer.url.canonical import choose_for
from gossamer.url.link_filter import LinkFilter, link_filter_of
from gossamer.visitor.cookies import Jar, jar_name
from gossamer.worker.progress import total


class CrawlView(AbstractContextManager["CrawlView"]):
    def __init__(self, path: Path, only: Collection[int] | None = None) -> None:
        """`only`: the others are as if nothing were known of them; a node may be restoring one just now."""
        self.folder = CrawlFolder(path)
        self.folder.must_be_crawl()
        self.configuration: Configuration = config.load(path, environment={})
        choose_for(self.configuration.tree)
        self._exit = ExitStack()
        self._stores: list[RocksStore] = []
        self._readers: list[PartitionReader] = []
        self._planners: dict[int, Planner] = {}
        try:
            for number in range(self.configuration.tree.crawl.partitions):
                is_wanted = only is None or number in only
                self._stores.append(
                    self._open(number) if is_wanted else RocksStore(path / "elsewhere", TABLES, read_only=True)
                )
                self._readers.append(PartitionReader(self._stores[-1]))
        except BaseException:
            self._exit.close()
            raise

    def _open(self, number: int) -> RocksStore:
        path, settings = self.folder.partition(number), self.configuration.tree.archive
        for tries_left in (3, 2, 1, 0):
            try:
                if not settings.url and not is_store(path):  # a bucket would have to be asked
                    check_new(path, open_storage(settings, self.folder.archive), number)
                store = RocksStore(path, TABLES, read_only=True)
                break
            except (StoreDamaged, ArchiveDamaged) as fault:
                # A running crawl may make a store meanwhile, or remove a file between our reading its name and
                # opening it.
                if tries_left == 0:
                    raise StoreDamaged(str(fault), path) from fault
        self._exit.callback(store.close)
        return store

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _reader(self, url: Url) -> PartitionReader:
        return self._readers[partition_of(url, len(self._readers))]

    @property
    def partitions(self) -> range:
        return range(len(self._readers))

    def totals(self) -> Totals:
        return total(reader.meta().totals for reader in self._readers)

    def in_flight(self) -> int:
        return sum(reader.in_flight() for reader in self._readers)

    def state(self, url: Url) -> UrlRecord | None:
        return self._reader(url).state(url)

    def host(self, url: Url, name: str) -> Host | None:
        return self._reader(url).host(host_key(name))

    def robots(self, origin: str) -> RobotsCopy | None:
        return self._reader(origin).robots(origin)

    def jar(self, url: Url) -> Jar:
        """The cookies of a URL's site."""
        return self._reader(url).jar(jar_name(url))

    def archive_of(self, url: Url) -> tuple[int, Place | None]:
        """The partition whose files have the visits to a URL, and where they end; None: nothing was stored."""
        partition = partition_of(url, len(self._readers))
        return partition, self._readers[partition].meta().archive_end

    def filters(self, clock: Clock) -> LinkFilter:
        """What a link has to pass to be let in."""
        tree = self.configuration.tree
        return link_filter_of(SeedList(self.folder.path).index(tree.crawl.scope), tree, clock)

    def patterns(self, url: Url, is_home: Callable[[str], bool]) -> Patterns:
        """What is known of the patterns of URLs, of the hosts in the URL's partition. `is_home`: see Filters."""
        store = self._stores[partition_of(url, len(self._stores))]
        return Patterns(store, self.configuration.tree.traps, {}, is_home)

    def gains(self, url: Url) -> Gains:
        """What rendering gained for patterns of URLs, of the hosts in the URL's partition."""
        return Gains(self._stores[partition_of(url, len(self._stores))])

    def planner(self, url: Url) -> Planner:
        """What the URL's partition goes by when it says what a page is worth and when it comes again."""
        partition = partition_of(url, len(self._readers))
        if partition in self._planners:
            return self._planners[partition]
        tree = self.configuration.tree
        planner = Planner(tree.schedule, tree.process, self.folder.recrawl_plan())
        if (plans := self._readers[partition].plans()) is not None:
            planner.load(plans)
        planner.ranks = Ranks.open(self.folder.path)
        self._planners[partition] = planner
        return planner

    def authority(self, host: Host, policies: Policies) -> float:
        """As the frontier has it: what an operator says, else what links say."""
        said = policies.of(host).priority
        if said is not None:
            return said
        return round(
            with_start(
                self.planner(f"http://{bracketed(host.name)}/").credit.authority(host),
                self.configuration.tree.frontier,
            ),
            4,
        )

    def known(self, host: str | None = None) -> Iterator[UrlRecord]:
        """Every URL that was accepted, of one host or of all."""
        for reader in self._readers if host is None else [self._reader(f"http://{bracketed(host)}/")]:
            in_flight = frozenset(reader.keys_in_flight())
            for key, known in reader.all_url_records(prefix=host_key(host) if host is not None else b""):
                is_leased = known.state is State.QUEUED and key in in_flight
                yield msgspec.structs.replace(known, state=State.IN_FLIGHT) if is_leased else known

    def asked(self) -> Iterator[UrlRecord]:
        """The URLs that were asked for."""
        for reader in self._readers:
            yield from reader.all_asked()

    def quarantined(self) -> Iterator[UrlRecord]:
        for reader in self._readers:
            yield from reader.quarantined()

    def hosts(self) -> Iterator[Host]:
        for reader in self._readers:
            yield from reader.all_hosts()


def bracketed(host: str) -> str:
    """As it stands in a URL."""
    return f"[{host}]" if ":" in host else host
