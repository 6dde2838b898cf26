"""Seeds on their way from the list to the queues, and new ones for a crawl that exists already.

A seed is durable in the list of seeds (seeds.py) first, and then in its queue. `SeedFeed` hands the list to the
partitions that own the seeds, a stretch at a time, while the crawl is already running: a list of millions holds up
nothing. How far it has come is noted when all before is durable, so that the next start goes on from there; a stretch
that is handed over twice changes nothing. A partition that got seeds and knows of nothing has lost its store: the
list is read again for it, and for nobody else. New seeds of a running crawl are put into their queues at once
(control_server.py), and the feed passes them later.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.tables import Totals
from gossamer.frontier.rules.policy import Policies
from gossamer.inspect.view import CrawlView
from gossamer.messages.control_messages import Refusal, SeedsAdded
from gossamer.records import Host, Reason, Seed
from gossamer.seeds import SeedList
from gossamer.settings import Tree
from gossamer.url.canonical import canonicalize
from gossamer.url.link_filter import link_filter_of
from gossamer.url.site import host_of, site_of

AT_ONCE = 1000  # seeds of a partition, between two turns of its worker's event loop
STRETCH_MAX = 16_000  # seeds in memory
NOTED_EVERY = 10  # stretches

AddToQueue = Callable[[int, list[Seed]], Awaitable[object]]
"""Puts seeds into the queues of a partition, wherever it is; durable when it returns."""


class SeedFeed:
    def __init__(
        self, seeds: SeedList, partitions: int, add_to_queue: AddToQueue, totals: Mapping[int, Totals]
    ) -> None:
        """`totals`: what each partition knows."""
        self._seeds = seeds
        self._partitions = partitions
        self._add_to_queue = add_to_queue
        fed_to, empty = seeds.fed_to, {number for number, each in totals.items() if not each.knows_anything}
        self._fed_to: set[int] = fed_to or set()
        self._lost = empty if fed_to is None else empty & fed_to
        self._fed_before = seeds.fed  # what lies before it is for those that are lost
        self._position = 0 if self._lost else self._fed_before
        self.has_begun = False  # the first stretch is where it belongs
        self.is_done = False

    async def run(self) -> None:
        """Until the end of the list, as it was when that was reached."""
        stretches = self._stretches()
        count = 0
        if self._position < self._fed_before:
            await asyncio.to_thread(self._note)  # a start that comes in between begins here, too
        try:
            while (stretch := await asyncio.to_thread(next, stretches, None)) is not None:
                groups, position = stretch
                await asyncio.gather(*(self._add_to_queue(partition, group) for partition, group in groups.items()))
                self._position = position
                self._fed_to.update(groups)
                self.has_begun = True
                count += 1
                if count % NOTED_EVERY == 0:
                    await asyncio.to_thread(self._note)
            self.is_done = True
        finally:
            if self._position != self._seeds.fed or self._fed_to != self._seeds.fed_to:
                self._note()

    def _note(self) -> None:
        self._seeds.note_fed(self._position, self._fed_to)

    def _stretches(self) -> Iterator[tuple[dict[int, list[Seed]], int]]:
        """Seeds by their partition, no more than `AT_ONCE` of each, and the position behind them."""
        groups: defaultdict[int, list[Seed]] = defaultdict(list)
        count, before, end = 0, self._position, self._seeds.bytes
        for seed, position in self._seeds.after(self._position):
            number = partition_of(seed.url, self._partitions)
            if position <= self._fed_before and number not in self._lost:
                continue
            if count == STRETCH_MAX or len(groups[number]) == AT_ONCE:
                yield dict(groups), before
                groups, count = defaultdict(list), 0
            groups[number].append(seed)
            count += 1
            before = position
        yield dict(groups), max(before, end)


def accepted_seeds(
    seeds: Iterable[Seed], tree: Tree, policies: Policies, clock: Clock
) -> tuple[dict[str, Seed], list[Refusal]]:
    """Those that are let in, by their URL, and those that are not. The first of two seeds with one URL counts."""
    link_filter = link_filter_of(frozenset(), tree, clock)
    let_in: dict[str, Seed] = {}
    refused = []
    for seed in seeds:
        url = canonicalize(seed.url)
        if url is None:
            refused.append(Refusal(seed.url, Reason.NOT_A_URL))
            continue
        host, canonical = host_of(url), Seed(url, seed.priority, seed.max_depth)
        reason = link_filter(canonical.link)
        if reason is None and policies and policies.of(Host(name=host, site=site_of(host))).blocked:
            reason = Reason.BLOCKED
        if reason is not None:
            refused.append(Refusal(url, reason))
        else:
            let_in.setdefault(url, canonical)
    return let_in, refused


def add_seeds(folder: CrawlFolder, seeds: Iterable[Seed], clock: Clock) -> SeedsAdded:
    """For a crawl that is not running: its next start begins with them. Raises FolderError where it is running."""
    seeds = list(seeds)
    with folder.locked(), CrawlView(folder.path) as view:
        tree = view.configuration.tree
        let_in, refused = accepted_seeds(seeds, tree, folder.policies(), clock)
        seed_list = SeedList(folder.path)
        index = seed_list.index(tree.crawl.scope)  # one may have been added before, and no start since
        new = sum(not index.has(url) and view.state(url) is None for url in let_in)
        seed_list.add(let_in.values(), index)
    return SeedsAdded(new, len(seeds) - len(refused) - new, refused)
