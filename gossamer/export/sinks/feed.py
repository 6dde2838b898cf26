"""Feeding a sink: an export that goes on while the crawl runs.

All that a sink gets is in the archive and in the stores once a page is finished, and a crawl's folder can be read
from outside while it runs. So a sink follows the archive as every export does: the visits between its position and
the end of what is committed, in batches, the position moving when a batch is durable over there. The loop knows
nothing of it. A sink that is away for a day holds up nobody: its position stays where it is, compaction leaves the
files behind it alone, and later it catches up. A crawl that dies loses nothing either.

A look costs the opening of every store (docs/decisions/0048), so there is one every `LOOK_S`, and fewer where that
takes long. One process feeds the sinks of a crawl at a time: `alone`.
"""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gossamer import config
from gossamer.archive.opening import open_storage
from gossamer.clock import Clock
from gossamer.export.formats import ExportView, Source
from gossamer.export.positions import ExportsFault
from gossamer.export.sinks.part import Part, WholeCrawl
from gossamer.export.sinks.records import Batch, HostRecord, PageRecord, host_record, page_record
from gossamer.export.sinks.sink import Sink
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.store import is_store
from gossamer.messages.control_messages import visits_in
from gossamer.records import Place
from gossamer.settings import Tree
from gossamer.url.site import host_of, origin_of

BATCH_VISITS = 1000
BATCH_BYTES_MAX = 8 << 20  # of links, mostly: some pages have ten thousand
LOCK = "sinks.lock"


def sink_of(name: str, tree: Tree, clock: Clock) -> Sink:
    if name == "kafka":
        from gossamer.export.sinks.kafka import KafkaSink  # noqa: PLC0415 - an extra package, 60 ms

        return KafkaSink(tree.sinks, clock)
    from gossamer.export.sinks.postgres import PostgresSink  # noqa: PLC0415 - as above

    return PostgresSink(tree.sinks)


@contextmanager
def alone(crawl: Path, *, waits: bool = False) -> Iterator[None]:
    """`waits`: for the feeder of a crawl that has just been killed, which ends at once."""
    with (crawl / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except OSError:
            busy = f"the sinks of {crawl} are being fed by its running crawl, which hands on all that is new"
            raise ExportsFault(busy) from None
        yield


class Feed:
    """One sink of one crawl, or of a node's part of it."""

    def __init__(self, crawl: Path, sink: Sink, clock: Clock, part: Part | None = None) -> None:
        self.sink = sink
        self.handed_on = 0  # visits
        self.visits: int | None = None  # that the crawl had made when all was handed on
        self.looking_s = 0.0  # what opening the stores took
        self._crawl = crawl
        self._folder = CrawlFolder(crawl)
        self._clock = clock
        self._part = part or WholeCrawl(crawl)
        self._at: dict[int, Place] | None = None  # None: the sink is not open

    async def open(self, *, is_full: bool = False) -> None:
        """Connect, unless that is done."""
        if self._at is not None:
            return
        known = await self._part.known(self.sink)
        at = await self.sink.open(known.crawl, known.key, known.positions, is_full=is_full)
        if self._part.partitions is None and at != known.positions:
            # A database of before a compaction: its places are gone, and a repeat changes nothing.
            at = at if await asyncio.to_thread(self._has_files_of, at) else {}
        self._at = dict(at)

    async def catch_up(self) -> None:
        """Hand on all that is committed now. Raises SinkAway, SinkRefused."""
        await self.open()
        assert self._at is not None
        partitions = self._part.partitions
        view = await asyncio.to_thread(self._look, partitions)
        if view is None:
            return
        try:
            tree, totals = view.configuration.tree, view.totals()
            source = Source(view, dict(self._at), view.archive_ends(), with_noindex=True, with_noarchive=True)
            made = batches(source, tree, wants_hosts=self.sink.wants_hosts)
            while (batch := await asyncio.to_thread(next, made, None)) is not None:
                await self.sink.add(batch)
                self._at |= batch.positions
                self.handed_on += len(batch.pages)
                await self._part.note(self.sink, self._at)
                if self._part.partitions != partitions:
                    return  # some are others' by now, or more are ours
            self.visits = visits_in(totals)
        finally:
            view.__exit__()

    async def close(self) -> None:
        """Also after a fault: the next `catch_up` connects anew."""
        self._at = None
        await self.sink.close()

    def _look(self, partitions: frozenset[int] | None) -> ExportView | None:
        """None: the crawl has not begun."""
        begun = self._clock.awake()
        count = config.load(self._crawl, environment={}).tree.crawl.partitions
        wanted = range(count) if partitions is None else partitions
        if not any(is_store(self._folder.partition(number)) for number in wanted):
            return None
        view = ExportView(self._crawl, partitions)
        self.looking_s = self._clock.awake() - begun
        return view

    def _has_files_of(self, at: Mapping[int, Place]) -> bool:
        tree = config.load(self._crawl, environment={}).tree
        names = set(open_storage(tree.archive, self._folder.archive).names())
        return {place.file for place in at.values()} <= names


def batches(source: Source, tree: Tree, *, wants_hosts: bool) -> Iterator[Batch]:
    """All that is new. A position within a partition's part is the page of its next visit: reading begins there."""
    archive = tree.archive.url.rstrip("/") or source.view.folder.archive.resolve().as_uri()
    pages: list[PageRecord] = []
    moved: dict[int, Place] = {}
    bytes_ = 0

    def batch() -> Batch:
        return Batch(pages, list(hosts_of(source, pages)) if wants_hosts else [], moved)

    for partition in source.new:
        for visit, known in source.visits(partition):
            if len(pages) == BATCH_VISITS or bytes_ > BATCH_BYTES_MAX:
                moved[partition] = Place(visit.place.file, visit.place.offset, 0)
                yield batch()
                pages, moved, bytes_ = [], {}, 0
            page = page_record(visit, known, source.crawl, partition, archive, with_links=tree.sinks.links)
            pages.append(page)
            bytes_ += sum(len(link.url) + len(link.anchor or "") for link in page.links or ())
        moved[partition] = source.until[partition]
    if moved:
        yield batch()


def hosts_of(source: Source, pages: list[PageRecord]) -> Iterator[HostRecord]:
    view = source.view
    policies = view.folder.policies()
    urls = {host_of(page.url): page.url for page in pages}  # one of each host: the last
    for name, url in urls.items():
        if (host := view.host(url, name)) is not None:
            yield host_record(host, view.robots(origin_of(url)), view.authority(host, policies))
