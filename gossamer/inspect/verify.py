"""`gossamer verify`: is all that is on disk what it was when it was written?

It reads everything: every entry of every store, every record of the archive with its digests, and every place that
the record of a URL points to. It changes nothing, and may run beside the crawl; what the crawl writes meanwhile is
not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import msgspec

from gossamer import config
from gossamer.archive.integrity import check_place, faults_in
from gossamer.archive.opening import open_storage
from gossamer.archive.segments import UNKNOWN, check_new, files, parsed
from gossamer.archive.storage import ArchiveDamaged, Storage
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.store import RocksStore, is_store
from gossamer.frontier.disk.tables import TABLES
from gossamer.process.fingerprints import duplicates
from gossamer.records import Place
from gossamer.text import counted
from gossamer.url.canonical import choose_for

UNKNOWN_SHOWN = 10


class Found(msgspec.Struct):
    """What was looked at, and what is wrong."""

    stores: int = 0
    files: int = 0
    records: int = 0
    places: int = 0
    damage: list[str] = []
    unknown: list[str] = []  # archive files that no store knows


def verified(folder: CrawlFolder) -> Found:
    tree = config.load(folder.path, environment={}).tree
    choose_for(tree)
    storage, found = open_storage(tree.archive, folder.archive), Found()
    known_files: set[str] = set()
    for number in range(tree.crawl.partitions):
        end = _verify_partition(folder, storage, number, found)
        known_files.update(_verify_archive(storage, number, end, found))
    if is_store(folder.fingerprints):
        found.stores += 1
        try:
            with closing(RocksStore(folder.fingerprints, duplicates.TABLES, read_only=True)) as store:
                found.damage += store.check()
        except StoreDamaged as fault:
            found.damage.append(str(fault))
    for name in storage.names():
        if name.startswith(f"{UNKNOWN}/") or (parsed(name) is not None and name not in known_files):
            found.unknown.append(f"{storage.where}/{name}")
    return found


def _verify_partition(folder: CrawlFolder, storage: Storage, number: int, found: Found) -> Place | None:
    """Returns the end of its archive, as far as its store can tell."""
    path = folder.partition(number)
    if not is_store(path):
        try:
            check_new(path, storage, number)
        except ArchiveDamaged as fault:
            found.damage.append(str(fault))
        return None
    found.stores += 1
    try:
        with closing(RocksStore(path, TABLES, read_only=True)) as store:
            found.damage += store.check()
            reader = PartitionReader(store)
            end = reader.meta().archive_end
            for known in reader.all_asked():
                if known.place is not None:
                    found.places += 1
                    try:
                        check_place(storage, known.url, known.place)
                    except ArchiveDamaged as fault:
                        found.damage.append(str(fault))
            return end
    except StoreDamaged as fault:
        if str(fault) not in found.damage:
            found.damage.append(str(fault))
        return None


def _verify_archive(storage: Storage, partition: int, end: Place | None, found: Found) -> Iterator[str]:
    """Up to the end, where that is known; otherwise all of it. Gives the files that it has looked at."""
    for name in files(storage, partition, end):
        found.files += 1
        for fault in faults_in(storage, name, end.offset if end is not None and end.file == name else None):
            found.records += 1
            if fault is not None and fault not in found.damage:
                found.damage.append(fault)
        yield name


def lines_of(found: Found) -> list[str]:
    looked_at = (
        f"{counted(found.stores, 'store')}, {counted(found.files, 'archive file')} with "
        f"{counted(found.records, 'record')}, and {counted(found.places, 'place')} that records of URLs point to"
    )
    lines = [f"damage: {text}" for text in found.damage]
    lines += [f"unknown: {name}: no store knows what is in it" for name in found.unknown[:UNKNOWN_SHOWN]]
    if (more := len(found.unknown) - UNKNOWN_SHOWN) > 0:
        lines.append(f"unknown: {more:,} more; a crawl at work has written some since its stores were read")
    lines.append(f"Checked {looked_at}: {counted(len(found.damage), 'fault') if found.damage else 'all is well'}.")
    return lines
