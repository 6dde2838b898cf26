"""The ranks of a crawl, as they lie on disk: `ranks` in its folder, written by `gossamer rank`.

    8 bytes      what this file is
    8, 8, 8      how many pages, how many hosts (whole numbers), and when it was made (seconds since 1970)
    8 a page     hashes of the URLs (rank_links.py), in order
    8 a host     hashes of the names, in order
    4 a page     their PageRank, in the same order; all pages together have 1
    4 a host     their PageRank, the same

All little-endian. The file is mapped and not read: a look-up touches a few pages of memory that all workers share,
and takes 4 µs, whatever the size. It is replaced as a whole; who has the old one open goes on reading that.

What it answers is an *importance* in [0, 1] on the scale that credit has too (importance.importance), by the share of
all rank: 1 for all of it, 0.67 for a thousandth, 0.33 for a millionth, 0 for a thousand-millionth and less.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gossamer.records import Url
from gossamer.schedule.importance import UNIT, importance
from gossamer.schedule.rank import node_of
from gossamer.schedule.rank_links import Hashes, Ranking, hash_of

FILE = "ranks"
KIND = b"GOSRANK1"
HEAD = struct.Struct("<8sQQd")

Say = Callable[[str], None]


class Table:
    """The ranks of pages, or of hosts."""

    def __init__(self, hashes: Hashes, ranks: NDArray[np.float32]) -> None:
        self._hashes = hashes
        self._ranks = ranks

    def __len__(self) -> int:
        return len(self._hashes)

    def rank(self, name: str) -> float | None:
        """The share of all rank that it has; None where nothing is known of it."""
        wanted = np.uint64(hash_of(name))
        place = int(self._hashes.searchsorted(wanted))
        return float(self._ranks[place]) if place < len(self) and self._hashes[place] == wanted else None

    def importance(self, name: str) -> float | None:
        share = self.rank(name)
        return None if share is None else importance_of(share)

    def ranks(self, hashes: Hashes) -> NDArray[np.float32]:
        """Of many at once; 0 where nothing is known, which no rank is."""
        places, known = node_of(self._hashes, hashes)
        return np.where(known, self._ranks[places], np.float32(0))


class Ranks:
    """What `gossamer rank` found out, for whoever wants to know how important something is."""

    def __init__(self, pages: Table, hosts: Table, made_at: float) -> None:
        self.pages = pages
        self.hosts = hosts
        self.made_at = made_at

    @staticmethod
    def open(folder: Path, say: Say = lambda text: None) -> Ranks | None:
        """Those in a crawl's folder. None where there are none, or none that can be used: then `say` hears why."""
        path = folder / FILE
        try:
            with path.open("rb") as file:
                head = file.read(HEAD.size)
            kind, pages, hosts, made_at = HEAD.unpack(head)
            if kind != KIND or path.stat().st_size != HEAD.size + 12 * (pages + hosts):
                raise ValueError("its size or its beginning is not right")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, struct.error) as fault:
            say(f"{path} is not used ({fault}): `gossamer rank` writes it anew")
            return None
        numbers = np.asarray(np.memmap(path, "<u8", "r", HEAD.size, pages + hosts))
        ranks = np.asarray(np.memmap(path, "<f4", "r", HEAD.size + 8 * (pages + hosts), pages + hosts))
        return Ranks(Table(numbers[:pages], ranks[:pages]), Table(numbers[pages:], ranks[pages:]), made_at)

    def page(self, url: Url) -> float | None:
        """Its importance in [0, 1]. None: it was not fetched and nothing linked to it, or it is another name of a
        page."""
        return self.pages.importance(url)

    def host(self, name: str) -> float | None:
        return self.hosts.importance(name)


def importance_of(share: float) -> float:
    return importance(int(share * UNIT), UNIT)


def write(path: Path, pages: Ranking, hosts: Ranking, at: float) -> None:
    """Not durable yet, and not under its own name: that is the caller's to see to."""
    with path.open("wb") as file:
        file.write(HEAD.pack(KIND, len(pages.hashes), len(hosts.hashes), at))
        for each in (pages, hosts):
            each.hashes.astype("<u8", copy=False).tofile(file)
        for each in (pages, hosts):
            each.rank.astype("<f4").tofile(file)
