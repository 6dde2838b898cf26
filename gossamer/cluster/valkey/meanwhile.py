"""Meanwhile: who had which content while the server that all nodes share is away, as far as this process knows.

Only the same bytes are noticed, and only those of this time. What is settled is kept to be told afterwards, the
newest `SETTLED_MAX`: what is forgotten is a content that may be stored once more. An unsettled claim ends by itself,
as it does in the server.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import islice

from gossamer.clock import Clock
from gossamer.records import ORIGINAL, Claim, Url, Verdict

SETTLED_MAX = 50_000  # about 30 MB
OPEN_MAX = 10_000  # far above what a process has in its hands


class Meanwhile:
    """Implements `interfaces.Claims`, for one holder."""

    def __init__(self, clock: Clock, claim_s: float) -> None:
        self._clock = clock
        self._claim_s = claim_s
        self._open: OrderedDict[str, tuple[Url, float]] = OrderedDict()  # by digest: whose it is, and until when
        self._untold: OrderedDict[str, Claim] = OrderedDict()  # settled

    def judge(self, claims: Sequence[Claim], holder: int = 0) -> list[Verdict | None]:
        return [self._judge(claim) for claim in claims]

    def _judge(self, claim: Claim) -> Verdict | None:
        settled = self._untold.get(claim.content_hash)
        if settled is not None:
            is_own = settled.url == claim.url
            return ORIGINAL if is_own else Verdict("same", of=settled.url, at=settled.fetched_at)
        if self._holder_of(claim) not in (None, claim.url):
            return None
        self._open[claim.content_hash] = claim.url, self._clock.awake() + self._claim_s
        if len(self._open) > OPEN_MAX:
            self._open.popitem(last=False)
        return ORIGINAL

    def settle(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            self._open.pop(claim.content_hash, None)
            self._untold[claim.content_hash] = claim
            if len(self._untold) > SETTLED_MAX:
                self._untold.popitem(last=False)

    def release(self, holder: int) -> None:
        self._open.clear()

    def lose(self, partition: int, epoch: int) -> None:
        """Claims run out by themselves."""

    def knows(self, claim: Claim) -> bool:
        """It was claimed or settled while the server was away, and the server has not heard of it."""
        return claim.content_hash in self._untold or self._holder_of(claim) is not None

    def _holder_of(self, claim: Claim) -> Url | None:
        url, until = self._open.get(claim.content_hash, (None, 0.0))
        if url is not None and until < self._clock.awake():
            del self._open[claim.content_hash]
            return None
        return url

    def untold(self, most: int) -> list[Claim]:
        return list(islice(self._untold.values(), most))

    def told(self, claims: Sequence[Claim]) -> None:
        """The server knows them now, unless they were settled once more since."""
        for claim in claims:
            self._open.pop(claim.content_hash, None)
            if self._untold.get(claim.content_hash) is claim:
                del self._untold[claim.content_hash]
