"""Exact duplicates: who had this content first?

Fingerprints are shared by all partitions: a digest of the body, and the URL that claimed it. A page is compared with
*other* URLs only, so that a page repeated after a crash is still an original and still sends its links.

A claim is settled once its page is finished. Until then others with the same content wait, a fraction of a second:
if they did not, they could be stored as copies of a page that a crash then takes back. A crash between `finish` and
`settle` is made good at the start: each partition keeps the claims of its last batch and settles them again.

    exact    digest (32 bytes)   -> URL, when it was fetched
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from gossamer.interfaces import Store
from gossamer.records import ORIGINAL, Claim, Url, Verdict

TABLES = ("exact",)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[str, float]).decode


@dataclass(frozen=True)
class Pending:
    url: Url
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class Duplicates:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._pending: dict[str, Pending] = {}

    async def judge(self, claim: Claim) -> Verdict:
        while (pending := self._pending.get(claim.content_hash)) is not None and pending.url != claim.url:
            await pending.settled.wait()
        value = self._store.get("exact", bytes.fromhex(claim.content_hash))
        if value is not None:
            url, fetched_at = _decode(value)
            if url != claim.url:
                return Verdict("same", of=url, at=fetched_at)
        self._pending.setdefault(claim.content_hash, Pending(claim.url))
        return ORIGINAL

    async def settle(self, claims: Iterable[Claim]) -> None:
        batch = self._store.batch()
        settled = list(claims)
        for claim in settled:
            batch.put("exact", bytes.fromhex(claim.content_hash), _encode((claim.url, claim.fetched_at)))
        self._store.write(batch, sync=False)  # the partition has it too, until its next batch
        for claim in settled:
            pending = self._pending.pop(claim.content_hash, None)
            if pending is not None:
                pending.settled.set()
