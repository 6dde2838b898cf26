"""All that can be swapped, on one page.

The stages (frontier, fetch, process) know these and the records, and never each other; `worker.py` is the only
place that names the classes behind them. One machine and a hundred differ in `Bus`, `SharedState` and `Archive`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from gossamer.records import (
    Answer,
    Claim,
    Fetched,
    Host,
    Known,
    Lease,
    Link,
    Outcome,
    Page,
    Place,
    Reason,
    Result,
    Url,
    Validators,
    Verdict,
)
from gossamer.url.media_types import MediaTypes

Process = Callable[[bytes, Url, str | None], Page]
"""A processor of one media type: body, URL, declared content type. The table of them is in process/media_types.py."""


class Batch(Protocol):
    """Several changes to a `Store` that happen together or not at all."""

    def put(self, table: str, key: bytes, value: bytes) -> None: ...
    def delete(self, table: str, key: bytes) -> None: ...
    def __len__(self) -> int: ...


class Store(Protocol):
    """Ordered keys and values in named tables, on disk. The whole state of a partition lives in one."""

    folder: Path

    def get(self, table: str, key: bytes) -> bytes | None: ...
    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]: ...
    def scan(self, table: str, start: bytes = b"", prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]: ...
    def of_host(self, table: str, start: bytes, most: int) -> list[tuple[bytes, bytes]]: ...
    def last(self, table: str, prefix: bytes) -> tuple[bytes, bytes] | None: ...
    def batch(self) -> Batch: ...
    def write(self, batch: Batch, *, sync: bool) -> None: ...
    def close(self) -> None: ...


class Frontier(Protocol):
    """What to fetch next and when it is polite, for one partition; every accepted URL is in exactly one state."""

    def add(self, links: Iterable[Link], *, sync: bool = True) -> int: ...
    def lease(self, most: int) -> list[Lease]: ...
    def answered(self, lease: Lease, result: Result) -> None: ...
    def processing(self, lease: Lease) -> None: ...
    def processed(self) -> None: ...
    def finish(
        self, outcomes: Sequence[Outcome], places: Sequence[Place | None], archive_end: Place | None = None
    ) -> None: ...
    def next_at(self, *, only_booked: bool = False) -> float | None: ...
    def state(self, url: Url) -> Known | None: ...
    @property
    def claims(self) -> list[Claim]: ...
    @property
    def pages(self) -> int: ...
    @property
    def is_empty(self) -> bool: ...


class Planner(Protocol):
    """What the pages of a partition are worth, and when each is visited again: schedule/planner.py.

    What it knows has to survive: `changes` goes into the same batch as what it was asked about."""

    def load(self, stored: bytes) -> None: ...
    def changes(self) -> bytes | None: ...
    def mint(self) -> int: ...
    def advance(self, worth: int) -> int: ...
    def promise(self, url: Url, worth: int) -> int: ...
    def raised(self, known: Known) -> Known | None: ...
    def esteemed(self, known: Known) -> Known | None: ...
    def to_give(self, known: Known, host: Host) -> int: ...
    def standing(self, known: Known) -> float: ...
    def authority(self, host: Host) -> float: ...
    def earns_its_keep(self, host: Host) -> bool: ...
    def finished(self, before: Known, after: Known, host: Host, outcome: Outcome, now: float) -> Known: ...
    def dropped(self, known: Known, host: Host | None) -> Known: ...
    def need(self, known: Known, host: Host, now: float) -> float: ...
    def called(self, known: Known, host: Host, lastmod: str, now: float) -> Known | None: ...


class Fetcher(Protocol):
    """One lease, at most one request. A redirect is a result and not a second request."""

    async def fetch(self, lease: Lease) -> Result: ...


TurnOf = Callable[[Url], AbstractAsyncContextManager[None]]
"""The turn of a URL's host, wherever that host is owned: entered when it may be asked, left when the answer ended.
Raises `NoTurn`, also while it is held: then the request has to be dropped."""


class NoTurn(Exception):
    """The turn did not come in time, or whoever gave it is gone."""


class Module(Protocol):
    """What fetches the URLs of one scheme (fetch/protocols.py): asks once, and makes a value of whatever comes."""

    async def fetch(
        self,
        url: Url,
        validators: Validators | None = None,
        *,
        body_bytes_max: int | None = None,
        wanted: MediaTypes | None = None,
    ) -> Answer: ...


class Resolver(Protocol):
    """Names to addresses. An empty list: the name has none; raises OSError where nobody answered.

    It wants to hear how connections to its addresses went, to forget one that has moved."""

    async def resolve(self, host: str) -> list[str]: ...
    def failed(self, host: str, address: str) -> None: ...
    def worked(self, host: str) -> None: ...


Watched = Callable[[], AbstractContextManager[None]]


class Processor(Protocol):
    """`watched` is entered while a body is read in this very process: should that kill us, this page is to blame."""

    async def process(self, url: Url, fetched: Fetched, watched: Watched = nullcontext) -> Page: ...


class Duplicates(Protocol):
    """Who had this content first? A claim is settled when its page is stored, and others wait for that.

    `judge` gives None for a claim that has to wait: ask again a little later."""

    async def judge(self, claims: Sequence[Claim]) -> list[Verdict | None]: ...
    async def settle(self, claims: Sequence[Claim]) -> None: ...


class Claims(Protocol):
    """The same at once, and for many holders: the workers that have the pages in their hands."""

    def judge(self, claims: Sequence[Claim], holder: int = 0) -> list[Verdict | None]: ...
    def settle(self, claims: Sequence[Claim]) -> None: ...
    def release(self, holder: int) -> None: ...


class OtherIndex(Exception):
    """The index on the disk was made with other settings; the message says which."""


class SharedState(Duplicates, Protocol):
    """What crosses partitions besides links: who had which content, and the pace per IP address.

    `pace` gives the seconds to wait before an address may be asked; 0 counts as a request."""

    async def pace(self, ip: str) -> float: ...


class Archive(Protocol):
    """Durable when `save` returns; what a crash left behind the last committed place is cut off by `recover`.

    Raises `Unreachable`, or `OSError` with ENOSPC, where it may be had later: then nothing counts as saved."""

    @property
    def end(self) -> Place | None: ...
    async def save(self, outcomes: Sequence[Outcome]) -> list[Place | None]: ...
    async def recover(self, end: Place | None) -> None: ...
    def close(self) -> None: ...


class Unreachable(OSError):
    """Whoever keeps the archive does not answer. It may be over in a while; the text says who and why."""


class Bus(Protocol):
    """Links to the partitions that own them; durable there when `send` returns."""

    async def send(self, links: Iterable[Link]) -> None: ...


class Filter(Protocol):
    """The door: None lets a link in, a `Reason` keeps it out."""

    def __call__(self, link: Link) -> Reason | None: ...


__all__ = [
    "Archive",
    "Batch",
    "Bus",
    "Claims",
    "Duplicates",
    "Fetcher",
    "Filter",
    "Frontier",
    "Module",
    "NoTurn",
    "OtherIndex",
    "Planner",
    "Process",
    "Processor",
    "Resolver",
    "SharedState",
    "Store",
    "TurnOf",
    "Unreachable",
    "Watched",
]
