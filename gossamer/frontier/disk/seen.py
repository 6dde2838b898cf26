"""Have we seen this URL? Three answers of rising cost: a cache of hot URLs, a Bloom filter, the exact set on disk.

Most links of a page have been seen a moment ago (navigation), and the cache answers these from the text alone, before
anything is hashed. It also knows how much credit may be promised to a page before that matters.

A URL that the filter does not know is new without a look at the disk. One that it knows is looked up: it takes one
new URL in a hundred for known by mistake, and no URL may be lost.

The filter grows with the crawl: when one is full, another of twice the size is added, each with half the mistakes
of the one before, so that their sum stays below twice the first's. It lives in memory and is saved at a clean end.
After a crash it is made anew from the exact set in small steps while the crawl goes on; until then the disk answers.

A billion URLs at one mistake in a hundred: about 1.5 GB over all partitions, which is why it can be sized.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from zlib import crc32

from gossamer.atomic import replacing
from gossamer.frontier.disk.bloom import Bloom
from gossamer.interfaces import Store
from gossamer.records import Url
from gossamer.settings import FrontierSettings

HOT_URLS = 10_000  # of a partition, in two generations of half of it; about 2 MB
DEPTH_SHIFT, BITS = 8, 0xFF  # of what is kept of a hot URL: its depth, and the bits of credit that change nothing
CHECKSUM_BYTES = 4  # at the end of the file: a filter that has lost a bit takes a known URL for a new one
STEP = 4000  # URLs a step while the filter is made anew: about 4 ms


def mistakes(urls: int, settings: FrontierSettings) -> float:
    """The share of new URLs that a filter which knows so many takes for known."""
    right, n = 1.0, 0
    while urls > 0:
        capacity = settings.seen_urls << n
        # A Bloom filter with k hashes is wrong where k bits happen to be set: filled to f, about f^k of the time.
        rate = settings.seen_mistakes / 2**n
        hashes = math.log2(1 / rate)
        set_bits = 1 - 0.5 ** min(1.0, urls / capacity)
        right *= 1.0 - set_bits**hashes
        urls -= capacity
        n += 1
    return 1.0 - right


class Seen:
    def __init__(self, store: Store, settings: FrontierSettings, file: Path, urls: int) -> None:
        self._store = store
        self._settings = settings
        self._file = file
        self._hot: dict[Url, int] = {}
        self._warm: dict[Url, int] = {}
        self._filters: list[Bloom] = []
        self._room = 0
        self._remaking: Iterator[tuple[bytes, bytes]] | None = None
        if not self._load(urls):
            self._grow()
            if urls:
                self._remaking = store.scan("urls")

    @property
    def is_complete(self) -> bool:
        """The filter knows every URL; otherwise only the disk does."""
        return self._remaking is None

    # ---- hot URLs ----------------------------------------------------------------------------------------

    def hot(self, url: Url, depth: int) -> int | None:
        """Seen lately, and no farther from a seed than this time: nothing about it can change, unless links promise
        it credit of more bits than these. None: look."""
        known = self._hot.get(url)
        if known is None:
            known = self._warm.pop(url, None)
            if known is None:
                return None
            self._keep(url, known)
        return known & BITS if known >> DEPTH_SHIFT <= depth else None

    def hot_among(self, urls: Sequence[Url], depth: int) -> list[int | None]:
        """The same for several."""
        hot = self._hot
        return [
            hot[url] & BITS if url in hot and hot[url] >> DEPTH_SHIFT <= depth else self.hot(url, depth)
            for url in urls
        ]

    def warm_up(self, url: Url, depth: int) -> None:
        """Until `expect` it is looked at again for any credit."""
        self._keep(url, depth << DEPTH_SHIFT)

    def _keep(self, url: Url, known: int) -> None:
        self._hot[url] = known
        if len(self._hot) > HOT_URLS // 2:
            self._hot, self._warm = {}, self._hot

    def expect(self, url: Url, bits: int) -> None:
        """Credit up to so many bits changes nothing about a URL, if it is still hot."""
        known = self._hot if url in self._hot else self._warm
        if url in known:
            known[url] = known[url] & ~BITS | bits

    def cool(self, url: Url) -> None:
        self._hot.pop(url, None)
        self._warm.pop(url, None)

    # ---- the filter --------------------------------------------------------------------------------------

    def may_know(self, keys: Sequence[bytes]) -> list[bool]:
        """For each key whether it has to be looked up; False: it is new."""
        if self._remaking is not None or not keys:
            return [True] * len(keys)
        known = self._filters[-1].has(keys)
        for bloom in self._filters[:-1]:
            known |= bloom.has(keys)
        answers: list[bool] = known.tolist()
        return answers

    def add(self, keys: Sequence[bytes]) -> None:
        while keys:
            if self._room <= 0:
                self._grow()
            some, keys = keys[: self._room], keys[self._room :]
            self._filters[-1].add(some)
            self._room -= len(some)

    @property
    def filter_bytes(self) -> int:
        return sum(bloom.size for bloom in self._filters)

    def remake_some(self) -> None:
        """A step towards a complete filter after a crash; harmless for keys that were added meanwhile."""
        if self._remaking is None:
            return
        keys = [key for key, _ in islice(self._remaking, STEP)]
        self.add(keys)
        if len(keys) < STEP:
            self._remaking = None

    def _grow(self) -> None:
        n = len(self._filters)
        capacity = self._settings.seen_urls << n
        self._filters.append(Bloom(capacity, self._settings.seen_mistakes / 2**n))
        self._room = capacity

    # ---- from one run to the next ------------------------------------------------------------------------

    def save(self, urls: int) -> None:
        """At a clean end. The file tells how many URLs it knows: after a crash that is not how many there are."""
        if not self.is_complete:
            self._remaking = iter(())  # an open cursor would keep the store from closing
            return
        if not urls:
            return  # there may be no store, and no folder, either
        sizes = [urls, self._settings.seen_urls, self._room, len(self._filters)]
        head = b"".join(size.to_bytes(8, "big", signed=True) for size in sizes)
        checksum = 0
        # No room for it is no fault: it is made anew.
        with suppress(OSError), replacing(self._file) as partial, partial.open("wb") as file:
            for part in chain([head], (bloom.dump() for bloom in self._filters)):
                file.write(part)
                checksum = crc32(part, checksum)
            file.write(checksum.to_bytes(CHECKSUM_BYTES, "big"))

    def _load(self, urls: int) -> bool:
        """Whether there was a filter for exactly this state. It is taken away: a crash must not find it again."""
        try:
            content = memoryview(self._file.read_bytes())
            self._file.unlink()
        except FileNotFoundError:
            return False
        content, checksum = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
        if crc32(content) != int.from_bytes(checksum, "big"):
            return False  # damaged, or of an earlier version: the disk knows, and the filter is made anew
        head = [int.from_bytes(content[n : n + 8], "big", signed=True) for n in range(0, 32, 8)]
        if len(content) < 32 or head[:2] != [urls, self._settings.seen_urls]:
            return False
        at = 32
        while at < len(content) and len(self._filters) < head[3]:
            self._grow()
            bloom = self._filters[-1]
            if not bloom.load(content[at : at + bloom.size]):
                break
            at += bloom.size
        if at != len(content) or len(self._filters) != head[3]:
            self._filters.clear()  # cut off, or of an earlier version
            return False
        self._room = head[2]
        return True
