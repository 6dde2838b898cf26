"""The archive records of a crawl that is stopped: what its stores know of the archive, for a compaction to read and
change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import msgspec

from gossamer import config
from gossamer.archive.compaction import Compaction, Moves, Summary
from gossamer.archive.listing import microseconds
from gossamer.archive.opening import open_storage
from gossamer.archive.segments import check_new
from gossamer.clock import RealClock
from gossamer.export import positions
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.store import RocksStore, is_store
from gossamer.frontier.disk.tables import TABLES, encode, url_key
from gossamer.interfaces import BATCH_MAX, Store
from gossamer.process.fingerprints import duplicates
from gossamer.records import Place, Url
from gossamer.runtime.kill_point import KillPoint
from gossamer.settings import Tree
from gossamer.url.canonical import choose_for

CLAIMS = ("exact", "owners")  # tables of fingerprints whose values are (URL, when it was fetched)


def compacted(folder: CrawlFolder, *, dry: bool) -> Summary:
    tree = config.load(folder.path).tree
    choose_for(tree)
    with (
        folder.locked(),
        positions.locked(folder.path),
        closing(ArchiveRecords(folder, tree)) as records,
    ):
        exported = [export.positions for export in positions.read(folder.path).values()]
        storage = open_storage(tree.archive, folder.archive)
        reached = KillPoint(config.kill_at())
        compaction = Compaction(storage, records, tree.archive, exported, RealClock().now(), reached)
        return compaction.run(folder.path / "compaction.sqlite", dry=dry)


class ArchiveRecords:
    """Implements `compaction.ArchiveRecords`."""

    def __init__(self, folder: CrawlFolder, tree: Tree) -> None:
        self.partitions = tree.crawl.partitions
        self._folder = folder
        self._storage = open_storage(tree.archive, folder.archive)
        self._stores: dict[int, RocksStore] = {}

    def close(self) -> None:
        for store in self._stores.values():
            store.close()

    def key(self, url: Url) -> bytes:
        return url_key(url)

    def end(self, partition: int) -> Place | None:
        return PartitionReader(self._store(partition)).meta().archive_end

    def places(self, partition: int, pages: list[bytes]) -> dict[bytes, Place]:
        found = PartitionReader(self._store(partition)).known_among(pages)
        return {key: known.place for key, known in found.items() if known.place is not None}

    def move(self, partition: int, moves: Moves, end: Place | None) -> None:
        store = self._store(partition)
        reader, batch = PartitionReader(store), store.batch()
        for key, place in moves:
            known = reader.known(key)
            assert known is not None, f"in the archive but unknown: {key.hex()}"
            batch.put("urls", key, encode(msgspec.structs.replace(known, place=place)))
        if end is not None:
            meta = reader.meta()
            meta.archive_end = end
            batch.put("meta", b"meta", encode(meta))
        store.write(batch, sync=True)

    def forget(self, is_dropped: Callable[[bytes, int], bool]) -> None:
        with closing(RocksStore(self._folder.fingerprints, duplicates.TABLES)) as store:
            for table in CLAIMS:
                batch = store.batch()
                for key, value in store.scan(table):
                    url, fetched_at, *_ = msgspec.msgpack.decode(value)
                    if is_dropped(url_key(url), microseconds(fetched_at)):
                        batch.delete(table, key)
                    if len(batch) >= BATCH_MAX:
                        store.write(batch, sync=True)
                        batch = store.batch()
                store.write(batch, sync=True)

    def _store(self, partition: int) -> Store:
        if partition not in self._stores:
            path = self._folder.partition(partition)
            if not is_store(path):
                check_new(path, self._storage, partition)
            self._stores[partition] = RocksStore(path, TABLES)
        return self._stores[partition]
