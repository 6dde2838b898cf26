"""The graph of hosts: how many links lead from one host to another.

Pairs are counted in memory as long as there are few of them, then written out and counted on from nothing. Sorted,
the parts of one pair lie together and are added up. A graph that was written before is one more part, so new links
are added to it without reading the old ones again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import msgspec

from gossamer.archive.visits import Visit
from gossamer.export.lines import lines_in
from gossamer.export.rows import Column, Row, columns
from gossamer.url.site import host_of

HOST_GRAPH: tuple[Column, ...] = columns("source_host:text target_host:text links:int64")
PAIRS_MAX = 200_000  # some 40 MB


def counted(visits: Iterable[Visit]) -> Iterator[bytes]:
    """Lines of source, target and number. A pair may come several times."""
    pairs: Counter[tuple[str, str]] = Counter()
    for visit in visits:
        source = host_of(visit.url)
        pairs.update((source, host_of(link.url)) for link in visit.links)
        if len(pairs) > PAIRS_MAX:
            yield from _lines(pairs)
            pairs.clear()
    yield from _lines(pairs)


def _lines(pairs: Counter[tuple[str, str]]) -> Iterator[bytes]:
    for (source, target), links in pairs.items():
        yield f"{source}\t{target}\t{links}\n".encode()


def added_up(lines: Iterable[bytes]) -> Iterator[Row]:
    """Of sorted lines. A host's name has no character below the tab, so no pair lies between the parts of another."""
    for pair, some in groupby((line.decode().rsplit("\t", 1) for line in lines), key=lambda line: line[0]):
        source, target = pair.split("\t")
        yield source, target, sum(int(links) for _, links in some)


def written_before(path: Path) -> Iterator[bytes]:
    """The same lines of a graph that lies in a file, JSON or not."""
    for line in lines_in(path):
        if line.startswith(b"{"):
            source, target, links = msgspec.json.decode(line).values()
            yield f"{source}\t{target}\t{links}\n".encode()
        elif not line.startswith(b"source_host\t"):
            yield line
