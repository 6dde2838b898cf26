"""The index of SimHashes: which of them differ from this one in a few bits? A handful of keys is read, never all.

Of the 64 bits, the lower 28 and the upper 28 are a block each, and there is a table for each block: a bucket for
every value of the block holds the SimHashes that have it. Two SimHashes that differ in at most 3 bits have a block
in which they differ in at most one. So whoever looks for what is near looks into the bucket of each block and into
those that differ from it in one bit: 58 buckets, of which nearly all are empty. Two tables that are asked often cost
less than ten that are asked once (docs/decisions/0010-near-duplicates.md): a page is written to two rows instead of
ten.

    near      bucket (4 bytes)    -> the SimHashes in it, 8 bytes each, oldest first
    near      "form..."           -> what the index was made for; it cannot be used for anything else
    owners    SimHash (8 bytes)   -> URL, when it was fetched

Which buckets are empty is known without a read: a map in memory has a bit for each, 64 MiB in all. At 10 million
SimHashes two of the 58 are read, at 100 million eighteen. A file beside the store, near.filled, has the numbers of
those that hold something, 4 bytes each, in the order in which they were filled: bits are set all over the map, and
a map in a file would write 4 KiB for each of them (25 µs a page, where this takes 1). A number is written before its
row is, so that kill -9 loses nothing; one that a power cut loses hides a bucket, and a later copy of those pages is
taken for an original, which is harmless.

A bucket keeps its newest BUCKET_MAX: a site with a million pages that are nearly, but not quite, near copies of each
other would else make every look-up read them all. What falls out of one bucket is still in the other.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer.interfaces import Batch, OtherIndex, Store
from gossamer.records import Claim, Url

TABLES = ("near", "owners")
BLOCK_BITS = 28
BUCKETS = 2 << BLOCK_BITS
BUCKET_MAX = 64
FORM = b"form of the index"

Nearest = tuple[Url, float, int]
"""A URL, when it was fetched, and by how many bits its SimHash differs."""

_LOW = (1 << BLOCK_BITS) - 1
_READ_BYTES = 4 << 20
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[str, float]).decode


class NearIndex:
    def __init__(self, store: Store, near_bits: int, shingle_words: int) -> None:
        self.near_bits = near_bits
        self._store = store
        self._flips = _flips(near_bits // 2)  # what is near differs by no more in one of the two blocks
        self._check_form({"process.near_bits": near_bits, "process.shingle_words": shingle_words})
        self._open_map(store.folder / "near.filled")

    def nearest(self, claims: Sequence[Claim]) -> list[Nearest | None]:
        """For each of them the nearest one of another URL. All at once: numpy takes as long for one as for ten."""
        found: list[Nearest | None] = [None] * len(claims)
        rows: defaultdict[int, bytes] = defaultdict(bytes)
        numbers, keys = self._filled_around(claims)
        for number, row in zip(numbers, self._store.get_many("near", keys), strict=True):
            rows[number] += row or b""
        for number, row in rows.items():
            found[number] = self._nearest_of(row, claims[number])
        return found

    def _nearest_of(self, row: bytes, claim: Claim) -> Nearest | None:
        for other, distance in self._within(claim.simhash or 0, row):
            if (owner := self._owner(other)) is not None and owner[0] != claim.url:
                return *owner, distance
        return None

    def add(self, claims: Iterable[Claim], batch: Batch) -> None:
        """Claims to be found from the moment when the batch is written. Twice is as good as once."""
        rows: dict[int, bytes] = {}
        fresh: list[int] = []
        for claim in claims:
            if claim.simhash is None:
                continue
            buckets = _buckets(claim.simhash)
            for bucket in buckets:
                if bucket not in rows and self._is_filled(bucket):
                    rows[bucket] = self._store.get("near", bucket.to_bytes(4, "big")) or b""
                elif bucket not in rows:
                    rows[bucket] = b""
                    fresh.append(bucket)
            if self._is_known(claim, claim.simhash, b"".join(rows[bucket] for bucket in buckets)):
                continue
            entry = claim.simhash.to_bytes(8, "big")
            for bucket in buckets:
                rows[bucket] = rows[bucket][-8 * (BUCKET_MAX - 1) :] + entry
                batch.put("near", bucket.to_bytes(4, "big"), rows[bucket])
            batch.put("owners", entry, _encode((claim.url, claim.fetched_at)))
        self._fill(fresh)

    def close(self) -> None:
        os.close(self._file)

    def _is_known(self, claim: Claim, simhash: int, row: bytes) -> bool:
        """Is it there, or an earlier visit to the same URL that had nearly the same text? One of those is enough."""
        return any(
            distance == 0 or ((owner := self._owner(other)) is not None and owner[0] == claim.url)
            for other, distance in self._within(simhash, row)
        )

    def _within(self, simhash: int, row: bytes) -> list[tuple[int, int]]:
        """Those of a row that are near, each once, and how near; the nearest first."""
        if not row:
            return []
        distances = {other: (other ^ simhash).bit_count() for other in struct.unpack(f">{len(row) // 8}Q", row)}
        near = [(distance, other) for other, distance in distances.items() if distance <= self.near_bits]
        return [(other, distance) for distance, other in sorted(near)]

    def _owner(self, simhash: int) -> tuple[Url, float] | None:
        value = self._store.get("owners", simhash.to_bytes(8, "big"))
        return None if value is None else _decode(value)

    # ---- the map of buckets that hold something ----------------------------------------------------------

    def _filled_around(self, claims: Sequence[Claim]) -> tuple[list[int], list[bytes]]:
        """The keys of all filled buckets that what is near may be in, each with the number of its claim."""
        numbers = [number for number, claim in enumerate(claims) if claim.simhash is not None]
        blocks = np.array([_buckets(claims[number].simhash or 0) for number in numbers], np.uint32).reshape(-1, 2)
        buckets = blocks.repeat(len(self._flips) // 2, axis=1) ^ self._flips
        at, flip = (self._map.take(buckets >> 3) >> (buckets & 7) & 1).nonzero()
        keys = [bucket.to_bytes(4, "big") for bucket in buckets[at, flip].tolist()]
        return [numbers[each] for each in at.tolist()], keys

    def _is_filled(self, bucket: int) -> bool:
        return bool(self._bits[bucket >> 3] >> (bucket & 7) & 1)

    def _fill(self, buckets: list[int]) -> None:
        write_all(self._file, struct.pack(f"<{len(buckets)}I", *buckets))
        for bucket in buckets:
            self._bits[bucket >> 3] |= 1 << (bucket & 7)

    def _open_map(self, path: Path) -> None:
        # Had at once, where the system can: bits are set all over it, so that twenty thousand pages would take all of
        # it anyway, and memory that does not grow can be planned.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0)
        self._bits = mmap.mmap(-1, BUCKETS // 8, flags=flags)
        self._map: NDArray[np.uint8] = np.frombuffer(self._bits, np.uint8)
        if not path.exists():  # the crawl is new; or somebody has lost the file
            opened = path.with_suffix(".new")
            with opened.open("wb") as file:
                for key, _ in self._store.scan("near"):
                    if key != FORM:
                        file.write(key[::-1])
            opened.replace(path)
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        os.ftruncate(self._file, os.fstat(self._file).st_size & ~3)  # a full disk may have cut the last one
        while read := os.read(self._file, _READ_BYTES):
            filled = np.frombuffer(read, "<u4")
            np.bitwise_or.at(self._map, filled >> 3, (1 << (filled & 7)).astype(np.uint8))

    def _check_form(self, form: dict[str, int]) -> None:
        stored = self._store.get("near", FORM)
        if stored is None:
            batch = self._store.batch()
            batch.put("near", FORM, _encode(form))
            self._store.write(batch, sync=True)
            return
        for name, value in msgspec.msgpack.decode(stored, type=dict[str, int]).items():
            if form.get(name) != value:
                raise OtherIndex(
                    f"{name} is {form.get(name)}, but the fingerprints in {self._store.folder} were made with "
                    f"{value}, and a crawl keeps what it began with: set it to {value}, or start a new crawl"
                )


def _buckets(simhash: int) -> tuple[int, int]:
    """The buckets of its lower and of its upper block; those of the upper ones are numbered behind the others."""
    return simhash & _LOW, simhash >> (64 - BLOCK_BITS) | 1 << BLOCK_BITS


def _flips(most: int) -> NDArray[np.uint32]:
    """Every way to change at most so many bits of the lower block, and then the same again for the upper one."""
    ways = [bits for count in range(most + 1) for bits in combinations(range(BLOCK_BITS), count)]
    return np.array([sum(1 << bit for bit in bits) for bits in ways] * 2, np.uint32)


def write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
