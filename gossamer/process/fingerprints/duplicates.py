"""Duplicates: who had this content first, to the byte or nearly?

Fingerprints are shared by all partitions: a digest of the body, the SimHash of its text (`simhash.py`), a sketch of
it (`sketch.py`), and the URL that claimed them. A page is compared with *other* URLs only, so that a page repeated
after a crash is still an original and still sends its links. Only originals are claimed: a copy of a copy is a copy
of the original.

A claim is settled once its page is finished. Until then others with the same content, or nearly the same, wait and
ask again a fraction of a second later: if they did not, they could be stored as copies of a page that a crash then
takes back. Who waits has claimed nothing, so that nobody can wait in a circle. A crash between `finish` and `settle`
is made good by whoever opens the partition next: it keeps the claims of its last batch, and they are settled again.
Only after that are the other claims of a worker that died released.

    exact     digest (32 bytes)   -> URL, when it was fetched
    near, owners                  see near.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gossamer.interfaces import BATCH_MAX, Store
from gossamer.process.fingerprints import near
from gossamer.process.fingerprints.near import Near, NearIndex
from gossamer.records import ORIGINAL, Claim, Verdict
from gossamer.resemblance import are_near

TABLES = ("exact", *near.TABLES)
BATCH_CLAIMS = BATCH_MAX // 4  # of four rows each

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[str, float]).decode


@dataclass(eq=False, slots=True)
class Pending:
    claim: Claim
    holder: int  # the worker that has the page in its hands
    blocks: list[tuple[int, int]]


class Duplicates:
    """Implements `interfaces.Claims`."""

    def __init__(self, store: Store, folder: Path, near_bits: int = 3) -> None:
        """`near_bits` 0: only the same bytes are a copy. `folder`: for the files beside the store."""
        self._store = store
        self._near_bits = near_bits
        self._near = NearIndex(store, folder, near_bits) if near_bits else None
        self._pending: dict[str, Pending] = {}  # by digest
        self._pending_near: defaultdict[tuple[int, int], list[Pending]] = defaultdict(list)  # by each of their blocks

    def judge(self, claims: Sequence[Claim], holder: int = 0) -> list[Verdict | None]:
        """None: another URL has claimed the same or a near content and is not settled yet. Ask again when it is."""
        stored = self._store.get_many("exact", [bytes.fromhex(claim.content_hash) for claim in claims])
        near = self._near.nearest(claims) if self._near else [None] * len(claims)
        return [self._judge(*each, holder) for each in zip(claims, stored, near, strict=True)]

    def _judge(self, claim: Claim, stored: bytes | None, near: Near | None, holder: int) -> Verdict | None:
        pending = self._pending.get(claim.content_hash)
        if pending is not None:
            if pending.claim.url != claim.url:
                return None
            pending.holder = holder  # repeated, perhaps by another worker than before
            return ORIGINAL
        blocks = self._blocks(claim)
        if stored is not None:
            url, fetched_at = _decode(stored)
            if url != claim.url:
                return Verdict("same", of=url, at=fetched_at)
        else:  # where it has been its own before, it is an original again
            if self._is_near_to_pending(claim, blocks):
                return None
            if near is not None:
                return Verdict("near", near.url, near.fetched_at, near.distance, near.resemblance)
        self._claim(Pending(claim, holder, blocks))
        return ORIGINAL

    def settle(self, claims: Sequence[Claim]) -> None:
        for first in range(0, len(claims), BATCH_CLAIMS):
            some = claims[first : first + BATCH_CLAIMS]
            batch = self._store.batch()
            for claim in some:
                batch.put("exact", bytes.fromhex(claim.content_hash), _encode((claim.url, claim.fetched_at)))
            if self._near:
                self._near.add(some, batch)
            self._store.write(batch, sync=False)  # the partition has it too, until its next batch
            for claim in some:
                self._end(claim.content_hash)

    def release(self, holder: int) -> None:
        for content_hash in [key for key, pending in self._pending.items() if pending.holder == holder]:
            self._end(content_hash)

    def lose(self, partition: int, epoch: int) -> None:
        """The same for what was claimed in this epoch of a partition, or before: its pages are finished elsewhere."""
        claims = ((key, pending.claim) for key, pending in self._pending.items())
        lost = [key for key, claim in claims if claim.partition == partition and claim.epoch <= epoch]
        for content_hash in lost:
            self._end(content_hash)

    def close(self) -> None:
        """The store is its owner's to close, after this."""
        if self._near:
            self._near.close()

    def _claim(self, pending: Pending) -> None:
        self._pending[pending.claim.content_hash] = pending
        for block in pending.blocks:
            self._pending_near[block].append(pending)

    def _end(self, content_hash: str) -> None:
        pending = self._pending.pop(content_hash, None)
        if pending is None:
            return
        for block in pending.blocks:
            self._pending_near[block].remove(pending)
            if not self._pending_near[block]:
                del self._pending_near[block]

    def _is_near_to_pending(self, claim: Claim, blocks: list[tuple[int, int]]) -> bool:
        """Has another URL claimed nearly the same content?"""
        return any(
            pending.claim.url != claim.url and self._are_near(pending.claim, claim)
            for block in blocks
            for pending in self._pending_near.get(block, ())
        )

    def _are_near(self, one: Claim, other: Claim) -> bool:
        if one.simhash is None or other.simhash is None:
            return False
        is_candidate = (one.simhash ^ other.simhash).bit_count() <= self._near_bits
        return is_candidate and are_near(one.sketch, other.sketch)

    def _blocks(self, claim: Claim) -> list[tuple[int, int]]:
        """The bits of its SimHash in one block more than may differ: whatever is near has one of them in common."""
        if claim.simhash is None or not self._near_bits:
            return []
        width = 64 // (self._near_bits + 1)
        return [(start, claim.simhash >> start & (1 << width) - 1) for start in range(0, 64 - width + 1, width)]
