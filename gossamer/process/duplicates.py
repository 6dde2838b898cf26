"""Exact duplicates: who had this content first?

Fingerprints are shared by all partitions: a digest of the body, and the URL that claimed it. A page is compared with
*other* URLs only, so that a page repeated after a crash is still an original and still sends its links.

A claim is settled once its page is finished. Until then others with the same content wait, a fraction of a second:
if they did not, they could be stored as copies of a page that a crash then takes back. A crash between `finish` and
`settle` is made good by whoever opens the partition next: it keeps the claims of its last batch, and they are
settled again. Only after that are the other claims of a worker that died released.

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


@dataclass
class Pending:
    url: Url
    holder: int  # the worker that has the page in its hands
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class Duplicates:
    """Implements `interfaces.Claims`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pending: dict[str, Pending] = {}

    def judge(self, claim: Claim, holder: int = 0) -> Verdict | None:
        """None: another URL has claimed the same content and is not settled yet. Ask again when it is."""
        pending = self._pending.get(claim.content_hash)
        if pending is not None and pending.url != claim.url:
            return None
        value = self._store.get("exact", bytes.fromhex(claim.content_hash))
        if value is not None:
            url, fetched_at = _decode(value)
            if url != claim.url:
                return Verdict("same", of=url, at=fetched_at)
        if pending is None:
            self._pending[claim.content_hash] = Pending(claim.url, holder)
        else:
            pending.holder = holder  # repeated, perhaps by another worker than before
        return ORIGINAL

    async def settled(self, claim: Claim) -> None:
        """Until the pending claim to this content is settled, withdrawn or released."""
        pending = self._pending.get(claim.content_hash)
        if pending is not None:
            await pending.settled.wait()

    def settle(self, claims: Iterable[Claim]) -> None:
        batch = self._store.batch()
        settled = list(claims)
        for claim in settled:
            batch.put("exact", bytes.fromhex(claim.content_hash), _encode((claim.url, claim.fetched_at)))
        self._store.write(batch, sync=False)  # the partition has it too, until its next batch
        for claim in settled:
            self._end(claim.content_hash)

    def withdraw(self, claim: Claim) -> None:
        pending = self._pending.get(claim.content_hash)
        if pending is not None and pending.url == claim.url:
            self._end(claim.content_hash)

    def release(self, holder: int) -> None:
        for content_hash in [key for key, pending in self._pending.items() if pending.holder == holder]:
            self._end(content_hash)

    def _end(self, content_hash: str) -> None:
        pending = self._pending.pop(content_hash, None)
        if pending is not None:
            pending.settled.set()
