"""Shared state in Valkey or Redis: what all nodes of a cluster have in common, and nobody owns.

The server may forget, and may be away: its memory is bounded (`maxmemory` with `allkeys-lru`), and nothing in it is
needed to go on. What is forgotten costs a copy that is stored, or a burst of an address; never a page.

**While it is away** each process judges by itself (meanwhile.py), and keeps to its share of the pace: as much of it
as it owns of the partitions. No two own the same, so all together keep to it. `away` says since when, and why. Nobody
waits for it more than once: a call has `LIMIT_S`, and after the first that fails nobody calls but the one task that
tries again, with growing waits. When it gets through, it tells the epochs and the settled claims of that time first,
and then all ask the server again. What two nodes claimed at the same time without knowing of each other is stored
twice.

What may fall out of the memory while it is needed, and what happens then:

    an unsettled claim    another URL becomes an original as well
    a settled claim       the next page with this content is an original, and is claimed anew
    a bucket              near copies of the pages in it are stored as originals
    epochs                the next claim of the present owner brings its epoch back. Until then an earlier owner is
                          fenced by its own clock alone, which lets it ask and store nothing
    tokens, limiters      they begin full, as after a pause
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, TypeVar

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from gossamer import config
from gossamer.clock import Clock
from gossamer.cluster.pace import EXPECTED_BYTES, HOLD_S_MAX, CrawlPace, Pace
from gossamer.cluster.shared import LocalShared
from gossamer.cluster.valkey import scripts
from gossamer.cluster.valkey.claims import CLAIMS_AT_ONCE, ValkeyClaims
from gossamer.cluster.valkey.meanwhile import Meanwhile
from gossamer.interfaces import Pause
from gossamer.rate_limiter import BURST_S
from gossamer.records import Claim, Reason, Verdict
from gossamer.text import time_of_day

LIMIT_S = 1.0  # of a call; it takes a millisecond
CLAIM_S = 60.0  # that an unsettled claim lasts: a page is stored within a second, unless its archive is slow
RETRY_S, RETRY_S_MAX = 0.5, 15.0  # between tries to reach it again
FAULTS = (RedisError, OSError, TimeoutError)

_PAUSE = struct.Struct(">4d")
P = ParamSpec("P")
T = TypeVar("T")


class ValkeyShared:
    """Implements `interfaces.SharedState`. One for a process; close it when nobody asks any more."""

    def __init__(
        self,
        url: str,
        name: str,
        clock: Clock,
        *,
        per_s: float,
        burst: int,
        near_bits: int = 3,
        requests_per_s: float | None = None,
        bytes_per_s: float | None = None,
        share: float = 1.0,
        claim_s: float = CLAIM_S,
        limit_s: float = LIMIT_S,
    ) -> None:
        """`per_s`, `burst`: of an address. `share`: of all partitions, what this process owns."""
        self._clock = clock
        self._limit_s = limit_s
        self._password = config.secret("redis_password")
        self._client: Redis = Redis.from_url(
            url,
            username=config.secret("redis_username") or None,
            password=self._password or None,
            protocol=2,
            retry=Retry(NoBackoff(), 0),  # we try again, in our own time
            socket_timeout=limit_s,
            socket_connect_timeout=limit_s,
        )
        self._claims = ValkeyClaims(self._client, name, near_bits, claim_s)
        self._ask_server = self._client.register_script(scripts.PACE)
        self._epochs: dict[int, int] = {}  # in which this process owns partitions, or did
        self._meanwhile = Meanwhile(clock, claim_s)
        self._address = (per_s, burst)
        self._limits = (requests_per_s, bytes_per_s)
        self._share = share
        self._local_pace, self._local_crawl_pace = Pace(clock, per_s, burst), CrawlPace(clock)
        self._local = LocalShared(self._meanwhile, self._local_pace, self._local_crawl_pace)
        self._limit_local()
        self._asked: list[tuple[str, int]] = []  # in this turn of the event loop
        self._paced: asyncio.Task[list[Pause]] | None = None
        self._away_since: float | None = None
        self._trouble = ""
        self._coming_back: asyncio.Task[None] | None = None

    def limit(self, requests_per_s: float | None, bytes_per_s: float | None) -> None:
        """The pace of the whole crawl from now on. All processes are told the same."""
        self._limits = (requests_per_s, bytes_per_s)
        self._limit_local()

    def keep_to_share(self, share: float) -> None:
        """While the server is away; partitions have come or gone."""
        if share != self._share:
            self._share = share
            self._limit_local()

    def _limit_local(self) -> None:
        self._local_pace.limit(*self._address, self._share)
        self._local_crawl_pace.limit(*self._limits, self._share)

    @property
    def away(self) -> str:
        """Since when the server does not answer, and what follows; empty: it does."""
        if self._away_since is None:
            return ""
        since = time_of_day(self._away_since, self._clock.now())
        return (
            f"Valkey does not answer since {since} ({self._trouble}): copies on other nodes are not noticed, "
            "and every process keeps to its share of the pace"
        )

    async def close(self) -> None:
        if self._coming_back is not None:
            self._coming_back.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._coming_back
        await self._client.aclose()

    # ---- claims ------------------------------------------------------------------------------------------

    async def begin(self, partition: int, epoch: int) -> None:
        self._epochs[partition] = max(epoch, self._epochs.get(partition, 0))
        await self._local.begin(partition, epoch)
        await self._ask(self._claims.begin, {partition: epoch})

    async def judge(self, claims: Sequence[Claim]) -> list[Verdict | None]:
        # What was claimed while the server was away is not known there before it is settled.
        here = [self._meanwhile.knows(claim) for claim in claims]
        asked = [claim for claim, is_here in zip(claims, here, strict=True) if not is_here]
        judged: list[Verdict | None] | None = await self._ask(self._claims.judge, asked) if asked else []
        if judged is None:
            return await self._local.judge(claims)
        there = iter(judged)
        ours = iter(await self._local.judge([claim for claim, is_here in zip(claims, here, strict=True) if is_here]))
        return [next(ours if is_here else there) for is_here in here]

    async def settle(self, claims: Sequence[Claim]) -> None:
        if not claims:
            return
        if await self._ask(self._is_settled, claims):
            self._meanwhile.told(claims)
        else:
            await self._local.settle(claims)

    async def _is_settled(self, claims: Sequence[Claim]) -> bool:
        await self._claims.settle(claims)
        return True

    # ---- pace --------------------------------------------------------------------------------------------

    async def pace(self, ip: str, surplus_bytes: int = 0) -> Pause:
        place = len(self._asked)
        self._asked.append((ip, surplus_bytes))
        if self._paced is None:
            self._paced = asyncio.ensure_future(self._ask_pace())
        # Shielded: the others of this moment wait for the same answer.
        return (await asyncio.shield(self._paced))[place]

    async def _ask_pace(self) -> list[Pause]:
        """One script for all who ask in the same turn of the event loop: this runs after them."""
        requests, self._asked, self._paced = self._asked, [], None
        pauses = await self._ask(self._pauses, requests)
        return pauses if pauses is not None else [await self._local.pace(*request) for request in requests]

    async def _pauses(self, requests: list[tuple[str, int]]) -> list[Pause]:
        limits = [limit or 0 for limit in self._limits]
        told = [self._claims.prefix, *self._address, *limits, HOLD_S_MAX, BURST_S, EXPECTED_BYTES]
        answer = await self._ask_server(
            [f"{self._claims.prefix}here"], [*told, *(word for each in requests for word in each)]
        )
        return [
            Pause(wait_s, hold_s, int(charged), Reason.CRAWL_PACE if of_crawl else Reason.IP_PACE)
            for wait_s, hold_s, charged, of_crawl in _PAUSE.iter_unpack(answer)
        ]

    # ---- when it is away ---------------------------------------------------------------------------------

    async def _ask(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """None: it is away. Whoever finds it so waits for the limit, and nobody after that."""
        if self._away_since is not None:
            return None
        try:
            async with asyncio.timeout(self._limit_s):
                return await call(*args, **kwargs)
        except FAULTS as fault:
            self._note(fault)
            return None

    def _note(self, fault: BaseException) -> None:
        if isinstance(fault, AuthenticationError | NoPermissionError):
            why = "it refuses our user or password: see GOSSAMER_REDIS_USERNAME and GOSSAMER_REDIS_PASSWORD"
        elif isinstance(fault, TimeoutError | RedisTimeoutError):
            why = f"no answer within {self._limit_s:g} s"
        else:
            why = str(fault)
        self._trouble = why.replace(self._password, "***") if self._password else why
        if self._away_since is None:
            self._away_since = self._clock.now()
            self._coming_back = asyncio.ensure_future(self._come_back())

    async def _come_back(self) -> None:
        wait_s = RETRY_S
        while self._away_since is not None:
            await self._clock.sleep(wait_s)
            wait_s = min(2 * wait_s, RETRY_S_MAX)
            try:
                async with asyncio.timeout(self._limit_s):
                    # What is open leads to a server that died, or that may only be read since another took over.
                    await self._client.connection_pool.disconnect(inuse_connections=False)
                    await self._claims.begin(self._epochs)
                while untold := self._meanwhile.untold(CLAIMS_AT_ONCE):
                    async with asyncio.timeout(self._limit_s):
                        await self._claims.settle(untold)
                    self._meanwhile.told(untold)
                    wait_s = RETRY_S
            except FAULTS as fault:
                self._note(fault)
                continue
            self._away_since = None
