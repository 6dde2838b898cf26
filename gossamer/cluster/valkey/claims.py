"""Claims of content in Valkey: the same bytes by their digest, near copies by SimHash and sketch.

    {NAME}:c and 16 bytes of the digest   "?" unsettled or "=" settled, when it was fetched, URL, sketch
    {NAME}:n and a bucket (4 bytes)       entries of 48 bytes, oldest first: SimHash, 16 bytes of the sketch, 8 that
                                          stand for the URL, and the 16 of the digest
    {NAME}:epochs                         the epoch in which each partition is owned

An unsettled claim lasts `claim_s` and is gone then: a holder that died leaves nobody waiting longer than that. One
that is gone too soon, because its page took longer to be stored or the memory was short, lets another URL become an
original, too: the content is stored twice, and whoever settles last is the one that copies are copies of.

**Near copies** are looked up as process/fingerprints/near.py does it on a disk: two blocks of 28 bits, 58 buckets, of
which nearly all are empty. The server looks (it costs no message), and this side compares, with the same functions
as one machine does. An entry is only a hint: the row of its digest says whether that content is still claimed, by
whom, and what its sketch is. So whatever falls out, the other half is passed over.

A page is claimed and put into its buckets in the same moment in which it is judged, and given back should it turn out
to be near to another one. So of two pages that are near each other and come at once from two nodes, the second one
sees the first and waits. While a claim is on its way back, another page may wait for it, for a fraction of a second.

Differences to one machine: a URL that shows a settled content of its own again does not make others wait; of the
versions of a URL that are near each other the newest is kept, and not the first; and among the COMPARED_MAX that are
compared are the unsettled ones.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Container, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from redis.asyncio import Redis

from gossamer.cluster.valkey import scripts
from gossamer.cluster.valkey.scripts import ENTRY_BYTES
from gossamer.records import ORIGINAL, Claim, Url, Verdict
from gossamer.resemblance import are_near, digest_of, resemblance

CLAIMS_AT_ONCE = 100  # in one script: about 4 ms, in which the server answers nobody else
COMPARED_MAX = 16  # sketches that are read for a page
DIGEST_BYTES = 16  # of 32: among ten billion pages the odds of two alike are 1 to 10^19

SETTLED, UNSETTLED, LATE = b"=", b"?", b"!"
_HEAD = struct.Struct(">cdI")  # state, when it was fetched, length of the URL

Answers = list[bytes]
Call = Callable[[Sequence[str], Sequence[bytes | str | int]], Awaitable[Answers]]


class Row(NamedTuple):
    is_settled: bool
    url: Url
    fetched_at: float
    sketch: bytes


def unpacked(row: bytes) -> Row:
    state, fetched_at, length = _HEAD.unpack_from(row)
    end = _HEAD.size + length
    return Row(state == SETTLED, row[_HEAD.size : end].decode(), fetched_at, row[end:])


def digest(claim: Claim) -> bytes:
    return bytes.fromhex(claim.content_hash)[-DIGEST_BYTES:]


class ValkeyClaims:
    """Raises what the client raises: who asks it knows what to do without."""

    def __init__(self, client: Redis, name: str, near_bits: int, claim_s: float) -> None:
        self.prefix = f"{{{name}}}:"
        self._client = client
        self._near_bits = near_bits
        self._claim_ms = int(claim_s * 1000)
        self._judge: Call = client.register_script(scripts.JUDGE)
        self._settle: Call = client.register_script(scripts.SETTLE)
        self._give_back: Call = client.register_script(scripts.GIVE_BACK)
        self._begin: Call = client.register_script(scripts.BEGIN)

    async def begin(self, epochs: dict[int, int]) -> None:
        told = [number for partition in epochs.items() for number in partition]
        await self._begin([f"{self.prefix}epochs"], [self.prefix, *told])

    async def judge(self, claims: Sequence[Claim]) -> list[Verdict | None]:
        verdicts: list[Verdict | None] = []
        for start in range(0, len(claims), CLAIMS_AT_ONCE):
            verdicts += await self._judge_some(claims[start : start + CLAIMS_AT_ONCE])
        return verdicts

    async def settle(self, claims: Sequence[Claim]) -> None:
        for start in range(0, len(claims), CLAIMS_AT_ONCE):
            told: list[bytes | str | int] = [self.prefix]
            for claim in claims[start : start + CLAIMS_AT_ONCE]:
                row = self._row(claim, SETTLED)
                told += [claim.partition, claim.epoch, digest(claim), row, self._entry(claim)]
            await self._settle([f"{self.prefix}epochs"], told)

    async def _judge_some(self, claims: Sequence[Claim]) -> list[Verdict | None]:
        told: list[bytes | str | int] = [self.prefix, self._claim_ms, self._near_bits // 2]
        entries = [self._entry(claim) for claim in claims]
        for claim, entry in zip(claims, entries, strict=True):
            told += [claim.partition, claim.epoch, digest(claim), self._row(claim, UNSETTLED), entry]
        answers = await self._judge([f"{self.prefix}epochs"], told)
        # Those of this batch are here already, and most of them are given back where many are near to one page.
        rows = {
            digest(claim): Row(False, claim.url, claim.fetched_at, claim.sketch)
            for claim, known in zip(claims, answers[::2], strict=True)
            if not known
        }
        candidates = [self._candidates(*each, rows) for each in zip(entries, answers[1::2], strict=True)]
        rows |= await self._rows({key for each in candidates for key in each if key not in rows})
        verdicts: list[Verdict | None] = []
        given_back: dict[bytes, tuple[Claim, bytes]] = {}
        for claim, entry, known, near in zip(claims, entries, answers[::2], candidates, strict=True):
            compared = {key: bits for key, bits in near.items() if key in rows and key not in given_back}
            if known == LATE:
                verdicts.append(None)
            elif not known:
                verdict = nearest(claim, compared, rows)
                verdicts.append(verdict)
                if verdict is not ORIGINAL:
                    given_back[digest(claim)] = claim, entry
            elif (row := unpacked(known)).is_settled:
                is_own = row.url == claim.url
                verdicts.append(ORIGINAL if is_own else Verdict("same", of=row.url, at=row.fetched_at))
            else:
                # Where whoever claimed it has just given it back, it is near to the same page. What is left waits.
                verdict = nearest(claim, compared, rows) if digest(claim) in given_back else None
                verdicts.append(None if verdict is ORIGINAL else verdict)
        if given_back:
            told = [self.prefix]
            for key, (claim, entry) in given_back.items():
                told += [key, self._row(claim, UNSETTLED), entry]
            await self._give_back([f"{self.prefix}epochs"], told)
        return verdicts

    def _row(self, claim: Claim, state: bytes) -> bytes:
        url = claim.url.encode()
        return _HEAD.pack(state, claim.fetched_at, len(url)) + url + (claim.sketch if self._near_bits else b"")

    def _entry(self, claim: Claim) -> bytes:
        if claim.simhash is None or not claim.sketch or not self._near_bits:
            return b""
        who = blake2b(claim.url.encode(), digest_size=8).digest()
        return claim.simhash.to_bytes(8, "big") + digest_of(claim.sketch) + who + digest(claim)

    def _candidates(self, entry: bytes, found: bytes, at_hand: Container[bytes]) -> dict[bytes, int]:
        """The digests of pages of other URLs with a near SimHash, and how many bits differ. Likely ones first."""
        if not found:
            return {}
        entries = np.frombuffer(found, ">u8").reshape(-1, ENTRY_BYTES // 8)
        own = np.frombuffer(entry, ">u8")
        distances = np.bitwise_count(entries[:, :3] ^ own[:3])
        near = ((distances[:, 0] <= self._near_bits) & (entries[:, 3] != own[3])).nonzero()[0]
        order = near[(distances[near, 1] + distances[near, 2]).argsort(kind="stable")].tolist()
        keys: dict[bytes, int] = {}
        to_read = COMPARED_MAX
        for at in order:
            key = found[ENTRY_BYTES * (at + 1) - DIGEST_BYTES : ENTRY_BYTES * (at + 1)]
            if key in keys or not (to_read or key in at_hand):
                continue
            keys[key] = int(distances[at, 0])
            to_read -= key not in at_hand
        return keys

    async def _rows(self, keys: set[bytes]) -> dict[bytes, Row]:
        if not keys:
            return {}
        names = list(keys)
        found = await self._client.mget([f"{self.prefix}c".encode() + key for key in names])
        return {key: unpacked(row) for key, row in zip(names, found, strict=True) if isinstance(row, bytes)}


def nearest(claim: Claim, compared: dict[bytes, int], rows: dict[bytes, Row]) -> Verdict | None:
    """The verdict on a content that nobody has claimed. None: it is near to one that is not settled yet."""
    best = ORIGINAL
    for key, distance in compared.items():
        row = rows[key]
        if row.url == claim.url or not are_near(row.sketch, claim.sketch):
            continue
        if not row.is_settled:
            return None
        alike = resemblance(row.sketch, claim.sketch)
        if best is ORIGINAL or alike > best.resemblance:
            best = Verdict("near", row.url, row.fetched_at, distance, alike)
    return best
