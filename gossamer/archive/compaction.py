"""Compaction: joins small files, drops versions that nobody wants to keep, and loses nothing that is referred to.

It works on an archive that nobody writes to. First every visit is listed (catalogue.py), which decides what is kept.
Then, partition by partition, runs of neighbouring files become one: their kept records are copied byte for byte.

    1. what is to go is forgotten among the fingerprints: no later copy may refer to it
    2. the joined file is written, durably; it stands for the old ones from here on (segments.py)
    3. one batch of the partition's store: the new places of its pages, and of the archive's end
    4. the old files are removed

A crash after 2 or 3 leaves old and new files side by side. Readers see each visit once either way, places lead
to files that exist, and the next compaction takes away the side that no page points at.

Files with something that was not exported yet stay as they are, with all that is in them: an export goes on from the
place where the last one ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Protocol

import msgspec

from gossamer.archive import reader
from gossamer.archive.catalogue import Catalogue, Row
from gossamer.archive.listing import microseconds, visits_in
from gossamer.archive.segments import FileName, in_force, is_committed, name_in, parsed
from gossamer.archive.storage import Storage
from gossamer.archive.warc import warcinfo
from gossamer.records import Place, Url
from gossamer.settings import ArchiveSettings

VISITS_MAX = 50_000  # in a joined file: the places of its pages are one batch of the store
AT_ONCE = 1_000  # rows for the catalogue

Moves = Iterable[tuple[bytes, Place]]
"""The key of a page, and where its record lies now."""


class ArchiveRecords(Protocol):
    """What the partitions' stores know of the archive, and the fingerprints."""

    partitions: int

    def key(self, url: Url) -> bytes: ...
    def end(self, partition: int) -> Place | None: ...
    def places(self, partition: int, pages: list[bytes]) -> dict[bytes, Place]: ...
    def move(self, partition: int, moves: Moves, end: Place | None) -> None:
        """All in one batch, durable when it returns. `end`: None where it stays."""

    def forget(self, is_dropped: Callable[[bytes, int], bool]) -> None:
        """The claims of visits that are going: by page, and by time in microseconds."""


class Summary(msgspec.Struct):
    """What was done, or would be."""

    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    visits_dropped: int = 0
    versions_dropped: int = 0
    files_not_exported: int = 0  # and left alone for that


