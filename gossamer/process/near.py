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

Which buckets are empty is known without a read: a file beside the store, near.map, has a bit for each, and is mapped
into memory. At 10 million SimHashes two of the 58 are read, at 100 million eighteen. The file begins as a hole of 64
MiB and takes room only where bits are set. A bit is set before its row is written, so that kill -9 loses nothing; a
bit that a power cut loses hides a bucket, and a later copy of those pages is taken for an original, which is
harmless.

A bucket keeps its newest BUCKET_MAX: a site with a million pages that are nearly, but not quite, near copies of each
other would else make every look-up read them all. What falls out of one bucket is still in the other.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterable
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

_LOW = (1 << BLOCK_BITS) - 1
_PAGE_BITS = 12  # the least that a file system gives room for
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[str, float]).decode


class NearIndex:
    def __init__(self, store: Store, near_bits: int, shingle_words: int) -> None:
        self.near_bits = near_bits
        self._store = store
        self._flips = _flips(near_bits // 2)  # what is near differs by no more in one of the two blocks
        self._check_form({"process.near_bits": near_bits, "process.shingle_words": shingle_words})
        self._open_map(store.folder / "near.map")

    def nearest(self, simhash: int, besides: Url) -> tuple[Url, float, int] | None:
        """The nearest one of another URL: that URL, when it was fetched, and by how many bits it differs."""
        found = self._store.get_many("near", self._filled_around(simhash))
        for other, distance in self._within(simhash, b"".join(row for row in found if row)):
            if (owner := self._owner(other)) is not None and owner[0] != besides:
                return *owner, distance
        return None

    def add(self, claims: Iterable[Claim], batch: Batch) -> None:
        """Claims to be found from the moment when the batch is written. Twice is as good as once."""
        rows: dict[int, bytes] = {}
        for claim in claims:
            if claim.simhash is None:
                continue
            buckets = _buckets(claim.simhash)
            for bucket in buckets:
                if bucket not in rows:
                    key = bucket.to_bytes(4, "big")
                    rows[bucket] = (self._store.get("near", key) or b"") if self._is_filled(bucket) else b""
            if self._is_known(claim, claim.simhash, b"".join(rows[bucket] for bucket in buckets)):
                continue
            entry = claim.simhash.to_bytes(8, "big")
            for bucket in buckets:
                rows[bucket] = rows[bucket][-8 * (BUCKET_MAX - 1) :] + entry
                self._fill(bucket)
                batch.put("near", bucket.to_bytes(4, "big"), rows[bucket])
            batch.put("owners", entry, _encode((claim.url, claim.fetched_at)))

    def close(self) -> None:
        del self._map  # the mapping goes with its last user
        os.close(self._file)

    def _is_known(self, claim: Claim, simhash: int, row: bytes) -> bool:
        """Is it there, or an earlier visit to the same URL that had nearly the same text? One of those is enough."""
        return any(
            distance == 0 or ((owner := self._owner(other)) is not None and owner[0] == claim.url)
            for other, distance in self._within(simhash, row)
        )

    def _within(self, simhash: int, row: bytes) -> list[tuple[int, int]]:
        """Those of a row that are near, each once, and how near; the nearest first."""
        distances = {other: (other ^ simhash).bit_count() for other in struct.unpack(f">{len(row) // 8}Q", row)}
        near = [(distance, other) for other, distance in distances.items() if distance <= self.near_bits]
        return [(other, distance) for distance, other in sorted(near)]

    def _owner(self, simhash: int) -> tuple[Url, float] | None:
        value = self._store.get("owners", simhash.to_bytes(8, "big"))
        return None if value is None else _decode(value)

    # ---- the map of buckets that hold something ----------------------------------------------------------

    def _filled_around(self, simhash: int) -> list[bytes]:
        """The keys of all buckets that what is near may be in, as far as they hold something."""
        buckets = np.array(_buckets(simhash), np.uint32).repeat(len(self._flips) // 2) ^ self._flips
        if self._holes:  # they are not looked into, because that would give them memory
            buckets = buckets[self._backed.take(buckets >> (_PAGE_BITS + 3))]
        filled = (self._map.take(buckets >> 3) >> (buckets & 7) & 1).nonzero()[0]
        return [bucket.to_bytes(4, "big") for bucket in buckets[filled].tolist()] if len(filled) else []

    def _is_filled(self, bucket: int) -> bool:
        return bool(self._backed[bucket >> (_PAGE_BITS + 3)] and int(self._map[bucket >> 3]) >> (bucket & 7) & 1)

    def _fill(self, bucket: int) -> None:
        page = bucket >> (_PAGE_BITS + 3)
        if not self._backed[page]:
            # The disk has to have room for it first: a write into a hole of a mapping kills where there is none.
            os.posix_fallocate(self._file, page << _PAGE_BITS, 1 << _PAGE_BITS)
            self._backed[page] = True
            self._holes -= 1
        self._map[bucket >> 3] |= 1 << (bucket & 7)

    def _open_map(self, path: Path) -> None:
        is_new = not path.exists() or path.stat().st_size != BUCKETS // 8
        opened = path.with_suffix(".new") if is_new else path
        if is_new:
            opened.write_bytes(b"")
            os.truncate(opened, BUCKETS // 8)
        self._file = os.open(opened, os.O_RDWR)
        mapped = mmap.mmap(self._file, BUCKETS // 8)
        mapped.madvise(mmap.MADV_RANDOM)  # or the system reads ahead and fills the holes with memory
        self._map: NDArray[np.uint8] = np.frombuffer(mapped, np.uint8)
        self._backed = _backed_pages(self._file)
        self._holes = len(self._backed) - int(self._backed.sum())
        if is_new:  # the crawl is; or somebody has lost the file
            for key, _ in self._store.scan("near"):
                if key != FORM:
                    self._fill(int.from_bytes(key, "big"))
            opened.replace(path)

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


def _backed_pages(file: int) -> NDArray[np.bool_]:
    """For each page of the map whether it has a place on the disk; the others are holes, and all zero."""
    backed = np.zeros(BUCKETS // 8 >> _PAGE_BITS, bool)
    end = 0
    try:
        while True:
            start = os.lseek(file, end, os.SEEK_DATA)
            end = os.lseek(file, start, os.SEEK_HOLE)
            backed[start >> _PAGE_BITS : -(-end >> _PAGE_BITS)] = True
    except OSError:  # ENXIO: nothing but holes from here on
        return backed
