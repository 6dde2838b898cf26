"""The index of near copies: which pages have a SimHash like this one, and which of those are near by their sketches?

The SimHash finds candidates, the sketch decides (gossamer/resemblance.py). A handful of keys is read, never all.

Of the 64 bits, the lower 28 and the upper 28 are a block each, and there is a table for each block: a bucket for
every value of the block holds the SimHashes that have it. Two SimHashes that differ in at most 3 bits have a block
in which they differ in at most one. So whoever looks for what is near looks into the bucket of each block and into
those that differ from it in one bit: 58 buckets, of which nearly all are empty. Two tables that are asked often cost
less than ten that are asked once (docs/decisions/0010-near-duplicates.md): a page is written to two rows instead of
ten.

    near      bucket (4 bytes)    -> the entries in it, 24 bytes each, oldest first
    near      "form..."           -> what the index was made for; it cannot be used for anything else
    owners    entry (24 bytes)    -> URL, when it was fetched, sketch

An entry is a SimHash and 16 bytes that are made of the sketch. Pages of one template have SimHashes that are near
each other or even the same: thousands of products, of tables with other figures. The bytes of the sketch say which of
them come first: the COMPARED_MAX that differ least in those are read and compared (`digest_of`).

Which buckets are empty is known without a read: a map in memory has a bit for each, 64 MiB in all, which are taken
when a crawl has a thousand pages. At 10 million SimHashes two of the 58 are read, at 100 million eighteen. A file
beside the store, near.filled, has the numbers of those that hold something, 4 bytes each, in the order in which they
were filled: bits are set all over the map, and a map in a file would write 4 KiB for each of them (25 µs a page,
where this takes 1). A number is written before its row is, so that kill -9 loses nothing; one that a power cut loses
hides a bucket, and a later copy of those pages is taken for an original, which is harmless.

A bucket keeps its newest BUCKET_MAX: a site with a million pages of one template would else make every look-up read
them all. What falls out of one bucket may still be in the other.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer.atomic import replacing
from gossamer.interfaces import BATCH_MAX, Batch, OtherIndex, Store
from gossamer.process.fingerprints.shingles import SHINGLE_WORDS
from gossamer.records import Claim, Url
from gossamer.resemblance import are_near, digest_of, resemblance

TABLES = ("near", "owners")
BLOCK_BITS = 28
BUCKETS = 2 << BLOCK_BITS
BUCKET_MAX = 128
COMPARED_MAX = 16  # sketches that are read for a page
WHOLE_FROM = 2000  # filled buckets, of a thousand pages: 8 MiB of the map are in use by then
ENTRY_BYTES = 24
FORM = b"form of the index"
SKETCHES = 1  # the form of sketches: with others nothing can be compared


class Near(NamedTuple):
    """A page that another one is near to."""

    url: Url
    fetched_at: float
    distance: int  # bits by which the SimHashes differ
    resemblance: float


class Owner(NamedTuple):
    url: Url
    fetched_at: float
    sketch: bytes


_LOW = (1 << BLOCK_BITS) - 1
_READ_BYTES = 4 << 20
_encode = msgspec.msgpack.Encoder().encode
decode_owner = msgspec.msgpack.Decoder(Owner).decode


class NearIndex:
    def __init__(self, store: Store, folder: Path, near_bits: int) -> None:
        """`folder`: for the list of buckets that are filled."""
        self.near_bits = near_bits
        self._store = store
        self._folder = folder
        self._flips = _flips(near_bits // 2)  # what is near differs by no more in one of the two blocks
        self._check_form({"process.shingle_words": SHINGLE_WORDS, "sketches": SKETCHES})
        self._open_map(folder / "near.filled")

    def nearest(self, claims: Sequence[Claim]) -> list[Near | None]:
        """For each of them the most similar page of another URL, where one is near. All at once: numpy takes as
        long for one as for ten."""
        found: list[Near | None] = [None] * len(claims)
        rows: defaultdict[int, bytes] = defaultdict(bytes)
        numbers, keys = self._filled_around(claims)
        for number, row in zip(numbers, self._store.get_many("near", keys), strict=True):
            rows[number] += row or b""
        for number, row in rows.items():
            found[number] = self._nearest_of(row, claims[number])
        return found

    def _nearest_of(self, row: bytes, claim: Claim) -> Near | None:
        best: Near | None = None
        for owner, distance in self._candidates(claim, row):
            if owner.url == claim.url or not are_near(owner.sketch, claim.sketch):
                continue
            near = Near(owner.url, owner.fetched_at, distance, resemblance(owner.sketch, claim.sketch))
            if best is None or near.resemblance > best.resemblance:
                best = near
        return best

    def add(self, claims: Iterable[Claim], batch: Batch) -> None:
        """Claims to be found from the moment when the batch is written. Twice is as good as once."""
        rows: dict[int, bytes] = {}
        fresh: list[int] = []
        for claim in claims:
            if claim.simhash is None or not claim.sketch:
                continue  # there is no text, or the claim is of a version that made no sketches
            buckets = _buckets(claim.simhash)
            for bucket in buckets:
                if bucket not in rows and self._is_filled(bucket):
                    rows[bucket] = self._store.get("near", bucket.to_bytes(4, "big")) or b""
                elif bucket not in rows:
                    rows[bucket] = b""
                    fresh.append(bucket)
            if self._is_known(claim, b"".join(rows[bucket] for bucket in buckets)):
                continue
            entry = _entry(claim)
            for bucket in buckets:
                rows[bucket] = rows[bucket][-ENTRY_BYTES * (BUCKET_MAX - 1) :] + entry
                batch.put("near", bucket.to_bytes(4, "big"), rows[bucket])
            batch.put("owners", entry, _encode(Owner(claim.url, claim.fetched_at, claim.sketch)))
        self._fill(fresh)

    def close(self) -> None:
        os.close(self._file)

    def _is_known(self, claim: Claim, row: bytes) -> bool:
        """Is it there, or an earlier visit to the same URL that had nearly the same text? One of those is enough."""
        if not row:
            return False
        return _entry(claim) in _entries(row) or any(
            owner.url == claim.url and are_near(owner.sketch, claim.sketch)
            for owner, _ in self._candidates(claim, row)
        )

    def _candidates(self, claim: Claim, row: bytes) -> Iterator[tuple[Owner, int]]:
        """Those of a row whose SimHashes are near, each once, and by how many bits they differ. Likely ones first."""
        entries = np.frombuffer(row, ">u8").reshape(-1, 3) ^ np.frombuffer(_entry(claim), ">u8")
        distances = np.bitwise_count(entries)
        near = (distances[:, 0] <= self.near_bits).nonzero()[0]
        if not len(near):
            return
        order = near[(distances[near, 1] + distances[near, 2]).argsort(kind="stable")].tolist()
        wanted = dict.fromkeys(row[ENTRY_BYTES * at : ENTRY_BYTES * (at + 1)] for at in order)
        keys = list(wanted)[:COMPARED_MAX]
        for key, value in zip(keys, self._store.get_many("owners", keys), strict=True):
            if value is not None:
                yield decode_owner(value), (int.from_bytes(key[:8]) ^ (claim.simhash or 0)).bit_count()

    # ---- the map of buckets that hold something ----------------------------------------------------------

    def _filled_around(self, claims: Sequence[Claim]) -> tuple[list[int], list[bytes]]:
        """The keys of all filled buckets that what is near may be in, each with the number of its claim."""
        numbers = [number for number, claim in enumerate(claims) if claim.simhash is not None and claim.sketch]
        blocks = np.array([_buckets(claims[number].simhash or 0) for number in numbers], np.uint32).reshape(-1, 2)
        buckets = blocks.repeat(len(self._flips) // 2, axis=1) ^ self._flips
        at, flip = (self._map.take(buckets >> 3) >> (buckets & 7) & 1).nonzero()
        keys = [bucket.to_bytes(4, "big") for bucket in buckets[at, flip].tolist()]
        return [numbers[each] for each in at.tolist()], keys

    def _is_filled(self, bucket: int) -> bool:
        return bool(self._bits[bucket >> 3] >> (bucket & 7) & 1)

    def _fill(self, buckets: list[int]) -> None:
        end = os.fstat(self._file).st_size
        try:
            write_all(self._file, struct.pack(f"<{len(buckets)}I", *buckets))
        except OSError:
            os.ftruncate(self._file, end)  # half a number would shift all that follow
            raise
        for bucket in buckets:
            self._bits[bucket >> 3] |= 1 << (bucket & 7)

        if not self._is_whole and end // 4 + len(buckets) > WHOLE_FROM:
            self._take_whole()

    def _take_whole(self) -> None:
        """All of the map at once: bits are set all over it, so that twenty thousand pages would take all of it
        anyway, and memory that does not grow can be planned. A small crawl is left the memory."""
        self._map[:: mmap.PAGESIZE] |= 0
        self._is_whole = True

    def _open_map(self, path: Path) -> None:
        self._bits = mmap.mmap(-1, BUCKETS // 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            self._bits.madvise(mmap.MADV_NOHUGEPAGE)  # else the system may take 2 MiB for every bit
        self._is_whole = False
        self._map: NDArray[np.uint8] = np.frombuffer(self._bits, np.uint8)
        if not path.exists():  # the crawl is new; or somebody has lost the file
            self._write_map(path)
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        os.ftruncate(self._file, os.fstat(self._file).st_size & ~3)  # a full disk may have cut the last one
        while read := os.read(self._file, _READ_BYTES):
            filled = np.frombuffer(read, "<u4")
            if filled.max() >= BUCKETS:  # the file is damaged
                os.close(self._file)
                self._write_map(path)
                self._open_map(path)
                return
            np.bitwise_or.at(self._map, filled >> 3, (1 << (filled & 7)).astype(np.uint8))
        if os.fstat(self._file).st_size // 4 > WHOLE_FROM:
            self._take_whole()

    def _write_map(self, path: Path) -> None:
        with replacing(path) as partial, partial.open("wb") as file:
            for key, _ in self._store.scan("near"):
                if key != FORM:
                    file.write(key[::-1])

    def _empty(self) -> None:
        (self._folder / "near.filled").unlink(missing_ok=True)
        for table in ("owners", "near"):
            batch = self._store.batch()
            for key, _ in self._store.scan(table):
                batch.delete(table, key)
                if len(batch) >= BATCH_MAX:
                    self._store.write(batch, sync=False)
                    batch = self._store.batch()
            self._store.write(batch, sync=False)

    def _check_form(self, form: dict[str, int]) -> None:
        stored = self._store.get("near", FORM)
        known = msgspec.msgpack.decode(stored, type=dict[str, int]) if stored is not None else {}
        if "sketches" not in known:
            # New, or of a version that kept no sketches. Nothing can be compared with those pages: a copy of one of
            # them is stored once more, and is the original of the next.
            self._empty()
            batch = self._store.batch()
            batch.put("near", FORM, _encode(form))
            self._store.write(batch, sync=True)
            return
        for name, value in known.items():
            if form.get(name) != value:
                raise OtherIndex(
                    f"the fingerprints in {self._folder} were made with {name} = {value}, and this version makes "
                    f"them with {form.get(name)}: remove {self._folder}. It is made anew, and copies of pages that "
                    "were stored before are stored once more"
                )


def _entry(claim: Claim) -> bytes:
    return (claim.simhash or 0).to_bytes(8, "big") + digest_of(claim.sketch)


def _entries(row: bytes) -> set[bytes]:
    return {row[at : at + ENTRY_BYTES] for at in range(0, len(row), ENTRY_BYTES)}


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