class Compaction:
    def __init__(
        self,
        storage: Storage,
        records: ArchiveRecords,
        settings: ArchiveSettings,
        exported: Iterable[Mapping[int, Place]],
        now: float,
        reached: Callable[[str], None] = lambda point: None,
    ) -> None:
        self._storage = storage
        self._records = records
        self._settings = settings
        self._exported = list(exported)  # how far each export came, by partition
        self._now = now
        self._reached = reached
        self._sizes: dict[FileName, int] = {}
        self.summary = Summary()

    def run(self, catalogue: Path, *, dry: bool) -> Summary:
        if not dry:
            self._storage.tidy()
        partitions = range(self._records.partitions)
        files = {partition: self._files(partition, dry=dry) for partition in partitions}
        with Catalogue(catalogue) as known:
            for partition in partitions:
                known.add(self._rows(partition, files[partition]))
            keep_s = self._settings.keep_s
            since = None if keep_s is None else microseconds(self._now - keep_s)
            known.decide(self._settings.keep_versions, since)
            self.summary.visits_dropped, self.summary.versions_dropped = known.dropped()
            if self.summary.visits_dropped and not dry:
                self._records.forget(known.is_dropped)
                self._reached("after_forget")
            for partition in partitions:
                self._join(partition, files[partition], known, dry=dry)
        return self.summary

    # ---- what is there -----------------------------------------------------------------------------------

    def _files(self, partition: int, *, dry: bool) -> list[FileName]:
        """The files of a partition up to its end; those behind it are cut off at the next start of the crawl."""
        end = self._records.end(partition)
        if end is None:
            return []
        sizes = {}
        for text, size_bytes in self._storage.sizes(f"{partition:03d}-"):
            name = parsed(text)
            if name is not None and is_committed(name, name_in(end)):
                sizes[name] = size_bytes
        if not dry:
            for name in self._left_over(partition, sizes, end):
                self._storage.remove([str(name)])
                del sizes[name]
        self._sizes |= sizes
        self.summary.files_before += len(sizes)
        self.summary.bytes_before += sum(sizes.values())
        files = in_force(sizes)
        self.summary.files_after += len(files)
        self.summary.bytes_after += sum(sizes[name] for name in files)
        return files

    def _left_over(self, partition: int, names: Iterable[FileName], end: Place) -> list[FileName]:
        """What a compaction that died left beside what counts: the joined file, or those that it was made of."""
        left: set[FileName] = set()
        for joined in sorted(names, key=lambda name: -name.generation):
            sources = [name for name in names if joined.holds(name)]
            if sources and joined not in left:
                left.update(sources if self._is_committed(partition, joined, sources, end) else [joined])
        return list(left)

    def _is_committed(self, partition: int, joined: FileName, sources: list[FileName], end: Place) -> bool:
        """One batch moves all pages and the end, so any of them tells. None is left: either side will do."""
        if name_in(end) in sources:
            return False
        for visit in visits_in(self._storage, joined, None):
            place = self._records.places(partition, [key := self._records.key(visit.url)]).get(key)
            if place is not None and place.file in (str(joined), *map(str, sources)):
                return place.file == str(joined)
        return True

    def _rows(self, partition: int, files: list[FileName]) -> Iterator[Row]:
        end, key = self._records.end(partition), self._records.key
        for name in files:
            keep_all = not self._is_exported(name)
            visits = visits_in(self._storage, name, end.offset if end and end.file == str(name) else None)
            while some := list(islice(visits, AT_ONCE)):
                places = self._records.places(partition, [key(visit.url) for visit in some])
                for visit in some:
                    page = key(visit.url)
                    yield Row(
                        page,
                        visit.at,
                        visit.is_version,
                        key(visit.refers_to) if visit.refers_to else None,
                        visit.refers_at,
                        str(name),
                        visit.start,
                        visit.end,
                        visit.place.offset,
                        visit.place.length,
                        keep_all or places.get(page) == visit.place,
                    )

    def _is_exported(self, name: FileName) -> bool:
        """Whether every export has handed all of a file on."""
        for positions in self._exported:
            position = positions.get(name.partition)
            if position is None or (reached := parsed(position.file)) is None or name.last > reached.last:
                return False
            if str(name) == position.file and position.offset < self._sizes[name]:
                return False
        return True

    # ---- joining -----------------------------------------------------------------------------------------

    def _join(self, partition: int, files: list[FileName], known: Catalogue, *, dry: bool) -> None:
        end = self._records.end(partition)
        for sources in self._groups(files, known):
            self._replace(partition, sources, known, end, dry=dry)

    def _groups(self, files: list[FileName], known: Catalogue) -> Iterator[list[FileName]]:
        """Runs of files that become one. What is large and whole stays as it is."""
        group: list[FileName] = []
        group_bytes = group_visits = group_dropped = 0
        for name in files:
            visits, kept_bytes, dropped = known.kept_of(str(name))
            is_exported = self._is_exported(name)
            self.summary.files_not_exported += not is_exported
            is_whole = not dropped and self._sizes[name] >= self._settings.file_bytes_max // 2
            fits = group_bytes + kept_bytes <= self._settings.file_bytes_max and group_visits + visits <= VISITS_MAX
            if not is_exported or is_whole or not fits:
                if len(group) > 1 or group_dropped:
                    yield group
                group, group_bytes, group_visits, group_dropped = [], 0, 0, 0
            if is_exported and not is_whole:
                group.append(name)
                group_bytes, group_visits = group_bytes + kept_bytes, group_visits + visits
                group_dropped += dropped
        if len(group) > 1 or group_dropped:
            yield group

    def _replace(
        self, partition: int, sources: list[FileName], known: Catalogue, end: Place | None, *, dry: bool
    ) -> None:
        generation = 1 + max(name.generation for name in sources)
        epoch = max(name.epoch for name in sources)
        target = FileName(partition, sources[0].first, sources[-1].last, generation, epoch)
        opening = self._opening(sources[0], str(target))
        spans: list[tuple[FileName, int, int]] = []
        moves: list[tuple[bytes, Place]] = []
        size_bytes = len(opening)
        for name in sources:
            for visit in known.kept(str(name)):
                if visit.is_pinned:
                    at = size_bytes + visit.offset - visit.start
                    moves.append((visit.page, Place(str(target), at, visit.length)))
                if spans and spans[-1][0] == name and spans[-1][2] == visit.start:
                    spans[-1] = (name, spans[-1][1], visit.end)
                else:
                    spans.append((name, visit.start, visit.end))
                size_bytes += visit.end - visit.start
        self.summary.files_after += 1 - len(sources)
        self.summary.bytes_after += size_bytes - sum(self._sizes[name] for name in sources)
        if dry:
            return
        self._storage.put(str(target), self._parts(opening, spans), size_bytes)
        self._reached("after_put")
        holds_end = end is not None and name_in(end) in sources
        self._records.move(partition, moves, Place(str(target), size_bytes, 0) if holds_end else None)
        self._reached("after_move")
        for name in sources:
            self._storage.remove([str(name)])
            self._reached("after_remove")

    def _opening(self, first: FileName, target: str) -> bytes:
        about: dict[str, str] = {}
        for record in islice(reader.records(self._storage, str(first)), 1):
            if record.type == "warcinfo":
                lines = (line.partition(": ") for line in record.body.decode(errors="replace").split("\r\n"))
                about = {name: value for name, separator, value in lines if separator}
        return warcinfo(target, self._now, about)

    def _parts(self, opening: bytes, spans: list[tuple[FileName, int, int]]) -> Iterator[bytes]:
        yield opening
        for name, start, end in spans:
            left = end - start
            for chunk in self._storage.chunks(str(name), start):
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0:
                    break
