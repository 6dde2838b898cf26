"""A look into a crawl's folder from outside, running or not: read-only, and as of the moment it was opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from gossamer import config
from gossamer.cluster.partitions import partition_of
from gossamer.config import Configuration
from gossamer.control.progress import total
from gossamer.folder import CrawlFolder
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.patterns import Patterns
from gossamer.frontier.store import RocksStore, StoreDamaged
from gossamer.frontier.tables import TABLES, Totals, host_key
from gossamer.records import Host, Known, RobotsCopy, Url
from gossamer.schedule.planner import Planner
from gossamer.schedule.ranks import Ranks
from gossamer.url.canonical import choose_for
from gossamer.url.site import host_of


class CrawlView(AbstractContextManager["CrawlView"]):
    def __init__(self, path: Path) -> None:
        self.folder = CrawlFolder(path)
        self.folder.must_be_crawl()
        self.configuration: Configuration = config.load(path, environment={})
        choose_for(self.configuration.tree)
        self._exit = ExitStack()
        self._stores: list[RocksStore] = []
        self._ledgers: list[Ledger] = []
        try:
            for number in range(self.configuration.tree.crawl.partitions):
                self._stores.append(self._open(number))
                self._ledgers.append(Ledger(self._stores[-1]))
        except BaseException:
            self._exit.close()
            raise

    def _open(self, number: int) -> RocksStore:
        for tries_left in (3, 2, 1, 0):
            try:
                store = RocksStore(self.folder.partition(number), TABLES, read_only=True)
                break
            except StoreDamaged:
                # A running crawl may remove a file between our reading its name and opening it.
                if tries_left == 0:
                    raise
        self._exit.callback(store.close)
        return store

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _ledger(self, url: Url) -> Ledger:
        return self._ledgers[partition_of(url, len(self._ledgers))]

    @property
    def partitions(self) -> range:
        return range(len(self._ledgers))

    def totals(self) -> Totals:
        return total(ledger.meta().totals for ledger in self._ledgers)

    def in_flight(self) -> int:
        return sum(ledger.in_flight() for ledger in self._ledgers)

    def state(self, url: Url) -> Known | None:
        return self._ledger(url).state(url)

    def host(self, url: Url, name: str) -> Host | None:
        return self._ledger(url).host(host_key(name))

    def robots(self, origin: str) -> RobotsCopy | None:
        return self._ledger(origin).robots(origin)

    def trap(self, url: Url) -> str | None:
        """Why the URL's pattern is used up, in words."""
        store = self._stores[partition_of(url, len(self._stores))]
        return Patterns(store, self.configuration.tree.traps, active={}).refusal(host_key(host_of(url)), url)

    def planner(self, url: Url) -> Planner:
        """What the URL's partition goes by when it says what a page is worth and when it comes again."""
        tree = self.configuration.tree
        planner = Planner(tree.schedule, tree.process, self.folder.course())
        if (plans := self._ledger(url).plans()) is not None:
            planner.load(plans)
        planner.ranks = Ranks.open(self.folder.path)
        return planner

    def known(self) -> Iterator[Known]:
        for ledger in self._ledgers:
            yield from (known for _, known in ledger.all_known())

    def asked(self) -> Iterator[Known]:
        """The URLs that were asked for."""
        for ledger in self._ledgers:
            yield from ledger.all_asked()

    def quarantined(self) -> Iterator[Known]:
        for ledger in self._ledgers:
            yield from ledger.quarantined()

    def hosts(self) -> Iterator[Host]:
        for ledger in self._ledgers:
            yield from ledger.all_hosts()
