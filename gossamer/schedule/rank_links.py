"""Links as a crawl found them, made into the two graphs that ranks are computed of: of pages, and of hosts.

What was found comes visit by visit, in the order in which it was stored, and lies in three files until it is used:

    visits    hash of the page, hash of its host, number of links, 1 where it is only another name       24 bytes
    links     of each in turn: hash of the target, hash of its host                                      16 bytes
    names     of each other name in turn: hash of the page that it is, hash of its host                  16 bytes

Three rules make a graph of them:

    latest     of a page that was visited several times the latest version counts, and no other
    names      a page that redirects, or that has the very content of another, is another name of that one: links to
               it count for the other, and it is no node itself. Names that lead in a circle are nodes without links
    once       a link counts once, however often it is there, and a link to itself counts nothing

Nodes are all pages that were fetched and all that are linked to, known to the crawl or not. A host links to another
if one of its pages does.

Nothing here holds the links in memory: it takes 75 bytes a page or visit, whichever are more, and 30 MB.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.records import Url
from gossamer.schedule import rank
from gossamer.schedule.rank import Edges, Floats, Numbers, node_of, numbering, pagerank
from gossamer.url.site import host_of

Hashes = NDArray[np.uint64]
Of = Literal["page", "host"]

VISIT = np.dtype([("page", "<u8"), ("host", "<u8"), ("links", "<u4"), ("is_name", "<u4")])
LINK = np.dtype([("page", "<u8"), ("host", "<u8")])
JUMPS = 6  # each doubles how far a name is followed: 64 redirects in a row


def digest(name: str) -> bytes:
    """What a page (by its URL) or a host is known by. That two of a billion are the same has a chance of 3 %."""
    return blake2b(name.encode(), digest_size=8).digest()


def hash_of(name: str) -> int:
    return int.from_bytes(digest(name), "little")


_host_digest = lru_cache(1 << 16)(digest)


class LinkFiles:
    """The files, being written. Use as a context manager; `Links` reads them afterwards."""

    def __init__(self, folder: Path) -> None:
        self._files = ExitStack()
        self._visits, self._links, self._names = (
            self._files.enter_context((folder / name).open("wb")) for name in ("visits", "links", "names")
        )

    def __enter__(self) -> LinkFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def add(self, page: Url, targets: Iterable[Url]) -> None:
        keys = [_key(target) for target in targets]
        self._links.write(b"".join(keys))
        self._visits.write(_key(page) + struct.pack("<II", len(keys), 0))

    def add_name(self, page: Url, other: Url) -> None:
        """It is another name of that page."""
        self._names.write(_key(other))
        self._visits.write(_key(page) + struct.pack("<II", 0, 1))


def _key(url: Url) -> bytes:
    return digest(url) + _host_digest(host_of(url))


class Links:
    """The files, read a piece at a time. `silent`: hashes of pages that are passed over as if never visited."""

    def __init__(self, folder: Path, silent: Hashes) -> None:
        self._visits, self._links = folder / "visits", folder / "links"
        visits = _mapped(self._visits, VISIT)
        self._ends = np.cumsum(visits["links"], dtype=np.int64)
        is_node = _is_latest(visits["page"]) & ~node_of(np.sort(silent), visits["page"])[1]
        is_name = visits["is_name"] == 1
        others = np.fromfile(folder / "names", LINK)[is_node[is_name]]
        self._names, self._named = _followed(visits["page"][is_name & is_node], others)
        self._is_node = is_node & ~node_of(self._names, visits["page"])[1]

    def pieces(self, of: Of) -> Iterator[tuple[Hashes, Numbers, Hashes]]:
        """Some nodes, how many links each has, and where these lead, one behind the other.

        Read and not mapped: mapped files count as memory, and nobody could tell that it does not grow."""
        start = first = 0
        while start < len(self._ends):
            stop = max(start + 1, int(np.searchsorted(self._ends, first + rank.PIECE, "right")))
            stop = min(stop, start + rank.PIECE)  # pages without links may be many in a row
            end = int(self._ends[stop - 1])
            visits = np.fromfile(self._visits, VISIT, stop - start, offset=start * VISIT.itemsize)
            targets = np.fromfile(self._links, LINK, end - first, offset=first * LINK.itemsize)
            is_node = self._is_node[start:stop]
            targets = targets[np.repeat(is_node, visits["links"])]
            places, is_name = node_of(self._names, targets["page"])
            targets[is_name] = self._named[places[is_name]]
            yield visits[of][is_node], visits["links"][is_node], targets[of]
            start, first = stop, end


def _mapped(path: Path, form: np.dtype[np.void]) -> NDArray[np.void]:
    # A file without bytes cannot be mapped.
    return np.asarray(np.memmap(path, form, "r")) if path.stat().st_size else np.empty(0, form)


def _is_latest(pages: Hashes) -> NDArray[np.bool_]:
    """Of each page the last visit."""
    order = np.argsort(pages, kind="stable")
    in_order = pages[order]
    latest = np.zeros(len(pages), np.bool_)
    latest[order[np.append(in_order[1:] != in_order[:-1], True)[: len(order)]]] = True
    return latest


def _followed(names: Hashes, others: NDArray[np.void]) -> tuple[Hashes, NDArray[np.void]]:
    """Names in their order, and what each is a name of in the end, without those that lead in a circle."""
    order = np.argsort(names)
    names, others = names[order], others[order]
    for _ in range(JUMPS):
        places, is_name = node_of(names, others["page"])
        others[is_name] = others[places[is_name]]
    _, is_name = node_of(names, others["page"])
    return names[~is_name], others[~is_name]


class Ranking(NamedTuple):
    """The ranks of all nodes of a graph, in the order of their hashes."""

    hashes: Hashes
    rank: Floats
    links: int
    dangling: int  # nodes without links
    rounds: int


def ranking(links: Links, of: Of, folder: Path) -> Ranking:
    """`folder` gets a file of 8 bytes a link, and another 8 meanwhile."""
    hashes = numbering(some for sources, _, targets in links.pieces(of) for some in (sources, targets))
    edges = Edges(folder, len(hashes))
    for found, times, goals in links.pieces(of):
        sources, targets = np.repeat(node_of(hashes, found)[0], times), node_of(hashes, goals)[0]
        leads_away = sources != targets
        edges.add(sources[leads_away].astype(np.uint32), targets[leads_away].astype(np.uint32))
    graph = edges.close()
    rounds = [0]
    ranks = pagerank(graph, watch=lambda number, moved: rounds.append(number))
    return Ranking(hashes, ranks, graph.links, int((graph.out == 0).sum()), rounds[-1])
