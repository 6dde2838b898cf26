"""The forms that a crawl's result is handed on in, one function each: what is new of a source, into a target.

A function writes durably or not at all, and doing it again gives the same: a file is named after the place where its
part of the archive begins, or is made of the old one and put in its place at the very end. So an export that was cut
short is simply done again.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from pathlib import Path

from gossamer.archive.opening import open_storage
from gossamer.archive.visits import Visit, visits
from gossamer.atomic import replacing
from gossamer.export.cdxj import cdxj_line, file_in, without_repeats
from gossamer.export.graph import HOST_GRAPH, added_up, counted, written_before
from gossamer.export.lines import Encode, encoder, json_line, lines_in, written
from gossamer.export.rows import HOSTS, LINKS, PAGES, Column, Row, host_row, link_rows, page_row
from gossamer.export.sorting import sorted_lines
from gossamer.export.stored import Addition
from gossamer.inspect.view import CrawlView
from gossamer.records import Place, UrlRecord
from gossamer.runtime.temporary import temporary_folder
from gossamer.schedule.ranks import Ranks
from gossamer.settings import Tree


class ExportView(CrawlView):
    def archive_ends(self) -> dict[int, Place]:
        """Where the archive of each partition ended when it was last committed."""
        ends = {number: reader.meta().archive_end for number, reader in enumerate(self._readers)}
        return {number: end for number, end in ends.items() if end is not None}


@dataclass
class Source:
    """What is to be handed on: of each partition the visits between two places, but those that do not want to be."""

    view: ExportView
    since: Mapping[int, Place]
    until: Mapping[int, Place]
    with_noindex: bool = False
    with_noarchive: bool = False
    additions: Sequence[Addition] = ()
    handed_on: int = 0
    left_out: int = 0

    def __post_init__(self) -> None:
        tree = self.view.configuration.tree
        self.crawl = crawl_name(tree, self.view.folder.path)
        self.storage = open_storage(tree.archive, self.view.folder.archive)

    @property
    def new(self) -> list[int]:
        """The partitions that have something new."""
        return [number for number, end in self.until.items() if self.since.get(number) != end]

    def start_name(self, partition: int) -> str:
        """Where a partition's part begins: the name of all that is made of it."""
        start = self.since.get(partition)
        return f"{partition:03d}-start" if start is None else f"{start.file.partition('.')[0]}-{start.offset}"

    def visits(self, partition: int) -> Iterator[tuple[Visit, UrlRecord | None]]:
        for visit in visits(self.storage, partition, self.since.get(partition), self.until[partition]):
            known = self.view.state(visit.url)
            if known is not None and known.noindex and not self.with_noindex:
                self.left_out += 1
                continue
            self.handed_on += 1
            yield visit, known

    def all_visits(self) -> Iterator[tuple[Visit, UrlRecord | None]]:
        for partition in self.new:
            yield from self.visits(partition)

    @cached_property
    def ranks(self) -> Ranks | None:
        return Ranks.open(self.view.folder.path, lambda text: print(f"gossamer: {text}", file=sys.stderr))

    @property
    def page_columns(self) -> tuple[Column, ...]:
        return (*PAGES, *[column for addition in self.additions for column in addition.columns])

    def page_row(self, visit: Visit, known: UrlRecord | None) -> Row:
        rank = self.ranks.pages.rank(visit.url) if self.ranks else None
        row, may_show = page_row(visit, known, self.crawl, rank), self._may_show(known)
        return (*row, *[each for addition in self.additions for each in addition.row(visit, may_show=may_show)])

    def _may_show(self, known: UrlRecord | None) -> bool:
        return self.with_noarchive or known is None or not known.noarchive

    def showable(self) -> Iterator[tuple[Visit, UrlRecord | None]]:
        """Without those that ask that no copy of them is shown."""
        for visit, known in self.all_visits():
            if self._may_show(known):
                yield visit, known
            else:
                self.handed_on, self.left_out = self.handed_on - 1, self.left_out + 1


def crawl_name(tree: Tree, folder: Path) -> str:
    """As records and tables have it. Of a cluster all nodes, and whoever looks into it, say the same."""
    return tree.cluster.name if tree.cluster.kafka else folder.resolve().name


def to_parquet(source: Source, folder: Path) -> None:
    from gossamer.export.parquet import ParquetTable  # noqa: PLC0415 - pyarrow: 110 ms

    for partition in source.new:
        name = f"{source.start_name(partition)}.parquet"
        with (
            replacing(folder / "pages" / name) as pages_file,
            replacing(folder / "links" / name) as links_file,
            ParquetTable(pages_file, source.page_columns) as pages,
            ParquetTable(links_file, LINKS) as links,
        ):
            for visit, known in source.visits(partition):
                pages.add(source.page_row(visit, known))
                for row in link_rows(visit):
                    links.add(row)
    # As they are now, in place of what they were: nobody can add up counters.
    with replacing(folder / "hosts" / "hosts.parquet") as hosts_file, ParquetTable(hosts_file, HOSTS) as hosts:
        policies = source.view.folder.policies()
        for host in source.view.hosts():
            rank = source.ranks.hosts.rank(host.name) if source.ranks else None
            hosts.add(host_row(host, rank, source.view.authority(host, policies)))


def to_jsonl(source: Source, path: Path | None) -> None:
    names = [column.name for column in source.page_columns]
    write_rows(source, path, lambda row: json_line(names, row), b"", starmap(source.page_row, source.all_visits()))


def to_links(source: Source, path: Path | None) -> None:
    rows = (row for visit, _ in source.all_visits() for row in link_rows(visit))
    write_rows(source, path, *encoder(LINKS, path), rows)


def write_rows(source: Source, path: Path | None, encode: Encode, first: bytes, rows: Iterable[Row]) -> None:
    """To a file of its own, or behind what it has; nothing new leaves it as it is."""
    is_addition = bool(source.since)
    if source.new or not is_addition:
        with written(path, keep=is_addition) as file:
            file.write(b"" if is_addition else first)
            file.writelines(map(encode, rows))


def to_cdxj(source: Source, path: Path | None) -> None:
    if source.since and path and leads_nowhere(source, path):
        source.since = {}
    old = lines_in(path) if source.since and path else ()
    new = (cdxj_line(visit, known) for visit, known in source.showable())
    with runs_of(path) as runs, sorted_lines(new, runs) as lines, written(path) as file:
        file.writelines(without_repeats(heapq.merge(lines, old)))


def leads_nowhere(source: Source, index: Path) -> bool:
    """Whether an index speaks of a file that the archive has no more: compaction makes new ones of old ones."""
    return not {file_in(line) for line in lines_in(index)} <= set(source.storage.names())


def to_hostgraph(source: Source, path: Path | None) -> None:
    encode, first = encoder(HOST_GRAPH, path)
    old = written_before(path) if source.since and path else ()
    new = counted(visit for visit, _ in source.all_visits())
    with runs_of(path) as runs, sorted_lines(new, runs) as lines, written(path) as file:
        file.write(first)
        file.writelines(map(encode, added_up(heapq.merge(lines, old))))


@contextmanager
def runs_of(path: Path | None) -> Iterator[Path]:
    """A folder for what is being sorted: beside the target, which needs the same room, and always under the same
    name; for what is printed a temporary one."""
    if path is not None:
        yield path.with_name(f".{path.name}.runs")
    else:
        with temporary_folder() as folder:
            yield folder / "runs"


LINE_FORMATS: dict[str, Callable[[Source, Path | None], None]] = {
    "jsonl": to_jsonl,
    "cdxj": to_cdxj,
    "links": to_links,
    "hostgraph": to_hostgraph,
}
