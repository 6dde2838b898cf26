"""`gossamer rebuild`: the store of a lost or damaged partition, made anew from the archive as far as that goes.

    from the partition's own archive     its pages and redirects: state, times, digests, places
    from the archive of all partitions   links to its URLs: what is not stored yet is queued
    from seeds.txt                       its seeds

What the archive does not have is found out again by crawling: failures and refusals, robots.txt, the pace of hosts,
titles, how often pages change. Pages are visited again a week later at the earliest.

The new store is made beside the old one and takes its place when it is whole. The old one is kept as
`partitions/NNN.damaged`: nothing is removed.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from socket import gethostname

import msgspec

from gossamer import config
from gossamer.archive import reader
from gossamer.archive.integrity import salvaged
from gossamer.archive.opening import open_storage
from gossamer.archive.segments import files, free_name
from gossamer.archive.storage import ArchiveDamaged, Storage
from gossamer.archive.visits import Visit, of_records
from gossamer.atomic import sync_folder
from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.config import UsageError
from gossamer.export import positions
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES, Meta, decode_url_record, due_key, encode, host_key, url_key
from gossamer.frontier.frontier import Frontier
from gossamer.interfaces import BATCH_MAX
from gossamer.records import Host, Link, Place, State, UrlRecord, Validators, Verdict
from gossamer.rendered import digest_of
from gossamer.seeds import SeedList
from gossamer.settings import Tree
from gossamer.text import counted
from gossamer.url.canonical import canonicalize, choose_for
from gossamer.url.link_filter import link_filter_of
from gossamer.url.site import host_of, site_of
from gossamer.visit_history import History

AGAIN_S = 7 * 86_400.0


class Summary(msgspec.Struct):
    partition: int
    pages: int = 0
    redirects: int = 0
    queued: int = 0  # found in links and seeds, and not stored yet
    unreadable: int = 0  # records of the partition's archive
    kept_as: str = ""  # where the old store is


def rebuilt(folder: CrawlFolder, partition: int, clock: Clock) -> Summary:
    tree = config.load(folder.path).tree
    choose_for(tree)
    if not 0 <= partition < tree.crawl.partitions:
        raise UsageError(f"--partition {partition}: this crawl has the partitions 0 to {tree.crawl.partitions - 1}")
    with folder.locked(), positions.locked(folder.path):
        return _Rebuilding(folder, tree, partition, clock).run()


class _Rebuilding:
    def __init__(self, folder: CrawlFolder, tree: Tree, partition: int, clock: Clock) -> None:
        self._folder = folder
        self._tree = tree
        self._partition = partition
        self._clock = clock
        self._storage: Storage = open_storage(tree.archive, folder.archive)
        self._meta = Meta()
        self._hosts: dict[str, Host] = {}
        self._summary = Summary(partition)

    def run(self) -> Summary:
        place = self._folder.partition(self._partition)
        making = place.with_name(f"{place.name}.rebuilding")
        shutil.rmtree(making, ignore_errors=True)  # of one that was cut off
        making.mkdir(parents=True)
        with closing(RocksStore(making, TABLES)) as store:
            self._take_pages(store)
            self._queue(store)
        who = f"{self._folder.path.absolute()} on {gethostname()}"
        asyncio.run(self._storage.claim(self._partition, making / "writer", who, take_over=True))
        if place.exists() and any(place.iterdir()):
            old = free_name(place.with_name(f"{place.name}.damaged"))
            place.rename(old)
            self._summary.kept_as = str(old)
        making.rename(place)
        sync_folder(place.parent)
        return self._summary

    # ---- what is stored ----------------------------------------------------------------------------------

    def _take_pages(self, store: RocksStore) -> None:
        batch = store.batch()
        written: dict[bytes, UrlRecord] = {}  # in this batch
        for visit in self._visits(self._partition, counts=True):
            key = url_key(visit.url)
            stored = None if key in written else store.get("urls", key)
            before = written.get(key) or (decode_url_record(stored) if stored is not None else None)
            written[key] = known = self._known(visit, before)
            batch.put("urls", key, encode(known))
            if before is None and known.due_at is not None:
                batch.put("again", due_key(known.due_at, key), b"")
                self._meta.totals.again += 1
            if len(batch) >= BATCH_MAX:
                store.write(batch, sync=False)
                batch, written = store.batch(), {}
        for name, host in self._hosts.items():
            batch.put("hosts", host_key(name), encode(host))
        self._meta.totals.hosts = len(self._hosts)
        batch.put("meta", b"meta", encode(self._meta))
        store.write(batch, sync=True)

    def _known(self, visit: Visit, before: UrlRecord | None) -> UrlRecord:
        totals, name = self._meta.totals, host_of(visit.url)
        host = self._hosts.setdefault(name, Host(name, site_of(name), is_counted=True))
        host.requests += 1
        totals.requests += 1
        if before is None:
            totals.known += 1
            totals.moved += visit.is_redirect
            totals.pages += not visit.is_redirect
            host.pages += not visit.is_redirect
            self._summary.redirects += visit.is_redirect
            self._summary.pages += not visit.is_redirect
            totals.duplicates += visit.verdict in ("same", "near")
        else:
            totals.visits += 1
        totals.bytes += visit.body_bytes or 0
        host.body_bytes += visit.body_bytes or 0
        etag, modified = visit.header("ETag") or "", visit.header("Last-Modified") or ""
        is_unchanged = visit.verdict == "unchanged" and before is not None
        return UrlRecord(
            url=visit.url,
            state=State.DONE,
            depth=visit.links[0].depth - 1 if visit.links else before.depth if before else 0,
            found_at=before.found_at if before else visit.at,
            attempts=1,
            due_at=before.due_at if before else None if visit.is_redirect else self._clock.now() + AGAIN_S,
            status=visit.status,
            fetched_at=visit.at,
            content_hash=digest_of(visit.shown) or visit.content_hash or (before.content_hash if before else ""),
            media_type=visit.media_type or (before.media_type if before else ""),
            body_bytes=visit.body_bytes or (before.body_bytes if before else 0),
            moved_to=canonicalize(visit.header("Location") or "", visit.url) if visit.is_redirect else None,
            verdict=Verdict(visit.verdict, visit.refers_to, visit.refers_at, visit.distance or 0)
            if visit.verdict
            else None,
            place=before.place if is_unchanged and before else visit.place,
            links=len(visit.links),
            validators=Validators(etag, modified) if (etag or modified) and not visit.truncated else None,
            history=None if visit.is_redirect else History(visited_at=int(visit.at)),
        )

    def _visits(self, partition: int, *, counts: bool = False) -> Iterator[Visit]:
        """`counts`: of the partition that is being made, whose end of the archive they show."""
        for name in files(self._storage, partition):
            members = self._members(name, counts=counts)
            yield from of_records(reader.parse(self._storage, *member) for member in members)

    def _members(self, name: str, *, counts: bool) -> Iterator[tuple[Place, bytes]]:
        for found in salvaged(self._storage, name):
            if isinstance(found, ArchiveDamaged):
                self._summary.unreadable += counts
                continue
            if counts:
                self._meta.archive_end = Place(name, found[0].offset + found[0].length, 0)
            yield found

    # ---- what is not stored yet --------------------------------------------------------------------------

    def _queue(self, store: RocksStore) -> None:
        tree, seeds = self._tree, SeedList(self._folder.path)
        link_filter = link_filter_of(seeds.index(tree.crawl.scope), tree, self._clock)
        frontier = Frontier.open(
            store,
            store.folder,
            self._clock,
            link_filter,
            tree.frontier,
            tree.politeness,
            tree.traps,
            link_filter.is_home,
        )
        frontier.apply_policies(self._folder.policies())
        own = (seed.link for seed, _ in seeds.after(0))
        partitions = range(tree.crawl.partitions)
        links = chain(own, (link for each in partitions for visit in self._visits(each) for link in links_of(visit)))
        self._summary.queued = frontier.add(
            link for link in links if partition_of(link.url, len(partitions)) == self._partition
        )
        frontier.close()


def links_of(visit: Visit) -> list[Link]:
    if not visit.is_redirect:
        return visit.links
    target = canonicalize(visit.header("Location") or "", visit.url)
    return [Link(target, source=visit.url, chain=(visit.url,))] if target is not None else []


def text_of(summary: Summary) -> str:
    lines = [
        f"partition {summary.partition} was made anew: {counted(summary.pages, 'page')} and "
        f"{counted(summary.redirects, 'redirect')} found in the archive, {counted(summary.queued, 'URL')} queued"
    ]
    if summary.unreadable:
        lines.append(f"{counted(summary.unreadable, 'record')} could not be read: `gossamer verify` names them")
    if summary.kept_as:
        lines.append(f"what was there before is kept in {summary.kept_as}")
    return "\n".join(lines)
